//! In which form an answer is wanted: JSON with more or less metadata, or Atom.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::request::Parts;

use super::error::{ATOM_NOT_SUPPORTED, JSON_NOT_SUPPORTED};
use crate::request::Query;
use crate::wire::error::Answer;

/// The first version of the service that speaks JSON.
const WITH_JSON: &str = "2013-08-15";
/// The first version that speaks no Atom any more.
const WITHOUT_ATOM: &str = "2015-12-11";

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json(Metadata),
    Atom,
}

/// How much a JSON answer says beside the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metadata {
    None,
    Minimal,
    Full,
}

impl Format {
    /// What the client asks for: `$format`, else `Accept`. Who asks for nothing gets what its version of the
    /// service would have given.
    pub(super) fn of(parts: &Parts, query: &Query<'_>) -> Answer<Self> {
        let version =
            parts.headers.get("x-ms-version").and_then(|value| value.to_str().ok()).or(query.get("sv"));
        let version = version.unwrap_or(WITHOUT_ATOM);
        let format = match query.get("$format") {
            Some("json") => Some(Self::Json(Metadata::Minimal)),
            Some("atom") => Some(Self::Atom),
            Some(format) => Self::named(format),
            None => Self::accepted(&parts.headers),
        };
        match format {
            // Who names Atom gets it, whatever the version: the two can be compared then.
            Some(Self::Atom) => Ok(Self::Atom),
            Some(Self::Json(_)) if version < WITH_JSON => Err((&JSON_NOT_SUPPORTED).into()),
            Some(format) => Ok(format),
            None if version < WITHOUT_ATOM => Ok(Self::Atom),
            None => Err((&ATOM_NOT_SUPPORTED).into()),
        }
    }

    /// In which form a failure is told.
    pub(super) fn of_error(parts: &Parts) -> Self {
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let named = query.get("$format").and_then(Self::named).or(Self::accepted(&parts.headers));
        named.unwrap_or(Self::Atom)
    }

    fn accepted(headers: &HeaderMap) -> Option<Self> {
        let accept = headers.get(ACCEPT)?.to_str().ok()?;
        accept.split(',').find_map(Self::named)
    }

    fn named(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let mut words = text.split(';').map(str::trim);
        match words.next()? {
            "application/json" => {
                let level = words.find_map(|word| word.strip_prefix("odata="));
                Some(Self::Json(match level {
                    Some("nometadata") => Metadata::None,
                    Some("fullmetadata") => Metadata::Full,
                    _ => Metadata::Minimal,
                }))
            }
            "application/atom+xml" | "application/xml" => Some(Self::Atom),
            _ => None,
        }
    }

    pub(super) fn is_atom(self) -> bool {
        self == Self::Atom
    }

    /// What the answer's `Content-Type` says.
    pub(super) fn content_type(self, of_list: bool) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json(Metadata::None) => "application/json;odata=nometadata;streaming=true;charset=utf-8",
            Self::Json(Metadata::Minimal) => {
                "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
            }
            Self::Json(Metadata::Full) => "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
            Self::Atom if of_list => "application/atom+xml;type=feed;charset=utf-8",
            Self::Atom => "application/atom+xml;type=entry;charset=utf-8",
        })
    }

    pub(super) fn error_type(self) -> HeaderValue {
        if self.is_atom() { HeaderValue::from_static("application/xml") } else { self.content_type(false) }
    }
}

/// Whether a request's body is Atom.
pub(super) fn body_is_atom(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.contains("atom") || text.contains("xml")
}

/// Appends a text as JSON has it, quotes included.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}

/// Appends what stands between the quotes.
pub(crate) fn push_escaped(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte >= 0x20 && !matches!(*byte, b'"' | b'\\') {
            continue;
        }
        out.extend_from_slice(&bytes[from..at]);
        from = at + 1;
        match *byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&bytes[from..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(version: &str, accept: &str) -> Result<Format, &'static str> {
        let mut request = http::Request::builder().uri("/acc/people()");
        if !version.is_empty() {
            request = request.header("x-ms-version", version);
        }
        if !accept.is_empty() {
            request = request.header("accept", accept);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        Format::of(&parts, &Query::parse("")).map_err(|error| error.kind.code)
    }

    #[test]
    fn formats_follow_header_and_version() {
        assert_eq!(asked("2019-02-02", "application/json"), Ok(Format::Json(Metadata::Minimal)));
        assert_eq!(
            asked("2019-02-02", "application/json;odata=nometadata"),
            Ok(Format::Json(Metadata::None))
        );
        assert_eq!(
            asked("", "text/plain, application/json; odata=FullMetadata"),
            Ok(Format::Json(Metadata::Full))
        );
        assert_eq!(asked("2012-02-12", ""), Ok(Format::Atom));
        assert_eq!(asked("2012-02-12", "application/json"), Err("JsonFormatNotSupported"));
        assert_eq!(asked("2015-04-05", "*/*"), Ok(Format::Atom));
        assert_eq!(asked("2019-02-02", "application/atom+xml"), Ok(Format::Atom));
        assert_eq!(asked("2019-02-02", "*/*"), Err("AtomFormatNotSupported"));
        assert_eq!(asked("", ""), Err("AtomFormatNotSupported"));
    }

    proptest! {
        #[test]
        fn texts_read_back(text in "\\PC{0,20}[\0-\u{1f}\"\\\\]{0,5}\\PC{0,5}") {
            let mut out = Vec::new();
            push_string(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
