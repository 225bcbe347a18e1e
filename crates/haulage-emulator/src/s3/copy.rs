//! CopyObject, and the sources of copies.

use std::sync::Arc;

use haulage::checksum::Md5;
use percent_encoding::percent_decode_str;

use super::checksum::{Algorithm, Checksum, Scope};
use super::condition::{Conditions, check_write};
use super::error::{INVALID_REQUEST, bad_argument};
use super::headers::{Kept, etag, quoted};
use super::put::LARGEST_PUT;
use super::request::Call;
use super::sums::Sums;
use super::xml::Document;
use super::{Reply, object as find_object};
use crate::change::{commit, find};
use crate::service::Service;
use crate::store::{Blob, Data, Key, ObjectFacts, Part};
use crate::wire::error::{Answer, ServiceError};
use crate::wire::time::Stamp;

const SOURCE: &str = "x-amz-copy-source";

/// The object that a copy is made of.
pub(super) struct Source {
    bucket: String,
    key: String,
    pub(super) blob: Arc<Blob>,
}

impl Source {
    /// The object that the request names, if it is as the request wants it.
    pub(super) fn of(service: &Service, call: &Call<'_>) -> Answer<Self> {
        let text = call.header(SOURCE).unwrap_or_default();
        let bad = || {
            bad_argument(
                SOURCE,
                text,
                "Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
            )
        };
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        if !matches!(query, "" | "versionId=null") {
            return Err(bad_argument("versionId", query, "Invalid version id specified"));
        }
        // As in a query, a bare plus is a space.
        let path = path.strip_prefix('/').unwrap_or(path).replace('+', " ");
        let path = percent_decode_str(&path).decode_utf8().map_err(|_| bad())?;
        let (bucket, key) = path.split_once('/').filter(|(_, key)| !key.is_empty()).ok_or_else(bad)?;
        let blob = find_object(service, Key { container: bucket, blob: key })?;
        Conditions::of_source(call).check_source(&blob)?;
        Ok(Self { bucket: bucket.to_owned(), key: key.to_owned(), blob })
    }

    fn key(&self) -> Key<'_> {
        Key { container: &self.bucket, blob: &self.key }
    }

    /// A copy of its bytes, which nobody else has.
    pub(super) async fn take(&self, service: &Service, range: std::ops::Range<u64>) -> Answer<Data> {
        // A file must not be replaced while it is copied.
        let _lock = service.lock(self.key()).await;
        let now = find_object(service, self.key())?;
        if !Arc::ptr_eq(&now, &self.blob) && now.etag != self.blob.etag {
            return Err(
                super::error::PRECONDITION_FAILED.saying("The source has changed while it was copied.")
            );
        }
        let part = Part { data: now.data.clone(), range };
        service.store.assemble(vec![part]).await.map_err(|error| ServiceError::internal(&error))
    }
}

/// Whether the copy takes over what a directive is about.
fn copies(call: &Call<'_>, directive: &'static str) -> Answer<bool> {
    match call.header(directive) {
        None | Some("COPY") => Ok(true),
        Some("REPLACE") => Ok(false),
        Some(other) => Err(bad_argument(directive, other, format!("Unknown {directive} directive."))),
    }
}

pub(super) async fn object(service: &Service, call: &Call<'_>) -> Reply {
    let source = Source::of(service, call)?;
    let old = &source.blob;
    if old.size > LARGEST_PUT {
        let message = format!(
            "The specified copy source is larger than the maximum allowable size for a copy source: {LARGEST_PUT}"
        );
        return Err(INVALID_REQUEST.saying(message));
    }
    let mut kept = Kept::of(call)?;
    let same_metadata = copies(call, "x-amz-metadata-directive")?;
    if same_metadata {
        kept.content.clone_from(&old.content);
        kept.metadata.clone_from(&old.metadata);
        kept.expires = old.s3.as_ref().and_then(|facts| facts.expires.clone());
    }
    if copies(call, "x-amz-tagging-directive")? {
        kept.tags.clone_from(&old.tags);
    }
    if same_metadata && (source.bucket == call.bucket() && source.key == call.key()) && kept.tier == old.tier
    {
        return Err(INVALID_REQUEST.saying(
            "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
        ));
    }
    check_write(call, find(service, call.blob())?.as_deref())?;
    let data = source.take(service, 0..old.size).await?;
    let (new_etag, checksum) = sums_of_copy(service, call, old, &data).await?;
    // One that came with Azure's properties need not be true.
    let md5 = Md5::from_hex(&new_etag);
    if md5.is_some() || kept.content.is_some() {
        kept.content.get_or_insert_default().md5 = md5.map(|md5| md5.to_base64().into());
    }

    let _lock = service.lock(call.blob()).await;
    let before = find(service, call.blob())?;
    check_write(call, before.as_deref())?;
    let now = Stamp::now();
    let facts = ObjectFacts {
        etag: new_etag,
        checksum: Some(checksum.clone()),
        parts: Box::default(),
        expires: kept.expires,
    };
    let new = Blob {
        size: old.size,
        etag: service.next_etag(),
        created: before.map_or(now, |before| before.created),
        modified: now,
        content: kept.content,
        metadata: kept.metadata,
        blocks: Box::default(),
        tags: kept.tags,
        tier: kept.tier,
        append: None,
        s3: Some(facts.into()),
        data,
    };
    let new = commit(service, call.blob(), new, true).await?;
    let mut document = Document::new("CopyObjectResult");
    push_result(&mut document, new.modified, &etag(&new));
    document.element(checksum.algorithm.element(), &checksum.value);
    document.element("ChecksumType", checksum.scope.name());
    Ok(document.reply())
}

/// What the copy of an object or of a part answers.
pub(super) fn push_result(document: &mut Document, modified: Stamp, etag: &str) {
    document.element("LastModified", modified.iso8601()).element("ETag", quoted(etag));
}

/// ETag and checksum of the copy, which has no parts. They are those of the source where that has none and its
/// checksum is of the kind that is asked for; else the bytes are read once more.
async fn sums_of_copy(
    service: &Service,
    call: &Call<'_>,
    source: &Blob,
    data: &Data,
) -> Answer<(Box<str>, Checksum)> {
    let asked = match call.header("x-amz-checksum-algorithm") {
        None => None,
        Some(text) => {
            let bad = || {
                INVALID_REQUEST.saying("Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]")
            };
            Some(Algorithm::parse(text).ok_or_else(bad)?)
        }
    };
    let facts = source.s3.as_deref();
    let checksum = facts.and_then(|facts| facts.checksum.as_ref());
    let wanted = asked.or(checksum.map(|checksum| checksum.algorithm));
    if let (Some(facts), Some(checksum)) = (facts, checksum)
        && facts.parts.is_empty()
        && checksum.scope == Scope::FullObject
        && wanted == Some(checksum.algorithm)
    {
        return Ok((facts.etag.clone(), checksum.clone()));
    }
    let sums = Sums::of_stored(service, data, 0..source.size, wanted).await?;
    Ok((sums.etag(service.next_etag()), sums.chosen()))
}
