//! Metadata and properties of blobs that are there.

use std::sync::Arc;

use http::StatusCode;

use super::condition::Conditions;
use super::headers::{content, metadata as sent_metadata, reply, set_metadata as add_metadata, set_version};
use super::{Reply, blob, container_mut, find, tier};
use crate::request::Call;
use crate::service::Service;
use crate::store::Blob;
use crate::wire::error::{Answer, ServiceError};
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

/// Makes a new version of the blob, which the archive does not allow.
async fn change(service: &Service, call: &Call<'_>, change: impl FnOnce(&mut Blob)) -> Reply {
    let new = amend(service, call, |blob| {
        tier::check_online(blob)?;
        change(blob);
        blob.etag = service.next_etag();
        blob.modified = Stamp::now();
        Ok(())
    })
    .await?;
    let mut response = reply(StatusCode::OK);
    set_version(response.headers_mut(), new.etag, new.modified);
    super::headers::set(response.headers_mut(), "x-ms-request-server-encrypted", "true");
    Ok(response)
}

/// Changes what is noted of a blob, and leaves its version alone.
pub(super) async fn amend(
    service: &Service,
    call: &Call<'_>,
    change: impl FnOnce(&mut Blob) -> Answer<()>,
) -> Answer<Arc<Blob>> {
    let conditions = Conditions::of(call)?;
    let _lock = service.lock(call.key()).await;
    let old = find(service, call.key())?;
    let mut new = conditions.check_existing(old.as_deref())?.clone();
    change(&mut new)?;
    let kept = service.store.keep_properties(call.key(), &new).await;
    kept.map_err(|error| ServiceError::internal(&error))?;
    let new = Arc::new(new);
    let mut catalogue = service.write();
    container_mut(&mut catalogue, call.container())?.blobs.insert(call.key().blob.into(), Arc::clone(&new));
    Ok(new)
}
