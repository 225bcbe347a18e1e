//! Buckets: make, remove, look for, list.

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};

use super::endpoint::{Endpoint, USUAL_REGION};
use super::object::{DELETE_MAX, delete_many};
use super::{S3Store, rules, upload, xml};
use crate::error::{ErrorKind, Result};
use crate::store::answer::Markers;
use crate::store::{ListRequest, Phase, Store as _, Trace};

/// Makes the bucket, in the region that is named.
pub(super) async fn create(store: &S3Store, trace: &Trace) -> Result<()> {
    let name = store.display("");
    let asked = store.asked("create", &name, "s3:CreateBucket", ErrorKind::Service);
    let mut operation = store.operation(rules::CREATE_BUCKET, Method::PUT, "", &[]);
    let (region, named) = store.service.region();
    // The usual one must not be named, and servers of others have but one.
    let constrained = region != USUAL_REGION && (named || *store.service.endpoint() == Endpoint::Aws);
    if constrained {
        operation.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        (operation.body, operation.signed_body) = (Bytes::from(xml::location(&region)), true);
    }
    store.service.send(&operation, asked, trace).await?;
    trace.mark(Phase::Committed);
    Ok(())
}

/// Asks whether the bucket is there; where it is, is known afterwards.
pub(super) async fn head(store: &S3Store, trace: &Trace) -> Result<()> {
    let name = store.display("");
    let asked = store.asked("inspect", &name, "s3:ListBucket", ErrorKind::Service);
    let operation = store.operation(rules::HEAD_BUCKET, Method::HEAD, "", &[]);
    store.service.send(&operation, asked, trace).await.map(drop)
}

/// Removes the bucket with all that is in it: the service itself removes only empty ones. Uploads that are neither finished nor
/// removed go too.
pub(super) async fn delete(store: &S3Store, trace: &Trace) -> Result<()> {
    let mut lister = store.list(ListRequest::default());
    let mut keys = Vec::new();
    while let Some(page) = lister.next_page(trace).await? {
        keys.extend(page.objects.into_iter().map(|object| object.key));
        while keys.len() >= DELETE_MAX {
            let rest = keys.split_off(DELETE_MAX);
            all(delete_many(store, &std::mem::replace(&mut keys, rest), trace).await?)?;
        }
    }
    if !keys.is_empty() {
        all(delete_many(store, &keys, trace).await?)?;
    }
    let mut after = None;
    loop {
        let page = match upload::page(store, "", after.as_ref(), trace).await {
            // Then there are none that we could remove.
            Err(error) if matches!(error.kind(), ErrorKind::Permission) || error.status() == Some(501) => {
                break;
            }
            other => other?,
        };
        for one in page.uploads {
            upload::abort(store, &one.key, &one.id, trace).await?;
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let name = store.display("");
    let asked = store.asked("delete", &name, "s3:DeleteBucket", ErrorKind::Service);
    let operation = store.operation(rules::DELETE_BUCKET, Method::DELETE, "", &[]);
    store.service.send(&operation, asked, trace).await?;
    trace.mark(Phase::Committed);
    Ok(())
}

/// The first failure, if there is one.
fn all(outcomes: Vec<Result<()>>) -> Result<()> {
    outcomes.into_iter().collect()
}

/// The names of all buckets of the account.
pub(super) async fn list(store: &S3Store, trace: &Trace) -> Result<Vec<String>> {
    let name = store.service.endpoint().to_string();
    let asked = store.asked("list buckets of", &name, "s3:ListAllMyBuckets", ErrorKind::Service);
    let account = store.service.bucket_named("")?;
    let (mut names, mut markers, mut token) = (Vec::new(), Markers::default(), None::<String>);
    loop {
        let query: Vec<_> = token.iter().map(|token| ("continuation-token", token.as_str())).collect();
        let operation = store.operation(rules::LIST_BUCKETS, Method::GET, "", &query);
        let page = account.document(&operation, asked, trace).await?;
        let not_believed = |broken| asked.not_believed(broken);
        let (found, next) = xml::buckets(&page).map_err(not_believed)?;
        if let Some(next) = &next {
            let ends = found.first().zip(found.last()).map(|(first, last)| (first.as_str(), last.as_str()));
            markers.advance(ends, next).map_err(not_believed)?;
        }
        names.extend(found);
        token = next;
        if token.is_none() {
            return Ok(names);
        }
    }
}
