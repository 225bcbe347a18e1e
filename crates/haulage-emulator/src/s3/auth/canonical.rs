//! The canonical form of a request, of which the signature is made.

use http::header::HeaderMap;
use http::request::Parts;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

/// All but the unreserved characters of RFC 3986 is escaped.
const QUERY: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// In a path slashes stay.
const PATH: AsciiSet = QUERY.remove(b'/');

/// The parameter that carries the signature itself.
const SIGNATURE: &str = "X-Amz-Signature";

/// Method, path, query, signed headers and the hash of the body. What is not text in a header is kept.
pub(super) fn canonical_request(parts: &Parts, signed: &[&str], payload: &str) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    let mut line = |bytes: &[u8]| {
        text.extend_from_slice(bytes);
        text.push(b'\n');
    };
    line(parts.method.as_str().as_bytes());
    line(path(parts.uri.path()).as_bytes());
    line(query(parts.uri.query().unwrap_or_default()).as_bytes());
    for name in signed {
        line(&[name.as_bytes(), b":", &header(&parts.headers, name)].concat());
    }
    line(b"");
    line(signed.join(";").as_bytes());
    text.extend_from_slice(payload.as_bytes());
    text
}

/// Escaped once, whatever the client escaped.
fn path(raw: &str) -> String {
    let bytes: Vec<u8> = percent_decode(raw.as_bytes()).collect();
    percent_encode(&bytes, &PATH).to_string()
}

/// Escaped, then sorted by name and value.
fn query(raw: &str) -> String {
    let escaped = |text: &str| {
        let spaced = text.replace('+', " ");
        let bytes: Vec<u8> = percent_decode(spaced.as_bytes()).collect();
        percent_encode(&bytes, &QUERY).to_string()
    };
    let pairs = raw.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (escaped(name), escaped(value))
        })
        .filter(|(name, _)| name != SIGNATURE)
        .collect();
    pairs.sort_unstable();
    let texts: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    texts.join("&")
}

/// All values of a header, joined by commas; runs of spaces become one, none are left at the ends.
fn header(headers: &HeaderMap, name: &str) -> Vec<u8> {
    let values = headers.get_all(name).iter().map(|value| {
        let words = value.as_bytes().split(|byte| *byte == b' ' || *byte == b'\t');
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(&b' ')
    });
    values.collect::<Vec<_>>().join(&b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_queries_are_escaped_in_one_way() {
        assert_eq!(path("/box/a%20b%2fc+d~%C3%A9//"), "/box/a%20b/c%2Bd~%C3%A9//");
        assert_eq!(query("uploads"), "uploads=");
        assert_eq!(query("b=2&a=x+y%2F&a=&X-Amz-Signature=00"), "a=&a=x%20y%2F&b=2");
    }

    #[test]
    fn headers_are_trimmed_and_joined() {
        let mut headers = HeaderMap::new();
        headers.append("x-amz-meta-a", "  one   two ".parse().unwrap());
        headers.append("x-amz-meta-a", "three".parse().unwrap());
        assert_eq!(header(&headers, "x-amz-meta-a"), b"one two,three");
    }
}
