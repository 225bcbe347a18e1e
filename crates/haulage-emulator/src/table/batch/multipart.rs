//! The body of a batch taken apart. Whatever comes, nothing here goes deeper than two levels.

use http::Request;
use http::request::Parts;

use crate::table::request::Call;
use crate::wire::error::Answer;

/// More parts than any batch may have, so that a hostile one is not read in full.
const MOST_PARTS: usize = 1000;

/// A request within a batch.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) parts: Parts,
    pub(crate) body: Vec<u8>,
}

impl Part {
    pub(crate) fn call(&self, account: &str) -> Answer<Call<'_>> {
        Call::parse(&self.parts, account)
    }
}

/// What a batch holds.
#[derive(Debug)]
pub(crate) enum Batch {
    Query(Box<Part>),
    Changes(Vec<Part>),
}

/// Reads a batch; `None` where it is none.
pub(crate) fn parse(body: &[u8], content_type: &str, account: &str) -> Option<Batch> {
    let mut whole = split(body, &boundary(content_type)?)?.into_iter();
    let (one, None) = (whole.next()?, whole.next()) else { return None };
    let (headers, content) = head(one)?;
    let kind = header(&headers, "content-type")?;
    if kind.to_ascii_lowercase().starts_with("application/http") {
        let part = request(content, account)?;
        return (part.parts.method == http::Method::GET).then(|| Batch::Query(Box::new(part)));
    }
    let parts = split(content, &boundary(kind)?)?;
    let changes: Option<Vec<Part>> = parts.into_iter().map(|part| request(head(part)?.1, account)).collect();
    changes.filter(|changes| !changes.is_empty()).map(Batch::Changes)
}

/// The boundary that a content type names.
fn boundary(content_type: &str) -> Option<String> {
    let mut words = content_type.split(';').map(str::trim);
    if !words.next()?.eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    let mut named = words.filter_map(|word| word.split_once('='));
    let boundary = named.find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?.1.trim_matches('"');
    (1..=200).contains(&boundary.len()).then(|| boundary.to_owned())
}

/// What lies between the boundaries.
fn split<'a>(body: &'a [u8], boundary: &str) -> Option<Vec<&'a [u8]>> {
    let mark = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut open: Option<usize> = None;
    let mut at = 0;
    while at < body.len() {
        let line_end =
            body[at..].iter().position(|byte| *byte == b'\n').map_or(body.len(), |end| at + end + 1);
        let line = body[at..line_end].trim_ascii_end();
        if let Some(rest) = line.strip_prefix(mark.as_bytes())
            && (rest.is_empty() || rest == b"--")
        {
            if let Some(start) = open {
                // The line end before a boundary belongs to it.
                let part = &body[start..at.max(start)];
                let part = part.strip_suffix(b"\n").unwrap_or(part);
                parts.push(part.strip_suffix(b"\r").unwrap_or(part));
            }
            if rest == b"--" {
                return Some(parts);
            }
            if parts.len() == MOST_PARTS {
                return None;
            }
            open = Some(line_end);
        }
        at = line_end;
    }
    None
}

type Headers<'a> = Vec<(&'a str, &'a str)>;

/// Headers and what comes after the empty line.
fn head(part: &[u8]) -> Option<(Headers<'_>, &[u8])> {
    let mut headers = Vec::new();
    let mut rest = part;
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, after) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, &b""[..]),
        };
        let line = std::str::from_utf8(line).ok()?.trim();
        rest = after;
        if line.is_empty() {
            return Some((headers, rest));
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.trim(), value.trim()));
    }
}

fn header<'a>(headers: &Headers<'a>, name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
}

/// Reads a request with its own line, headers and body.
fn request(content: &[u8], account: &str) -> Option<Part> {
    let start = content.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let content = &content[start..];
    let end = content.iter().position(|byte| *byte == b'\n').unwrap_or(content.len());
    let line = std::str::from_utf8(&content[..end]).ok()?.trim();
    let (method, rest) = line.split_once(' ')?;
    let target = rest.strip_suffix("HTTP/1.1").unwrap_or(rest).trim();
    let (headers, body) = head(content.get(end + 1..).unwrap_or_default())?;
    let mut request = Request::builder().method(method).uri(path(target, account));
    for (name, value) in &headers {
        request = request.header(*name, *value);
    }
    let len = header(&headers, "content-length").and_then(|len| len.parse().ok()).unwrap_or(body.len());
    let body = body.get(..len).unwrap_or(body).to_vec();
    Some(Part { parts: request.body(()).ok()?.into_parts().0, body })
}

/// A target without scheme and host, and below the account.
fn path(target: &str, account: &str) -> String {
    let path = match target.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    };
    if path.starts_with('/') { path.to_owned() } else { format!("/{account}/{path}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KIND: &str = "multipart/mixed; boundary=b";

    fn changes(eol: &str) -> Vec<u8> {
        let lines = [
            "--b",
            "Content-Type: multipart/mixed; boundary=\"c\"",
            "",
            "--c",
            "Content-Type: application/http",
            "Content-Transfer-Encoding: binary",
            "",
            "POST http://host:1/acc/People HTTP/1.1",
            "Content-Type: application/json",
            "",
            "{\"a\":1}",
            "--c",
            "Content-Type: application/http",
            "",
            "DELETE People(PartitionKey='p',RowKey='r') HTTP/1.1",
            "If-Match: *",
            "",
            "",
            "--c--",
            "",
            "--b--",
            "",
        ];
        lines.join(eol).into_bytes()
    }

    #[test]
    fn changes_are_read() {
        for eol in ["\r\n", "\n"] {
            let Some(Batch::Changes(parts)) = parse(&changes(eol), KIND, "acc") else { panic!("no changes") };
            let [insert, delete] = &parts[..] else { panic!("{} parts", parts.len()) };
            assert_eq!((insert.parts.uri.path(), &insert.body[..]), ("/acc/People", &b"{\"a\":1}"[..]));
            assert_eq!(delete.parts.uri.path(), "/acc/People(PartitionKey='p',RowKey='r')");
            assert_eq!(delete.parts.headers["if-match"], "*");
            assert!(delete.body.is_empty());
        }
    }

    #[test]
    fn a_query_stands_alone() {
        let body = b"--b\r\nContent-Type: application/http\r\n\r\nGET /acc/People() HTTP/1.1\r\nAccept: x\r\n\r\n\r\n--b--\r\n";
        assert!(matches!(parse(body, KIND, "acc"), Some(Batch::Query(_))));
        let text = String::from_utf8_lossy(body).replace("GET", "POST");
        assert!(parse(text.as_bytes(), KIND, "acc").is_none());
        assert!(parse(body, "multipart/mixed", "acc").is_none());
        assert!(parse(&body[..body.len() - 6], KIND, "acc").is_none());
    }

    proptest! {
        #[test]
        fn no_body_upsets_it(cut in 0..400_usize, at in 0..400_usize, byte: u8, noise: Vec<u8>) {
            let mut body = changes("\r\n");
            let at = at % body.len();
            body[at] = byte;
            let _ = parse(&body, KIND, "acc");
            body.truncate(cut);
            let _ = (parse(&body, KIND, "acc"), parse(&noise, KIND, "acc"));
        }
    }
}
