//! Tags of objects, in a header and in documents.

use std::collections::HashSet;

use http::StatusCode;

use super::body::Upload;
use super::error::{INVALID_TAG, MALFORMED_XML};
use super::request::Call;
use super::xml::{Document, Node};
use super::{Reply, object};
use crate::change::note;
use crate::request::Query;
use crate::service::Service;
use crate::store::Blob;
use crate::wire::error::Answer;
use crate::wire::reply::reply;

type Tags = Vec<(String, String)>;

const MOST: usize = 10;
const LONGEST_KEY: usize = 128;
const LONGEST_VALUE: usize = 256;

/// The tags of `x-amz-tagging`, which is written like a query.
pub(super) fn of_header(call: &Call<'_>) -> Answer<Tags> {
    let query = Query::parse(call.header("x-amz-tagging").unwrap_or_default());
    checked(query.pairs().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

/// The tags, if an object may have them.
fn checked(tags: Tags) -> Answer<Tags> {
    let refuse = |message: &str| Err(INVALID_TAG.saying(message));
    if tags.len() > MOST {
        return refuse("Object tags cannot be greater than 10");
    }
    let mut keys = HashSet::new();
    for (key, value) in &tags {
        if key.is_empty() || key.chars().count() > LONGEST_KEY {
            return refuse("The TagKey you have provided is invalid");
        }
        if value.chars().count() > LONGEST_VALUE {
            return refuse("The TagValue you have provided is invalid");
        }
        if !keys.insert(key) {
            return refuse("Cannot provide multiple Tags with the same key");
        }
    }
    Ok(tags)
}

pub(super) fn get(service: &Service, call: &Call<'_>) -> Reply {
    let blob = object(service, call.blob())?;
    let mut document = Document::new("Tagging");
    document.nested("TagSet", |set| {
        for (key, value) in &blob.tags {
            set.nested("Tag", |tag| {
                tag.element("Key", key).element("Value", value);
            });
        }
    });
    Ok(document.reply())
}

pub(super) async fn put(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    let body = upload.document().await?;
    let document = Node::parse(&body, "Tagging").ok_or(&MALFORMED_XML)?;
    let set = document.first("TagSet").ok_or(&MALFORMED_XML)?;
    let tag = |node: &Node| Some((node.text_of("Key")?.to_owned(), node.text_of("Value")?.to_owned()));
    let tags: Option<Tags> = set.all("Tag").map(tag).collect();
    let tags = checked(tags.ok_or(&MALFORMED_XML)?)?;
    change(service, call, tags).await?;
    Ok(reply(StatusCode::OK))
}

pub(super) async fn delete(service: &Service, call: &Call<'_>) -> Reply {
    change(service, call, Tags::new()).await?;
    Ok(reply(StatusCode::NO_CONTENT))
}

/// Other tags make no other version.
async fn change(service: &Service, call: &Call<'_>, tags: Tags) -> Answer<()> {
    let _lock = service.lock(call.blob()).await;
    let old = object(service, call.blob())?;
    note(service, call.blob(), Blob { tags, ..(*old).clone() }).await
}
