//! What travels in headers besides the bytes.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::checksum::Checksum;
use super::error::{INVALID_STORAGE_CLASS, METADATA_TOO_LARGE};
use super::request::Call;
use super::tagging;
use crate::store::{Blob, ContentHeaders, Metadata, opaque_etag};
use crate::wire::error::{Answer, ServiceError};
use crate::wire::reply::set;

const METADATA: &str = "x-amz-meta-";
/// All names and values of an object's metadata together.
const LARGEST_METADATA: usize = 2 * 1024;

/// The class that is meant where none is named.
pub(super) const STANDARD: &str = "STANDARD";
const STORAGE_CLASSES: [&str; 8] = [
    STANDARD,
    "REDUCED_REDUNDANCY",
    "STANDARD_IA",
    "ONEZONE_IA",
    "INTELLIGENT_TIERING",
    "GLACIER",
    "DEEP_ARCHIVE",
    "GLACIER_IR",
];
/// What Azure's tiers are nearest to.
const TIERS: [(&str, &str); 4] =
    [("Hot", STANDARD), ("Cool", "STANDARD_IA"), ("Cold", "GLACIER_IR"), ("Archive", "DEEP_ARCHIVE")];

/// What a client wants kept with an object.
pub(super) struct Kept {
    pub(super) content: Option<Box<ContentHeaders>>,
    pub(super) expires: Option<Box<str>>,
    pub(super) metadata: Metadata,
    pub(super) tags: Vec<(String, String)>,
    pub(super) tier: Option<String>,
}

impl Kept {
    pub(super) fn of(call: &Call<'_>) -> Answer<Self> {
        Ok(Self {
            content: content(call),
            expires: text(call, "expires"),
            metadata: metadata(call)?,
            tags: tagging::of_header(call)?,
            tier: tier(call)?,
        })
    }
}

/// An object's ETag, without its quotes. One that Azure's interface wrote has one that is no MD5.
pub(super) fn etag(blob: &Blob) -> String {
    match &blob.s3 {
        Some(facts) => facts.etag.to_string(),
        None => opaque_etag(blob.etag, blob.blocks.len().max(1)),
    }
}

pub(super) fn quoted(etag: &str) -> String {
    format!("\"{etag}\"")
}

/// The storage class, as S3 would call it.
pub(super) fn storage_class(tier: Option<&str>) -> &str {
    let tier = tier.unwrap_or(STANDARD);
    TIERS.into_iter().find(|(azure, _)| *azure == tier).map_or(tier, |(_, s3)| s3)
}

/// The storage class that a request names; `None` for the usual one.
fn tier(call: &Call<'_>) -> Answer<Option<String>> {
    match call.header("x-amz-storage-class") {
        None | Some(STANDARD) => Ok(None),
        Some(class) if STORAGE_CLASSES.contains(&class) => Ok(Some(class.to_owned())),
        Some(_) => Err((&INVALID_STORAGE_CLASS).into()),
    }
}

fn text(call: &Call<'_>, name: &str) -> Option<Box<str>> {
    call.header(name).filter(|text| !text.is_empty()).map(Box::from)
}

/// How the object is to be served; `None` where the request does not say. That it travels in chunks is of
/// this request alone.
fn content(call: &Call<'_>) -> Option<Box<ContentHeaders>> {
    let encodings = call.header("content-encoding").unwrap_or_default().split(',').map(str::trim);
    let encodings: Vec<&str> =
        encodings.filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("aws-chunked")).collect();
    let content = ContentHeaders {
        kind: text(call, "content-type"),
        encoding: (!encodings.is_empty()).then(|| encodings.join(",").into()),
        language: text(call, "content-language"),
        disposition: text(call, "content-disposition"),
        cache_control: text(call, "cache-control"),
        md5: None,
    };
    (content != ContentHeaders::default()).then(|| Box::new(content))
}

/// The metadata that a request carries; values of one name are joined.
fn metadata(call: &Call<'_>) -> Answer<Metadata> {
    let mut metadata = Metadata::new();
    let names = call.parts.headers.keys().filter_map(|name| name.as_str().strip_prefix(METADATA));
    for name in names.filter(|name| !name.is_empty()) {
        let values = call.parts.headers.get_all(format!("{METADATA}{name}"));
        let texts = values.iter().map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned());
        metadata.push((name.into(), texts.collect::<Vec<_>>().join(",").into()));
    }
    let size: usize = metadata.iter().map(|(name, value)| name.len() + value.len()).sum();
    if size <= LARGEST_METADATA {
        return Ok(metadata);
    }
    let error = ServiceError::from(&METADATA_TOO_LARGE).detail("Size", size.to_string());
    Err(error.detail("MaxSizeAllowed", LARGEST_METADATA.to_string()))
}

/// All that is known of an object, but its length and its checksum.
pub(super) fn describe(headers: &mut HeaderMap, blob: &Blob) {
    set_etag(headers, &etag(blob));
    set(headers, "last-modified", &blob.modified.http());
    set(headers, "accept-ranges", "bytes");
    let empty = ContentHeaders::default();
    let content = blob.content.as_deref().unwrap_or(&empty);
    set(headers, "content-type", content.kind.as_deref().unwrap_or("binary/octet-stream"));
    let expires = blob.s3.as_ref().and_then(|facts| facts.expires.as_deref());
    let optional = [
        ("content-encoding", content.encoding.as_deref()),
        ("content-language", content.language.as_deref()),
        ("content-disposition", content.disposition.as_deref()),
        ("cache-control", content.cache_control.as_deref()),
        ("expires", expires),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            set(headers, name, value);
        }
    }
    for (name, value) in &blob.metadata {
        let name = HeaderName::try_from(format!("{METADATA}{name}"));
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(header_text(value))) {
            headers.insert(name, value);
        }
    }
    let class = storage_class(blob.tier.as_deref());
    if class != STANDARD {
        set(headers, "x-amz-storage-class", class);
    }
    if !blob.tags.is_empty() {
        set(headers, "x-amz-tagging-count", &blob.tags.len().to_string());
    }
}

pub(super) fn set_etag(headers: &mut HeaderMap, etag: &str) {
    set(headers, "etag", &quoted(etag));
}

/// What is not ASCII travels as mail does it (RFC 2047).
fn header_text(value: &str) -> String {
    if value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return value.to_owned();
    }
    format!("=?UTF-8?B?{}?=", BASE64_STANDARD.encode(value))
}

pub(super) fn set_checksum(headers: &mut HeaderMap, checksum: &Checksum) {
    set(headers, checksum.algorithm.header(), &checksum.value);
    set(headers, "x-amz-checksum-type", checksum.scope.name());
}
