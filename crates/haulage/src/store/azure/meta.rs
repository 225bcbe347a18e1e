//! Between our attributes and the service's headers.
//!
//! The service stores an MD5 of its own accord, but no CRC64 and no time of the source: these two are metadata (for the time
//! see `times`).

use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED,
};

use super::auth::CONTENT_MD5;
use super::error::Asked;
use super::service::set;
use super::times;
use super::xml::http_date_ns;
use crate::checksum::{Crc64, Md5};
use crate::error::{ErrorKind, Result};
use crate::store::answer::{self, Broken};
use crate::store::tags::TAGS_HINT;
use crate::store::{Attributes, ObjectMeta, Posix, Precondition, Properties, Tags, media, tags, tier};

const META_CRC64: HeaderName = HeaderName::from_static("x-ms-meta-haulage_crc64");
const BLOB_MD5: HeaderName = HeaderName::from_static("x-ms-blob-content-md5");
const BLOB_TYPE: HeaderName = HeaderName::from_static("x-ms-blob-content-type");
const BLOB_CACHE: HeaderName = HeaderName::from_static("x-ms-blob-cache-control");
const BLOB_DISPOSITION: HeaderName = HeaderName::from_static("x-ms-blob-content-disposition");
const BLOB_ENCODING: HeaderName = HeaderName::from_static("x-ms-blob-content-encoding");
const BLOB_LANGUAGE: HeaderName = HeaderName::from_static("x-ms-blob-content-language");
const TAG_COUNT: HeaderName = HeaderName::from_static("x-ms-tag-count");
const TAGS: HeaderName = HeaderName::from_static("x-ms-tags");
const TIER: HeaderName = HeaderName::from_static("x-ms-access-tier");
/// Nobody has chosen the tier: it is the account's.
const TIER_INFERRED: HeaderName = HeaderName::from_static("x-ms-access-tier-inferred");
/// How the headers of metadata begin.
pub(super) const META: &str = "x-ms-meta-";
/// Metadata with the CRC64 of the whole.
pub(super) const CRC64: &str = "haulage_crc64";
/// Metadata that makes an empty blob a folder.
pub(super) const FOLDER: &str = "hdi_isfolder";
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
        source_modified_ns: times::read(headers),
        crc64: get(&META_CRC64).and_then(Crc64::from_hex),
        md5: md5.and_then(Md5::from_base64),
        content_type: get(&CONTENT_TYPE).map(str::to_owned),
        properties: properties(headers).kept(),
        posix: None,
    }
}

fn properties(headers: &HeaderMap) -> Properties {
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    let get = |name| headers.get(name).and_then(text);
    let metadata = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix(META)?;
        Some((name.to_owned(), text(value)?)).filter(|_| is_of_others(name))
    });
    Properties {
        cache_control: get(CACHE_CONTROL),
        content_disposition: get(CONTENT_DISPOSITION),
        content_encoding: get(CONTENT_ENCODING),
        content_language: get(CONTENT_LANGUAGE),
        metadata: metadata.collect(),
        tags: Tags::counted(get(TAG_COUNT).as_deref()),
        tier: get(TIER).filter(|_| get(TIER_INFERRED).is_none_or(|text| !text.eq_ignore_ascii_case("true"))),
    }
}

/// Whether metadata of this name is none of ours, and no mark of a folder.
pub(super) fn is_of_others(name: &str) -> bool {
    ![CRC64, FOLDER].iter().any(|ours| name.eq_ignore_ascii_case(ours)) && times::form(name).is_none()
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
        times::write(headers, mtime, asked)?;
    }
    if let Some(properties) = attributes.properties.as_deref() {
        write_properties(headers, properties, asked)?;
    }
    // Under the other names they are metadata already.
    for (name, text) in attributes.posix.into_iter().flat_map(Posix::as_azcopy) {
        set(headers, metadata_name(name, asked)?, &text, asked)?;
    }
    Ok(())
}

fn metadata_name(name: &str, asked: Asked<'_>) -> Result<HeaderName> {
    HeaderName::try_from(format!("{META}{name}"))
        .map_err(|_| asked.error(ErrorKind::Unsupported, "metadata with a name that Azure cannot keep"))
}

fn write_properties(headers: &mut HeaderMap, properties: &Properties, asked: Asked<'_>) -> Result<()> {
    let Properties {
        cache_control,
        content_disposition,
        content_encoding,
        content_language,
        metadata,
        tags,
        tier,
    } = properties;
    for (name, text) in [
        (BLOB_CACHE, cache_control),
        (BLOB_DISPOSITION, content_disposition),
        (BLOB_ENCODING, content_encoding),
        (BLOB_LANGUAGE, content_language),
    ] {
        if let Some(text) = text {
            set(headers, name, text, asked)?;
        }
    }
    let metadata = metadata.iter().map(|(name, text)| (identifier(name), text));
    // Elsewhere ours may have been somebody's.
    for (name, text) in metadata.filter(|(name, _)| is_of_others(name)) {
        let name = metadata_name(&name, asked)?;
        if !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(asked.error(ErrorKind::Unsupported, "metadata with a value that Azure cannot keep"));
        }
        set(headers, name, text, asked)?;
    }
    write_tags(headers, tags.known(), asked)?;
    if let Some(tier) = tier {
        let tier = tier::for_azure(tier).ok_or_else(|| {
            let cause = format!("Azure has no access tier `{tier}`");
            asked.error(ErrorKind::Unsupported, cause).hint(TIER_HINT)
        })?;
        headers.insert(TIER, HeaderValue::from_static(tier));
    }
    Ok(())
}

const TIER_HINT: &str = "choose one: --tier hot, cool, cold or archive; or --tier default";

/// The service refuses tags with other characters, and more of them, without saying which.
fn write_tags(headers: &mut HeaderMap, tags: &[(String, String)], asked: Asked<'_>) -> Result<()> {
    if tags.is_empty() {
        return Ok(());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || " +-./:=_".contains(c);
    let odd = tags.iter().find(|(name, value)| !name.chars().chain(value.chars()).all(plain));
    let cause = match odd {
        Some((name, _)) => format!("the tag `{name}` has characters that Azure does not take"),
        None if tags.len() > 10 => "more than 10 tags".to_owned(),
        None => return set(headers, TAGS, &tags::query(tags), asked),
    };
    Err(asked.error(ErrorKind::Unsupported, cause).hint(TAGS_HINT))
}

/// A name that the service takes: letters, digits and `_`, and no digit first.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let begins = name.starts_with(|c: char| c.is_ascii_digit());
    begins.then_some('_').into_iter().chain(name.chars().map(plain)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Asked<'_> = Asked {
        operation: "write",
        object: "az://c/k",
        container: "az://c",
        permission: 'w',
        unmet: ErrorKind::Exists,
    };

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    fn told(pairs: &[(&'static str, &'static str)]) -> Properties {
        read("k", &headers(pairs)).properties.as_deref().cloned().unwrap_or_default()
    }

    fn written(properties: Properties) -> Result<HeaderMap> {
        let attributes = Attributes { properties: properties.kept(), ..Attributes::default() };
        let mut headers = HeaderMap::new();
        write(&mut headers, "k", &attributes, ASKED).map(|()| headers)
    }

    fn tagged(name: &str, value: &str) -> Properties {
        let tags = Tags::Known(vec![(name.to_owned(), value.to_owned())]);
        Properties { tags, ..Properties::default() }
    }

    fn in_tier(tier: &str) -> Properties {
        Properties { tier: Some(tier.to_owned()), ..Properties::default() }
    }

    #[test]
    fn a_tier_is_one_that_somebody_has_chosen() {
        assert_eq!(told(&[("x-ms-access-tier", "Cool")]), in_tier("Cool"));
        let inferred = ("x-ms-access-tier-inferred", "true");
        assert_eq!(told(&[("x-ms-access-tier", "Hot"), inferred]), Properties::default());
        assert_eq!(written(in_tier("STANDARD_IA")).unwrap()["x-ms-access-tier"], "Cool");
        let error = written(in_tier("Warm")).unwrap_err();
        let hint = "choose one: --tier hot, cool, cold or archive; or --tier default";
        assert_eq!((error.kind(), error.hint_text()), (ErrorKind::Unsupported, Some(hint)));
    }

    #[test]
    fn tags_are_counted_and_written() {
        assert_eq!(told(&[("x-ms-tag-count", "2")]).tags, Tags::Unread);
        assert_eq!(told(&[("x-ms-tag-count", "0")]).tags, Tags::None);
        assert_eq!(written(tagged("a b", "1+2")).unwrap()["x-ms-tags"], "a%20b=1%2B2");
        for (name, value) in [("ä", "1"), ("a", "me@here"), ("a&b=c", "")] {
            let error = written(tagged(name, value)).unwrap_err();
            assert_eq!(
                (error.kind(), error.hint_text()),
                (ErrorKind::Unsupported, Some("leave them behind: --no-tags"))
            );
        }
    }

    #[test]
    fn what_is_kept_of_a_file_has_the_names_of_azcopy_too() {
        let posix = Some(Posix { mode: Some(0o100_640), uid: Some(7), ..Posix::default() });
        let mut headers = HeaderMap::new();
        write(&mut headers, "k", &Attributes { posix, ..Attributes::default() }, ASKED).unwrap();
        assert_eq!(headers["x-ms-meta-permissions"], "33184");
        assert_eq!(headers["x-ms-meta-posix_owner"], "7");
    }
}
