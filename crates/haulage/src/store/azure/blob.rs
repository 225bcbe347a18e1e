//! Whole blobs and ranges of them: head, get, put, delete.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_MATCH};

use super::auth::CONTENT_MD5;
use super::blocks::AzureBlocks;
use super::body::{Guard, md5_of, send_guarded};
use super::meta::{self, BODY_CRC64};
use super::{AzureStore, RANGE_CHECKSUM_MAX, rules};
use crate::checksum::{ChecksumMode, Crc64, Md5};
use crate::error::{Error, ErrorKind, Result};
use crate::store::headers::{self, checksum, set, set_etag, set_precondition};
use crate::store::{
    Attributes, BlockRange, BlockWriter as _, GetOptions, GetResult, ObjectMeta, Payload, Phase,
    Precondition, PutOptions, PutResult, Store as _, Trace, Version, changed_since,
};
use crate::store::{answer, folder, tags};

const RANGE: HeaderName = HeaderName::from_static("x-ms-range");
const APPEND_POSITION: HeaderName = HeaderName::from_static("x-ms-blob-condition-appendpos");
const RANGE_CRC64: HeaderName = HeaderName::from_static("x-ms-range-get-content-crc64");

pub(super) async fn head(store: &AzureStore, key: &str, trace: &Trace) -> Result<ObjectMeta> {
    look(store, key, trace).await.map(|(meta, _)| meta)
}

/// What is known of a blob, and whether it is only the marker of a folder.
pub(super) async fn look(store: &AzureStore, key: &str, trace: &Trace) -> Result<(ObjectMeta, bool)> {
    let name = store.display(key);
    let asked = store.asked("inspect", &name, 'r', ErrorKind::Service);
    let operation =
        store.operation(rules::GET_PROPERTIES, Method::HEAD, key, &[], HeaderMap::new(), Bytes::new());
    let response = store.service.send(operation, asked, trace).await?;
    trace.mark(Phase::Committed);
    let meta = meta::read(key, response.headers());
    let size = match answer::length(response.headers()).map_err(|broken| asked.not_believed(broken))? {
        Some(_) => meta.size,
        None => headers::measure(store, &meta, trace).await?,
    };
    let meta = ObjectMeta { size, ..meta };
    let is_marker = meta::is_marker(&meta, response.headers());
    Ok((meta, is_marker))
}

/// The index tags of a blob.
pub(super) async fn tags(store: &AzureStore, key: &str, trace: &Trace) -> Result<Vec<(String, String)>> {
    let name = store.display(key);
    let asked = store.asked("read the tags of", &name, 't', ErrorKind::Service);
    let query = [("comp", "tags")];
    let operation =
        store.operation(rules::GET_TAGS, Method::GET, key, &query, HeaderMap::new(), Bytes::new());
    let document = store.service.document(operation, asked, trace).await?;
    trace.mark(Phase::Committed);
    tags::read(&document, rules::TAGS).map_err(|broken| asked.not_believed(broken))
}

pub(super) async fn get(
    store: &AzureStore,
    key: &str,
    options: &GetOptions,
    trace: &Trace,
) -> Result<GetResult> {
    let name = store.display(key);
    let asked = store.asked("read", &name, 'r', ErrorKind::SourceChanged);
    if let Some(range) = options.range.filter(|range| range.len == 0) {
        return empty(store, key, range.offset, trace).await;
    }
    let short = options.range.is_some_and(|range| range.len <= RANGE_CHECKSUM_MAX);
    let checked = options.range_checksum && short && store.learnt.range_checksum.load(Ordering::Relaxed);
    let mut headers = HeaderMap::new();
    if let Some(range) = options.range {
        set(&mut headers, RANGE, &format!("bytes={}-{}", range.offset, range.end() - 1), asked)?;
    }
    if let Some(etag) = options.if_match.as_ref().and_then(Version::condition) {
        set_etag(&mut headers, IF_MATCH, etag, asked)?;
    }
    let plain = headers.clone();
    if checked {
        headers.insert(RANGE_CRC64, HeaderValue::from_static("true"));
    }
    trace.mark(Phase::Ready);
    let rule = if options.range.is_some() { rules::GET_RANGE } else { rules::GET_BLOB };
    let operation = store.operation(rule, Method::GET, key, &[], headers, Bytes::new());
    let response = match store.service.send(operation, asked, trace).await {
        // An emulator that does not know the header says so; from then on it is not asked again.
        Err(error) if checked && is_unknown_header(&error) => {
            store.learnt.range_checksum.store(false, Ordering::Relaxed);
            let operation = store.operation(rule, Method::GET, key, &[], plain, Bytes::new());
            store.service.send(operation, asked, trace).await?
        }
        other => other?,
    };
    let (head, body) = response.into_parts();
    let mut meta = meta::read(key, &head.headers);
    if meta::is_marker(&meta, &head.headers) {
        return Err(folder::no_object("read", name));
    }
    let Some(len) = headers::extent("blob", &meta, &head.headers, options, asked)? else {
        drop(body);
        return headers::as_range(store, key, options, trace).await;
    };
    if options.range.is_none() {
        meta.size = len;
    }
    let crc64 = checksum(&head.headers, &BODY_CRC64, Crc64::from_azure);
    let md5 = checksum(&head.headers, &CONTENT_MD5, Md5::from_base64);
    let payload = if len == 0 { Bytes::new().into() } else { Payload::stream(name, len, body) };
    Ok(GetResult { meta, payload, crc64, md5 })
}

/// HTTP has no range of no bytes.
async fn empty(store: &AzureStore, key: &str, offset: u64, trace: &Trace) -> Result<GetResult> {
    let meta = store.head(key, trace).await?;
    if offset > meta.size {
        let name = store.display(key);
        let asked = store.asked("read", &name, 'r', ErrorKind::SourceChanged);
        return Err(asked.error(ErrorKind::SourceChanged, "the blob is shorter than it was when listed"));
    }
    Ok(GetResult { meta, payload: Bytes::new().into(), crc64: None, md5: None })
}

fn is_unknown_header(error: &crate::Error) -> bool {
    matches!(error.status(), Some(400 | 501)) || error.service_code() == Some("FeatureNotSupported")
}

pub(super) async fn put(
    store: &AzureStore,
    key: &str,
    payload: Payload,
    options: &PutOptions,
    trace: &Trace,
) -> Result<PutResult> {
    let name = store.display(key);
    let asked = store.asked("write", &name, 'w', ErrorKind::Exists);
    let (body, crc64) = payload.collect_hashed().await?;
    let mut attributes = options.attributes.clone();
    if attributes.crc64.is_some_and(|expected| expected != crc64) {
        return Err(asked.error(ErrorKind::Integrity, "the bytes to be written do not fit their CRC64"));
    }
    attributes.crc64 = Some(crc64);
    let guard = Guard::of(store, &body, crc64, options.checksum, attributes.md5, asked).await?;
    match (&guard, attributes.md5) {
        (Guard::Md5 { md5, .. }, None) => attributes.md5 = Some(*md5),
        // The service compares this one itself.
        (Guard::Md5 { .. }, Some(_)) | (_, None) => {}
        (_, Some(expected)) => {
            if md5_of(store, body.clone(), asked).await? != expected {
                return Err(asked.error(ErrorKind::Integrity, "the bytes to be written do not fit their MD5"));
            }
        }
    }
    let mut headers = HeaderMap::with_capacity(16);
    headers.insert("x-ms-blob-type", HeaderValue::from_static("BlockBlob"));
    meta::write(&mut headers, key, &attributes, asked)?;
    set_precondition(&mut headers, &options.precondition, asked)?;
    let operation = store.operation(rules::PUT_BLOB, Method::PUT, key, &[], headers, body.clone());
    let (response, confirmed) = match send_guarded(store, operation, guard, asked, trace).await {
        Err(error) if options.precondition == Precondition::IfAbsent && error.kind() == ErrorKind::Exists => {
            return match head(store, key, trace).await {
                Err(absent) if absent.kind() == ErrorKind::NotFound => {
                    Box::pin(put_as_block(store, key, body, crc64, (options, &attributes), trace)).await
                }
                _ => Err(error),
            };
        }
        sent => sent?,
    };
    trace.mark(Phase::Committed);
    let etag = headers::etag(response.headers());
    Ok(PutResult {
        etag,
        crc64: Some(crc64),
        md5: attributes.md5,
        confirmed,
        not_kept: meta::not_kept(&attributes),
    })
}

/// Creates a blob where a service, such as Azurite, takes blocks that nobody has committed for one: only their commit looks closer.
async fn put_as_block(
    store: &AzureStore,
    key: &str,
    body: Bytes,
    crc64: Crc64,
    (options, attributes): (&PutOptions, &Attributes),
    trace: &Trace,
) -> Result<PutResult> {
    let all = BlockRange { offset: 0, len: body.len() as u64 };
    let writer = AzureBlocks::new(store.clone(), key, Some(all.len), options);
    let parts = match body.is_empty() {
        true => Vec::new(),
        false => vec![writer.put_block(all, Payload::Hashed(body, crc64), trace).await?.part],
    };
    writer.commit(&parts, attributes, trace).await
}

/// Adds a block to an append blob. What is there already was made by an attempt whose answer was lost.
pub(super) async fn append(
    store: &AzureStore,
    key: &str,
    at: u64,
    bytes: Bytes,
    trace: &Trace,
) -> Result<()> {
    let name = store.display(key);
    let asked = store.asked("append to", &name, 'a', ErrorKind::Exists);
    if at == 0 {
        let mut headers = HeaderMap::new();
        headers.insert("x-ms-blob-type", HeaderValue::from_static("AppendBlob"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
        set_precondition(&mut headers, &Precondition::IfAbsent, asked)?;
        let operation = store.operation(rules::PUT_BLOB, Method::PUT, key, &[], headers, Bytes::new());
        match store.service.send(operation, asked, trace).await {
            Err(error) if error.kind() == ErrorKind::Exists => {}
            made => drop(made?),
        }
    }
    let crc64 = Crc64::of(&bytes);
    let guard = Guard::of(store, &bytes, crc64, ChecksumMode::Crc64, None, asked).await?;
    let mut headers = HeaderMap::new();
    set(&mut headers, APPEND_POSITION, &at.to_string(), asked)?;
    let query = [("comp", "appendblock")];
    let operation = store.operation(rules::APPEND_BLOCK, Method::PUT, key, &query, headers, bytes);
    send_guarded(store, operation, guard, asked, trace).await?;
    trace.mark(Phase::Committed);
    Ok(())
}

/// The media type of the empty blob that takes the place of uncommitted blocks for a moment.
const PLACEHOLDER: &str = "application/x-haulage-cleaned";

/// Removes a name that has only uncommitted blocks; false where it is a blob by now. The service has no request for that: an
/// empty blob takes their place, unless there is one, and is deleted, unless it has become another.
pub(super) async fn remove_uncommitted(store: &AzureStore, key: &str, trace: &Trace) -> Result<bool> {
    let attributes = Attributes { content_type: Some(PLACEHOLDER.to_owned()), ..Attributes::default() };
    let precondition = Precondition::IfAbsent;
    let absent = PutOptions { attributes, precondition, ..PutOptions::default() };
    let etag = match put(store, key, Bytes::new().into(), &absent, trace).await {
        Ok(put) => put.etag,
        Err(error) if error.kind() == ErrorKind::Exists => match head(store, key, trace).await {
            // Our own, of an attempt whose answer was lost.
            Ok(meta) if meta.size == 0 && meta.content_type.as_deref() == Some(PLACEHOLDER) => meta.etag,
            Ok(_) => return Ok(false),
            Err(error) => return Err(error),
        },
        Err(error) => return Err(error),
    };
    let name = store.display(key);
    let asked = store.asked("clean", &name, 'd', ErrorKind::Exists);
    let mut headers = HeaderMap::new();
    set_precondition(&mut headers, &Precondition::IfMatch(etag), asked)?;
    let operation = store.operation(rules::DELETE_BLOB, Method::DELETE, key, &[], headers, Bytes::new());
    match store.service.send(operation, asked, trace).await {
        Err(error) if error.kind() == ErrorKind::Exists => Ok(false),
        other => other.map(|_| true),
    }
}

/// Writes the metadata of a blob once more as it is, which gives it another ETag.
pub(super) async fn claim(store: &AzureStore, key: &str, etag: &str, trace: &Trace) -> Result<String> {
    let name = store.display(key);
    let asked = store.asked("claim", &name, 'r', ErrorKind::SourceChanged);
    let changed = |error: Error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::SourceChanged => changed_since(store.display(key)),
        _ => error,
    };
    let operation =
        store.operation(rules::GET_PROPERTIES, Method::HEAD, key, &[], HeaderMap::new(), Bytes::new());
    let there = store.service.send(operation, asked, trace).await.map_err(changed)?;
    let metadata = there.headers().iter().filter(|(name, _)| name.as_str().starts_with(meta::META));
    let mut headers: HeaderMap = metadata.map(|(name, text)| (name.clone(), text.clone())).collect();
    let asked = store.asked("claim", &name, 'w', ErrorKind::SourceChanged);
    set_precondition(&mut headers, &Precondition::IfMatch(etag.to_owned()), asked)?;
    let query = [("comp", "metadata")];
    let operation = store.operation(rules::SET_METADATA, Method::PUT, key, &query, headers, Bytes::new());
    let response = store.service.send(operation, asked, trace).await.map_err(changed)?;
    trace.mark(Phase::Committed);
    Ok(headers::etag(response.headers()))
}

/// Deletes a blob; where a version is named only as that, and not with its snapshots, which nobody has copied.
pub(super) async fn delete(
    store: &AzureStore,
    key: &str,
    version: Option<&str>,
    trace: &Trace,
) -> Result<()> {
    let name = store.display(key);
    let changed = if version.is_some() { ErrorKind::SourceChanged } else { ErrorKind::Service };
    let asked = store.asked("delete", &name, 'd', changed);
    let mut headers = HeaderMap::new();
    match version {
        Some(etag) => {
            set_precondition(&mut headers, &Precondition::IfMatch(etag.to_owned()), asked)?;
        }
        // A blob with snapshots cannot go without them.
        None => {
            headers.insert("x-ms-delete-snapshots", HeaderValue::from_static("include"));
        }
    }
    let operation = store.operation(rules::DELETE_BLOB, Method::DELETE, key, &[], headers, Bytes::new());
    store.service.send(operation, asked, trace).await?;
    trace.mark(Phase::Committed);
    Ok(())
}
