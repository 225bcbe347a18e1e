//! Whole objects and ranges of them: head, get, put, copy, delete.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_MATCH, RANGE};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::body::{Body, Digest, is_unknown_checksum, send_guarded};
use super::error::Asked;
use super::meta::{self, CHECKSUM_MODE};
use super::xml::{Deletion, Refused};
use super::{S3Store, rules, upload, xml};
use crate::checksum::{ChecksumMode, Crc64, Md5};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::store::answer::{self, Broken};
use crate::store::headers::{self, set, set_etag, set_precondition};
use crate::store::tags;
use crate::store::{
    Attributes, GetOptions, GetResult, ObjectMeta, Payload, Phase, PutOptions, PutResult, Trace, Version,
    changed_since,
};

/// Objects that one request deletes.
pub(super) const DELETE_MAX: usize = 1_000;

/// What names the source of a copy; `/` stays.
const SOURCE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

const COPY_SOURCE: HeaderName = HeaderName::from_static("x-amz-copy-source");
const COPY_IF_MATCH: HeaderName = HeaderName::from_static("x-amz-copy-source-if-match");
const COPY_RANGE: HeaderName = HeaderName::from_static("x-amz-copy-source-range");
const METADATA: HeaderName = HeaderName::from_static("x-amz-metadata-directive");
const TAGGING: HeaderName = HeaderName::from_static("x-amz-tagging-directive");
const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");

pub(super) async fn head(store: &S3Store, key: &str, trace: &Trace) -> Result<ObjectMeta> {
    look(store, key, trace).await.map(|(meta, _)| meta)
}

/// What is known of an object, and the CRC64 that the service itself keeps of it.
pub(super) async fn look(store: &S3Store, key: &str, trace: &Trace) -> Result<(ObjectMeta, Option<Crc64>)> {
    let name = store.display(key);
    let asked = store.asked("inspect", &name, "s3:GetObject", ErrorKind::Service);
    let mut operation = store.operation(rules::HEAD_OBJECT, Method::HEAD, key, &[]);
    operation.headers.insert(CHECKSUM_MODE, HeaderValue::from_static("ENABLED"));
    let response = match store.service.send(&operation, asked, trace).await {
        Err(error) if error.status() == Some(400) && error.service_code().is_none() => {
            return Err(said_aloud(store, key, asked, trace).await.unwrap_or(error));
        }
        other => other?,
    };
    trace.mark(Phase::Committed);
    let mut meta = meta::read_head(key, response.headers());
    if answer::length(response.headers()).map_err(|broken| asked.not_believed(broken))?.is_none() {
        meta.size = headers::measure(store, &meta, trace).await?;
    }
    Ok((meta, meta::stored_crc64(response.headers())))
}

/// What the service has against a request, of which an answer without a body could not tell: that keys have ended, or are none.
async fn said_aloud(store: &S3Store, key: &str, asked: Asked<'_>, trace: &Trace) -> Option<Error> {
    let mut operation = store.operation(rules::GET_OBJECT, Method::GET, key, &[]);
    operation.headers.insert(RANGE, HeaderValue::from_static("bytes=0-0"));
    let said = store.service.send(&operation, asked, trace).await.err()?;
    said.service_code().is_some().then_some(said)
}

/// The tags of an object.
pub(super) async fn tags(store: &S3Store, key: &str, trace: &Trace) -> Result<Vec<(String, String)>> {
    let name = store.display(key);
    let asked = store.asked("read the tags of", &name, "s3:GetObjectTagging", ErrorKind::Service);
    let query = [("tagging", "")];
    let operation = store.operation(rules::GET_TAGGING, Method::GET, key, &query);
    let document = store.service.document(&operation, asked, trace).await?;
    trace.mark(Phase::Committed);
    tags::read(&document, rules::TAGGING).map_err(|broken| asked.not_believed(broken))
}

pub(super) async fn get(
    store: &S3Store,
    key: &str,
    options: &GetOptions,
    trace: &Trace,
) -> Result<GetResult> {
    let name = store.display(key);
    let asked = store.asked("read", &name, "s3:GetObject", ErrorKind::SourceChanged);
    if let Some(range) = options.range.filter(|range| range.len == 0) {
        return empty(store, key, range.offset, trace).await;
    }
    let rule = if options.range.is_some() { rules::GET_RANGE } else { rules::GET_OBJECT };
    let mut operation = store.operation(rule, Method::GET, key, &[]);
    if options.range.is_none() {
        operation.headers.insert(CHECKSUM_MODE, HeaderValue::from_static("ENABLED"));
    }
    if let Some(range) = options.range {
        let text = format!("bytes={}-{}", range.offset, range.end() - 1);
        set(&mut operation.headers, RANGE, &text, asked)?;
    }
    if let Some(etag) = options.if_match.as_ref().and_then(Version::condition) {
        set_etag(&mut operation.headers, IF_MATCH, etag, asked)?;
    }
    trace.mark(Phase::Ready);
    let (head, body) = store.service.send(&operation, asked, trace).await?.into_parts();
    let mut meta = match options.range {
        Some(_) => meta::read_range(key, &head.headers),
        None => meta::read(key, &head.headers),
    };
    let Some(len) = headers::extent("object", &meta, &head.headers, options, asked)? else {
        drop(body);
        return headers::as_range(store, key, options, trace).await;
    };
    if options.range.is_none() {
        meta.size = len;
    }
    // What is stated is stated of the whole object.
    let crc64 = meta::stored_crc64(&head.headers).filter(|_| options.range.is_none());
    let payload = if len == 0 { Bytes::new().into() } else { Payload::stream(name, len, body) };
    Ok(GetResult { meta, payload, crc64, md5: None })
}

/// HTTP has no range of no bytes.
async fn empty(store: &S3Store, key: &str, offset: u64, trace: &Trace) -> Result<GetResult> {
    let meta = head(store, key, trace).await?;
    if offset > meta.size {
        let name = store.display(key);
        let asked = store.asked("read", &name, "s3:GetObject", ErrorKind::SourceChanged);
        return Err(asked.error(ErrorKind::SourceChanged, "the object is shorter than it was when listed"));
    }
    Ok(GetResult { meta, payload: Bytes::new().into(), crc64: None, md5: None })
}

pub(super) async fn put(
    store: &S3Store,
    key: &str,
    payload: Payload,
    options: &PutOptions,
    trace: &Trace,
) -> Result<PutResult> {
    let name = store.display(key);
    let asked = store.asked("write", &name, "s3:PutObject", ErrorKind::Exists);
    let (bytes, crc64) = payload.collect_hashed().await?;
    let mut attributes = options.attributes.clone();
    if attributes.crc64.is_some_and(|expected| expected != crc64) {
        return Err(asked.error(ErrorKind::Integrity, "the bytes to be written do not fit their CRC64"));
    }
    attributes.crc64 = Some(crc64);
    let mode = options.checksum;
    if let Some(expected) = attributes.md5 {
        // Sent along, the service compares it itself.
        if mode != ChecksumMode::Md5 && store.service.hash(bytes.clone(), asked).await?.0 != expected {
            return Err(asked.error(ErrorKind::Integrity, "the bytes to be written do not fit their MD5"));
        }
    } else if mode == ChecksumMode::Md5 {
        attributes.md5 = Some(store.service.hash(bytes.clone(), asked).await?.0);
    }
    let mut operation = store.operation(rules::PUT_OBJECT, Method::PUT, key, &[]);
    meta::write(&mut operation.headers, key, &attributes, asked)?;
    set_precondition(&mut operation.headers, &options.precondition, asked)?;
    operation.body = bytes.clone();
    let body = Body { bytes: &bytes, crc64, mode, md5: attributes.md5, declared: None };
    let sent = send_guarded(&store.service, operation, body, asked, trace).await?;
    trace.mark(Phase::Committed);
    let etag = headers::etag(sent.response.headers());
    Ok(PutResult { etag, crc64: Some(crc64), md5: attributes.md5, confirmed: sent.confirmed, not_kept: None })
}

/// The headers that name the source of a copy.
pub(super) fn source(
    from: &S3Store,
    key: &str,
    etag: Option<&str>,
    range: Option<crate::store::BlockRange>,
    asked: Asked<'_>,
) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    let path = format!("/{}/{}", from.bucket(), utf8_percent_encode(key, SOURCE));
    set(&mut headers, COPY_SOURCE, &path, asked)?;
    if let Some(etag) = etag {
        set_etag(&mut headers, COPY_IF_MATCH, etag, asked)?;
    }
    if let Some(range) = range.filter(|range| range.len > 0) {
        set(&mut headers, COPY_RANGE, &format!("bytes={}-{}", range.offset, range.end() - 1), asked)?;
    }
    Ok(headers)
}

/// Copies an object within the service, in one request; `attributes` in place of its own, where they are given. Tags that these do not
/// name go along, unless it is to be `without_tags`.
pub(super) async fn copy(
    from: (&S3Store, &str, Option<&str>),
    store: &S3Store,
    key: &str,
    (attributes, without_tags): (Option<&Attributes>, bool),
    mode: ChecksumMode,
    trace: &Trace,
) -> Result<PutResult> {
    let name = store.display(key);
    let asked = store.asked("copy to", &name, "s3:PutObject", ErrorKind::SourceChanged);
    let mut operation = store.operation(rules::COPY_OBJECT, Method::PUT, key, &[]);
    operation.headers = source(from.0, from.1, from.2, None, asked)?;
    // Onto itself: nothing else is to be replaced. Not every service looks at this condition.
    if from.0.name == store.name
        && from.1 == key
        && let Some(etag) = from.2
    {
        set_etag(&mut operation.headers, IF_MATCH, etag, asked)?;
    }
    if let Some(attributes) = attributes {
        operation.headers.insert(METADATA, HeaderValue::from_static("REPLACE"));
        meta::write(&mut operation.headers, key, attributes, asked)?;
    }
    if without_tags || operation.headers.contains_key(meta::TAGS) {
        operation.headers.insert(TAGGING, HeaderValue::from_static("REPLACE"));
    }
    if upload::declared(store, mode) == Some(Digest::Crc64) {
        // Else it keeps what the source has, which may be of another kind.
        operation.headers.insert(upload::ALGORITHM, HeaderValue::from_static("CRC64NVME"));
    }
    let document = match store.service.document(&operation, asked, trace).await {
        Err(error)
            if is_unknown_checksum(&error) && operation.headers.remove(upload::ALGORITHM).is_some() =>
        {
            store.service.document(&operation, asked, trace).await?
        }
        other => other?,
    };
    let made = xml::made(&document, rules::COPIED).map_err(|broken| asked.not_believed(broken))?;
    Ok(PutResult {
        etag: made.etag,
        crc64: made.crc64,
        md5: None,
        confirmed: made.crc64.is_some(),
        not_kept: None,
    })
}

pub(super) async fn delete(store: &S3Store, key: &str, trace: &Trace) -> Result<()> {
    delete_as(store, key, None, trace).await
}

/// Deletes an object if it has this ETag, as far as the service takes that condition.
pub(super) async fn delete_version(store: &S3Store, key: &str, etag: &str, trace: &Trace) -> Result<()> {
    match delete_as(store, key, Some(etag), trace).await {
        Err(error) if error.kind() == ErrorKind::SourceChanged => Err(changed_since(store.display(key))),
        // It knows no such condition.
        Err(error) if error.status() == Some(501) => delete(store, key, trace).await,
        other => other,
    }
}

async fn delete_as(store: &S3Store, key: &str, etag: Option<&str>, trace: &Trace) -> Result<()> {
    let name = store.display(key);
    let asked = store.asked("delete", &name, "s3:DeleteObject", ErrorKind::SourceChanged);
    let mut operation = store.operation(rules::DELETE_OBJECT, Method::DELETE, key, &[]);
    if let Some(etag) = etag {
        set_etag(&mut operation.headers, IF_MATCH, etag, asked)?;
    }
    store.service.send(&operation, asked, trace).await?;
    trace.mark(Phase::Committed);
    Ok(())
}

/// Deletes objects with one request, and says what became of each, in their order. Names that XML cannot hold go by themselves.
pub(super) async fn delete_many(store: &S3Store, keys: &[String], trace: &Trace) -> Result<Vec<Result<()>>> {
    let plain: Vec<&str> = keys.iter().map(String::as_str).filter(|key| xml::holds(key)).collect();
    let mut outcomes = HashMap::new();
    if !plain.is_empty() {
        let name = store.display("");
        let asked = store.asked("delete from", &name, "s3:DeleteObject", ErrorKind::Service);
        let body = Bytes::from(xml::delete(plain.iter().copied()));
        let query = [("delete", "")];
        let mut operation = store.operation(rules::DELETE_MANY, Method::POST, "", &query);
        operation.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        // Without a checksum this request is not taken.
        set(&mut operation.headers, CONTENT_MD5, &Md5::of(&body).to_base64(), asked)?;
        (operation.body, operation.signed_body) = (body, true);
        let document = match store.service.document(&operation, asked, trace).await {
            Err(error) if matches!(error.status(), Some(405 | 501)) => {
                return one_by_one(store, keys, trace).await;
            }
            other => other?,
        };
        outcomes = xml::deleted(&document)
            .and_then(|deleted| believe_deleted(&plain, deleted))
            .map_err(|broken| asked.not_believed(broken))?;
    }
    let mut results = Vec::with_capacity(keys.len());
    for key in keys {
        results.push(match outcomes.remove(key) {
            Some(None) => Ok(()),
            Some(Some(refused)) => Err(not_deleted(store, key, refused.0.as_deref())),
            None if !xml::holds(key) => delete(store, key, trace).await,
            None => {
                let broken = Broken("the answer does not say what became of this object".to_owned());
                let name = store.display(key);
                Err(broken.error(|kind, cause| Error::new(kind, "delete", name, cause)))
            }
        });
    }
    Ok(results)
}

/// What became of each object, if the answer tells of those that were named and of nothing else, and says one thing of each.
pub(super) fn believe_deleted(
    named: &[&str],
    deleted: Vec<Deletion>,
) -> std::result::Result<HashMap<String, Option<Refused>>, Broken> {
    let named: HashSet<&str> = named.iter().copied().collect();
    let mut outcomes = HashMap::with_capacity(named.len());
    for (key, refused) in deleted {
        if !named.contains(key.as_str()) {
            return Err(Broken(format!("the answer reports `{key}`, which was not in the request")));
        }
        if outcomes.get(&key).is_some_and(|told| *told != refused) {
            return Err(Broken(format!("the answer says two things of `{key}`")));
        }
        outcomes.insert(key, refused);
    }
    Ok(outcomes)
}

/// For services that have no such request.
async fn one_by_one(store: &S3Store, keys: &[String], trace: &Trace) -> Result<Vec<Result<()>>> {
    let mut results = Vec::with_capacity(keys.len());
    for key in keys {
        results.push(delete(store, key, trace).await);
    }
    Ok(results)
}

/// The error for one of many objects.
fn not_deleted(store: &S3Store, key: &str, code: Option<&str>) -> Error {
    let name = store.display(key);
    let word = code.unwrap_or("refused");
    match word {
        "AccessDenied" => Error::new(ErrorKind::Permission, "delete", name, "access denied")
            .hint(format!("ask for the permission s3:DeleteObject on {}", store.display(""))),
        "InternalError" | "SlowDown" | "ServiceUnavailable" => {
            Error::new(ErrorKind::Busy, "delete", name, format!("the service is busy ({word})"))
                .retry(Retry::Backoff)
        }
        _ => Error::new(ErrorKind::Service, "delete", name, format!("it was not deleted ({word})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &str) -> Option<Refused> {
        Some(Refused(Some(code.to_owned())))
    }

    #[test]
    fn an_answer_tells_of_what_was_named_and_says_one_thing_of_each() {
        let told = |deleted: &[(&str, Option<&str>)]| {
            let deleted = deleted.iter().map(|(key, code)| ((*key).to_owned(), code.and_then(refused)));
            believe_deleted(&["a", "b"], deleted.collect())
        };
        let outcomes = told(&[("b", Some("AccessDenied")), ("a", None), ("a", None)]).unwrap();
        assert_eq!((&outcomes["a"], &outcomes["b"]), (&None, &refused("AccessDenied")));
        assert!(!told(&[("a", None)]).unwrap().contains_key("b"));
        for broken in [
            &[("a", None), ("c", None)][..],
            &[("a", Some("AccessDenied")), ("a", None)],
            &[("a", None), ("a", Some("AccessDenied"))],
        ] {
            assert!(told(broken).is_err(), "{broken:?}");
        }
    }
}
