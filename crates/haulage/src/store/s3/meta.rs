//! Between our attributes and the service's headers.
//!
//! The service keeps a CRC64 of the whole object if it knows CRC64NVME, and no MD5 and no time of the source: these are
//! metadata, under the names that rclone reads and writes. Metadata of others goes along. An ETag is an MD5 sometimes, and
//! never taken for one.

use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, EXPIRES, HeaderMap,
    HeaderName, HeaderValue,
};

use super::error::Asked;
use super::xml::FULL_OBJECT;
use crate::checksum::{Crc64, Md5};
use crate::error::{ErrorKind, Result};
use crate::store::headers::{self, set, set_given, set_metadata};
use crate::store::{Attributes, ObjectMeta, Properties, Tags, media, tags, tier};

/// How the headers of metadata begin.
const META: &str = "x-amz-meta-";
/// CRC64 of the whole, 16 hexadecimal digits: for services that keep none themselves. With hyphens, because some proxies
/// drop headers with an underscore.
const META_CRC64: HeaderName = HeaderName::from_static("x-amz-meta-haulage-crc64");
/// Last change of the source, in seconds since 1970 with a fraction.
const META_MTIME: HeaderName = HeaderName::from_static("x-amz-meta-mtime");
/// MD5 of the whole, Base64.
const META_MD5: HeaderName = HeaderName::from_static("x-amz-meta-md5chksum");

const TAG_COUNT: HeaderName = HeaderName::from_static("x-amz-tagging-count");
pub(super) const TAGS: HeaderName = HeaderName::from_static("x-amz-tagging");
const CLASS: HeaderName = HeaderName::from_static("x-amz-storage-class");
pub(super) const CHECKSUM_CRC64: HeaderName = HeaderName::from_static("x-amz-checksum-crc64nvme");
pub(super) const CHECKSUM_TYPE: HeaderName = HeaderName::from_static("x-amz-checksum-type");
/// Asks for the checksum that is stored with an object.
pub(super) const CHECKSUM_MODE: HeaderName = HeaderName::from_static("x-amz-checksum-mode");

/// What the headers of an answer say of the object.
pub(super) fn read(key: &str, headers: &HeaderMap) -> ObjectMeta {
    let get = |name: &HeaderName| headers::text(headers, name);
    ObjectMeta {
        source_modified_ns: get(&META_MTIME).and_then(time_of),
        crc64: stored_crc64(headers).or_else(|| get(&META_CRC64).and_then(Crc64::from_hex)),
        md5: get(&META_MD5).and_then(Md5::from_base64),
        properties: properties(headers).kept(),
        ..headers::read(key, headers)
    }
}

fn properties(headers: &HeaderMap) -> Properties {
    let get = |name: &HeaderName| headers::text(headers, name);
    let given = headers::properties(headers, META, is_of_others);
    Properties {
        content_encoding: given.content_encoding.as_deref().and_then(packed),
        expires: get(&EXPIRES).map(str::to_owned),
        tags: Tags::counted(get(&TAG_COUNT)),
        tier: get(&CLASS).filter(|class| *class != tier::STANDARD).map(str::to_owned),
        ..given
    }
}

/// The same for the answer to a HEAD, in which not every service counts tags.
pub(super) fn read_head(key: &str, headers: &HeaderMap) -> ObjectMeta {
    let mut properties = properties(headers);
    if !headers.contains_key(TAG_COUNT) {
        properties.tags = Tags::Unknown;
    }
    ObjectMeta { properties: properties.kept(), ..read(key, headers) }
}

/// Whether metadata of this name is none of ours.
fn is_of_others(name: &str) -> bool {
    ![META_CRC64, META_MTIME, META_MD5].iter().any(|ours| ours.as_str()[META.len()..] == *name)
}

/// How the bytes are packed, without how somebody has once sent them, which not every service forgets.
fn packed(text: &str) -> Option<String> {
    let words = text.split(',').map(str::trim);
    let words: Vec<&str> = words.filter(|word| !word.eq_ignore_ascii_case("aws-chunked")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The same for the answer to a range: the checksum that some services state then may be of one part of the object.
pub(super) fn read_range(key: &str, headers: &HeaderMap) -> ObjectMeta {
    let crc64 = headers.get(META_CRC64).and_then(|value| value.to_str().ok()).and_then(Crc64::from_hex);
    ObjectMeta { crc64, ..read(key, headers) }
}

/// The CRC64 that the service itself keeps of the whole object. One of the checksums of parts has another form.
pub(super) fn stored_crc64(headers: &HeaderMap) -> Option<Crc64> {
    let get = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let whole = get(&CHECKSUM_TYPE).is_none_or(|kind| kind == FULL_OBJECT);
    get(&CHECKSUM_CRC64).and_then(Crc64::from_s3).filter(|_| whole)
}

/// What is to be stored with the object, as headers.
pub(super) fn write(
    headers: &mut HeaderMap,
    key: &str,
    attributes: &Attributes,
    asked: Asked<'_>,
) -> Result<()> {
    match &attributes.content_type {
        Some(media) => set(headers, CONTENT_TYPE, media, asked)?,
        None => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media::content_type(key)));
        }
    }
    if let Some(crc64) = attributes.crc64 {
        set(headers, META_CRC64, &crc64.to_string(), asked)?;
    }
    if let Some(md5) = attributes.md5 {
        set(headers, META_MD5, &md5.to_base64(), asked)?;
    }
    if let Some(mtime) = attributes.source_modified_ns {
        set(headers, META_MTIME, &time_text(mtime), asked)?;
    }
    attributes.properties.as_deref().map_or(Ok(()), |properties| write_properties(headers, properties, asked))
}

fn write_properties(headers: &mut HeaderMap, properties: &Properties, asked: Asked<'_>) -> Result<()> {
    set_given(
        headers,
        [CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE],
        properties,
        asked,
    )?;
    let Properties { metadata, tags, tier, expires, .. } = properties;
    if let Some(expires) = expires {
        set(headers, EXPIRES, expires, asked)?;
    }
    // Elsewhere ours may have been somebody's.
    let of_others = metadata.iter().filter(|(name, _)| is_of_others(name));
    set_metadata(headers, META, of_others.map(|(name, text)| (name.as_str(), text.as_str())), "S3", asked)?;
    if !tags.known().is_empty() {
        set(headers, TAGS, &tags::query(tags.known()), asked)?;
    }
    if let Some(tier) = tier {
        let class = tier::for_s3(tier).ok_or_else(|| {
            let cause = format!("`{tier}` is no storage class of S3");
            asked.error(ErrorKind::Unsupported, cause).hint("write it as S3 does: --tier STANDARD_IA")
        })?;
        set(headers, CLASS, &class, asked)?;
    }
    Ok(())
}

const NS: u128 = 1_000_000_000;

/// Nanoseconds since 1970 as seconds with a fraction.
fn time_text(ns: i128) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let (seconds, rest) = (ns.unsigned_abs() / NS, ns.unsigned_abs() % NS);
    if rest == 0 {
        return format!("{sign}{seconds}");
    }
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}", fraction.trim_end_matches('0'))
}

/// Reads seconds since 1970; what is finer than nanoseconds is dropped.
fn time_of(text: &str) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (seconds, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(seconds) || !plain(fraction) {
        return None;
    }
    let fraction: i128 = format!("{:0<9}", fraction.get(..9).unwrap_or(fraction)).parse().ok()?;
    let seconds: i128 = seconds.parse::<i64>().ok()?.into();
    let ns = seconds * NS as i128 + fraction;
    Some(if negative { -ns } else { ns })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    const ASKED: Asked<'_> = Asked {
        operation: "write",
        object: "s3://b/k",
        container: "s3://b",
        permission: "s3:PutObject",
        unmet: ErrorKind::Exists,
    };

    const CRC64: (&str, &str) = ("x-amz-checksum-crc64nvme", "rosUhgp5mIg=");

    #[test]
    fn headers_tell_of_the_object() {
        let told = headers(&[
            ("content-length", "9"),
            ("etag", "\"25f9e794323b453885f5181f1b624d0b\""),
            ("last-modified", "Thu, 01 Jan 1970 00:00:02 GMT"),
            ("content-type", "text/plain"),
            ("x-amz-meta-mtime", "1700000000.123456789"),
            ("x-amz-meta-md5chksum", "JfnnlDI7RTiF9RgfG2JNCw=="),
            ("x-amz-meta-haulage-crc64", "00000000000000ff"),
        ]);
        let meta = read("k", &told);
        assert_eq!((meta.size, meta.modified_ns), (9, 2_000_000_000));
        assert_eq!(meta.source_modified_ns, Some(1_700_000_000_123_456_789));
        assert_eq!((meta.md5, meta.crc64), (Some(Md5::of(b"123456789")), Some(Crc64::from_u64(255))));
        let range = read("k", &headers(&[("content-length", "2"), ("content-range", "bytes 0-1/9")]));
        assert_eq!(range.size, 9);
    }

    #[test]
    fn what_others_chose_goes_along_and_ours_does_not() {
        let told = headers(&[
            ("cache-control", "no-cache"),
            ("content-disposition", "attachment"),
            ("content-encoding", "gzip,aws-chunked"),
            ("content-language", "de, en"),
            ("x-amz-meta-run", "7"),
            ("x-amz-meta-author", "somebody"),
            ("expires", "Fri, 01 Jan 2100 00:00:00 GMT"),
            ("x-amz-meta-mtime", "1700000000"),
            ("x-amz-meta-md5chksum", "JfnnlDI7RTiF9RgfG2JNCw=="),
            ("x-amz-meta-haulage-crc64", "00000000000000ff"),
        ]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = Properties {
            cache_control: Some("no-cache".to_owned()),
            content_disposition: Some("attachment".to_owned()),
            content_encoding: Some("gzip".to_owned()),
            content_language: Some("de, en".to_owned()),
            expires: Some("Fri, 01 Jan 2100 00:00:00 GMT".to_owned()),
            metadata: vec![pair("author", "somebody"), pair("run", "7")],
            ..Properties::default()
        };
        let meta = read("k", &told);
        assert_eq!(meta.properties.as_deref(), Some(&expected));
        let stray = Properties { metadata: vec![pair("md5chksum", "wrong"), pair("run", "7")], ..expected };
        let attributes = Attributes { properties: stray.kept(), ..Attributes::default() };
        let mut written = HeaderMap::new();
        write(&mut written, "k", &attributes, ASKED).unwrap();
        assert_eq!(written["x-amz-meta-run"], "7");
        assert_eq!(written["expires"], told["expires"]);
        assert!(!written.contains_key(META_MD5), "whose it was nobody knows");
        assert_eq!(read("k", &headers(&[("content-encoding", "aws-chunked")])).properties, None);
    }

    #[test]
    fn tags_and_the_storage_class_go_along() {
        let told = |pairs: &[(&'static str, &'static str)]| {
            read("k", &headers(pairs)).properties.as_deref().cloned().unwrap_or_default()
        };
        let class = ("x-amz-storage-class", "STANDARD_IA");
        let found = told(&[class, ("x-amz-tagging-count", "2")]);
        assert_eq!((found.tier.as_deref(), found.tags), (Some("STANDARD_IA"), Tags::Unread));
        assert_eq!(told(&[("x-amz-storage-class", "STANDARD")]), Properties::default());
        let head = read_head("k", &headers(&[class])).properties.unwrap();
        assert_eq!(head.tags, Tags::Unknown, "not every service counts them there");
        let write_to = |properties: Properties| {
            let attributes = Attributes { properties: properties.kept(), ..Attributes::default() };
            let mut headers = HeaderMap::new();
            write(&mut headers, "k", &attributes, ASKED).map(|()| headers)
        };
        let tags = Tags::Known(vec![("a b".to_owned(), "me@here".to_owned())]);
        let cool = Properties { tags, tier: Some("Cool".to_owned()), ..Properties::default() };
        let written = write_to(cool).unwrap();
        assert_eq!(written["x-amz-tagging"], "a%20b=me%40here");
        assert_eq!(written["x-amz-storage-class"], "STANDARD_IA");
        let odd = Properties { tier: Some("very cold".to_owned()), ..Properties::default() };
        let error = write_to(odd).unwrap_err();
        let hint = "write it as S3 does: --tier STANDARD_IA";
        assert_eq!((error.kind(), error.hint_text()), (ErrorKind::Unsupported, Some(hint)));
    }

    #[test]
    fn metadata_that_no_header_carries_is_refused() {
        for (name, value) in [("run", "ü"), ("run", "a\nb"), ("two words", "7")] {
            let metadata = vec![(name.to_owned(), value.to_owned())];
            let properties = Properties { metadata, ..Properties::default() }.kept();
            let attributes = Attributes { properties, ..Attributes::default() };
            let error = write(&mut HeaderMap::new(), "k", &attributes, ASKED).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}");
        }
    }

    #[test]
    fn the_services_own_checksum_counts_if_it_is_of_the_whole() {
        let whole = Some(Crc64::of(b"123456789"));
        let ours = ("x-amz-meta-haulage-crc64", "00000000000000ff");
        let crc64 = |pairs: &[(&'static str, &'static str)]| read("k", &headers(pairs)).crc64;
        assert_eq!(crc64(&[CRC64, ours]), whole);
        assert_eq!(crc64(&[CRC64, ("x-amz-checksum-type", "FULL_OBJECT")]), whole);
        assert_eq!(crc64(&[CRC64, ("x-amz-checksum-type", "COMPOSITE")]), None);
        assert_eq!(crc64(&[("x-amz-checksum-crc64nvme", "rosUhgp5mIg=-3")]), None);
    }

    #[test]
    fn a_checksum_that_cannot_be_read_proves_nothing() {
        let stated = |text: &'static str| stored_crc64(&headers(&[("x-amz-checksum-crc64nvme", text)]));
        assert!(stated("rosUhgp5mIg=").is_some());
        for text in ["", "odd", "MTIzNA==", "ae8b14860a799888", "rosUhgp5mIg=-3", "rosUhgp5mIg=-x"] {
            assert_eq!(stated(text), None, "{text}");
        }
    }

    #[test]
    fn an_etag_is_no_md5() {
        let put_plainly =
            headers(&[("etag", "\"25f9e794323b453885f5181f1b624d0b\""), ("content-length", "9")]);
        assert_eq!(read("k", &put_plainly).md5, None);
    }

    #[test]
    fn times_of_others_are_read() {
        for (text, ns) in [
            ("1354040105", Some(1_354_040_105_000_000_000)),
            ("1354040105.5", Some(1_354_040_105_500_000_000)),
            ("-0.000000001", Some(-1)),
            ("1.1234567899", Some(1_123_456_789)),
            ("", None),
            ("1.", None),
            (".5", None),
            ("+1", None),
            ("1e9", None),
            ("9223372036854775808", None),
        ] {
            assert_eq!(time_of(text), ns, "{text}");
        }
    }

    proptest! {
        #[test]
        fn times_survive_a_round_trip(ns in any::<i64>()) {
            prop_assert_eq!(time_of(&time_text(ns.into())), Some(ns.into()));
        }
    }
}
