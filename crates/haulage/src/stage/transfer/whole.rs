//! An object that moves in one request.

use bytes::Bytes;

use super::attempt::Task;
use super::attributes::{left_behind, put_options, with_tags};
use super::object::{Done, Held};
use super::settled::settled;
use crate::checksum::{ChecksumMode, Crc64, Md5};
use crate::error::Result;
use crate::stage::plan::Pair;
use crate::stage::read;
use crate::stage::verify::{agreed, check_crc64, check_md5};
use crate::store::{BlockRange, GetResult, ObjectMeta, Payload, Phase, PutResult, Trace};
use crate::task::off_thread;

/// Moves the object.
pub(super) async fn whole(task: &Task, trace: &Trace) -> Result<Done> {
    if let Some(held) = task.held.clone() {
        return Box::pin(put_held(task, held, trace)).await;
    }
    if task.pair.destination.store.capabilities().streams {
        return pass_on(task, trace).await;
    }
    let turn = task.turn_to_read(task.pair.meta.size, trace).await;
    let read = gather(task, trace).await?;
    let turn = turn.read();
    let done = put(task, read, trace).await?;
    turn.sent();
    Ok(done)
}

/// What was read of an object, and what its store states of it.
struct Read {
    bytes: Bytes,
    crc64: Crc64,
    stated: Stated,
    /// What the list has left out, and the answer says.
    told: Option<Box<ObjectMeta>>,
}

/// What list and answer state of the object together.
struct Stated {
    crc64: Option<Crc64>,
    md5: Option<Md5>,
    /// The MD5 is all the proof there is, or the only one that the list names.
    only_md5: bool,
    /// The store has vouched for exactly these bytes.
    range_checked: bool,
}

impl Stated {
    fn of(pair: &Pair, got: &GetResult) -> Result<Self> {
        let (name, listed) = (pair.source.name(), &pair.meta);
        let crc64 = agreed(&name, "CRC64", [got.crc64, got.meta.crc64, listed.crc64])?;
        let md5 = agreed(&name, "MD5", [got.md5, got.meta.md5, listed.md5])?;
        let only_md5 = crc64.is_none() || (listed.crc64.is_none() && listed.md5.is_some());
        Ok(Self { crc64, md5, only_md5, range_checked: got.crc64.is_some() })
    }
}

/// Whether the list states no checksum of the object: its store may still vouch for a range that covers it.
fn states_none(listed: &ObjectMeta) -> bool {
    listed.crc64.is_none() && listed.md5.is_none()
}

async fn open(task: &Task, trace: &Trace) -> Result<GetResult> {
    let Pair { source, meta, .. } = &*task.pair;
    let range = read::vouched_whole(&*source.store, meta.size).filter(|_| states_none(meta));
    read::open(&*source.store, &source.key, meta, range, trace).await
}

/// Reads all of the object.
async fn gather(task: &Task, trace: &Trace) -> Result<Read> {
    let Pair { source, meta, .. } = &*task.pair;
    if states_none(meta) && read::is_vouched_in_pieces(&*source.store, meta.size) {
        let all = BlockRange { offset: 0, len: meta.size };
        let read::Gathered { bytes, crc64, vouched } =
            read::gather(&*source.store, &source.key, meta, all, trace).await?;
        let stated = Stated { crc64: None, md5: None, only_md5: true, range_checked: vouched };
        return Ok(Read { bytes, crc64, stated, told: None });
    }
    let got = open(task, trace).await?;
    let stated = Stated::of(&task.pair, &got)?;
    let (bytes, crc64) = got.payload.collect_hashed().await?;
    check_crc64(&source.name(), crc64, stated.crc64)?;
    let told = (!source.store.capabilities().lists_all).then(|| Box::new(got.meta));
    Ok(Read { bytes, crc64, stated, told })
}

/// Writes what was read.
async fn put(task: &Task, read: Read, trace: &Trace) -> Result<Done> {
    let Pair { source, destination, meta, .. } = &*task.pair;
    let Read { bytes, crc64, stated, told } = read;
    let by_md5 = task.options.checksum == ChecksumMode::Md5;
    let md5 = match stated.md5 {
        Some(_) if by_md5 || stated.only_md5 => Some(md5_of(bytes.clone()).await?),
        // The one that goes with the body is stored too.
        None if task.options.content_md5 && !by_md5 => Some(md5_of(bytes.clone()).await?),
        _ => None,
    };
    check_md5(&source.name(), md5, stated.md5)?;
    let told = told.as_deref().unwrap_or(meta);
    let tagged = with_tags(task, told, trace).await?;
    let options = put_options(task, tagged.as_ref().unwrap_or(told), Some(crc64), md5);
    let put = destination.store.put(&destination.key, Payload::Hashed(bytes, crc64), &options, trace).await;
    let put = settled(task, put, Some(crc64), trace).await?;
    Ok(Done::Whole { crc64: Some(crc64), md5: put.md5, put, range_checked: stated.range_checked })
}

/// Writes what was fetched or read before.
async fn put_held(task: &Task, held: Held, trace: &Trace) -> Result<Done> {
    let Pair { destination, meta, .. } = &*task.pair;
    let Held { bytes, crc64, range_checked } = held;
    let options = put_options(task, meta, Some(crc64), task.md5);
    trace.mark(Phase::Ready);
    let put = destination.store.put(&destination.key, Payload::Hashed(bytes, crc64), &options, trace).await;
    let put = settled(task, put, Some(crc64), trace).await?;
    Ok(Done::Whole { crc64: Some(crc64), md5: put.md5, put, range_checked })
}

/// Hands the bytes on as they come: the destination hashes them on their way.
async fn pass_on(task: &Task, trace: &Trace) -> Result<Done> {
    let destination = &task.pair.destination;
    let got = open(task, trace).await?;
    let Stated { crc64, md5, only_md5, range_checked } = Stated::of(&task.pair, &got)?;
    let options = put_options(task, &got.meta, crc64, md5.filter(|_| only_md5));
    let put = destination.store.put(&destination.key, got.payload, &options, trace).await?;
    let put = PutResult { not_kept: left_behind(task, &got.meta).or(put.not_kept), ..put };
    Ok(Done::Whole { crc64: put.crc64, md5: put.md5, put, range_checked })
}

async fn md5_of(bytes: Bytes) -> Result<Md5> {
    // 1.5 ms a mebibyte: too long for a thread that serves other connections.
    if bytes.len() < 16 << 10 {
        return Ok(Md5::of(&bytes));
    }
    off_thread(move || Md5::of(&bytes)).await
}
