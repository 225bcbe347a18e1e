//! S3 over its REST interface.
//!
//! [`S3Address`] says which bucket (`address`), `settings` at which service and in which region, `endpoint` by which URL. Keys
//! sign (`auth`; `credentials` where the program gives them), `service` sends one request, finds the bucket's region and judges the answer (`rules`, `error`), and the
//! operations lie above it: `object` (head, get, put, copy, delete), `upload` (an object in parts, one request each), `bucket`,
//! `list` (pages of names, read by `xml`), `presign` (URLs that are signed). `writer` makes an object of parts, which `parts` numbers. What is stored with an object
//! is written and read in `meta`, the checksums of a body in `body`.

mod address;
mod auth;
mod body;
mod bucket;
mod claim;
mod credentials;
mod endpoint;
mod error;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod left;
mod list;
mod meta;
mod object;
mod odd;
mod parts;
mod presign;
mod rules;
mod service;
mod settings;
mod upload;
mod writer;
mod xml;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use http::header::HeaderMap;

pub use address::S3Address;
pub use auth::AccessKeys;
pub(crate) use credentials::Reach;
pub use credentials::{S3Access, S3Credentials};
pub use endpoint::Addressing;

use super::answer::Rule;
use super::{
    Access, Attributes, BlockRange, BlockWriter, Capabilities, CopyRules, CopySource, GetOptions, GetResult,
    ListRequest, Lister, ObjectMeta, Payload, Peer, Presigned, PutOptions, PutResult, Request, Store,
    StoreOptions, Trace, Version, Versions, folder,
};
use crate::checksum::{ChecksumMode, Crc64};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Manners;
use crate::http::{Connections, HttpClient, Origin};
use crate::verbose::verbose;
use auth::Credential;
use error::Asked;
use list::Leftover;
use parts::{PART_MAX, RULES};
use service::{Operation, Service};
use settings::Settings;

/// The longest key, in bytes.
const KEY_MAX: usize = 1_024;

/// One bucket, or the account where the address names none. Clones share it.
#[derive(Clone, Debug)]
pub struct S3Store {
    /// The bucket's URL.
    name: Arc<str>,
    service: Service,
    odd: odd::Kept,
}

impl S3Store {
    /// Finds out where the bucket is, as far as the surroundings tell, and who asks. Sends nothing.
    ///
    /// # Errors
    /// `Usage` where the options or the surroundings name what is no endpoint, or no region.
    pub fn open(bucket: &str, options: &StoreOptions, http: HttpClient) -> Result<Self> {
        let (options, profile) = credentials::filled(options)?;
        let settings = Settings::find(&options, profile.as_deref())?;
        let http = match &settings.ca_bundle {
            Some(bundle) => http.by(Connections::trusting_only(bundle.clone())),
            None => http,
        };
        let credential = Credential::find(&options, profile.as_deref(), &http)?;
        let service = Service::new(bucket, settings, credential, &options, http)?;
        let (region, named) = service.region();
        verbose!(
            Info,
            "{} is at {}, region {region} ({})",
            address::display(bucket, ""),
            service.site().origin,
            if named { "named" } else { "by default" }
        );
        Ok(Self { name: address::display(bucket, "").into(), service, odd: odd::Kept::default() })
    }

    /// The bucket's name; empty for the account.
    pub fn bucket(&self) -> &str {
        self.service.bucket()
    }

    /// Another bucket of the same service, reached in the same way.
    ///
    /// # Errors
    /// `Usage` where no URL can name it.
    pub fn bucket_named(&self, bucket: &str) -> Result<Self> {
        let service = self.service.bucket_named(bucket)?;
        Ok(Self { name: address::display(bucket, "").into(), service, odd: self.odd.clone() })
    }

    /// The same bucket, reached through another client: what is known of it is shared.
    pub(crate) fn over(self, http: HttpClient) -> Self {
        Self { service: self.service.over(http), ..self }
    }

    /// The pace that the bucket allows, and the budget for retries.
    pub(crate) fn manners(&self) -> &Manners {
        self.service.manners()
    }

    /// The names of all buckets of the account, in order.
    ///
    /// # Errors
    /// `Permission` where the credential covers less than the account.
    pub async fn list_buckets(&self, trace: &Trace) -> Result<Vec<String>> {
        bucket::list(self, trace).await
    }

    /// The region of the bucket, as the service tells it.
    ///
    /// # Errors
    /// `NotFound` where there is no such bucket.
    pub async fn find_region(&self, trace: &Trace) -> Result<String> {
        self.need_bucket("inspect")?;
        bucket::head(self, trace).await?;
        Ok(self.service.region().0)
    }

    /// What somebody without a name may ask of the bucket: where, and a path with its query.
    pub(crate) fn doorstep(&self) -> (Origin, String) {
        let site = self.service.site();
        let query = if self.bucket().is_empty() { "" } else { "?list-type=2&max-keys=1" };
        (site.origin.clone(), format!("{}{query}", site.path("")))
    }

    /// What it is reached through.
    pub(crate) fn client(&self) -> &HttpClient {
        self.service.client()
    }

    /// The region that requests are signed for, and whether somebody has named it.
    pub(crate) fn region(&self) -> (String, bool) {
        self.service.region()
    }

    /// Who asks, what gave the keys, and when they end. Keys of a role are asked for.
    ///
    /// # Errors
    /// `Permission` where there are none.
    pub(crate) async fn identity(&self) -> Result<(&'static str, &'static str, Option<SystemTime>)> {
        match self.service.credential() {
            Credential::Unsigned => Ok(("nobody", "--no-sign-request", None)),
            Credential::Keys(_) => Ok(("access key", "the call", None)),
            Credential::Chain(chain) => {
                let (source, ends) = chain.source("sign in", &self.name).await?;
                Ok(("access key", source, ends))
            }
        }
    }

    /// Copies an object of the same service to `key`, in one request of at most 5 GiB; `attributes` in place of its own, where
    /// they are given. The service does it; confirmed where it states the CRC64 of what it made.
    ///
    /// # Errors
    /// `SourceChanged` where the source no longer has this ETag.
    pub async fn copy_object(
        &self,
        from: (&S3Store, &str, Option<&str>),
        key: &str,
        attributes: Option<&Attributes>,
        trace: &Trace,
    ) -> Result<PutResult> {
        self.need_key("copy to", key)?;
        object::copy(from, self, key, (attributes, false), ChecksumMode::None, trace).await
    }

    /// Copies a range of an object of the same service into part `number` of an upload: its ETag, and its CRC64 where the
    /// service states one.
    ///
    /// # Errors
    /// `SourceChanged` where the source no longer has this ETag.
    pub async fn copy_part(
        &self,
        from: (&S3Store, &str, Option<&str>),
        range: BlockRange,
        key: &str,
        (upload, number): (&str, u16),
        trace: &Trace,
    ) -> Result<(String, Option<Crc64>)> {
        self.need_key("copy part of", key)?;
        let made = upload::copy(from, range, self, key, upload, number, trace).await?;
        Ok((made.etag, made.crc64))
    }

    fn display(&self, key: &str) -> String {
        address::display(self.bucket(), key)
    }

    fn asked<'a>(
        &'a self,
        operation: &'static str,
        object: &'a str,
        permission: &'static str,
        unmet: ErrorKind,
    ) -> Asked<'a> {
        Asked { operation, object, container: &self.name, permission, unmet }
    }

    fn operation<'a>(
        &self,
        rule: Rule,
        method: Method,
        key: &'a str,
        query: &'a [(&'a str, &'a str)],
    ) -> Operation<'a> {
        let (headers, body) = (HeaderMap::with_capacity(16), Bytes::new());
        Operation { rule, method, key, query, headers, body, signed_body: false }
    }

    /// Operations on objects and buckets need a bucket.
    fn need_bucket(&self, operation: &'static str) -> Result<()> {
        if self.bucket().is_empty() {
            return Err(Error::new(ErrorKind::Usage, operation, &*self.name, "the address names no bucket")
                .hint("write s3://bucket/key; haul ls s3:// lists the buckets of an account"));
        }
        Ok(())
    }

    fn need_key(&self, operation: &'static str, key: &str) -> Result<()> {
        self.need_bucket(operation)?;
        let (kind, cause) = match key {
            "" => (ErrorKind::Usage, "the address names no object"),
            _ if key.len() > KEY_MAX => (ErrorKind::Unsupported, "a name has at most 1,024 bytes"),
            _ if key.contains('\0') => {
                (ErrorKind::Unsupported, "a name with a zero byte cannot be addressed")
            }
            _ => return Ok(()),
        };
        let hint = match kind {
            ErrorKind::Usage => "write s3://bucket/key",
            _ => "rename it at the source, or copy it alone, to a name of your choice",
        };
        Err(Error::new(kind, operation, self.display(key), cause).hint(hint))
    }
}

/// The source of a copy, as requests name it.
fn source<'a>(from: &CopySource<'a>) -> Result<(&'a S3Store, &'a str, Option<&'a str>)> {
    match from.store.peer() {
        Some(Peer::S3(store)) => Ok((store, from.key, Some(from.etag).filter(|etag| !etag.is_empty()))),
        _ => {
            let cause = "the source is of another service";
            Err(Error::new(ErrorKind::Unsupported, "copy", from.store.name(from.key), cause))
        }
    }
}

#[async_trait]
impl Store for S3Store {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            put_max: PART_MAX,
            cut: RULES,
            range_checksum_max: 0,
            streams: false,
            contents: true,
            at_hand: false,
            keeps_checksums: true,
            folders: false,
            rechecks: false,
            late_writes: true,
            begins_freely: false,
            lists_all: false,
            time_step_ns: 1,
            in_order: false,
            keeps_properties: true,
            versions: Versions { conditions: true, unique: false },
        }
    }

    fn name(&self, key: &str) -> String {
        self.display(key)
    }

    fn identity(&self, key: &str) -> String {
        format!("{} {}", self.service.endpoint(), self.display(key))
    }

    fn api(&self, request: Request) -> &'static str {
        match request {
            Request::Look => "HeadObject",
            Request::List => "ListObjectsV2",
            Request::Get => "GetObject",
            Request::Put => "PutObject",
            Request::Append => "Append",
            Request::Begin => "CreateMultipartUpload",
            Request::PutBlock => "UploadPart",
            Request::Copy => "CopyObject",
            Request::CopyBlock => "UploadPartCopy",
            Request::Commit => "CompleteMultipartUpload",
            Request::Claim => "CopyObject",
            Request::Delete => "DeleteObject",
            Request::DeleteMany => "DeleteObjects",
            Request::CreateContainer => "CreateBucket",
            Request::DeleteContainer => "DeleteBucket",
        }
    }

    fn prepare(&self, requests: usize) {
        self.service.prepare(requests);
    }

    fn list(&self, request: ListRequest) -> Box<dyn Lister> {
        Box::new(list::S3Lister::new(self.clone(), request))
    }

    async fn head(&self, key: &str, trace: &Trace) -> Result<ObjectMeta> {
        self.need_key("inspect", key)?;
        object::head(self, key, trace).await
    }

    async fn marker(&self, folder: &str, trace: &Trace) -> Result<Option<ObjectMeta>> {
        let found = self.head(&folder::beside(folder), trace).await?;
        Ok((found.size == 0).then_some(found))
    }

    async fn tags(&self, key: &str, trace: &Trace) -> Result<Vec<(String, String)>> {
        self.need_key("read the tags of", key)?;
        object::tags(self, key, trace).await
    }

    async fn get(&self, key: &str, options: &GetOptions, trace: &Trace) -> Result<GetResult> {
        self.need_key("read", key)?;
        object::get(self, key, options, trace).await
    }

    async fn admits(&self, key: &str) -> Result<()> {
        self.need_key("write", key)
    }

    async fn put(
        &self,
        key: &str,
        payload: Payload,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<PutResult> {
        self.need_key("write", key)?;
        self.under_its_name(key, object::put(self, key, payload, options, trace), trace).await
    }

    async fn begin(
        &self,
        key: &str,
        size: Option<u64>,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<Arc<dyn BlockWriter>> {
        self.need_key("write", key)?;
        let odd = self.before_odd(key, trace).await?;
        let writer = writer::S3Writer::begin(self.clone(), key, size, options, trace).await?;
        Ok(Arc::new(writer.looked_for(odd)))
    }

    fn peer(&self) -> Option<Peer<'_>> {
        Some(Peer::S3(self))
    }

    fn copies_from(&self, source: &dyn Store) -> Option<CopyRules> {
        let Some(Peer::S3(source)) = source.peer() else { return None };
        let same = self.service.same_service(&source.service);
        // Not every service looks at a condition on what is there when it copies a whole object.
        same.then_some(CopyRules { whole_max: PART_MAX, guarded: false, keeps_crc64: true, keeps_tags: true })
    }

    async fn copy(
        &self,
        from: &CopySource<'_>,
        key: &str,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<PutResult> {
        self.need_key("copy to", key)?;
        let source = source(from)?;
        let stored = (Some(&options.attributes), options.without_tags);
        let copy = object::copy(source, self, key, stored, options.checksum, trace);
        let put = self.under_its_name(key, copy, trace).await?;
        if put.confirmed {
            return Ok(put);
        }
        // Not every service says in this answer what it has made.
        let (there, crc64) = object::look(self, key, trace).await?;
        if there.etag != put.etag {
            return Ok(put);
        }
        if there.size != from.size {
            let _ = object::delete_version(self, key, &put.etag, trace).await;
            let cause = "the service made an object of another size than the source's";
            return Err(Error::new(ErrorKind::Unsupported, "copy to", self.display(key), cause));
        }
        Ok(PutResult { crc64, confirmed: crc64.is_some(), ..put })
    }

    async fn delete(&self, key: &str, trace: &Trace) -> Result<()> {
        self.need_key("delete", key)?;
        object::delete(self, key, trace).await
    }

    async fn delete_version(&self, key: &str, version: &Version, trace: &Trace) -> Result<()> {
        self.need_key("delete", key)?;
        object::delete_version(self, key, &version.etag, trace).await
    }

    async fn claim(&self, key: &str, etag: &str, trace: &Trace) -> Result<String> {
        self.need_key("claim", key)?;
        claim::claim(self, key, etag, trace).await
    }

    fn delete_max(&self) -> usize {
        object::DELETE_MAX
    }

    async fn delete_many(&self, keys: &[String], trace: &Trace) -> Result<Vec<Result<()>>> {
        keys.iter().try_for_each(|key| self.need_key("delete", key))?;
        object::delete_many(self, keys, trace).await
    }

    async fn presign(&self, key: &str, access: Access, life: Duration, trace: &Trace) -> Result<Presigned> {
        presign::presign(self, key, access, life, trace).await
    }

    fn leftover_of<'a>(&self, leftover: &'a str) -> &'a str {
        Leftover::of(leftover).map_or(leftover, |leftover| leftover.key)
    }

    async fn remove_leftover(&self, key: &str, trace: &Trace) -> Result<bool> {
        self.need_bucket("clean")?;
        let Some(Leftover { key, id }) = Leftover::of(key) else { return Ok(false) };
        upload::abort(self, key, id, trace).await
    }

    async fn create_container(&self, trace: &Trace) -> Result<()> {
        self.need_bucket("create")?;
        bucket::create(self, trace).await
    }

    fn deletes_full(&self) -> bool {
        false
    }

    async fn delete_container(&self, trace: &Trace) -> Result<()> {
        self.need_bucket("delete")?;
        bucket::delete(self, trace).await
    }
}
