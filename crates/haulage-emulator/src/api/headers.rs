//! Headers that several operations share.

use http::header::{ETAG, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED};
use http::{Response, StatusCode};

use crate::request::Call;
use crate::store::{Blob, ContentHeaders, Metadata};
use crate::wire::body::ResponseBody;
use crate::wire::error::{Answer, INVALID_HEADER_VALUE};
pub(super) use crate::wire::reply::{reply, set, xml};
use crate::wire::time::Stamp;
use crate::wire::upload::Sums;

const METADATA: &str = "x-ms-meta-";
const SERVER_ENCRYPTED: HeaderName = HeaderName::from_static("x-ms-server-encrypted");
const REQUEST_SERVER_ENCRYPTED: HeaderName = HeaderName::from_static("x-ms-request-server-encrypted");
const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");
const CONTENT_CRC64: HeaderName = HeaderName::from_static("x-ms-content-crc64");
const TRUE: HeaderValue = HeaderValue::from_static("true");

pub(super) fn set_version(headers: &mut HeaderMap, etag: u64, modified: Stamp) {
    if let Ok(value) = HeaderValue::try_from(format!("\"0x{etag:X}\"")) {
        headers.insert(ETAG, value);
    }
    if let Ok(value) = HeaderValue::try_from(modified.http()) {
        headers.insert(LAST_MODIFIED, value);
    }
}

/// What the service says of a write: which version it made and what the bytes came to.
pub(super) fn written(status: StatusCode, blob: Option<&Blob>, sums: &Sums) -> Response<ResponseBody> {
    let mut response = reply(status);
    let headers = response.headers_mut();
    if let Some(blob) = blob {
        set_version(headers, blob.etag, blob.modified);
    }
    headers.insert(REQUEST_SERVER_ENCRYPTED, TRUE);
    if let Some(crc64) = sums.crc64.map(|crc64| HeaderValue::try_from(crc64.to_azure())) {
        headers.extend(crc64.ok().map(|value| (CONTENT_CRC64, value)));
    }
    if let Some(md5) = sums.md5.map(|md5| HeaderValue::try_from(md5.to_base64())) {
        headers.extend(md5.ok().map(|value| (CONTENT_MD5, value)));
    }
    response
}

/// All that is known of a blob, but its length and the MD5.
pub(super) fn describe(headers: &mut HeaderMap, blob: &Blob) {
    set_version(headers, blob.etag, blob.modified);
    let empty = ContentHeaders::default();
    let content = blob.content.as_deref().unwrap_or(&empty);
    set(headers, "content-type", content.kind.as_deref().unwrap_or("application/octet-stream"));
    let optional = [
        ("content-encoding", &content.encoding),
        ("content-language", &content.language),
        ("content-disposition", &content.disposition),
        ("cache-control", &content.cache_control),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            set(headers, name, value);
        }
    }
    for (name, value) in
        [("accept-ranges", "bytes"), ("x-ms-lease-status", "unlocked"), ("x-ms-lease-state", "available")]
    {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    set(headers, "x-ms-blob-type", blob.kind());
    super::append::describe(headers, blob);
    headers.insert(SERVER_ENCRYPTED, TRUE);
    set(headers, "x-ms-creation-time", &blob.created.http());
    if !blob.tags.is_empty() {
        headers.insert("x-ms-tag-count", HeaderValue::from(blob.tags.len()));
    }
    set_metadata(headers, &blob.metadata);
}

pub(super) fn set_metadata(headers: &mut HeaderMap, metadata: &Metadata) {
    for (name, value) in metadata {
        let name = HeaderName::try_from(format!("{METADATA}{name}"));
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
}

/// The metadata that a request carries.
pub(super) fn metadata(call: &Call<'_>) -> Answer<Metadata> {
    let named = call.parts.headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix(METADATA)?;
        Some((name, value))
    });
    named
        .map(|(name, value)| {
            let text = value.to_str().ok().filter(|_| !name.is_empty());
            let text =
                text.ok_or_else(|| INVALID_HEADER_VALUE.detail("HeaderName", format!("{METADATA}{name}")))?;
            Ok((name.into(), text.trim().into()))
        })
        .collect()
}

/// The `x-ms-blob-` headers that say how the blob is to be served; `None` where there are none.
pub(super) fn content(call: &Call<'_>) -> Option<Box<ContentHeaders>> {
    let text = |name| call.header(name).filter(|text| !text.is_empty()).map(Box::from);
    let content = ContentHeaders {
        kind: text("x-ms-blob-content-type"),
        encoding: text("x-ms-blob-content-encoding"),
        language: text("x-ms-blob-content-language"),
        disposition: text("x-ms-blob-content-disposition"),
        cache_control: text("x-ms-blob-cache-control"),
        md5: text("x-ms-blob-content-md5"),
    };
    (content != ContentHeaders::default()).then(|| Box::new(content))
}
