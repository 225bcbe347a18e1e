//! One try of one step: what goes over the wire and onto the disk.

use std::sync::Arc;

use async_trait::async_trait;

use super::attributes::{attributes, left_behind, put_options, with_tags};
use super::by_service;
use super::compare::compare;
use super::object::{Done, Held, Purpose};
use super::settled::settled;
use super::staged::Staged;
use super::turns::{SMALLEST, Turn, Turns};
use super::whole::whole;
use crate::checksum::{Crc64, Md5, Md5Stream};
use crate::error::{Error, ErrorKind, Result};
use crate::options::CopyOptions;
use crate::stage::plan::{Pair, Place};
use crate::stage::read;
use crate::stage::schedule::Step;
use crate::stage::verify::check_crc64;
use crate::store::{
    BlockRange, BlockSizes, BlockWriter, GetOptions, Joining, Kept, ObjectMeta, Part, Payload, Phase,
    PutOptions, PutResult, Request, SourceBytes, Stored, Trace, is_folder,
};
use crate::task::off_thread;

/// A piece of the source that is read only to be hashed.
pub(crate) const DIGEST_PIECE: u64 = 4 << 20;

/// Everything a try needs; cheap to clone.
pub(crate) struct Task {
    pub(crate) step: Step,
    pub(crate) pair: Arc<Pair>,
    pub(crate) purpose: Purpose,
    pub(crate) options: Arc<CopyOptions>,
    pub(crate) writer: Option<Arc<dyn BlockWriter>>,
    /// Blocks that need not be sent again.
    pub(crate) staged: Arc<Staged>,
    /// For the commit: the parts in order, and what to store with them.
    pub(crate) parts: Vec<Part>,
    pub(crate) crc64: Option<Crc64>,
    pub(crate) md5: Option<Md5>,
    /// This is a duplicate.
    pub(crate) duplicate: bool,
    /// An earlier attempt may have done the same, and may still do it.
    pub(crate) unanswered: bool,
    /// What a duplicate has fetched, now to be written; or what was read of a stream, which is not read again.
    pub(crate) held: Option<Held>,
    /// The digest of what was read of a stream so far, or read once more of an object, where one is wanted.
    pub(crate) digest: Option<Md5Stream>,
    /// Bytes of an object that are in it.
    pub(crate) digested: u64,
    /// Whether other jobs stage parts of the object too.
    pub(crate) joining: Joining,
    /// How large blocks are to be, where one size is settled for all.
    pub(crate) blocks: BlockSizes,
    /// The service copies the object.
    pub(crate) by_service: bool,
    /// The source goes when it is copied.
    pub(crate) moves: bool,
    /// What it replaces was backed up.
    pub(crate) backs_up: bool,
    /// A copy that turns out to be none is removed again.
    pub(crate) retracts: bool,
    pub(crate) turns: Turns,
}

impl Task {
    /// A turn to read `len` bytes: one to wait for where they go from one service to another.
    pub(super) async fn turn_to_read(&self, len: u64, trace: &Trace) -> Turn {
        // A second attempt is there because others do not get on.
        if len < SMALLEST || self.duplicate {
            return Turn::free();
        }
        let Pair { source, destination, .. } = &*self.pair;
        if [source, destination].iter().any(|place| place.store.capabilities().at_hand) {
            return Turn::free();
        }
        let turn = self.turns.enter().await;
        // Until now it has waited, and used no link.
        trace.mark(Phase::Slot);
        turn
    }

    /// Whether the service does what this step is about, by itself.
    pub(crate) fn is_by_service(&self) -> bool {
        self.by_service && matches!(self.step, Step::Whole | Step::Block(_))
    }

    /// Whether its bytes pass the wire, and have to pass again where it is given up.
    pub(crate) fn may_be_lost(&self) -> bool {
        let Pair { source, destination, .. } = &*self.pair;
        let here = [source, destination].iter().all(|place| place.store.capabilities().at_hand);
        matches!(self.step, Step::Whole | Step::Block(_)) && !self.by_service && !here
    }

    /// The step by the name of the request it sends.
    pub(crate) fn api(&self) -> &'static str {
        let Pair { source, destination, .. } = &*self.pair;
        if self.held.is_some() && self.duplicate {
            return "WriteHeld";
        }
        let to_service = !destination.store.capabilities().at_hand;
        match self.step {
            // What costs a request is to ask the service.
            Step::Look if to_service => destination.store.api(Request::Look),
            Step::Look => source.store.api(Request::Look),
            Step::Whole if self.is_by_service() => destination.store.api(Request::Copy),
            Step::Block(_) if self.is_by_service() => destination.store.api(Request::CopyBlock),
            Step::Whole if to_service => destination.store.api(Request::Put),
            Step::Block(_) if to_service => destination.store.api(Request::PutBlock),
            Step::Whole | Step::Block(_) => source.store.api(Request::Get),
            Step::Begin => destination.store.api(Request::Begin),
            Step::Read(_) => source.store.api(Request::Get),
            Step::Digest => "Digest",
            Step::Commit => destination.store.api(Request::Commit),
            Step::Compare(_) => "Compare",
        }
    }
}

/// Runs the step once.
pub(crate) async fn run(task: &Task, trace: &Trace) -> Result<Done> {
    match task.step {
        Step::Look => {
            let (there, told) = look_at(&task.pair, trace).await?;
            Ok(Done::Looked { there: there.map(Box::new), told: told.map(Box::new) })
        }
        // A task is moved as a whole when it is started, and most are of the steps that are not boxed.
        Step::Whole if task.by_service => Box::pin(by_service::whole(task, trace)).await,
        Step::Whole => whole(task, trace).await,
        Step::Begin => Box::pin(begin(task, trace)).await,
        Step::Read(range) => Box::pin(read_on(task, range, trace)).await,
        Step::Block(range) if task.by_service => by_service::block(task, range, trace).await,
        Step::Block(range) => block(task, range, trace).await,
        Step::Digest => Box::pin(digest(task, trace)).await,
        Step::Commit => commit(task, trace).await.map(Done::Committed),
        Step::Compare(range) => Box::pin(compare(task, range, trace)).await,
    }
}

/// What is at the destination, and, where that may be the same, what the source's list has left out.
pub(crate) async fn look_at(pair: &Pair, trace: &Trace) -> Result<(Option<ObjectMeta>, Option<ObjectMeta>)> {
    let there = look(&pair.destination, trace).await?;
    let told = match &there {
        Some(there) if pair.may_be_same(there) => told(&pair.source, &pair.meta, trace).await?,
        _ => None,
    };
    Ok((there, told))
}

/// What is at a place; `None` where nothing is.
async fn look(place: &Place, trace: &Trace) -> Result<Option<ObjectMeta>> {
    match place.store.head(&place.key, trace).await {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if is_folder(&error) => {
            let name = place.name();
            let hint = format!("write {name}/ to name what is in it");
            Err(Error::new(ErrorKind::Exists, "inspect", &*name, "a folder has this name").hint(hint))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the next stretch of a stream.
async fn read_on(task: &Task, asked: BlockRange, trace: &Trace) -> Result<Done> {
    let Pair { source, .. } = &*task.pair;
    let options = GetOptions { range: Some(asked), ..GetOptions::default() };
    let (bytes, crc64) =
        source.store.get(&source.key, &options, trace).await?.payload.collect_hashed().await?;
    let Some(mut digest) = task.digest.clone() else {
        return Ok(Done::Read { asked, bytes, crc64, md5: None });
    };
    let hashed = bytes.clone();
    let digest = off_thread(move || {
        digest.update(&hashed);
        digest
    });
    Ok(Done::Read { asked, bytes, crc64, md5: Some(digest.await?) })
}

/// Prepares the destination, and asks what an interrupted run has left there.
async fn begin(task: &Task, trace: &Trace) -> Result<Done> {
    let Pair { source, destination, .. } = &*task.pair;
    let told = told(source, &task.pair.meta, trace).await?;
    let tagged = with_tags(task, told.as_ref().unwrap_or(&task.pair.meta), trace).await?;
    let told = tagged.or(told);
    let meta = told.as_ref().unwrap_or(&task.pair.meta);
    // Under a weak one there may be another version by the next run.
    let source_etag = meta.version().condition().map(str::to_owned);
    let from_stream = source.store.capabilities().in_order;
    let mut options = PutOptions {
        source_etag,
        blocks: task.blocks,
        joining: task.joining,
        by_service: task.by_service,
        // A stream is read once.
        source: (!from_stream).then(|| Arc::new(Read { place: source.clone(), meta: meta.clone() }) as _),
        ..put_options(task, meta, None, None)
    };
    if destination.store.capabilities().in_order && meta.crc64.is_some() {
        // One checksum of the whole is enough.
        options.attributes.md5 = None;
    }
    let size = (!from_stream).then_some(meta.size);
    let writer = destination.store.begin(&destination.key, size, &options, trace).await?;
    if from_stream {
        // What is read once cannot be compared with what an earlier run has sent.
        return Ok(Done::Begun { writer, staged: Staged::default(), told: told.map(Box::new) });
    }
    let staged = match writer.staged(trace).await {
        Ok(staged) => staged.into_iter().collect(),
        // Who may write but not read sends everything.
        Err(error) if error.kind() == ErrorKind::Permission => Staged::default(),
        Err(error) => return Err(error),
    };
    Ok(Done::Begun { writer, staged, told: told.map(Box::new) })
}

/// The source of a copy, to be read.
#[derive(Debug)]
struct Read {
    place: Place,
    meta: ObjectMeta,
}

#[async_trait]
impl SourceBytes for Read {
    async fn crc64_of(&self, range: BlockRange) -> Result<Crc64> {
        let mut crc64 = Crc64::EMPTY;
        let mut offset = range.offset;
        while offset < range.end() {
            let piece = BlockRange { offset, len: DIGEST_PIECE.min(range.end() - offset) };
            let Place { store, key } = &self.place;
            let read = read::gather(&**store, key, &self.meta, piece, &Trace::detached()).await?;
            crc64 = crc64.combine(read.crc64, piece.len);
            offset = piece.end();
        }
        Ok(crc64)
    }
}

/// What the store says of a source whose checksum its list has left out, so that the whole can be compared with it.
pub(super) async fn told(source: &Place, listed: &ObjectMeta, trace: &Trace) -> Result<Option<ObjectMeta>> {
    let unknown = listed.crc64.is_none() && listed.md5.is_none();
    if !unknown || source.store.capabilities().lists_all {
        return Ok(None);
    }
    let told = match source.store.head(&source.key, trace).await {
        // Who may list and read may look; elsewhere nothing more is known.
        Err(error) if error.kind() == ErrorKind::Permission => return Ok(None),
        other => other?,
    };
    if !listed.version().may_be(&told) || told.size != listed.size {
        let cause = "the object was replaced after it was listed";
        return Err(Error::new(ErrorKind::SourceChanged, "read", &*source.name(), cause));
    }
    // Lists are finer than headers.
    let source_modified_ns = told.source_modified_ns.or(listed.source_modified_ns);
    Ok(Some(ObjectMeta { source_modified_ns, modified_ns: listed.modified_ns, ..told }))
}

async fn block(task: &Task, range: BlockRange, trace: &Trace) -> Result<Done> {
    let Pair { source, destination, meta, .. } = &*task.pair;
    if let Some(held) = &task.held {
        let payload = Payload::Hashed(held.bytes.clone(), held.crc64);
        let writer = writer(task)?;
        trace.mark(Phase::Ready);
        let stored = writer.put_block(range, payload, trace).await?;
        if task.duplicate {
            writer.keep(Kept { id: stored.part.id, vouched: held.range_checked }).await;
        }
        return Ok(Done::Block { stored, range_checked: held.range_checked, resumed: false });
    }
    if !task.staged.is_empty()
        && destination.store.capabilities().rechecks
        && let Some(Kept { id, vouched }) = writer(task)?.recheck(range).await?
    {
        return Ok(Done::Block { stored: there_already(id.into()), range_checked: vouched, resumed: true });
    }
    let writer = writer(task)?;
    let streams = destination.store.capabilities().streams;
    if !streams {
        let turn = task.turn_to_read(range.len, trace).await;
        let read::Gathered { bytes, crc64, vouched } =
            read::gather(&*source.store, &source.key, meta, range, trace).await?;
        let turn = turn.read();
        let (stored, resumed) = match task.staged.holding(range, &bytes, crc64) {
            Some(part) => (there_already(part), true),
            None => (writer.put_block(range, Payload::Hashed(bytes, crc64), trace).await?, false),
        };
        turn.sent();
        return Ok(Done::Block { stored, range_checked: vouched, resumed });
    }
    let got = read::open(&*source.store, &source.key, meta, Some(range), trace).await?;
    let (stated, range_checked) = (got.crc64, got.crc64.is_some());
    if task.duplicate {
        let (bytes, crc64) = got.payload.collect_hashed().await?;
        check_crc64(&source.name(), crc64, stated)?;
        return Ok(Done::Held(Held { bytes, crc64, range_checked }));
    }
    let stored = writer.put_block(range, got.payload, trace).await?;
    check_crc64(&source.name(), stored.part.id.crc64, stated)?;
    writer.keep(Kept { id: stored.part.id, vouched: range_checked }).await;
    Ok(Done::Block { stored, range_checked, resumed: false })
}

/// A block that an earlier run has sent. Whether this store confirms what it takes shows with the commit.
fn there_already(part: Part) -> Stored {
    Stored { part, confirmed: true }
}

async fn commit(task: &Task, trace: &Trace) -> Result<PutResult> {
    let Pair { destination, meta, .. } = &*task.pair;
    // A store that keeps checksums gets the one we combined. One that does not, compares, and must be
    // told what the source states.
    let crc64 = if destination.store.capabilities().streams { meta.crc64 } else { task.crc64 };
    let put = writer(task)?.commit(&task.parts, &attributes(task, meta, crc64, task.md5), trace).await;
    let put = settled(task, put, task.crc64, trace).await?;
    Ok(PutResult { not_kept: left_behind(task, meta).or(put.not_kept), ..put })
}

/// MD5 cannot be combined from blocks, so the source is read once more, in order, beside the blocks: the next piece of it.
async fn digest(task: &Task, trace: &Trace) -> Result<Done> {
    let Pair { source, meta, .. } = &*task.pair;
    let mut md5 = task.digest.clone().unwrap_or_default();
    let offset = task.digested;
    let range = BlockRange { offset, len: DIGEST_PIECE.min(meta.size - offset) };
    let got = read::open(&*source.store, &source.key, meta, Some(range), trace).await?;
    let stated = got.crc64;
    let (bytes, crc64) = got.payload.collect_hashed().await?;
    check_crc64(&source.name(), crc64, stated)?;
    let md5 = off_thread(move || {
        md5.update(&bytes);
        md5
    });
    Ok(Done::Digested { end: range.end(), md5: md5.await? })
}

pub(super) fn writer(task: &Task) -> Result<&Arc<dyn BlockWriter>> {
    task.writer.as_ref().ok_or_else(|| {
        Error::new(ErrorKind::Cancelled, "write", &*task.pair.destination.name(), "the object was given up")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_moved_when_a_step_is_started_stays_small() {
        fn size<F>(_: impl Fn(&'static Task, &'static Trace) -> F) -> usize {
            size_of::<F>()
        }
        assert!(size(run) <= 1536, "{} bytes for each step: box what is rare or large", size(run));
    }
}
