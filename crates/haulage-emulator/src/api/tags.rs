//! Index tags: with a write, by themselves, and in lists.

use std::collections::HashSet;
use std::fmt::Write as _;

use http::StatusCode;

use super::condition::Conditions;
use super::headers::{reply, xml};
use super::properties::amend;
use super::{Reply, blob};
use crate::request::{Call, Query};
use crate::service::Service;
use crate::store::Blob;
use crate::wire::error::{
    Answer, BOTH_TAGS, DUPLICATE_TAG_NAMES, EMPTY_TAG_NAME, INVALID_HEADER_VALUE, INVALID_TAG, INVALID_XML,
    TAGS_TOO_LARGE,
};
use crate::wire::upload::Upload;
use crate::wire::xml::{DECLARATION, Element, parse_tags};

const HEADER: &str = "x-ms-tags";
const OF_SOURCE: &str = "x-ms-copy-source-tag-option";
const MOST: usize = 10;
const LONGEST_KEY: usize = 128;
const LONGEST_VALUE: usize = 256;
/// Generous for ten tags of the longest keys and values.
const LARGEST_BODY: u64 = 64 << 10;

/// Keys and values.
type Tags = Vec<(String, String)>;

pub(super) fn tags(service: &Service, call: &Call<'_>) -> Reply {
    let blob = blob(&service.read(), call.key())?;
    Conditions::of(call)?.check_read(&blob)?;
    let mut text = DECLARATION.to_owned();
    push(&mut text, &blob.tags);
    Ok(xml(text))
}

/// Replaces all tags. The blob's version stays what it was, in the archive too.
pub(super) async fn set_tags(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    upload.expect(&call.parts.headers, LARGEST_BODY, false)?;
    let body = upload.collect().await?;
    upload.verify()?;
    let tags = checked(parse_tags(&body).ok_or(&INVALID_XML)?)?;
    amend(service, call, |blob| {
        blob.tags = tags;
        Ok(())
    })
    .await?;
    Ok(reply(StatusCode::NO_CONTENT))
}

/// The tags that come with a write, written as a query.
pub(super) fn sent(call: &Call<'_>) -> Answer<Tags> {
    let query = Query::parse(call.header(HEADER).unwrap_or_default());
    checked(query.pairs().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

/// The tags of a copy: its own, unless it asks for the source's.
pub(super) fn of_copy(call: &Call<'_>, source: &Blob) -> Answer<Tags> {
    let own = sent(call)?;
    match call.header(OF_SOURCE) {
        Some(text) if text.eq_ignore_ascii_case("COPY") => {
            if own.is_empty() {
                Ok(source.tags.clone())
            } else {
                Err((&BOTH_TAGS).into())
            }
        }
        Some(text) if !text.eq_ignore_ascii_case("REPLACE") => {
            Err(INVALID_HEADER_VALUE.detail("HeaderName", OF_SOURCE).detail("HeaderValue", text))
        }
        _ => Ok(own),
    }
}

/// Refuses what the service would.
fn checked(tags: Tags) -> Answer<Tags> {
    let mut keys = HashSet::new();
    for (key, value) in &tags {
        if key.is_empty() {
            return Err((&EMPTY_TAG_NAME).into());
        }
        if key.len() > LONGEST_KEY || value.len() > LONGEST_VALUE {
            return Err((&TAGS_TOO_LARGE).into());
        }
        if !key.chars().chain(value.chars()).all(allowed) {
            return Err((&INVALID_TAG).into());
        }
        if !keys.insert(key) {
            return Err((&DUPLICATE_TAG_NAMES).into());
        }
    }
    if tags.len() > MOST { Err((&TAGS_TOO_LARGE).into()) } else { Ok(tags) }
}

fn allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || " +-./:=_".contains(c)
}

/// Appends the element that answers and lists have.
pub(crate) fn push(text: &mut String, tags: &[(String, String)]) {
    text.push_str("<Tags><TagSet>");
    for (key, value) in tags {
        // Writing to a String cannot fail.
        let _ = write!(text, "<Tag>{}{}</Tag>", Element("Key", key), Element("Value", value));
    }
    text.push_str("</TagSet></Tags>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(&str, &str)]) -> Result<usize, &'static str> {
        let tags = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        checked(tags).map(|tags| tags.len()).map_err(|error| error.kind.code)
    }

    #[test]
    fn tags_are_few_short_and_plain() {
        assert_eq!(check(&[("a", ""), ("A", "x y+1-2./:=_")]), Ok(2));
        assert_eq!(check(&[("", "x")]), Err("EmptyTagName"));
        assert_eq!(check(&[("a", "1"), ("a", "2")]), Err("DuplicateTagNames"));
        assert_eq!(check(&[("a", "ü")]), Err("InvalidTag"));
        assert_eq!(check(&[(&"k".repeat(129), "")]), Err("TagsTooLarge"));
        assert_eq!(check(&[("a", &"v".repeat(257))]), Err("TagsTooLarge"));
        let keys: Vec<String> = (0..11).map(|n| n.to_string()).collect();
        let many: Vec<_> = keys.iter().map(|key| (key.as_str(), "")).collect();
        assert_eq!(check(&many), Err("TagsTooLarge"));
        assert_eq!(check(&many[..10]), Ok(10));
    }
}
