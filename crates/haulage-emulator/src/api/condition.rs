//! Conditional headers.

use super::tag_condition::TagCondition;
use crate::request::Call;
use crate::store::Blob;
use crate::wire::error::{
    Answer, BLOB_EXISTS, BLOB_NOT_FOUND, CONDITION_NOT_MET, INVALID_HEADER_VALUE, NOT_MODIFIED,
};
use crate::wire::time::Stamp;

/// What a blob has to be for the request to go on.
#[derive(Debug, Default)]
pub(super) struct Conditions<'a> {
    matches: Option<&'a str>,
    none_match: Option<&'a str>,
    modified_since: Option<Stamp>,
    unmodified_since: Option<Stamp>,
    tags: Option<TagCondition<'a>>,
}

impl<'a> Conditions<'a> {
    pub(super) fn of(call: &Call<'a>) -> Answer<Self> {
        Self::named(
            call,
            ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "x-ms-if-tags"],
        )
    }

    /// The conditions that a copy sets for its source.
    pub(super) fn of_source(call: &Call<'a>) -> Answer<Self> {
        Self::named(
            call,
            [
                "x-ms-source-if-match",
                "x-ms-source-if-none-match",
                "x-ms-source-if-modified-since",
                "x-ms-source-if-unmodified-since",
                "x-ms-source-if-tags",
            ],
        )
    }

    fn named(call: &Call<'a>, names: [&'static str; 5]) -> Answer<Self> {
        let date = |name| parsed(call, name, Stamp::parse_http);
        Ok(Self {
            matches: call.header(names[0]),
            none_match: call.header(names[1]),
            modified_since: date(names[2])?,
            unmodified_since: date(names[3])?,
            tags: parsed(call, names[4], TagCondition::parse)?,
        })
    }

    /// For requests that read: what has not changed is a 304.
    pub(super) fn check_read(&self, blob: &Blob) -> Answer<()> {
        if !self.holds_back(blob) {
            return Err((&CONDITION_NOT_MET).into());
        }
        if self.is_unchanged(blob) { Err((&NOT_MODIFIED).into()) } else { Ok(()) }
    }

    /// For requests that write: `None` where there is no blob yet.
    pub(super) fn check_write(&self, blob: Option<&Blob>) -> Answer<()> {
        let Some(blob) = blob else {
            let needs_one = self.matches.is_some() || self.tags.is_some();
            return if needs_one { Err((&CONDITION_NOT_MET).into()) } else { Ok(()) };
        };
        if self.none_match.map(str::trim) == Some("*") {
            return Err((&BLOB_EXISTS).into());
        }
        if !self.holds_back(blob) || self.is_unchanged(blob) {
            return Err((&CONDITION_NOT_MET).into());
        }
        Ok(())
    }

    /// For requests that need a blob to write to.
    pub(super) fn check_existing<'b>(&self, blob: Option<&'b Blob>) -> Answer<&'b Blob> {
        let blob = blob.ok_or(&BLOB_NOT_FOUND)?;
        self.check_write(Some(blob))?;
        Ok(blob)
    }

    /// If-Match, If-Unmodified-Since and the condition on tags.
    fn holds_back(&self, blob: &Blob) -> bool {
        self.matches.is_none_or(|etags| names_etag(etags, blob.etag))
            && self.unmodified_since.is_none_or(|date| blob.modified <= date)
            && self.tags.as_ref().is_none_or(|condition| condition.holds(&blob.tags))
    }

    /// If-None-Match, or else If-Modified-Since.
    fn is_unchanged(&self, blob: &Blob) -> bool {
        match self.none_match {
            Some(etags) => names_etag(etags, blob.etag),
            None => self.modified_since.is_some_and(|date| blob.modified <= date),
        }
    }
}

/// A header that must be of a form where it is there.
fn parsed<'a, T>(
    call: &Call<'a>,
    name: &'static str,
    parse: impl FnOnce(&'a str) -> Option<T>,
) -> Answer<Option<T>> {
    let Some(text) = call.header(name) else { return Ok(None) };
    let bad = || INVALID_HEADER_VALUE.detail("HeaderName", name).detail("HeaderValue", text);
    parse(text).map(Some).ok_or_else(bad)
}

/// Whether a list of ETags has this one. Some clients leave the quotes away.
fn names_etag(list: &str, etag: u64) -> bool {
    let text = format!("0x{etag:X}");
    list.split(',').map(str::trim).any(|item| item == "*" || item.trim_matches('"') == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Data, Metadata};
    use std::time::{Duration, UNIX_EPOCH};

    fn stamp(seconds: u64) -> Stamp {
        Stamp::from(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    fn blob() -> Blob {
        Blob {
            size: 1,
            etag: 0x8D1,
            created: stamp(100),
            modified: stamp(100),
            content: None,
            metadata: Metadata::new(),
            blocks: Box::default(),
            tags: vec![("status".to_owned(), "done".to_owned())],
            tier: None,
            append: None,
            s3: None,
            data: Data::Pattern,
        }
    }

    fn code(answer: Answer<()>) -> &'static str {
        answer.map_or_else(|error| error.kind.code, |()| "ok")
    }

    #[test]
    fn etags_decide_first() {
        let matching = |text| Conditions { matches: Some(text), ..Conditions::default() };
        let other_than = |text| Conditions { none_match: Some(text), ..Conditions::default() };
        assert_eq!(code(matching("\"0x8D1\"").check_read(&blob())), "ok");
        assert_eq!(code(matching("\"0x8D2\"").check_read(&blob())), "ConditionNotMet");
        assert_eq!(code(matching("*").check_write(None)), "ConditionNotMet");
        assert_eq!(code(other_than("*").check_write(Some(&blob()))), "BlobAlreadyExists");
        assert_eq!(code(other_than("*").check_write(None)), "ok");
        assert_eq!(other_than("\"0x8D1\"").check_read(&blob()).unwrap_err().kind.status, 304);
        assert_eq!(other_than("\"0x8D1\"").check_write(Some(&blob())).unwrap_err().kind.status, 412);
    }

    #[test]
    fn tags_are_a_condition_like_others() {
        let tagged =
            |text| Conditions { tags: Some(TagCondition::parse(text).unwrap()), ..Conditions::default() };
        assert_eq!(code(tagged("status = 'done'").check_read(&blob())), "ok");
        assert_eq!(code(tagged("status <> 'done'").check_read(&blob())), "ConditionNotMet");
        assert_eq!(code(tagged("status = 'done'").check_write(None)), "ConditionNotMet");
        assert_eq!(code(tagged("status = 'open'").check_write(Some(&blob()))), "ConditionNotMet");
    }

    #[test]
    fn dates_count_to_the_second() {
        let since = |seconds| Conditions { modified_since: Some(stamp(seconds)), ..Conditions::default() };
        assert_eq!(since(100).check_read(&blob()).unwrap_err().kind.status, 304);
        assert_eq!(code(since(99).check_read(&blob())), "ok");
        let before = |seconds| Conditions { unmodified_since: Some(stamp(seconds)), ..Conditions::default() };
        assert_eq!(code(before(100).check_read(&blob())), "ok");
        assert_eq!(code(before(99).check_read(&blob())), "ConditionNotMet");
    }
}
