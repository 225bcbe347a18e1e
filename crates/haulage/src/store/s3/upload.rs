//! Uploads in parts, one method for each request: create, send or copy a part, list parts and uploads, complete, abort.

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use super::body::{Body, Digest, is_unknown_checksum, send_guarded};
use super::meta::{self, CHECKSUM_CRC64, CHECKSUM_TYPE};
use super::xml::{self, FULL_OBJECT, Made, Part, PartMade, PartPage, Upload, UploadPage};
use super::{S3Store, object, rules};
use crate::checksum::{ChecksumMode, Crc64};
use crate::error::{ErrorKind, Result};
use crate::store::answer::Broken;
use crate::store::headers::{self, set, set_precondition};
use crate::store::{BlockRange, Phase, Precondition, PutOptions, Trace};

/// Names the checksum that is wanted of an upload or a copy.
pub(super) const ALGORITHM: HeaderName = HeaderName::from_static("x-amz-checksum-algorithm");
const SIZE: HeaderName = HeaderName::from_static("x-amz-mp-object-size");

/// The checksum that would be declared for an upload now.
pub(super) fn declared(store: &S3Store, mode: ChecksumMode) -> Option<Digest> {
    let digest = store.service.dialect().digest();
    (mode != ChecksumMode::None && digest.algorithm().is_some()).then_some(digest)
}

/// An upload that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) id: String,
    /// The checksum that its parts must have; `None` where none was declared.
    pub(super) declared: Option<Digest>,
}

/// Begins an upload, and declares the checksum of its parts: without it the service would not show those that it has.
pub(super) async fn create(store: &S3Store, key: &str, options: &PutOptions, trace: &Trace) -> Result<Begun> {
    let name = store.display(key);
    let asked = store.asked("begin to write", &name, "s3:PutObject", ErrorKind::Service);
    let query = [("uploads", "")];
    loop {
        let declares = !(options.by_service && store.service.dialect().copies_undeclared());
        let declared = declared(store, options.checksum).filter(|_| declares);
        let mut operation = store.operation(rules::CREATE_UPLOAD, Method::POST, key, &query);
        meta::write(&mut operation.headers, key, &options.attributes, asked)?;
        if let Some(algorithm) = declared.and_then(Digest::algorithm) {
            operation.headers.insert(ALGORITHM, HeaderValue::from_static(algorithm));
            // Of SHA-256 there is only a checksum of checksums.
            if declared != Some(Digest::Sha256) {
                operation.headers.insert(CHECKSUM_TYPE, HeaderValue::from_static(FULL_OBJECT));
            }
        }
        match store.service.document(&operation, asked, trace).await {
            Ok(document) => {
                let id = xml::upload_id(&document, key).map_err(|broken| asked.not_believed(broken))?;
                return Ok(Begun { id, declared });
            }
            Err(error)
                if is_unknown_checksum(&error)
                    && declared.is_some_and(|digest| store.service.dialect().lacks(digest)) => {}
            Err(error) => return Err(error),
        }
    }
}

/// A part that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentPart {
    pub(super) etag: String,
    /// The checksum that went along, if one was declared, as headers and documents state it.
    pub(super) checksum: Option<String>,
    /// The service stated it too.
    pub(super) confirmed: bool,
}

/// Sends a part.
pub(super) async fn send(
    store: &S3Store,
    key: &str,
    begun: &Begun,
    number: u16,
    (bytes, crc64): (Bytes, Crc64),
    mode: ChecksumMode,
    trace: &Trace,
) -> Result<SentPart> {
    let name = store.display(key);
    let asked = store.asked("write part of", &name, "s3:PutObject", ErrorKind::Service);
    let number = number.to_string();
    let query = [("partNumber", number.as_str()), ("uploadId", begun.id.as_str())];
    let mut operation = store.operation(rules::UPLOAD_PART, Method::PUT, key, &query);
    operation.body = bytes.clone();
    // Another than was declared is not taken; where none was, Content-MD5 is.
    let declared = Some(begun.declared.unwrap_or(Digest::Md5));
    let body = Body { bytes: &bytes, crc64, mode, md5: None, declared };
    let sent = send_guarded(&store.service, operation, body, asked, trace).await?;
    trace.mark(Phase::Committed);
    let etag = headers::etag(sent.response.headers());
    Ok(SentPart { etag, checksum: sent.checksum, confirmed: sent.confirmed })
}

/// Copies a range of another object of the service into a part: what the service says of it.
pub(super) async fn copy(
    from: (&S3Store, &str, Option<&str>),
    range: BlockRange,
    store: &S3Store,
    key: &str,
    id: &str,
    number: u16,
    trace: &Trace,
) -> Result<Made> {
    let name = store.display(key);
    let asked = store.asked("copy part of", &name, "s3:PutObject", ErrorKind::SourceChanged);
    let number = number.to_string();
    let query = [("partNumber", number.as_str()), ("uploadId", id)];
    let mut operation = store.operation(rules::COPY_PART, Method::PUT, key, &query);
    operation.headers = object::source(from.0, from.1, from.2, Some(range), asked)?;
    let document = store.service.document(&operation, asked, trace).await?;
    xml::made(&document, rules::PART_COPIED).map_err(|broken| asked.not_believed(broken))
}

/// What has arrived of an upload.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// In the order of their numbers.
    pub(super) parts: Vec<Part>,
    /// The checksum that was declared for them.
    pub(super) algorithm: Option<String>,
}

/// The parts that have arrived; `None` where the upload is gone.
pub(super) async fn parts(store: &S3Store, key: &str, id: &str, trace: &Trace) -> Result<Option<Listed>> {
    let name = store.display(key);
    let asked = store.asked("list parts of", &name, "s3:ListMultipartUploadParts", ErrorKind::Service);
    let (mut found, mut after) = (Vec::new(), 0_u16);
    loop {
        let marker = after.to_string();
        let mut query = vec![("max-parts", "1000")];
        query.extend((after > 0).then_some(("part-number-marker", marker.as_str())));
        query.push(("uploadId", id));
        let operation = store.operation(rules::LIST_PARTS, Method::GET, key, &query);
        let document = match store.service.document(&operation, asked, trace).await {
            Err(error) if error.service_code() == Some("NoSuchUpload") => return Ok(None),
            other => other?,
        };
        let not_believed = |broken| asked.not_believed(broken);
        let page = xml::parts(&document).map_err(not_believed)?;
        let next = page.next;
        let algorithm = page.algorithm.clone();
        found.extend(believe_parts(page, key, id, after).map_err(not_believed)?);
        match next {
            Some(next) => after = next,
            None => return Ok(Some(Listed { parts: found, algorithm })),
        }
    }
}

/// The parts of a page, if they are those that were asked for.
pub(super) fn believe_parts(page: PartPage, key: &str, id: &str, after: u16) -> Result<Vec<Part>, Broken> {
    if page.id.is_some_and(|echoed| echoed != id) || page.key.is_some_and(|echoed| echoed != key) {
        return Err(Broken("the parts are of another upload than was asked for".to_owned()));
    }
    let ends = page.parts.first().zip(page.parts.last()).map(|(first, last)| (first.number, last.number));
    let (first, last) = match (ends, page.next) {
        (Some(ends), _) => ends,
        (None, None) => return Ok(page.parts),
        (None, Some(_)) => return Err(Broken("a page holds no part, and says that more follow".to_owned())),
    };
    if first <= after || page.next.is_some_and(|next| next < last) {
        return Err(Broken("the list begins again at a part that it gave before".to_owned()));
    }
    Ok(page.parts)
}

/// Makes the object of its parts, in order, and says what they come to together.
pub(super) async fn complete(
    store: &S3Store,
    key: &str,
    begun: &Begun,
    parts: &[PartMade],
    (crc64, size): (Option<Crc64>, u64),
    precondition: &Precondition,
    trace: &Trace,
) -> Result<Made> {
    let name = store.display(key);
    let asked = store.asked("commit", &name, "s3:PutObject", ErrorKind::Exists);
    let algorithm = begun.declared.and_then(Digest::algorithm);
    let query = [("uploadId", begun.id.as_str())];
    let mut operation = store.operation(rules::COMPLETE, Method::POST, key, &query);
    (operation.body, operation.signed_body) = (Bytes::from(xml::complete(parts, algorithm)), true);
    operation.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    operation.headers.insert(SIZE, HeaderValue::from(size));
    if let Some(crc64) = crc64.filter(|_| begun.declared == Some(Digest::Crc64)) {
        // The service compares it with what the parts come to.
        set(&mut operation.headers, CHECKSUM_CRC64, &crc64.to_s3(), asked)?;
        operation.headers.insert(CHECKSUM_TYPE, HeaderValue::from_static(FULL_OBJECT));
    }
    set_precondition(&mut operation.headers, precondition, asked)?;
    trace.mark(Phase::Ready);
    let document = store.service.document(&operation, asked, trace).await?;
    xml::made(&document, rules::COMPLETED).map_err(|broken| asked.not_believed(broken))
}

/// Removes an upload and its parts; false where it is gone already.
pub(super) async fn abort(store: &S3Store, key: &str, id: &str, trace: &Trace) -> Result<bool> {
    let name = store.display(key);
    let asked = store.asked("clean", &name, "s3:AbortMultipartUpload", ErrorKind::Service);
    let query = [("uploadId", id)];
    let operation = store.operation(rules::ABORT, Method::DELETE, key, &query);
    match store.service.send(&operation, asked, trace).await {
        Ok(_) => {
            trace.mark(Phase::Committed);
            Ok(true)
        }
        Err(error) if error.service_code() == Some("NoSuchUpload") => Ok(false),
        Err(error) => Err(error),
    }
}

/// A page of the uploads below a prefix, after key and id of the last one.
pub(super) async fn page(
    store: &S3Store,
    prefix: &str,
    after: Option<&(String, String)>,
    trace: &Trace,
) -> Result<UploadPage> {
    let name = store.display(prefix);
    let asked = store.asked("list uploads of", &name, "s3:ListBucketMultipartUploads", ErrorKind::Service);
    // In the order in which the signature wants them.
    let mut query = vec![("encoding-type", "url")];
    query.extend(after.map(|(key, _)| ("key-marker", key.as_str())));
    query.extend((!prefix.is_empty()).then_some(("prefix", prefix)));
    query.extend(after.map(|(_, id)| ("upload-id-marker", id.as_str())).filter(|(_, id)| !id.is_empty()));
    query.push(("uploads", ""));
    let operation = store.operation(rules::LIST_UPLOADS, Method::GET, "", &query);
    let document = match store.service.document(&operation, asked, trace).await {
        // Some services say so of a bucket that has had none yet.
        Err(error) if error.service_code() == Some("NoSuchUpload") => return Ok(UploadPage::default()),
        other => other?,
    };
    let page = xml::uploads(&document).map_err(|broken| asked.not_believed(broken))?;
    match page.uploads.iter().find(|upload| !upload.key.starts_with(prefix)) {
        Some(Upload { key, .. }) => {
            let cause = format!("the list holds `{key}`, which is not below what was asked for");
            Err(asked.not_believed(Broken(cause)))
        }
        None => Ok(page),
    }
}

/// Pages of uploads that are looked at for those of one object: others may begin with its name.
const PAGES_MAX: usize = 8;

/// The uploads of exactly this object, the one that began last first.
pub(super) async fn of_object(store: &S3Store, key: &str, trace: &Trace) -> Result<Vec<Upload>> {
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = page(store, key, after.as_ref(), trace).await?;
        // In byte order the object's own come before all that begin with its name.
        let passed = page.uploads.last().is_some_and(|last| last.key != key);
        found.extend(page.uploads.into_iter().filter(|upload| upload.key == key));
        after = page.next.filter(|_| !passed);
        if after.is_none() {
            break;
        }
    }
    found.sort_by_key(|upload| std::cmp::Reverse(upload.begun_ns));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_that_were_asked_for_and_the_list_gets_on() {
        let page = |numbers: &[u16], next: Option<u16>| PartPage {
            parts: numbers.iter().map(|&number| Part { number, ..Part::default() }).collect(),
            next,
            key: Some("k".to_owned()),
            id: Some("u".to_owned()),
            algorithm: None,
        };
        assert_eq!(believe_parts(page(&[3, 4], Some(4)), "k", "u", 2).unwrap().len(), 2);
        assert!(believe_parts(page(&[], None), "k", "u", 2).unwrap().is_empty());
        for (page, key, id, after) in [
            (page(&[3], None), "other", "u", 0),
            (page(&[3], None), "k", "other", 0),
            (page(&[3], None), "k", "u", 3),
            (page(&[4], Some(3)), "k", "u", 3),
            (page(&[3, 4, 5], Some(4)), "k", "u", 2),
            (page(&[], Some(4)), "k", "u", 3),
        ] {
            assert!(believe_parts(page, key, id, after).is_err());
        }
    }
}
