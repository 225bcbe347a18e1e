//! Metadata and properties of blobs that are there.

use http::StatusCode;

use super::condition::Conditions;
use super::headers::{content, metadata as sent_metadata, reply, set_metadata as add_metadata, set_version};
use super::{Reply, blob, container_mut, find};
use crate::request::Call;
use crate::service::Service;
use crate::store::Blob;
use crate::wire::error::ServiceError;
use crate::wire::time::Stamp;

pub(super) fn metadata(service: &Service, call: &Call<'_>) -> Reply {
    let blob = blob(&service.read(), call.key())?;
    Conditions::of(call)?.check_read(&blob)?;
    let mut response = reply(StatusCode::OK);
    set_version(response.headers_mut(), blob.etag, blob.modified);
    add_metadata(response.headers_mut(), &blob.metadata);
    Ok(response)
}

pub(super) async fn set_metadata(service: &Service, call: &Call<'_>) -> Reply {
    let metadata = sent_metadata(call)?;
    change(service, call, |blob| blob.metadata = metadata).await
}

/// What the request does not name is cleared, as the service does.
pub(super) async fn set_properties(service: &Service, call: &Call<'_>) -> Reply {
    let content = content(call);
    change(service, call, |blob| blob.content = content).await
}

async fn change(service: &Service, call: &Call<'_>, change: impl FnOnce(&mut Blob)) -> Reply {
    let conditions = Conditions::of(call)?;
    let _lock = service.lock(call.key()).await;
    let old = find(service, call.key())?;
    let mut new = conditions.check_existing(old.as_deref())?.clone();
    change(&mut new);
    new.etag = service.next_etag();
    new.modified = Stamp::now();
    let kept = service.store.keep_properties(call.key(), &new).await;
    kept.map_err(|error| ServiceError::internal(&error))?;
    let mut response = reply(StatusCode::OK);
    set_version(response.headers_mut(), new.etag, new.modified);
    super::headers::set(response.headers_mut(), "x-ms-request-server-encrypted", "true");
    let mut catalogue = service.write();
    container_mut(&mut catalogue, call.container())?.blobs.insert(call.key().blob.into(), new.into());
    Ok(response)
}
