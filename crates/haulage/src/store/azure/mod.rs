//! Azure Blob storage over its REST interface.
//!
//! [`AzureAddress`] says where (`address`, `endpoint`, `settings`), a credential lets us in (`auth`; `credentials` where the program gives
//! it), `account` keeps what was learnt, `service` sends one
//! request and judges the answer (`error`), and the operations lie above it: `blob` (head, get, put, delete),
//! `blocks` (a blob in pieces), `copy` (what the service copies by itself), `list` (pages of names, read by `xml`), `presign` (URLs with a SAS). What is stored with a blob is written
//! and read in `meta`, the checksum of a body in `body`.

mod account;
mod address;
mod auth;
mod blob;
mod blocks;
mod body;
mod copy;
mod credentials;
mod endpoint;
mod error;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod list;
mod meta;
mod presign;
mod rules;
mod service;
mod settings;
pub(crate) mod table;
mod times;
mod xml;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use http::header::HeaderMap;

pub(crate) use account::Account;
pub use address::AzureAddress;
pub use auth::{GivenToken, TokenSource};
pub use credentials::{AzureCredentials, AzureSecret};
pub use endpoint::Endpoint;

use super::answer::Rule;
use super::{
    Access, BlockWriter, Capabilities, CopyRules, CopySource, CutRules, GetOptions, GetResult, ListRequest,
    Lister, ObjectMeta, Payload, Peer, Phase, Presigned, PutOptions, PutResult, Request, Store, StoreOptions,
    Trace, Version, Versions, folder,
};
use crate::checksum::Md5Queue;
use crate::error::{Error, ErrorKind, Result};
use crate::http::HttpClient;
use account::Learnt;
use auth::Credential;
use error::Asked;
use service::{Operation, Service};
use settings::Settings;

/// The service computes the checksum of a range up to this length only.
const RANGE_CHECKSUM_MAX: u64 = 4 << 20;

/// The longest name of a blob, in characters.
const NAME_MAX: usize = 1024;

/// Put Blob takes 5,000 MiB, Put Block 4,000 MiB, a list 50,000 blocks (versions since 2019-12-12).
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    put_max: 5_000 << 20,
    cut: CutRules { most: 4_000 << 20, count: 50_000, ..CutRules::ANY },
    range_checksum_max: RANGE_CHECKSUM_MAX,
    streams: false,
    contents: true,
    at_hand: false,
    keeps_checksums: true,
    folders: false,
    rechecks: false,
    late_writes: true,
    begins_freely: true,
    lists_all: true,
    time_step_ns: 1,
    in_order: false,
    keeps_properties: true,
    versions: Versions { conditions: true, unique: true },
};

/// One container, or the account where the address names none. Clones share it.
#[derive(Clone, Debug)]
pub struct AzureStore {
    address: Arc<AzureAddress>,
    container_name: Arc<str>,
    service: Service,
    learnt: Learnt,
    /// Hashes the bodies that go with an MD5.
    md5: Md5Queue,
}

impl AzureStore {
    /// Finds credentials; sends nothing.
    ///
    /// # Errors
    /// `Permission` where no credential is found, `Usage` where one is malformed.
    pub fn open(address: AzureAddress, options: &StoreOptions, http: HttpClient) -> Result<Self> {
        let account = Account::open(&address, options, &http)?;
        Ok(Self::of(&account, address, http))
    }

    /// Who would ask for what is at `address`, what gave the credential, and when it ends. A token is asked for.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub(crate) async fn identity(
        address: &AzureAddress,
        options: &StoreOptions,
        http: &HttpClient,
    ) -> Result<(&'static str, &'static str, Option<SystemTime>)> {
        let (named, settings) = (options.endpoint.is_some(), Settings::of(options)?);
        match Credential::find_named(address, named, &settings, http)? {
            (Credential::SharedKey(_), source) => Ok(("shared key", source, None)),
            (Credential::Sas(_), source) => Ok(("SAS", source, None)),
            (Credential::Entra(entra), _) => {
                let (source, ends) = entra.source("sign in", &address.name("")).await?;
                Ok(("Microsoft Entra", source, Some(ends)))
            }
        }
    }

    /// A container of an account that is known, reached through `http`.
    pub(crate) fn of(account: &Account, address: AzureAddress, http: HttpClient) -> Self {
        let service = Service::new(address.endpoint.clone(), account.credential.clone(), http);
        Self {
            container_name: address.name("").into(),
            address: Arc::new(address),
            service,
            learnt: account.learnt.clone(),
            md5: Md5Queue::default(),
        }
    }

    /// Where this is.
    pub fn address(&self) -> &AzureAddress {
        &self.address
    }

    /// A container of the same account, reached in the same way.
    pub fn container(&self, name: &str) -> Self {
        let address =
            AzureAddress { container: name.to_owned(), key: String::new(), ..(*self.address).clone() };
        Self { container_name: address.name("").into(), address: Arc::new(address), ..self.clone() }
    }

    /// The names of all containers of the account, in order.
    ///
    /// # Errors
    /// `Permission` where the credential covers less than the account.
    pub async fn list_containers(&self, trace: &Trace) -> Result<Vec<String>> {
        list::containers(self, trace).await
    }

    fn display(&self, key: &str) -> String {
        self.address.name(key)
    }

    fn asked<'a>(
        &'a self,
        operation: &'static str,
        object: &'a str,
        permission: char,
        unmet: ErrorKind,
    ) -> Asked<'a> {
        Asked { operation, object, container: &self.container_name, permission, unmet }
    }

    fn operation<'a>(
        &'a self,
        rule: Rule,
        method: Method,
        key: &'a str,
        query: &'a [(&'a str, &'a str)],
        headers: HeaderMap,
        body: Bytes,
    ) -> Operation<'a> {
        Operation { rule, method, container: &self.address.container, key, query, headers, body }
    }

    /// Operations on blobs and containers need a container.
    fn need_container(&self, operation: &'static str) -> Result<()> {
        if self.address.container.is_empty() {
            return Err(Error::new(
                ErrorKind::Usage,
                operation,
                &*self.container_name,
                "the address names no container",
            )
            .hint("write az://container/path; haul ls lists the containers of an account"));
        }
        Ok(())
    }

    fn need_key(&self, operation: &'static str, key: &str) -> Result<()> {
        self.need_container(operation)?;
        if key.is_empty() {
            return Err(Error::new(
                ErrorKind::Usage,
                operation,
                &*self.container_name,
                "the address names no blob",
            ));
        }
        let cause = if address::walks(key) {
            Some("a name with a `.` or `..` segment cannot be addressed safely")
        } else if key.contains('\0') {
            Some("a name with a zero byte cannot be addressed")
        } else {
            None
        };
        if let Some(cause) = cause {
            return Err(Error::new(ErrorKind::Unsupported, operation, self.display(key), cause)
                .hint("rename it with the tool that created it"));
        }
        Ok(())
    }

    /// What is written needs a name that stays as it is.
    fn need_new_key(&self, operation: &'static str, key: &str) -> Result<()> {
        self.need_key(operation, key)?;
        let cause = if key.contains('\\') {
            Some("Azure takes a backslash in a name for a slash")
        } else if key.split('/').any(|segment| segment.ends_with('.')) {
            Some("Azure may leave out a dot at the end of a name, or before a slash")
        } else if key.len() > NAME_MAX && key.chars().count() > NAME_MAX {
            Some("Azure takes no name of more than 1,024 characters")
        } else {
            None
        };
        if let Some(cause) = cause {
            return Err(Error::new(ErrorKind::Unsupported, operation, self.display(key), cause)
                .hint("rename it at the source, or copy it alone, to a name of your choice"));
        }
        Ok(())
    }

    async fn change_container(
        &self,
        operation: &'static str,
        rule: Rule,
        method: Method,
        permission: char,
        trace: &Trace,
    ) -> Result<()> {
        self.need_container(operation)?;
        let asked = self.asked(operation, &self.container_name, permission, ErrorKind::Service);
        let query = [("restype", "container")];
        let request = self.operation(rule, method, "", &query, HeaderMap::new(), Bytes::new());
        self.service.send(request, asked, trace).await?;
        trace.mark(Phase::Committed);
        Ok(())
    }
}

#[async_trait]
impl Store for AzureStore {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn name(&self, key: &str) -> String {
        self.display(key)
    }

    fn identity(&self, key: &str) -> String {
        self.service.url(&self.address.container, key)
    }

    fn api(&self, request: Request) -> &'static str {
        match request {
            Request::Look => "GetBlobProperties",
            Request::List => "ListBlobs",
            Request::Get => "GetBlob",
            Request::Put => "PutBlob",
            Request::Begin => "Begin",
            Request::Append => "AppendBlock",
            Request::PutBlock => "PutBlock",
            Request::Copy => "PutBlobFromURL",
            Request::CopyBlock => "PutBlockFromURL",
            Request::Commit => "PutBlockList",
            Request::Claim => "SetBlobMetadata",
            Request::Delete | Request::DeleteMany => "DeleteBlob",
            Request::CreateContainer => "CreateContainer",
            Request::DeleteContainer => "DeleteContainer",
        }
    }

    fn prepare(&self, requests: usize) {
        self.service.prepare(requests);
    }

    fn list(&self, request: ListRequest) -> Box<dyn Lister> {
        Box::new(list::AzureLister::new(self.clone(), request))
    }

    async fn head(&self, key: &str, trace: &Trace) -> Result<ObjectMeta> {
        self.need_key("inspect", key)?;
        match blob::look(self, key, trace).await? {
            (_, true) => Err(folder::no_object("inspect", self.display(key))),
            (meta, false) => Ok(meta),
        }
    }

    async fn marker(&self, folder: &str, trace: &Trace) -> Result<Option<ObjectMeta>> {
        self.need_key("inspect", folder)?;
        blob::look(self, folder, trace).await.map(|(meta, is_marker)| is_marker.then_some(meta))
    }

    async fn tags(&self, key: &str, trace: &Trace) -> Result<Vec<(String, String)>> {
        self.need_key("read the tags of", key)?;
        blob::tags(self, key, trace).await
    }

    async fn get(&self, key: &str, options: &GetOptions, trace: &Trace) -> Result<GetResult> {
        self.need_key("read", key)?;
        blob::get(self, key, options, trace).await
    }

    async fn admits(&self, key: &str) -> Result<()> {
        self.need_new_key("write", key)
    }

    async fn put(
        &self,
        key: &str,
        payload: Payload,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<PutResult> {
        self.need_new_key("write", key)?;
        blob::put(self, key, payload, options, trace).await
    }

    fn appends(&self) -> bool {
        true
    }

    async fn append(&self, key: &str, at: u64, bytes: Bytes, trace: &Trace) -> Result<()> {
        self.need_new_key("append to", key)?;
        blob::append(self, key, at, bytes, trace).await
    }

    async fn begin(
        &self,
        key: &str,
        size: Option<u64>,
        options: &PutOptions,
        _trace: &Trace,
    ) -> Result<Arc<dyn BlockWriter>> {
        self.need_new_key("write", key)?;
        Ok(Arc::new(blocks::AzureBlocks::new(self.clone(), key, size, options)))
    }

    fn peer(&self) -> Option<Peer<'_>> {
        Some(Peer::Azure(self))
    }

    fn copies_from(&self, source: &dyn Store) -> Option<CopyRules> {
        copy::rules(self, source)
    }

    async fn copy(
        &self,
        from: &CopySource<'_>,
        key: &str,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<PutResult> {
        self.need_new_key("copy to", key)?;
        copy::whole(self, from, key, options, trace).await
    }

    async fn delete(&self, key: &str, trace: &Trace) -> Result<()> {
        self.need_key("delete", key)?;
        blob::delete(self, key, None, trace).await
    }

    async fn delete_version(&self, key: &str, version: &Version, trace: &Trace) -> Result<()> {
        self.need_key("delete", key)?;
        blob::delete(self, key, Some(&version.etag), trace).await
    }

    async fn claim(&self, key: &str, etag: &str, trace: &Trace) -> Result<String> {
        self.need_key("claim", key)?;
        blob::claim(self, key, etag, trace).await
    }

    async fn presign(&self, key: &str, access: Access, life: Duration, trace: &Trace) -> Result<Presigned> {
        match key {
            "" => self.need_container("sign a URL for")?,
            key => self.need_key("sign a URL for", key)?,
        }
        presign::presign(self, key, access, life, trace).await
    }

    async fn remove_leftover(&self, key: &str, trace: &Trace) -> Result<bool> {
        self.need_key("clean", key)?;
        blob::remove_uncommitted(self, key, trace).await
    }

    async fn create_container(&self, trace: &Trace) -> Result<()> {
        self.change_container("create", rules::CREATE_CONTAINER, Method::PUT, 'c', trace).await
    }

    async fn delete_container(&self, trace: &Trace) -> Result<()> {
        self.change_container("delete", rules::DELETE_CONTAINER, Method::DELETE, 'd', trace).await
    }
}
