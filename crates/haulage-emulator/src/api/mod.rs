//! The operations, a file for each family.

mod account;
mod append;
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

use crate::change::{commit, container, container_mut, find};
use crate::request::{Call, Operation as Op};
use crate::service::Service;
use crate::store::{Blob, Catalogue, Key};
use crate::wire::body::ResponseBody;
use crate::wire::error::{Answer, BLOB_NOT_FOUND};
use crate::wire::upload::Upload;

#[cfg(fuzzing)]
pub(crate) use {tag_condition::TagCondition, tags::push as push_tags};

/// What every operation gives back.
type Reply = Answer<Response<ResponseBody>>;

/// Runs the operation that the call asks for.
pub(crate) async fn dispatch(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    match call.operation {
        Op::AccountInformation => account::information(),
        Op::ServiceProperties => account::service_properties(),
        Op::ListContainers => list::containers(service, call),
        Op::CreateContainer => container::create(service, call).await,
        Op::DeleteContainer => container::delete(service, call).await,
        Op::ContainerProperties => container::properties(service, call),
        Op::SetContainerMetadata => container::set_metadata(service, call).await,
        Op::ListBlobs => list::blobs(service, call),
        Op::AppendBlock => append::append_block(service, call, upload).await,
        Op::AppendBlockFromUrl => append::append_block_from_url(service, call).await,
        Op::SealBlob => append::seal(service, call).await,
        Op::PutBlob => put::put_blob(service, call, upload).await,
        Op::PutBlobFromUrl => copy::put_blob(service, call).await,
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

fn blob(catalogue: &Catalogue, key: Key<'_>) -> Answer<Arc<Blob>> {
    let blob = container(catalogue, key.container)?.blobs.get(key.blob);
    blob.cloned().ok_or_else(|| (&BLOB_NOT_FOUND).into())
}
