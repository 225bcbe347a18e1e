//! Conditional headers.

use http::header::{ETAG, HeaderValue};

use super::error::{NO_SUCH_KEY, NOT_IMPLEMENTED, NOT_MODIFIED, PRECONDITION_FAILED};
use super::headers::{etag, quoted};
use super::request::Call;
use crate::store::Blob;
use crate::wire::error::{Answer, ServiceError};
use crate::wire::time::Stamp;

/// What an object has to be for the request to go on. A date that is none is no condition.
#[derive(Debug, Default)]
pub(super) struct Conditions<'a> {
    matches: Option<&'a str>,
    none_match: Option<&'a str>,
    modified_since: Option<Stamp>,
    unmodified_since: Option<Stamp>,
}

impl<'a> Conditions<'a> {
    pub(super) fn of(call: &Call<'a>) -> Self {
        Self::named(call, ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"])
    }

    /// The conditions that a copy sets for its source.
    pub(super) fn of_source(call: &Call<'a>) -> Self {
        Self::named(
            call,
            [
                "x-amz-copy-source-if-match",
                "x-amz-copy-source-if-none-match",
                "x-amz-copy-source-if-modified-since",
                "x-amz-copy-source-if-unmodified-since",
            ],
        )
    }

    fn named(call: &Call<'a>, names: [&str; 4]) -> Self {
        let date = |name| call.header(name).and_then(Stamp::parse_http);
        Self {
            matches: call.header(names[0]),
            none_match: call.header(names[1]),
            modified_since: date(names[2]),
            unmodified_since: date(names[3]),
        }
    }

    /// For requests that read: what has not changed is a 304.
    pub(super) fn check_read(&self, blob: &Blob) -> Answer<()> {
        self.check_unchanged(blob)?;
        if !self.is_unchanged(blob) {
            return Ok(());
        }
        let error = ServiceError::from(&NOT_MODIFIED);
        Err(match HeaderValue::try_from(quoted(&etag(blob))) {
            Ok(value) => error.header(ETAG, value),
            Err(_) => error,
        })
    }

    /// For the sources of copies.
    pub(super) fn check_source(&self, blob: &Blob) -> Answer<()> {
        self.check_unchanged(blob)?;
        if self.is_unchanged(blob) { Err(failed("x-amz-copy-source-If-None-Match")) } else { Ok(()) }
    }

    /// If-Match, or else If-Unmodified-Since.
    fn check_unchanged(&self, blob: &Blob) -> Answer<()> {
        match (self.matches, self.unmodified_since) {
            (Some(etags), _) if !names_etag(etags, blob) => Err(failed("If-Match")),
            (None, Some(date)) if blob.modified > date => Err(failed("If-Unmodified-Since")),
            _ => Ok(()),
        }
    }

    /// If-None-Match, or else If-Modified-Since.
    fn is_unchanged(&self, blob: &Blob) -> bool {
        match self.none_match {
            Some(etags) => names_etag(etags, blob),
            None => self.modified_since.is_some_and(|date| blob.modified <= date),
        }
    }
}

/// For requests that write; `None` where there is no object yet.
pub(super) fn check_write(call: &Call<'_>, old: Option<&Blob>) -> Answer<()> {
    match call.header("if-none-match").map(str::trim) {
        None => {}
        Some("*") if old.is_some() => return Err(failed("If-None-Match")),
        Some("*") => {}
        Some(_) => return Err(NOT_IMPLEMENTED.detail("Header", "If-None-Match")),
    }
    check_match(call.header("if-match"), call.key(), old)
}

/// Whether there is an object that has one of these ETags, where there are any.
pub(super) fn check_match(etags: Option<&str>, key: &str, old: Option<&Blob>) -> Answer<()> {
    match (etags, old) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(NO_SUCH_KEY.detail("Key", key)),
        (Some(etags), Some(blob)) if names_etag(etags, blob) => Ok(()),
        (Some(_), Some(_)) => Err(failed("If-Match")),
    }
}

fn failed(condition: &str) -> ServiceError {
    PRECONDITION_FAILED.detail("Condition", condition)
}

/// Whether a list of ETags has that of the object. Some clients leave the quotes away.
fn names_etag(list: &str, blob: &Blob) -> bool {
    let own = etag(blob);
    list.split(',').map(str::trim).any(|item| item == "*" || item.trim_matches('"') == own)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::store::{Data, Metadata, ObjectFacts};

    fn stamp(seconds: u64) -> Stamp {
        Stamp::from(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    fn blob() -> Blob {
        Blob {
            size: 1,
            etag: 1,
            created: stamp(100),
            modified: stamp(100),
            content: None,
            metadata: Metadata::new(),
            blocks: Box::default(),
            tags: Vec::new(),
            tier: None,
            append: None,
            s3: Some(Box::new(ObjectFacts { etag: "abc".into(), ..ObjectFacts::default() })),
            data: Data::Pattern,
        }
    }

    fn code(answer: Answer<()>) -> &'static str {
        answer.map_or_else(|error| error.kind.code, |()| "ok")
    }

    #[test]
    fn etags_decide_before_dates() {
        let read = |matches, none_match, modified, unmodified| {
            let date = |seconds: Option<u64>| seconds.map(stamp);
            let conditions = Conditions {
                matches,
                none_match,
                modified_since: date(modified),
                unmodified_since: date(unmodified),
            };
            code(conditions.check_read(&blob()))
        };
        assert_eq!(read(Some("\"abc\""), None, None, Some(50)), "ok");
        assert_eq!(read(Some("\"x\", abc"), None, None, None), "ok");
        assert_eq!(read(Some("\"x\""), None, None, Some(200)), "PreconditionFailed");
        assert_eq!(read(None, None, None, Some(99)), "PreconditionFailed");
        assert_eq!(read(None, Some("*"), Some(50), None), "NotModified");
        assert_eq!(read(None, Some("\"x\""), Some(200), None), "ok");
        assert_eq!(read(None, None, Some(100), None), "NotModified");
    }

    #[test]
    fn a_match_needs_an_object() {
        assert_eq!(code(check_match(Some("*"), "a", None)), "NoSuchKey");
        assert_eq!(code(check_match(Some("*"), "a", Some(&blob()))), "ok");
        assert_eq!(code(check_match(Some("\"x\""), "a", Some(&blob()))), "PreconditionFailed");
        assert_eq!(code(check_match(None, "a", None)), "ok");
    }
}
