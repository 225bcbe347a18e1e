//! What the services say and are told in the same headers.

use std::time::UNIX_EPOCH;

use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH, LAST_MODIFIED,
};
use http::response::Parts;

use super::answer::{self, in_a_while};
use super::asked::Asked;
use super::{BlockRange, GetOptions, GetResult, ObjectMeta, Precondition, Properties, Store, Trace};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::http::Relayed;

/// A header's text.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// What the usual headers of an answer say of the object.
pub(super) fn read(key: &str, headers: &HeaderMap) -> ObjectMeta {
    let get = |name: &HeaderName| text(headers, name);
    let size = whole_of(headers).or_else(|| get(&CONTENT_LENGTH)).and_then(|text| text.parse().ok());
    ObjectMeta {
        key: key.to_owned(),
        size: size.unwrap_or_default(),
        etag: etag(headers),
        weak: answer::is_weak(headers),
        modified_ns: get(&LAST_MODIFIED).and_then(http_date_ns).unwrap_or_default(),
        content_type: get(&CONTENT_TYPE).map(str::to_owned),
        ..ObjectMeta::default()
    }
}

/// The version that an answer names, without quotes, as lists have it; empty where it names none.
pub(super) fn etag(headers: &HeaderMap) -> String {
    answer::etag(headers).unwrap_or_default().to_owned()
}

/// The size that the answer to a range states of the whole. Of a range, Content-Length is the range's and Content-Range ends with
/// the whole: `bytes 0-9/100`.
pub(super) fn whole_of(headers: &HeaderMap) -> Option<&str> {
    text(headers, &CONTENT_RANGE).and_then(|range| range.rsplit_once('/')).map(|(_, whole)| whole)
}

/// How many bytes an answer to `options` brings of the object, which is a `what`. `None` for a whole of which that is unknown: in
/// chunks it states no length, and packed on the way (Content-Encoding) it has another one.
pub(super) fn extent<P: Copy>(
    what: &str,
    meta: &ObjectMeta,
    headers: &HeaderMap,
    options: &GetOptions,
    asked: Asked<'_, P>,
) -> Result<Option<u64>> {
    let changed = |how| Err(asked.error(ErrorKind::SourceChanged, format!("the {what} {how}")));
    // Asked for by If-Match, which not every server knows.
    if options.if_match.as_ref().is_some_and(|version| !version.may_be(meta)) {
        return changed("was replaced while it was read");
    }
    let not_believed = |broken| asked.not_believed(broken);
    let len = answer::length(headers).map_err(not_believed)?;
    let Some(range) = options.range_of(meta.size) else {
        let odd = len.is_none() || meta.weak || options.size.is_some_and(|size| len != Some(size));
        return Ok(len.or(options.size).filter(|_| !(odd && headers.contains_key(CONTENT_ENCODING))));
    };
    if options.if_match.is_none() && meta.size < range.end() {
        return changed("is shorter than it was when listed");
    }
    answer::whole_of_range(headers, range).map_err(not_believed)?;
    match len {
        // The same object has the same bytes: it is the answer that is wrong.
        Some(len) if len != range.len => {
            let cause = format!("{len} bytes came, where {} were asked for", range.len);
            Err(asked.error(ErrorKind::Integrity, cause).retry(Retry::Backoff))
        }
        _ => Ok(Some(range.len)),
    }
}

/// Reads the whole as a range: an answer to a range says which it is, and nobody packs it.
pub(super) async fn as_range(
    store: &dyn Store,
    key: &str,
    options: &GetOptions,
    trace: &Trace,
) -> Result<GetResult> {
    let len = match options.size {
        Some(size) => size,
        None => store.head(key, trace).await?.size,
    };
    let range = Some(BlockRange { offset: 0, len });
    store.get(key, &GetOptions { range, range_checksum: true, ..options.clone() }, trace).await
}

/// The size of an object of which the answer to a HEAD does not tell it.
pub(super) async fn measure(store: &dyn Store, meta: &ObjectMeta, trace: &Trace) -> Result<u64> {
    let range = Some(BlockRange { offset: 0, len: 1 });
    let first = GetOptions { range, up_to: true, if_match: Some(meta.version()), ..GetOptions::default() };
    match store.get(&meta.key, &first, trace).await {
        Ok(got) => Ok(got.meta.size),
        // HTTP has no range of an object of no bytes.
        Err(error) if error.status() == Some(416) => Ok(0),
        Err(error) => Err(error),
    }
}

/// What somebody has given the object, without tags and tier; its metadata is that which begins with `prefix` and of which
/// `is_of_others` holds.
pub(super) fn properties(
    headers: &HeaderMap,
    prefix: &str,
    is_of_others: impl Fn(&str) -> bool,
) -> Properties {
    let get = |name: &HeaderName| text(headers, name).map(str::to_owned);
    let metadata = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix(prefix).filter(|name| is_of_others(name))?;
        Some((name.to_owned(), value.to_str().ok()?.to_owned()))
    });
    Properties {
        cache_control: get(&CACHE_CONTROL),
        content_disposition: get(&CONTENT_DISPOSITION),
        content_encoding: get(&CONTENT_ENCODING),
        content_language: get(&CONTENT_LANGUAGE),
        metadata: metadata.collect(),
        ..Properties::default()
    }
}

/// Adds a header whose value comes from elsewhere.
pub(super) fn set<P>(
    headers: &mut HeaderMap,
    name: HeaderName,
    value: &str,
    asked: Asked<'_, P>,
) -> Result<()> {
    let value = HeaderValue::from_str(value).map_err(|_| {
        asked.error(ErrorKind::Usage, format!("{name} holds characters that HTTP cannot carry"))
    })?;
    headers.insert(name, value);
    Ok(())
}

/// Adds what somebody has said of caches, disposition, encoding and language, under the names that these have when they are written.
pub(super) fn set_given<P: Copy>(
    headers: &mut HeaderMap,
    [cache, disposition, encoding, language]: [HeaderName; 4],
    properties: &Properties,
    asked: Asked<'_, P>,
) -> Result<()> {
    for (name, text) in [
        (cache, &properties.cache_control),
        (disposition, &properties.content_disposition),
        (encoding, &properties.content_encoding),
        (language, &properties.content_language),
    ] {
        if let Some(text) = text {
            set(headers, name, text, asked)?;
        }
    }
    Ok(())
}

/// Adds metadata: `prefix` begins its headers, and `service` keeps it.
pub(super) fn set_metadata<'a, P: Copy>(
    headers: &mut HeaderMap,
    prefix: &str,
    metadata: impl IntoIterator<Item = (&'a str, &'a str)>,
    service: &str,
    asked: Asked<'_, P>,
) -> Result<()> {
    let refused = |what| {
        asked.error(ErrorKind::Unsupported, format!("metadata with a {what} that {service} cannot keep"))
    };
    for (name, text) in metadata {
        let name = HeaderName::try_from(format!("{prefix}{name}")).map_err(|_| refused("name"))?;
        if !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(refused("value"));
        }
        set(headers, name, text, asked)?;
    }
    Ok(())
}

/// When the object there may be replaced, as a header.
pub(super) fn set_precondition<P>(
    headers: &mut HeaderMap,
    precondition: &Precondition,
    asked: Asked<'_, P>,
) -> Result<()> {
    match precondition {
        Precondition::None => Ok(()),
        Precondition::IfAbsent => {
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
            Ok(())
        }
        Precondition::IfMatch(etag) => set_etag(headers, IF_MATCH, etag, asked),
    }
}

/// Asks for exactly this version of the object.
pub(super) fn set_etag<P>(
    headers: &mut HeaderMap,
    name: HeaderName,
    etag: &str,
    asked: Asked<'_, P>,
) -> Result<()> {
    set(headers, name, &format!("\"{}\"", etag.trim_matches('"')), asked)
}

/// A checksum that the service states of a body. One that cannot be read proves nothing, as if there were none.
pub(super) fn checksum<T>(
    headers: &HeaderMap,
    name: &HeaderName,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    text(headers, name).and_then(parse)
}

/// The service's id for a request, in the header of this name. It is kept for every attempt, so one that is longer than any id is
/// none.
pub(super) fn request_id(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    const ID_MAX: usize = 128;
    let id = text(headers, name)?;
    (id.len() <= ID_MAX && id.bytes().all(|byte| byte.is_ascii_graphic())).then(|| id.to_owned())
}

/// The failure that a proxy has answered in the service's place. All that a service says has an id, in the header of this name.
pub(super) fn by_proxy<P: Copy>(asked: Asked<'_, P>, head: &Parts, id: &HeaderName) -> Option<Error> {
    let relayed = head.extensions.get::<Relayed>().filter(|_| request_id(&head.headers, id).is_none())?;
    let refusal = relayed.refusal(asked.operation, asked.object, head.status, &head.headers)?;
    let again = refusal.retry_advice() == Retry::Backoff;
    Some(if again { refusal.retry(in_a_while(&head.headers)) } else { refusal })
}

/// An HTTP date as nanoseconds since 1970.
pub(super) fn http_date_ns(text: &str) -> Option<i128> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i128::try_from(since.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_a_request_id_is_kept() {
        const NAME: HeaderName = HeaderName::from_static("x-ms-request-id");
        let id = |text: &str| {
            request_id(&HeaderMap::from_iter([(NAME, HeaderValue::from_str(text).unwrap())]), &NAME)
        };
        assert_eq!(id("0a-1").as_deref(), Some("0a-1"));
        assert_eq!(id("4442587FB7D0A2F9").as_deref(), Some("4442587FB7D0A2F9"));
        assert_eq!(id(&"a".repeat(128)).map(|id| id.len()), Some(128));
        assert_eq!(id(&"a".repeat(129)), None);
        assert_eq!(id("a b"), None);
    }
}
