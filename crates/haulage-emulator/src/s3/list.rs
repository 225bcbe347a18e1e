//! ListObjects, in both versions.

use super::Reply;
use super::acl::push_owner;
use super::bucket::{decode_token, encode_token};
use super::error::bad_argument;
use super::headers::{etag, quoted, storage_class};
use super::request::Call;
use super::xml::{Document, Names};
use crate::change::container;
use crate::service::Service;
use crate::store::{Blob, Page, PageItem, PageQuery};
use crate::wire::error::Answer;

/// The largest page, and the usual one.
pub(super) const LARGEST_PAGE: usize = 1000;

/// Whether the client wants names escaped.
pub(super) fn names(call: &Call<'_>) -> Answer<Names> {
    match call.parameter("encoding-type") {
        None => Ok(Names { escaped: false }),
        Some("url") => Ok(Names { escaped: true }),
        Some(other) => {
            Err(bad_argument("encoding-type", other, "Invalid Encoding Method specified in Request"))
        }
    }
}

/// The first name after a marker. One that is a common prefix has all names below it behind it.
pub(super) fn after(marker: &str, prefix: &str, delimiter: &str) -> Option<String> {
    let below = marker.strip_prefix(prefix).unwrap_or_default();
    let folds =
        !delimiter.is_empty() && below.find(delimiter).is_some_and(|at| at + delimiter.len() == below.len());
    if folds { crate::store::successor(marker) } else { Some(format!("{marker}\0")) }
}

/// A page, and whether it ends the list. `from` is the first name to look at; `None` where there is none.
fn page(service: &Service, call: &Call<'_>, from: Option<&str>, limit: usize) -> Answer<Page> {
    let catalogue = service.read();
    let bucket = container(&catalogue, call.bucket())?;
    let Some(from) = from.filter(|_| limit > 0) else { return Ok(Page::default()) };
    let query = PageQuery {
        prefix: call.query.get("prefix").unwrap_or_default(),
        delimiter: call.query.get("delimiter").unwrap_or_default(),
        from,
        limit,
        ..PageQuery::default()
    };
    Ok(bucket.page(&query))
}

pub(super) fn first_version(service: &Service, call: &Call<'_>) -> Reply {
    let names = names(call)?;
    let (limit, delimiter) = (call.limit("max-keys", LARGEST_PAGE)?, call.parameter("delimiter"));
    let marker = call.query.get("marker").unwrap_or_default();
    let from = start(call, marker);
    let page = page(service, call, from.as_deref(), limit)?;
    let mut document = opening(call, names, limit, &page);
    document.element("Marker", names.write(marker));
    let last = page.items.last().map(|item| match item {
        PageItem::Blob(name, _) | PageItem::Uncommitted(name) => &**name,
        PageItem::Prefix(name) => name,
    });
    let next = last.filter(|_| page.next.is_some() && delimiter.is_some());
    document.optional("NextMarker", next.map(|name| names.write(name)));
    push_items(&mut document, service, names, &page, true);
    Ok(document.reply())
}

pub(super) fn second_version(service: &Service, call: &Call<'_>) -> Reply {
    let names = names(call)?;
    let limit = call.limit("max-keys", LARGEST_PAGE)?;
    let token = call.query.get("continuation-token");
    let from = match token {
        Some("") => {
            return Err(bad_argument(
                "continuation-token",
                "",
                "The continuation token provided is incorrect",
            ));
        }
        Some(token) => Some(decode_token(token)?),
        None => start(call, call.query.get("start-after").unwrap_or_default()),
    };
    let page = page(service, call, from.as_deref(), limit)?;
    let mut document = opening(call, names, limit, &page);
    document.element("KeyCount", page.items.len());
    document.optional("StartAfter", call.parameter("start-after").map(|name| names.write(name)));
    document.optional("ContinuationToken", token);
    document.optional("NextContinuationToken", page.next.as_deref().map(encode_token));
    let with_owner = call.query.get("fetch-owner") == Some("true");
    push_items(&mut document, service, names, &page, with_owner);
    Ok(document.reply())
}

/// Where a list begins that goes on behind `marker`.
fn start(call: &Call<'_>, marker: &str) -> Option<String> {
    let asked = |name| call.query.get(name).unwrap_or_default();
    if marker.is_empty() {
        return Some(String::new());
    }
    after(marker, asked("prefix"), asked("delimiter"))
}

/// What both versions begin with: they repeat what they were asked.
fn opening(call: &Call<'_>, names: Names, limit: usize, page: &Page) -> Document {
    let mut document = Document::new("ListBucketResult");
    document.element("Name", call.bucket());
    document.element("Prefix", names.write(call.query.get("prefix").unwrap_or_default()));
    document.optional("Delimiter", call.parameter("delimiter").map(|text| names.write(text)));
    document.element("MaxKeys", limit);
    document.optional("EncodingType", call.parameter("encoding-type"));
    document.element("IsTruncated", page.next.is_some());
    document
}

fn push_items(document: &mut Document, service: &Service, names: Names, page: &Page, with_owner: bool) {
    for item in &page.items {
        if let PageItem::Blob(name, blob) = item {
            document.nested("Contents", |entry| {
                entry.element("Key", names.write(name));
                push_blob(entry, blob);
                if with_owner {
                    push_owner(entry, service);
                }
            });
        }
    }
    for item in &page.items {
        if let PageItem::Prefix(name) = item {
            document.nested("CommonPrefixes", |entry| {
                entry.element("Prefix", names.write(name));
            });
        }
    }
}

fn push_blob(entry: &mut Document, blob: &Blob) {
    entry.element("LastModified", blob.modified.iso8601());
    entry.element("ETag", quoted(&etag(blob)));
    if let Some(checksum) = blob.s3.as_ref().and_then(|facts| facts.checksum.as_ref()) {
        entry.element("ChecksumAlgorithm", checksum.algorithm.name());
        entry.element("ChecksumType", checksum.scope.name());
    }
    entry.element("Size", blob.size);
    entry.element("StorageClass", storage_class(blob.tier.as_deref()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_goes_on_behind_its_marker() {
        assert_eq!(after("a/1", "", "/").as_deref(), Some("a/1\0"));
        assert_eq!(after("a/", "", "/").as_deref(), Some("a0"));
        assert_eq!(after("a/b/", "a/", "/").as_deref(), Some("a/b0"));
        assert_eq!(after("a/", "", "").as_deref(), Some("a/\0"));
        assert_eq!(after("a/", "a/", "/").as_deref(), Some("a/\0"));
        assert_eq!(after("\u{10FFFF}", "", "\u{10FFFF}"), None);
    }
}
