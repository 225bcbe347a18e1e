//! Changes of the catalogue and of the store beneath it, whichever interface asks for them.

use std::io;
use std::sync::Arc;

use crate::service::Service;
use crate::store::{Blob, Catalogue, Container, Data, Key, Metadata};
use crate::wire::error::{Answer, CONTAINER_NOT_FOUND, ServiceError};

pub(crate) fn container<'a>(catalogue: &'a Catalogue, name: &str) -> Answer<&'a Container> {
    catalogue.containers.get(name).ok_or_else(|| (&CONTAINER_NOT_FOUND).into())
}

pub(crate) fn container_mut<'a>(catalogue: &'a mut Catalogue, name: &str) -> Answer<&'a mut Container> {
    catalogue.containers.get_mut(name).ok_or_else(|| (&CONTAINER_NOT_FOUND).into())
}

/// The blob of this name, if there is one in a container that is.
pub(crate) fn find(service: &Service, key: Key<'_>) -> Answer<Option<Arc<Blob>>> {
    Ok(container(&service.read(), key.container)?.blobs.get(key.blob).cloned())
}

/// The lock of a container itself: no blob has an empty name.
pub(crate) fn own_key(container: &str) -> Key<'_> {
    Key { container, blob: "" }
}

/// Makes a container; `None` where there is one already.
pub(crate) async fn make_container(
    service: &Service,
    name: &str,
    metadata: Metadata,
) -> Answer<Option<Container>> {
    let _lock = service.lock(own_key(name)).await;
    if service.read().containers.contains_key(name) {
        return Ok(None);
    }
    let made = Container::new(service.next_etag(), metadata);
    service.store.keep_container(name, &made).await.map_err(|error| failed(&error))?;
    let version = Container { modified: made.modified, ..Container::new(made.etag, Metadata::new()) };
    service.write().containers.insert(name.to_owned(), made);
    Ok(Some(version))
}

/// Removes a container with all that it holds, if it `may` go.
pub(crate) async fn drop_container(
    service: &Service,
    name: &str,
    may: impl FnOnce(&Container) -> Answer<()> + Send,
) -> Answer<()> {
    let _lock = service.lock(own_key(name)).await;
    {
        let mut catalogue = service.write();
        may(container(&catalogue, name)?)?;
        catalogue.containers.remove(name);
    }
    service.store.drop_container(name).await.map_err(|error| failed(&error))
}

/// Stores `blob` under its name in place of what was there. To be called with its lock held.
pub(crate) async fn commit(
    service: &Service,
    key: Key<'_>,
    mut blob: Blob,
    keep_staged: bool,
) -> Answer<Arc<Blob>> {
    if matches!(blob.data, Data::Pattern) {
        forget_sums(&mut blob);
    }
    blob.data = service.store.keep_blob(key, &blob).await.map_err(|error| failed(&error))?;
    let blob = Arc::new(blob);
    let staged = {
        let mut catalogue = service.write();
        let container = container_mut(&mut catalogue, key.container)?;
        container.blobs.insert(key.blob.into(), Arc::clone(&blob));
        if keep_staged { None } else { container.staged.remove(key.blob) }
    };
    if staged.is_some() {
        service.store.drop_blocks(key).await.map_err(|error| failed(&error))?;
    }
    Ok(blob)
}

/// Notes other properties of a blob that is there. To be called with its lock held.
pub(crate) async fn note(service: &Service, key: Key<'_>, blob: Blob) -> Answer<()> {
    service.store.keep_properties(key, &blob).await.map_err(|error| failed(&error))?;
    let mut catalogue = service.write();
    container_mut(&mut catalogue, key.container)?.blobs.insert(key.blob.into(), blob.into());
    Ok(())
}

/// Removes a blob that is there. To be called with its lock held.
pub(crate) async fn remove(service: &Service, key: Key<'_>, old: &Blob) -> Answer<()> {
    if let Some(container) = service.write().containers.get_mut(key.container) {
        container.blobs.remove(key.blob);
    }
    service.store.drop_blob(key, old).await.map_err(|error| failed(&error))
}

/// Metadata in which clients keep the checksum of the whole: ours in Azure and in S3, and rclone's in S3.
const SUMS: [&str; 3] = ["haulage_crc64", "haulage-crc64", "md5chksum"];

/// Checksums of bytes that were thrown away would only call the pattern in their place corrupt.
fn forget_sums(blob: &mut Blob) {
    if let Some(content) = &mut blob.content {
        content.md5 = None;
    }
    blob.metadata.retain(|(name, _)| !SUMS.iter().any(|sum| name.eq_ignore_ascii_case(sum)));
    let version = blob.etag;
    if let Some(facts) = &mut blob.s3 {
        facts.forget_sums(version);
    }
}

fn failed(error: &io::Error) -> ServiceError {
    ServiceError::internal(error)
}
