//! Copy Blob and Put Block From URL within the account: done before the answer, so never pending.

use http::StatusCode;
use http::Uri;

use super::block::{LARGEST_BLOCK, check_id, stage};
use super::condition::Conditions;
use super::headers::{metadata, set, written};
use super::read::within;
use super::{Reply, blob, commit, find, tags, tier};
use crate::request::{Call, Operation};
use crate::service::Service;
use crate::store::{Blob, Part};
use crate::wire::error::{
    Answer, CANNOT_VERIFY_COPY_SOURCE, INVALID_HEADER_VALUE, NOT_IMPLEMENTED, REQUEST_BODY_TOO_LARGE,
    ServiceError,
};
use crate::wire::time::Stamp;
use crate::wire::upload::Sums;

pub(super) async fn copy_blob(service: &Service, call: &Call<'_>) -> Reply {
    let text = call.required("x-ms-copy-source")?;
    let source = source(service, call, text)?;
    let conditions = Conditions::of(call)?;
    let sent_metadata = metadata(call)?;
    let tags = tags::of_copy(call, &source)?;
    let tier = tier::sent(call)?;
    tier::check_copied(&source, tier)?;
    let parts = vec![Part { data: source.data.clone(), range: 0..source.size }];
    let copied = service.store.assemble(parts).await;
    let data = copied.map_err(|error| ServiceError::internal(&error))?;

    let _lock = service.lock(call.key()).await;
    let old = find(service, call.key())?;
    conditions.check_write(old.as_deref())?;
    let tier = tier::of_new(tier, old.as_deref())?;
    let now = Stamp::now();
    let new = Blob {
        etag: service.next_etag(),
        created: old.map_or(now, |old| old.created),
        modified: now,
        metadata: if sent_metadata.is_empty() { source.metadata.clone() } else { sent_metadata },
        tags,
        tier,
        data,
        ..source
    };
    let new = commit(service, call.key(), new, true).await?;
    let mut response = written(StatusCode::ACCEPTED, Some(&new), &Sums::default());
    set(response.headers_mut(), "x-ms-copy-id", &format!("{:032x}", new.etag));
    set(response.headers_mut(), "x-ms-copy-status", "success");
    Ok(response)
}

/// Stages a stretch of another blob; rclone copies large blobs so.
pub(super) async fn put_block(service: &Service, call: &Call<'_>) -> Reply {
    let id = call.query.get("blockid").unwrap_or_default();
    check_id(id)?;
    let source = source(service, call, call.required("x-ms-copy-source")?)?;
    tier::check_online(&source)?;
    let range = match call.header("x-ms-source-range") {
        Some(text) => within(text, source.size)?,
        None => None,
    };
    let range = range.unwrap_or(0..source.size);
    let len = range.end - range.start;
    if len > LARGEST_BLOCK {
        return Err(REQUEST_BODY_TOO_LARGE.detail("MaxLimit", LARGEST_BLOCK.to_string()));
    }
    let copied = service.store.assemble(vec![Part { data: source.data, range }]).await;
    let data = copied.map_err(|error| ServiceError::internal(&error))?;
    stage(service, call, id, len, data).await?;
    Ok(written(StatusCode::CREATED, None, &Sums::default()))
}

/// The blob that the source URL names. It is read as this account: whoever may write here is let
/// read here too, which the service would check.
fn source(service: &Service, call: &Call<'_>, text: &str) -> Answer<Blob> {
    let bad = || INVALID_HEADER_VALUE.detail("HeaderName", "x-ms-copy-source").detail("HeaderValue", text);
    let uri: Uri = text.parse().map_err(|_| bad())?;
    let account = &service.config.account;
    if !text.starts_with(&format!("{}/", service.endpoint()))
        && uri.authority().map(http::uri::Authority::as_str) != call.header("host")
    {
        return Err(NOT_IMPLEMENTED.detail("Reason", "Copies come from this account only."));
    }
    let request = http::Request::get(uri).body(()).map_err(|_| bad())?.into_parts().0;
    let asked = Call::parse(&request, account)?;
    if asked.operation != Operation::GetBlob {
        return Err(bad());
    }
    let found = blob(&service.read(), asked.key()).map_err(|_| &CANNOT_VERIFY_COPY_SOURCE)?;
    Conditions::of_source(call)?.check_read(&found)?;
    Ok((*found).clone())
}
