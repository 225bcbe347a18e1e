//! Buckets: make, remove, look for, list.

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};

use super::endpoint::{Endpoint, USUAL_REGION};
use super::{S3Store, rules, xml};
use crate::error::{ErrorKind, Result};
use crate::store::answer::{Markers, judge_count};
use crate::store::{Phase, Trace};

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

/// Removes the bucket, which the service does only where it is empty.
pub(super) async fn delete(store: &S3Store, trace: &Trace) -> Result<()> {
    let name = store.display("");
    let asked = store.asked("delete", &name, "s3:DeleteBucket", ErrorKind::Service);
    let operation = store.operation(rules::DELETE_BUCKET, Method::DELETE, "", &[]);
    store.service.send(&operation, asked, trace).await?;
    trace.mark(Phase::Committed);
    Ok(())
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
        judge_count(names.len()).map_err(not_believed)?;
        token = next;
        if token.is_none() {
            return Ok(names);
        }
    }
}
