//! Containers.

use http::StatusCode;
use http::header::HeaderMap;

use super::headers::{metadata, reply, set, set_metadata as add_metadata, set_version};
use super::{Reply, container, container_mut};
use crate::change::{drop_container, make_container, own_key};
use crate::request::Call;
use crate::service::Service;
use crate::store::Container;
use crate::wire::error::{CONTAINER_EXISTS, ServiceError};
use crate::wire::time::Stamp;

pub(super) async fn create(service: &Service, call: &Call<'_>) -> Reply {
    let made = make_container(service, call.container(), metadata(call)?).await?;
    let made = made.ok_or(&CONTAINER_EXISTS)?;
    let mut response = reply(StatusCode::CREATED);
    set_version(response.headers_mut(), made.etag, made.modified);
    Ok(response)
}

pub(super) async fn delete(service: &Service, call: &Call<'_>) -> Reply {
    drop_container(service, call.container(), |_| Ok(())).await?;
    Ok(reply(StatusCode::ACCEPTED))
}

pub(super) fn properties(service: &Service, call: &Call<'_>) -> Reply {
    let catalogue = service.read();
    let found = container(&catalogue, call.container())?;
    let mut response = reply(StatusCode::OK);
    describe(response.headers_mut(), found);
    Ok(response)
}

pub(super) async fn set_metadata(service: &Service, call: &Call<'_>) -> Reply {
    let _lock = service.lock(own_key(call.container())).await;
    let new = metadata(call)?;
    let mut response = reply(StatusCode::OK);
    let changed = {
        let mut catalogue = service.write();
        let found = container_mut(&mut catalogue, call.container())?;
        found.metadata = new;
        found.etag = service.next_etag();
        found.modified = Stamp::now();
        set_version(response.headers_mut(), found.etag, found.modified);
        Container { modified: found.modified, ..Container::new(found.etag, found.metadata.clone()) }
    };
    let kept = service.store.keep_container(call.container(), &changed).await;
    kept.map_err(|error| ServiceError::internal(&error))?;
    Ok(response)
}

fn describe(headers: &mut HeaderMap, container: &Container) {
    set_version(headers, container.etag, container.modified);
    for (name, value) in [
        ("x-ms-lease-status", "unlocked"),
        ("x-ms-lease-state", "available"),
        ("x-ms-has-immutability-policy", "false"),
        ("x-ms-has-legal-hold", "false"),
        ("x-ms-default-encryption-scope", "$account-encryption-key"),
        ("x-ms-deny-encryption-scope-override", "false"),
    ] {
        set(headers, name, value);
    }
    add_metadata(headers, &container.metadata);
}
