//! What an answer must be like before anything in it is believed.
//!
//! A service has a table of [`Rule`]s, one for each operation: the only status that is a success, what the body is,
//! and what must come back. An answer that breaks its rule is a [`ErrorKind::Protocol`] failure, whatever else it says:
//! a login page with status 200 is no empty list, and a write that was answered by "accepted" was not confirmed.

mod page;
mod refusal;
mod walk;

use http::HeaderMap;
use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, LAST_MODIFIED,
    TRANSFER_ENCODING,
};

use super::BlockRange;
use crate::error::{Error, ErrorKind, Retry};
pub(super) use page::{Markers, judge_count, judge_page};
pub(super) use refusal::{code_of, in_a_while, told};
pub(super) use walk::{Step, Text, walk};

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
    /// Nothing, as it answers a HEAD: what is said of its length and kind is said of what a GET would bring.
    Headers,
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

/// Versions, media types and markers are some dozen bytes; the largest that is taken for one.
const TEXT_MAX: usize = 4096;

impl Broken {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    /// What comes back is shown to people and handed to others.
    pub(super) fn echo() -> Self {
        Self::new("the answer repeats the signature of its request")
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
        stated_once(headers)?;
        if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
            return Err(Broken::new("the answer states a length and comes in chunks, which state another"));
        }
        short(headers, &ETAG)?;
        // What is read may be known by its time.
        let dated = self.body == Body::Content && is_dated(headers);
        if self.etag && etag(headers).is_none() && !dated {
            return Err(Broken::new("the answer names no version (ETag)"));
        }
        match self.body {
            Body::Nothing if matches!(length(headers), Ok(Some(1..))) => {
                Err(Broken::new("the answer has a body, where none belongs"))
            }
            Body::Nothing | Body::Headers => Ok(()),
            // Its size would be the one that this header makes up.
            Body::Content if self.status == 200 && headers.contains_key(CONTENT_RANGE) => {
                Err(Broken::new("the answer holds a range, where the whole was asked for"))
            }
            Body::Content => {
                short(headers, &CONTENT_TYPE)?;
                length(headers).map(drop)
            }
            Body::Document(_) => is_xml(headers),
        }
    }
}

/// A header that comes twice with two values states neither, and who reads the first may be told another than a proxy.
fn stated_once(headers: &HeaderMap) -> Result<(), Broken> {
    // Of most answers there is nothing to look at.
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    const READ: [HeaderName; 7] = [
        CONTENT_TYPE,
        CONTENT_LENGTH,
        CONTENT_RANGE,
        CONTENT_ENCODING,
        HeaderName::from_static("content-md5"),
        ETAG,
        LAST_MODIFIED,
    ];
    // Others may well come twice: whoever passes an answer on adds to them.
    const SERVICES: [&str; 3] = ["x-ms-", "x-amz-checksum-", "x-amz-meta-"];
    let of_service = |name: &str| SERVICES.iter().any(|prefix| name.starts_with(prefix));
    let is_read = |name: &&HeaderName| READ.contains(name) || of_service(name.as_str());
    for name in headers.keys().filter(is_read) {
        let mut values = headers.get_all(name).into_iter();
        let first = values.next();
        if values.any(|value| Some(value) != first) {
            return Err(Broken::new(format!("the answer states {name} twice, with two values")));
        }
    }
    Ok(())
}

/// Refuses a header that is kept and would be larger than any such is.
fn short(headers: &HeaderMap, name: &HeaderName) -> Result<(), Broken> {
    match headers.get(name) {
        Some(value) if value.len() > TEXT_MAX => {
            Err(Broken::new(format!("the answer's {name} has {} bytes", value.len())))
        }
        _ => Ok(()),
    }
}

/// A header's text.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The version that an answer names, without quotes.
pub(super) fn etag(headers: &HeaderMap) -> Option<&str> {
    text(headers, &ETAG).map(|etag| opaque(etag).0).filter(|etag| !etag.is_empty())
}

/// Whether the ETag of an answer is weak.
pub(super) fn is_weak(headers: &HeaderMap) -> bool {
    text(headers, &ETAG).is_some_and(|etag| opaque(etag).1)
}

/// An ETag without quotes, and whether it is weak. A proxy may weaken the ETag of what it passes on, so both forms are compared
/// without that mark (RFC 9110, 8.8.3.2).
pub(super) fn opaque(etag: &str) -> (&str, bool) {
    let weak = etag.strip_prefix("W/");
    (weak.unwrap_or(etag).trim_matches('"'), weak.is_some())
}

/// Whether an answer says when the object was written, and is the service's: the page of a portal has a time, too.
fn is_dated(headers: &HeaderMap) -> bool {
    let is_ours = |name: &HeaderName| ["x-ms-", "x-amz-"].iter().any(|its| name.as_str().starts_with(its));
    let is_page =
        text(headers, &CONTENT_TYPE).is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/html"));
    let date = text(headers, &LAST_MODIFIED).and_then(|date| httpdate::parse_http_date(date).ok());
    date.is_some() && !is_page && headers.keys().any(is_ours)
}

/// How many bytes follow; `None` if only their end tells, as in chunks.
pub(super) fn length(headers: &HeaderMap) -> Result<Option<u64>, Broken> {
    let Some(stated) = headers.get(CONTENT_LENGTH) else { return Ok(None) };
    let parsed = stated.to_str().ok().and_then(|length| length.parse().ok());
    parsed.map(Some).ok_or_else(|| Broken::new("the answer's Content-Length is no number"))
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

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

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
    fn a_header_that_comes_twice_says_the_same_twice() {
        for name in ["etag", "content-type", "x-ms-content-crc64", "x-amz-checksum-crc64nvme", "content-md5"]
        {
            let mut twice = headers(&[("etag", "\"0x1\""), ("date", "a")]);
            twice.insert(name, HeaderValue::from_static("\"0x1\""));
            twice.append(name, HeaderValue::from_static("\"0x1\""));
            WRITE.judge(201, &twice).unwrap();
            twice.append(name, HeaderValue::from_static("\"0x2\""));
            assert!(WRITE.judge(201, &twice).unwrap_err().0.contains("twice"), "{name}");
        }
        let mut cookies = headers(&[("etag", "\"0x1\""), ("set-cookie", "a=1")]);
        cookies.append("set-cookie", HeaderValue::from_static("b=2"));
        WRITE.judge(201, &cookies).unwrap();
    }

    #[test]
    fn a_length_is_stated_in_one_way_only_and_a_whole_is_no_range() {
        let read = Rule { status: 200, body: Body::Content, etag: true };
        let whole = [("etag", "\"0x1\""), ("content-length", "9")];
        read.judge(200, &headers(&whole)).unwrap();
        for more in [("transfer-encoding", "chunked"), ("content-range", "bytes 0-8/9")] {
            assert!(read.judge(200, &headers(&[whole[0], whole[1], more])).is_err(), "{more:?}");
        }
        let range = Rule { status: 206, ..read };
        range.judge(206, &headers(&[whole[0], whole[1], ("content-range", "bytes 0-8/9")])).unwrap();
        let mut large = headers(&whole);
        large.insert(ETAG, HeaderValue::from_str(&"e".repeat(TEXT_MAX + 1)).unwrap());
        assert!(read.judge(200, &large).is_err());
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
}
