//! GetObjectAttributes.

use super::error::{INVALID_ARGUMENT, bad_argument};
use super::headers::{etag, storage_class};
use super::list::LARGEST_PAGE;
use super::request::Call;
use super::xml::Document;
use super::{Reply, object};
use crate::service::Service;
use crate::store::ObjectFacts;
use crate::wire::error::Answer;
use crate::wire::reply::set;

const ATTRIBUTES: [&str; 5] = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"];
const NAMES: &str = "x-amz-object-attributes";

pub(super) fn get(service: &Service, call: &Call<'_>) -> Reply {
    let blob = object(service, call.blob())?;
    let asked = asked(call)?;
    let has = |name| asked.contains(&name);
    let mut document = Document::new("GetObjectAttributesResponse");
    if has("ETag") {
        // Here, and only here, it has no quotes.
        document.element("ETag", etag(&blob));
    }
    let facts = blob.s3.as_deref();
    if let Some(checksum) = facts.and_then(|facts| facts.checksum.as_ref()).filter(|_| has("Checksum")) {
        document.nested("Checksum", |element| {
            element.element(checksum.algorithm.element(), &checksum.value);
            element.element("ChecksumType", checksum.scope.name());
        });
    }
    if let Some(facts) = facts.filter(|facts| has("ObjectParts") && !facts.parts.is_empty()) {
        push_parts(&mut document, call, facts)?;
    }
    if has("StorageClass") {
        document.element("StorageClass", storage_class(blob.tier.as_deref()));
    }
    if has("ObjectSize") {
        document.element("ObjectSize", blob.size);
    }
    let mut response = document.reply();
    set(response.headers_mut(), "last-modified", &blob.modified.http());
    Ok(response)
}

fn asked(call: &Call<'_>) -> Answer<Vec<&'static str>> {
    let values = call.parts.headers.get_all(NAMES).iter().filter_map(|value| value.to_str().ok());
    let words = values.flat_map(|value| value.split(',')).map(str::trim).filter(|word| !word.is_empty());
    let known = |word: &str| {
        let found = ATTRIBUTES.into_iter().find(|name| *name == word);
        found.ok_or_else(|| bad_argument(NAMES, word, "Invalid attribute name specified."))
    };
    let asked: Vec<&str> = words.map(known).collect::<Answer<_>>()?;
    if asked.is_empty() {
        Err(INVALID_ARGUMENT.saying("No attribute of the object was asked for."))
    } else {
        Ok(asked)
    }
}

/// How many parts there are, and of those with a checksum a page.
fn push_parts(document: &mut Document, call: &Call<'_>, facts: &ObjectFacts) -> Answer<()> {
    let number = |name: &'static str| -> Answer<Option<usize>> {
        let Some(text) = call.header(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| bad_argument(name, text, "An integer is expected."))
    };
    let marker = number("x-amz-part-number-marker")?.unwrap_or_default();
    let limit = number("x-amz-max-parts")?.unwrap_or(LARGEST_PAGE).min(LARGEST_PAGE);
    document.nested("ObjectParts", |element| {
        element.element("PartsCount", facts.parts.len());
        let Some(checksum) = &facts.checksum else { return };
        let listed = facts.parts.iter().filter(|part| part.checksum.is_some());
        let mut rest = listed.skip_while(|part| usize::from(part.number) <= marker).peekable();
        element.element("PartNumberMarker", marker).element("MaxParts", limit);
        let mut last = marker;
        for part in rest.by_ref().take(limit) {
            last = part.number.into();
            element.nested("Part", |entry| {
                entry.element("PartNumber", part.number).element("Size", part.len);
                entry.optional(checksum.algorithm.element(), part.checksum.as_deref());
            });
        }
        element.element("NextPartNumberMarker", last).element("IsTruncated", rest.peek().is_some());
    });
    Ok(())
}
