//! Attempts in which the service copies: no byte of the object passes this machine.

use super::attempt::{Task, told, writer};
use super::attributes::{put_options, with_tags};
use super::object::Done;
use super::settled::settled;
use crate::error::{Error, ErrorKind, Result};
use crate::stage::plan::Pair;
use crate::stage::taking::retract;
use crate::stage::verify::{check_crc64, check_md5};
use crate::store::{BlockRange, CopySource, ObjectMeta, Stored, Trace};

/// Has the service copy the whole object, and compares what it states of the copy with what the source states.
pub(super) async fn whole(task: &Task, trace: &Trace) -> Result<Done> {
    let Pair { source, destination, meta: listed, .. } = &*task.pair;
    let told = told(source, listed, trace).await?;
    // Where a service copies tags by itself, nothing need be known of them.
    let tagged = match destination.store.copies_from(&*source.store) {
        Some(rules) if rules.keeps_tags => None,
        _ => with_tags(task, told.as_ref().unwrap_or(listed), trace).await?,
    };
    let told = tagged.or(told);
    let meta = told.as_ref().unwrap_or(listed);
    let options = put_options(task, meta, meta.crc64, meta.md5);
    let put = destination.store.copy(&from(&task.pair, meta), &destination.key, &options, trace).await;
    let put = settled(task, put, meta.crc64, trace).await?;
    let name = source.name();
    let compared = match put.crc64 {
        Some(made) => check_crc64(&name, made, meta.crc64),
        None => Ok(()),
    };
    if let Err(error) = compared.and_then(|()| check_md5(&name, put.md5, meta.md5)) {
        // It has the name already, and nobody shall take it for the copy.
        retract(&*destination.store, &destination.key, &put.etag, trace).await;
        return Err(error);
    }
    Ok(Done::Copied { put, told: told.map(Box::new) })
}

/// Has the service make a block, unless an earlier run has seen to that.
pub(super) async fn block(task: &Task, range: BlockRange, trace: &Trace) -> Result<Done> {
    let meta = &task.pair.meta;
    let (writer, from) = (writer(task)?, from(&task.pair, meta));
    let there = task.staged.of_source(range, |staged| writer.is_copy(staged, &from), meta.crc64);
    let (stored, resumed) = match there {
        Some(part) => (Stored { part, confirmed: true }, true),
        None => (writer.copy_block(range, &from, trace).await?, false),
    };
    Ok(Done::Block { stored, range_checked: false, resumed })
}

/// Whether a service that answers so would rather not copy by itself, so that the bytes are to pass this machine. What the source or
/// the destination have become is the same for everybody, and so is a service without time.
pub(crate) fn is_refusal(error: &Error) -> bool {
    use ErrorKind::{NotFound, Permission, Protocol, Service, Stalled, Unsupported, Usage};
    let known = matches!(
        error.service_code(),
        Some(
            "ContainerNotFound"
                | "NoSuchBucket"
                | "NoSuchUpload"
                | "BlobArchived"
                | "BlobBeingRehydrated"
                | "InvalidObjectState"
        )
    );
    !known
        && matches!(error.kind(), NotFound | Permission | Protocol | Service | Stalled | Unsupported | Usage)
}

fn from<'a>(pair: &'a Pair, meta: &'a ObjectMeta) -> CopySource<'a> {
    let ObjectMeta { size, etag, crc64, .. } = meta;
    CopySource { store: &*pair.source.store, key: &pair.source.key, size: *size, etag, crc64: *crc64 }
}
