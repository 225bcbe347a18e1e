//! DeleteObject and DeleteObjects.

use http::StatusCode;

use super::Reply;
use super::body::Upload;
use super::condition::check_match;
use super::error::{INVALID_REQUEST, KEY_TOO_LONG, MALFORMED_XML, bad_argument};
use super::request::{Call, LONGEST_KEY};
use super::xml::{Document, Node};
use crate::change::{container, find, remove};
use crate::service::Service;
use crate::store::Key;
use crate::wire::error::Answer;
use crate::wire::reply::reply;

/// The most that one request may name.
const MOST: usize = 1000;

pub(super) async fn one(service: &Service, call: &Call<'_>) -> Reply {
    delete(service, call.blob(), call.header("if-match")).await?;
    Ok(reply(StatusCode::NO_CONTENT))
}

/// Removes an object; one that is not there is removed already.
async fn delete(service: &Service, key: Key<'_>, etags: Option<&str>) -> Answer<()> {
    let _lock = service.lock(key).await;
    let old = find(service, key)?;
    check_match(etags, key.blob, old.as_deref())?;
    match old {
        Some(old) => remove(service, key, &old).await,
        None => Ok(()),
    }
}

pub(super) async fn many(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    if !upload.is_guarded() {
        let message = "Missing required header for this request: Content-MD5 OR x-amz-checksum-*";
        return Err(INVALID_REQUEST.saying(message));
    }
    let body = upload.document().await?;
    let asked = Node::parse(&body, "Delete").ok_or(&MALFORMED_XML)?;
    let objects: Vec<&Node> = asked.all("Object").collect();
    if objects.is_empty() || objects.len() > MOST {
        return Err((&MALFORMED_XML).into());
    }
    container(&service.read(), call.bucket())?;
    let quiet = asked.text_of("Quiet").is_some_and(|text| text.trim() == "true");
    let mut document = Document::new("DeleteResult");
    for object in objects {
        let key = object.text_of("Key").ok_or(&MALFORMED_XML)?;
        match named(service, call, key, object).await {
            Ok(()) if quiet => {}
            Ok(()) => {
                document.nested("Deleted", |deleted| {
                    deleted.element("Key", key);
                });
            }
            Err(error) => {
                document.nested("Error", |failed| {
                    failed.element("Key", key);
                    failed.element("Code", error.kind.code).element("Message", error.message());
                });
            }
        }
    }
    Ok(document.reply())
}

async fn named(service: &Service, call: &Call<'_>, key: &str, object: &Node) -> Answer<()> {
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err((&KEY_TOO_LONG).into());
    }
    if let Some(id) = object.text_of("VersionId").filter(|id| !matches!(*id, "" | "null")) {
        return Err(bad_argument("versionId", id, "Invalid version id specified"));
    }
    let key = Key { container: call.bucket(), blob: key };
    delete(service, key, object.text_of("ETag")).await
}
