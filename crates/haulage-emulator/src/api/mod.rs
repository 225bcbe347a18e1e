//! The operations, a file for each family.

mod account;
mod block;
mod condition;
mod container;
mod copy;
mod headers;
mod list;
mod properties;
mod put;
mod read;
mod tag_condition;
mod tags;
mod tier;

use std::sync::Arc;

use http::Response;

use crate::request::{Call, Operation as Op};
use crate::service::Service;
use crate::store::{Blob, Catalogue, Container, Data, Key};
use crate::wire::body::ResponseBody;
use crate::wire::error::{Answer, BLOB_NOT_FOUND, CONTAINER_NOT_FOUND};
use crate::wire::upload::Upload;

#[cfg(fuzzing)]
pub(crate) use {tag_condition::TagCondition, tags::push as push_tags};

/// What every operation gives back.
type Reply = Answer<Response<ResponseBody>>;

/// Runs the operation that the call asks for.
pub(crate) async fn dispatch(service: &Service, call: &Call<'_>, upload: &mut Upload) -> Reply {
    match call.operation {
        Op::AccountInformation => account::information(),
        Op::ServiceProperties => account::service_properties(),
        Op::ListContainers => list::containers(service, call),
        Op::CreateContainer => container::create(service, call).await,
        Op::DeleteContainer => container::delete(service, call).await,
        Op::ContainerProperties => container::properties(service, call),
        Op::SetContainerMetadata => container::set_metadata(service, call).await,
        Op::ListBlobs => list::blobs(service, call),
        Op::PutBlob => put::put_blob(service, call, upload).await,
        Op::PutBlock => block::put_block(service, call, upload).await,
        Op::PutBlockFromUrl => copy::put_block(service, call).await,
        Op::PutBlockList => block::put_block_list(service, call, upload).await,
        Op::GetBlockList => block::get_block_list(service, call),
        Op::GetBlob => read::get_blob(service, call).await,
        Op::BlobProperties => read::head_blob(service, call),
        Op::BlobMetadata => properties::metadata(service, call),
        Op::SetBlobMetadata => properties::set_metadata(service, call).await,
        Op::SetBlobProperties => properties::set_properties(service, call).await,
        Op::BlobTags => tags::tags(service, call),
        Op::SetBlobTags => tags::set_tags(service, call, upload).await,
        Op::SetBlobTier => tier::set_tier(service, call).await,
        Op::DeleteBlob => put::delete_blob(service, call).await,
        Op::CopyBlob => copy::copy_blob(service, call).await,
    }
}

/// Whether a committed blob of this name is there.
pub(crate) fn blob_exists(service: &Service, key: Key<'_>) -> bool {
    blob(&service.read(), key).is_ok()
}

fn container<'a>(catalogue: &'a Catalogue, name: &str) -> Answer<&'a Container> {
    catalogue.containers.get(name).ok_or_else(|| (&CONTAINER_NOT_FOUND).into())
}

fn container_mut<'a>(catalogue: &'a mut Catalogue, name: &str) -> Answer<&'a mut Container> {
    catalogue.containers.get_mut(name).ok_or_else(|| (&CONTAINER_NOT_FOUND).into())
}

fn blob(catalogue: &Catalogue, key: Key<'_>) -> Answer<Arc<Blob>> {
    let blob = container(catalogue, key.container)?.blobs.get(key.blob);
    blob.cloned().ok_or_else(|| (&BLOB_NOT_FOUND).into())
}

/// The blob of this name, if there is one in a container that is.
fn find(service: &Service, key: Key<'_>) -> Answer<Option<Arc<Blob>>> {
    Ok(container(&service.read(), key.container)?.blobs.get(key.blob).cloned())
}

/// Checksums of bytes that were thrown away would only call the pattern in their place corrupt.
fn forget_sums(blob: &mut Blob) {
    if let Some(content) = &mut blob.content {
        content.md5 = None;
    }
    blob.metadata.retain(|(name, _)| !name.eq_ignore_ascii_case("haulage_crc64"));
}

/// Stores `blob` under its name in place of what was there. To be called with its lock held.
async fn commit(service: &Service, key: Key<'_>, mut blob: Blob, keep_staged: bool) -> Answer<Arc<Blob>> {
    use crate::wire::error::ServiceError;
    let failed = |error: std::io::Error| ServiceError::internal(&error);
    if matches!(blob.data, Data::Pattern) {
        forget_sums(&mut blob);
    }
    blob.data = service.store.keep_blob(key, &blob).await.map_err(failed)?;
    let blob = Arc::new(blob);
    let staged = {
        let mut catalogue = service.write();
        let container = container_mut(&mut catalogue, key.container)?;
        container.blobs.insert(key.blob.into(), Arc::clone(&blob));
        if keep_staged { None } else { container.staged.remove(key.blob) }
    };
    if staged.is_some() {
        service.store.drop_blocks(key).await.map_err(failed)?;
    }
    Ok(blob)
}
