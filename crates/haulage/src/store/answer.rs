//! What an answer must be like before anything in it is believed.
//!
//! A service has a table of [`Rule`]s, one for each operation: the only status that is a success, what the body is,
//! and what must come back. An answer that breaks its rule is a [`ErrorKind::Protocol`] failure, whatever else it says:
//! a login page with status 200 is no empty list, and a write that was answered by "accepted" was not confirmed.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName};

use super::{BlockRange, ListPage};
use crate::error::{Error, ErrorKind, Retry};

/// The only good answer to an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// The only status that means success.
    pub(super) status: u16,
    /// What the body is.
    pub(super) body: Body,
    /// Whether the version that was read or written must be named.
    pub(super) etag: bool,
}

/// What the body of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Nothing that is read.
    Nothing,
    /// Bytes of an object, as many as the answer says.
    Content,
    /// The XML of the service.
    Document(Document),
}

/// A document of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Document {
    /// Name of the outermost element.
    pub(super) root: &'static str,
    /// No such document is larger, in bytes.
    pub(super) largest: usize,
}

/// Why an answer is not believed, in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken(pub(super) String);

impl Broken {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    /// The error for what was asked: `error` gives it operation and object.
    pub(super) fn error(self, error: impl FnOnce(ErrorKind, String) -> Error) -> Error {
        error(ErrorKind::Protocol, self.0).retry(Retry::Few)
    }
}

impl Rule {
    /// Judges a status that claims success, and the headers.
    pub(super) fn judge(&self, status: u16, headers: &HeaderMap) -> Result<(), Broken> {
        if status != self.status {
            return Err(Broken::new(format!("answered by HTTP {status}, where {} is success", self.status)));
        }
        if self.etag && etag(headers).is_none() {
            return Err(Broken::new("the answer names no version (ETag)"));
        }
        match self.body {
            Body::Nothing if length(headers).is_ok_and(|length| length > 0) => {
                Err(Broken::new("the answer has a body, where none belongs"))
            }
            Body::Nothing => Ok(()),
            Body::Content => length(headers).map(drop),
            Body::Document(_) => is_xml(headers),
        }
    }
}

/// A header's text.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The version that an answer names, without quotes.
pub(super) fn etag(headers: &HeaderMap) -> Option<&str> {
    text(headers, &ETAG).map(|etag| etag.trim_matches('"')).filter(|etag| !etag.is_empty())
}

/// How many bytes follow.
pub(super) fn length(headers: &HeaderMap) -> Result<u64, Broken> {
    let stated = text(headers, &CONTENT_LENGTH).and_then(|length| length.parse().ok());
    stated.ok_or_else(|| Broken::new("the answer does not say how many bytes it has"))
}

/// A document is what it says that it is, as far as it says.
fn is_xml(headers: &HeaderMap) -> Result<(), Broken> {
    if let Some(encoding) = text(headers, &CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
        return Err(Broken::new(format!("the answer is packed ({encoding}), which was not asked for")));
    }
    match text(headers, &CONTENT_TYPE) {
        Some(kind)
            if !kind
                .to_ascii_lowercase()
                .split(';')
                .next()
                .is_some_and(|kind| kind.trim().ends_with("xml")) =>
        {
            Err(Broken::new(format!("the answer is `{kind}`, where XML was expected")))
        }
        _ => Ok(()),
    }
}

/// The size of the whole object, from an answer that must hold exactly `asked` of it.
pub(super) fn whole_of_range(headers: &HeaderMap, asked: BlockRange) -> Result<u64, Broken> {
    let stated = text(headers, &CONTENT_RANGE)
        .ok_or_else(|| Broken::new("the answer does not say which range it holds"))?;
    let parsed = stated.strip_prefix("bytes ").and_then(|range| {
        let (range, whole) = range.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?, whole.parse::<u64>().ok()?))
    });
    let Some((first, last, whole)) = parsed else {
        return Err(Broken::new(format!("the answer's range `{stated}` cannot be read")));
    };
    if first != asked.offset || last.checked_add(1) != Some(asked.end()) || last >= whole {
        let wanted = format!("{}-{}", asked.offset, asked.end() - 1);
        return Err(Broken::new(format!("the answer holds `{stated}`, where bytes {wanted} were asked for")));
    }
    Ok(whole)
}

/// Names have at most 1,024 characters, of four bytes each.
const NAME_MAX: usize = 4096;

/// Versions, media types and markers are some dozen bytes; the largest that is taken for one.
const TEXT_MAX: usize = 4096;

/// Judges a page of a list: it holds what was asked for and nothing else.
pub(super) fn judge_page(page: &ListPage, prefix: &str, hierarchical: bool) -> Result<(), Broken> {
    let keys = page.objects.iter().map(|object| object.key.as_str());
    for key in keys.chain(page.prefixes.iter().map(String::as_str)) {
        if key.is_empty() {
            return Err(Broken::new("the list holds an object without a name"));
        }
        if key.len() > NAME_MAX {
            return Err(Broken::new(format!("the list holds a name of {} bytes", key.len())));
        }
        if !key.starts_with(prefix) {
            return Err(Broken::new(format!(
                "the list holds `{key}`, which is not below what was asked for"
            )));
        }
    }
    let texts = page.objects.iter().flat_map(|object| [Some(&object.etag), object.content_type.as_ref()]);
    if texts.flatten().any(|text| text.len() > TEXT_MAX) {
        return Err(Broken::new("the list holds a property of more than 4 KiB"));
    }
    let folded = |folder: &String| hierarchical && folder.ends_with('/') && folder.len() > prefix.len();
    if !page.prefixes.iter().all(folded) {
        return Err(Broken::new("the list holds a folder that is none"));
    }
    Ok(())
}

/// Empty pages in a row after which a list is taken to have no end. A service may skip what was deleted.
const EMPTY_MAX: u32 = 10_000;

/// Sees that a list that comes in pages gets on.
#[derive(Debug, Default)]
pub(super) struct Markers {
    seen: HashSet<u64>,
    empty: u32,
}

impl Markers {
    /// Takes the first name of this page, if it holds any, and the marker of the next.
    pub(super) fn advance(&mut self, first: Option<&str>, marker: &str) -> Result<(), Broken> {
        if marker.len() > TEXT_MAX {
            return Err(Broken::new(format!("the marker of the next page has {} bytes", marker.len())));
        }
        self.empty = if first.is_none() { self.empty + 1 } else { 0 };
        if self.empty > EMPTY_MAX {
            return Err(Broken::new(format!("{EMPTY_MAX} pages in a row hold nothing")));
        }
        if self.note(("marker", marker)) && first.is_none_or(|first| self.note(("first", first))) {
            Ok(())
        } else {
            Err(Broken::new("the list begins again at a page that it gave before"))
        }
    }

    /// Whether this is seen for the first time.
    fn note(&mut self, seen: (&str, &str)) -> bool {
        let mut hasher = DefaultHasher::new();
        seen.hash(&mut hasher);
        self.seen.insert(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::store::ObjectMeta;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    const LIST: Rule =
        Rule { status: 200, body: Body::Document(Document { root: "List", largest: 1 << 20 }), etag: false };
    const WRITE: Rule = Rule { status: 201, body: Body::Nothing, etag: true };

    #[test]
    fn only_one_status_is_success() {
        let written = headers(&[("etag", "\"0x1\"")]);
        WRITE.judge(201, &written).unwrap();
        for status in [200, 202, 204, 206, 299] {
            assert!(WRITE.judge(status, &written).unwrap_err().0.contains("201 is success"), "{status}");
        }
        assert!(WRITE.judge(201, &headers(&[])).unwrap_err().0.contains("ETag"));
        assert!(WRITE.judge(201, &headers(&[("etag", "\"\"")])).is_err());
    }

    #[test]
    fn a_login_page_is_no_list() {
        for kind in ["application/xml", "text/xml; charset=utf-8", "application/atom+xml"] {
            LIST.judge(200, &headers(&[("content-type", kind)])).unwrap();
        }
        LIST.judge(200, &headers(&[])).unwrap();
        for kind in ["text/html", "text/html; charset=utf-8", "application/json", ""] {
            assert!(LIST.judge(200, &headers(&[("content-type", kind)])).is_err(), "{kind}");
        }
        assert!(LIST.judge(200, &headers(&[("content-encoding", "gzip")])).is_err());
    }

    #[test]
    fn a_range_is_exactly_the_one_that_was_asked_for() {
        let asked = BlockRange { offset: 10, len: 5 };
        let whole = |range: &'static str| whole_of_range(&headers(&[("content-range", range)]), asked);
        assert_eq!(whole("bytes 10-14/100"), Ok(100));
        for range in [
            "bytes 10-13/100",
            "bytes 10-15/100",
            "bytes 0-4/100",
            "bytes 10-14/14",
            "bytes 10-14/*",
            "bytes */100",
            "10-14/100",
            "bytes 10-18446744073709551615/100",
            "",
        ] {
            assert!(whole(range).is_err(), "{range}");
        }
        assert!(whole_of_range(&headers(&[]), asked).is_err());
    }

    #[test]
    fn a_list_holds_what_was_asked_for() {
        let page = |keys: &[&str], prefixes: &[&str]| ListPage {
            objects: keys
                .iter()
                .map(|key| ObjectMeta { key: (*key).into(), ..ObjectMeta::default() })
                .collect(),
            prefixes: prefixes.iter().map(|prefix| (*prefix).into()).collect(),
            ..ListPage::default()
        };
        judge_page(&page(&["p/a", "p/"], &["p/b/"]), "p/", true).unwrap();
        judge_page(&page(&["a"], &[]), "", false).unwrap();
        for (keys, prefixes) in [
            (&["q/victim"][..], &[][..]),
            (&[""], &[]),
            (&["p"], &[]),
            (&[], &["q/"]),
            (&[], &["p/b"]),
            (&[], &["p/"]),
        ] {
            assert!(judge_page(&page(keys, prefixes), "p/", true).is_err(), "{keys:?} {prefixes:?}");
        }
        assert!(judge_page(&page(&[], &["p/b/"]), "p/", false).is_err());
    }

    #[test]
    fn a_list_gets_on() {
        let mut markers = Markers::default();
        for (first, marker) in [(Some("a"), "b"), (Some("b"), "c"), (None, "d"), (None, "e")] {
            markers.advance(first, marker).unwrap();
        }
        assert!(markers.advance(Some("f"), "b").is_err());
        assert!(markers.advance(Some("a"), "g").is_err());
        assert!(markers.advance(Some("h"), &"i".repeat(TEXT_MAX + 1)).is_err());
        let mut markers = Markers::default();
        let stuck = (0..=EMPTY_MAX).find(|number| markers.advance(None, &number.to_string()).is_err());
        assert_eq!(stuck, Some(EMPTY_MAX));
    }
}
