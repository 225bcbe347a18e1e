//! Between our attributes and the service's headers.
//!
//! The service stores an MD5 of its own accord, but no CRC64 and no time of the source: these two are metadata.

use http::header::{
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED,
};

use super::auth::CONTENT_MD5;
use super::error::Asked;
use super::service::set;
use super::xml::http_date_ns;
use crate::checksum::{Crc64, Md5};
use crate::error::Result;
use crate::store::answer::{self, Broken};
use crate::store::{Attributes, ObjectMeta, Precondition, media};

const META_CRC64: HeaderName = HeaderName::from_static("x-ms-meta-haulage_crc64");
const META_MTIME: HeaderName = HeaderName::from_static("x-ms-meta-haulage_mtime_ns");
const BLOB_MD5: HeaderName = HeaderName::from_static("x-ms-blob-content-md5");
const BLOB_TYPE: HeaderName = HeaderName::from_static("x-ms-blob-content-type");
pub(super) const BODY_CRC64: HeaderName = HeaderName::from_static("x-ms-content-crc64");

/// What the headers of an answer say of the blob.
pub(super) fn read(key: &str, headers: &HeaderMap) -> ObjectMeta {
    let get = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    // Of a range, Content-Length is the range's and Content-Range ends with the whole: `bytes 0-9/100`.
    let whole = get(&CONTENT_RANGE).and_then(|range| range.rsplit_once('/')).map(|(_, whole)| whole);
    let size = whole.or_else(|| get(&CONTENT_LENGTH)).and_then(|text| text.parse().ok());
    let md5 = match whole {
        Some(_) => get(&BLOB_MD5),
        None => get(&BLOB_MD5).or_else(|| get(&CONTENT_MD5)),
    };
    ObjectMeta {
        key: key.to_owned(),
        size: size.unwrap_or_default(),
        etag: etag(headers),
        modified_ns: get(&LAST_MODIFIED).and_then(http_date_ns).unwrap_or_default(),
        source_modified_ns: get(&META_MTIME).and_then(|text| text.parse().ok()),
        crc64: get(&META_CRC64).and_then(Crc64::from_hex),
        md5: md5.and_then(Md5::from_base64),
        content_type: get(&CONTENT_TYPE).map(str::to_owned),
    }
}

/// The ETag as we keep it: without quotes, as the service's lists write it.
pub(super) fn etag(headers: &HeaderMap) -> String {
    answer::etag(headers).unwrap_or_default().to_owned()
}

/// A checksum that the service states of the body; `None` where it states none. One that cannot be read is no such thing.
pub(super) fn checksum<T>(
    headers: &HeaderMap,
    name: &HeaderName,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Broken> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    match value.to_str().ok().and_then(parse) {
        Some(checksum) => Ok(Some(checksum)),
        None => Err(Broken(format!("the answer's {name} cannot be read"))),
    }
}

/// What is to be stored with the blob, as headers.
pub(super) fn write(
    headers: &mut HeaderMap,
    key: &str,
    attributes: &Attributes,
    asked: Asked<'_>,
) -> Result<()> {
    match &attributes.content_type {
        Some(media) => set(headers, BLOB_TYPE, media, asked)?,
        None => {
            headers.insert(BLOB_TYPE, HeaderValue::from_static(media::content_type(key)));
        }
    }
    if let Some(crc64) = attributes.crc64 {
        set(headers, META_CRC64, &crc64.to_string(), asked)?;
    }
    if let Some(md5) = attributes.md5 {
        set(headers, BLOB_MD5, &md5.to_base64(), asked)?;
    }
    if let Some(mtime) = attributes.source_modified_ns {
        set(headers, META_MTIME, &mtime.to_string(), asked)?;
    }
    Ok(())
}

/// When the blob there may be replaced, as a header.
pub(super) fn write_precondition(
    headers: &mut HeaderMap,
    precondition: &Precondition,
    asked: Asked<'_>,
) -> Result<()> {
    match precondition {
        Precondition::None => {}
        Precondition::IfAbsent => {
            headers.insert(http::header::IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        Precondition::IfMatch(etag) => write_if_match(headers, etag, asked)?,
    }
    Ok(())
}

/// Asks for exactly this state of the blob.
pub(super) fn write_if_match(headers: &mut HeaderMap, etag: &str, asked: Asked<'_>) -> Result<()> {
    set(headers, http::header::IF_MATCH, &format!("\"{}\"", etag.trim_matches('"')), asked)
}
