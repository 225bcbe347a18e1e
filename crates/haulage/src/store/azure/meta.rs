//! Between our attributes and the service's headers.
//!
//! The service stores an MD5 of its own accord, but no CRC64 and no time of the source: these two are metadata (for the time
//! see `times`).

use std::collections::BTreeSet;

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::auth::CONTENT_MD5;
use super::error::Asked;
use super::times;
use crate::checksum::{Crc64, Md5};
use crate::error::{ErrorKind, Result};
use crate::store::headers::{self, set, set_given, set_metadata};
use crate::store::tags::TAGS_HINT;
use crate::store::{Attributes, ObjectMeta, Posix, Properties, Tags, media, tags, tier};

/// As errors name it.
const SERVICE: &str = "Azure";

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
/// Metadata that makes an empty blob the marker of a folder; before 2013 Hadoop wrote the second.
const FOLDER: [&str; 2] = ["hdi_isfolder", "asv_isfolder"];
/// What an account with a hierarchical namespace says of an entry, and of one that is a folder.
const RESOURCE_TYPE: HeaderName = HeaderName::from_static("x-ms-resource-type");
pub(super) const DIRECTORY: &str = "directory";
pub(super) const BODY_CRC64: HeaderName = HeaderName::from_static("x-ms-content-crc64");

/// What the headers of an answer say of the blob.
pub(super) fn read(key: &str, headers: &HeaderMap) -> ObjectMeta {
    let get = |name: &HeaderName| headers::text(headers, name);
    // Beside a range, Content-MD5 is the range's.
    let of_range = headers::whole_of(headers).is_some();
    let md5 = |name: &HeaderName| headers::checksum(headers, name, Md5::from_base64);
    ObjectMeta {
        source_modified_ns: times::read(headers),
        crc64: get(&META_CRC64).and_then(Crc64::from_hex),
        md5: md5(&BLOB_MD5).or_else(|| md5(&CONTENT_MD5).filter(|_| !of_range)),
        properties: properties(headers).kept(),
        ..headers::read(key, headers)
    }
}

/// Whether the headers of an answer are of a folder. What has bytes is an object, whatever somebody wrote into its metadata.
pub(super) fn is_marker(meta: &ObjectMeta, headers: &HeaderMap) -> bool {
    let says = |name: &HeaderName, word: &str| {
        headers::text(headers, name).is_some_and(|text| text.eq_ignore_ascii_case(word))
    };
    let names_folder = |name: &HeaderName| name.as_str().strip_prefix(META).is_some_and(is_folder);
    let declared = says(&RESOURCE_TYPE, DIRECTORY)
        || headers.keys().any(|name| names_folder(name) && says(name, "true"));
    meta.size == 0 && declared
}

/// Whether metadata of this name says if a blob stands for a folder.
pub(super) fn is_folder(name: &str) -> bool {
    FOLDER.iter().any(|folder| name.eq_ignore_ascii_case(folder))
}

fn properties(headers: &HeaderMap) -> Properties {
    let get = |name: &HeaderName| headers::text(headers, name);
    let inferred = get(&TIER_INFERRED).is_some_and(|text| text.eq_ignore_ascii_case("true"));
    Properties {
        tags: Tags::counted(get(&TAG_COUNT)),
        tier: get(&TIER).filter(|_| !inferred).map(str::to_owned),
        ..headers::properties(headers, META, is_of_others)
    }
}

/// Whether metadata of this name is none of ours, and no mark of a folder.
pub(super) fn is_of_others(name: &str) -> bool {
    !name.eq_ignore_ascii_case(CRC64) && !is_folder(name) && times::form(name).is_none()
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
    let posix = attributes.posix.into_iter().flat_map(Posix::as_azcopy);
    let posix: Vec<_> = posix.collect();
    set_metadata(headers, META, posix.iter().map(|(name, text)| (*name, text.as_str())), SERVICE, asked)
}

fn write_properties(headers: &mut HeaderMap, properties: &Properties, asked: Asked<'_>) -> Result<()> {
    set_given(headers, [BLOB_CACHE, BLOB_DISPOSITION, BLOB_ENCODING, BLOB_LANGUAGE], properties, asked)?;
    let Properties { metadata, tags, tier, .. } = properties;
    let metadata: Vec<_> = metadata.iter().map(|(name, text)| (identifier(name), text.as_str())).collect();
    let mut names = BTreeSet::new();
    if let Some((name, _)) = metadata.iter().find(|(name, _)| !names.insert(name)) {
        let cause =
            format!("two names of its metadata would be `{name}` in Azure, which has letters, digits and _");
        return Err(asked.error(ErrorKind::Unsupported, cause).hint("rename one of them at the source"));
    }
    // Elsewhere ours may have been somebody's.
    let of_others = metadata.iter().filter(|(name, _)| is_of_others(name));
    set_metadata(headers, META, of_others.map(|(name, text)| (name.as_str(), *text)), SERVICE, asked)?;
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

/// What of `attributes` is not kept with a blob as it is, in words.
pub(super) fn not_kept(attributes: &Attributes) -> Option<String> {
    let properties = attributes.properties.as_deref()?;
    let renamed = properties.metadata.iter().map(|(name, _)| (name, identifier(name)));
    let renamed = renamed.filter(|(name, kept)| *name != kept && is_of_others(kept));
    let renamed: Vec<_> = renamed.map(|(name, kept)| format!("{name} as {kept}")).collect();
    let named = (!renamed.is_empty()).then(|| {
        format!("kept under other names, for Azure has letters, digits and _: {}", renamed.join(", "))
    });
    let expires =
        properties.expires.as_ref().map(|_| "not kept, for Azure has no place for it: Expires".to_owned());
    match (named, expires) {
        (Some(named), Some(expires)) => Some(format!("{named}; {expires}")),
        (named, expires) => named.or(expires),
    }
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

    #[test]
    fn what_azure_keeps_otherwise_is_said() {
        let pair = |name: &str| (name.to_owned(), "1".to_owned());
        let of = |names: &[&str], expires: Option<&str>| {
            let metadata = names.iter().map(|name| pair(name)).collect();
            let properties =
                Properties { metadata, expires: expires.map(str::to_owned), ..Properties::default() };
            not_kept(&Attributes { properties: properties.kept(), ..Attributes::default() })
        };
        assert_eq!(of(&["plain", "with_2"], None), None);
        assert!(of(&["a-b", "plain"], None).is_some_and(|said| said.ends_with("_: a-b as a_b")));
        assert!(
            of(&["2x"], Some("now"))
                .is_some_and(|said| said.contains("2x as _2x; ") && said.ends_with("Expires"))
        );
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
    fn a_folder_says_that_it_is_one_and_has_no_bytes() {
        let found = |pairs: &[(&'static str, &'static str)]| {
            let headers = headers(pairs);
            is_marker(&read("k", &headers), &headers)
        };
        let (empty, directory) = (("content-length", "0"), ("x-ms-resource-type", "Directory"));
        for marked in [directory, ("x-ms-meta-hdi_isfolder", "True"), ("x-ms-meta-asv_isfolder", "true")] {
            assert!(found(&[empty, marked]), "{marked:?}");
            assert!(!found(&[("content-length", "1"), marked]), "{marked:?}");
        }
        for other in
            [("x-ms-resource-type", "file"), ("x-ms-meta-hdi_isfolder", "false"), ("x-ms-meta-run", "true")]
        {
            assert!(!found(&[empty, other]), "{other:?}");
        }
        assert!(found(&[empty, directory, ("x-ms-meta-hdi_isfolder", "false")]));
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
    fn names_that_become_one_are_refused() {
        let named = |names: [&str; 2]| {
            let metadata = names.map(|name| (name.to_owned(), name.to_owned()));
            written(Properties { metadata: metadata.into_iter().collect(), ..Properties::default() })
        };
        let headers = named(["a-b", "c"]).unwrap();
        assert_eq!(
            (&headers["x-ms-meta-a_b"], &headers["x-ms-meta-c"]),
            (&"a-b".parse().unwrap(), &"c".parse().unwrap())
        );
        let error = named(["a-b", "a_b"]).unwrap_err();
        assert_eq!(
            (error.kind(), error.hint_text()),
            (ErrorKind::Unsupported, Some("rename one of them at the source"))
        );
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
