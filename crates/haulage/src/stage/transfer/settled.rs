//! What a write came to whose earlier attempt was not answered.
//!
//! The service may have done that attempt before this one, and then a condition on what is there refuses this one, or the blocks are
//! gone that it names. Or it does it after this one: then the object is the same, under another ETag than the answer said.

use super::attempt::Task;
use crate::checksum::Crc64;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{ObjectMeta, PutResult, Trace};

/// The result of a write of bytes with this CRC64; what is at the destination counts where an earlier attempt may have put it there.
pub(super) async fn settled(
    task: &Task,
    put: Result<PutResult>,
    crc64: Option<Crc64>,
    trace: &Trace,
) -> Result<PutResult> {
    let unsure =
        (task.unanswered || trace.is_resent()) && task.pair.destination.store.capabilities().late_writes;
    let put = match unsure && put.as_ref().err().is_none_or(may_be_done) {
        // Boxed, for it is rare, and every step has room for it.
        true => Box::pin(look(task, put, crc64, trace)).await,
        false => put,
    };
    let only_seen = task.moves || task.backs_up;
    put.map_err(|error| if only_seen && error.kind() == ErrorKind::Exists { overtaken(task) } else { error })
}

/// Why nothing is written where something would be replaced that was not seen.
fn overtaken(task: &Task) -> Error {
    let cause = "another client has written it since it was looked at, so it stays";
    let operation = if task.moves { "move to" } else { "replace" };
    Error::new(ErrorKind::SourceChanged, operation, &*task.pair.destination.name(), cause)
        .hint("run the same command again")
}

async fn look(task: &Task, put: Result<PutResult>, crc64: Option<Crc64>, trace: &Trace) -> Result<PutResult> {
    let destination = &task.pair.destination;
    let there = destination.store.head(&destination.key, trace).await;
    let same =
        |there: &ObjectMeta| crc64.is_some() && there.crc64 == crc64 && there.size == task.pair.meta.size;
    match (put, there) {
        (Ok(put), Ok(there)) if same(&there) => Ok(PutResult { etag: there.etag, ..put }),
        (Err(_), Ok(there)) if same(&there) => {
            let ObjectMeta { etag, crc64, md5, .. } = there;
            Ok(PutResult { etag, crc64, md5, confirmed: true, not_kept: None })
        }
        // Who may write but not read knows no more than the answer.
        (put, _) => put,
    }
}

/// Whether this is how a service refuses to do again what it has done.
fn may_be_done(error: &Error) -> bool {
    error.kind() == ErrorKind::Exists || error.service_code() == Some("InvalidBlockList")
}
