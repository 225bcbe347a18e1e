//! PutObject.

use http::StatusCode;

use super::Reply;
use super::body::Upload;
use super::condition::check_write;
use super::headers::{Kept, etag, set_checksum, set_etag};
use super::request::Call;
use crate::change::{commit, find};
use crate::service::Service;
use crate::store::{Blob, ObjectFacts};
use crate::wire::incoming::Content as _;
use crate::wire::reply::reply;
use crate::wire::time::Stamp;

/// The most that one request may carry: 5 GiB.
pub(super) const LARGEST_PUT: u64 = 5 << 30;

pub(super) async fn object(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    upload.check_len(LARGEST_PUT)?;
    let kept = Kept::of(call)?;
    // Refused before the body is taken in, and looked at again when it is there.
    check_write(call, find(service, call.blob())?.as_deref())?;
    if service.store.computes_md5() {
        upload.compute_md5();
    }
    let data = service.store.receive(upload).await?;
    let sums = upload.verify()?;
    let checksum = sums.chosen();

    let _lock = service.lock(call.blob()).await;
    let old = find(service, call.blob())?;
    check_write(call, old.as_deref())?;
    let (now, version) = (Stamp::now(), service.next_etag());
    let mut content = kept.content;
    if let Some(md5) = sums.md5 {
        content.get_or_insert_default().md5 = Some(md5.to_base64().into());
    }
    let facts = ObjectFacts {
        etag: sums.etag(version),
        checksum: Some(checksum.clone()),
        parts: Box::default(),
        expires: kept.expires,
    };
    let new = Blob {
        size: upload.len(),
        etag: version,
        created: old.map_or(now, |old| old.created),
        modified: now,
        content,
        metadata: kept.metadata,
        blocks: Box::default(),
        tags: kept.tags,
        tier: kept.tier,
        append: None,
        s3: Some(facts.into()),
        data,
    };
    let new = commit(service, call.blob(), new, true).await?;
    let mut response = reply(StatusCode::OK);
    let headers = response.headers_mut();
    set_etag(headers, &etag(&new));
    // Of what was sent, also where the store keeps nothing.
    set_checksum(headers, &checksum);
    Ok(response)
}
