//! What a step of an object needs to run, and what it holds while it does.

use std::sync::Arc;

use super::Objects;
use crate::control::STREAMED;
use crate::options::CopyOptions;
use crate::stage::schedule::{Step, Unit};
use crate::stage::transfer::{Copying, DIGEST_PIECE, Held, Purpose, Task};
use crate::store::BlockRange;

impl Objects {
    /// What a step needs to run, the memory it will hold and its payload, in bytes. `None` where the object has ended.
    pub(in super::super) fn task(
        &self,
        unit: &Unit,
        purpose: Purpose,
        options: &Arc<CopyOptions>,
    ) -> Option<(Task, u64, u64)> {
        let object = &self.by_id.get(&unit.object)?.object;
        let (commit, copying) = (unit.step == Step::Commit, object.copying());
        let task = Task {
            step: unit.step,
            pair: Arc::clone(&object.subject.pair),
            purpose: object.purpose(purpose),
            options: Arc::clone(options),
            writer: copying.and_then(|copying| copying.writer.clone()),
            staged: copying.map(|copying| Arc::clone(&copying.staged)).unwrap_or_default(),
            parts: if commit { object.parts() } else { Vec::new() },
            crc64: copying.and_then(|copying| copying.crc64),
            md5: copying.and_then(|copying| copying.md5),
            duplicate: false,
            unanswered: unit.unanswered,
            held: copying.and_then(|copying| held(copying, unit.step, object.subject.pair.meta.size)),
            digest: copying.and_then(|copying| match unit.step {
                Step::Digest => Some(copying.digested.1.clone()),
                _ => copying.feed.as_ref()?.digest(),
            }),
            digested: copying.map_or(0, |copying| copying.digested.0),
            blocks: object.blocks(),
            joining: copying.map(Copying::joining).unwrap_or_default(),
            by_service: copying.is_some_and(|copying| copying.by_service.is_some()),
            moves: copying.is_some_and(|copying| copying.moves),
            backs_up: copying.is_some_and(|copying| copying.backs_up),
            retracts: copying.is_some_and(Copying::retracts),
            turns: self.turns.clone(),
        };
        let len = object.payload(unit.step).len;
        let bytes = memory(&task, len);
        Some((task, bytes, len))
    }
}

/// What was read of a stream for a step.
fn held(copying: &Copying, step: Step, size: u64) -> Option<Held> {
    let feed = copying.feed.as_ref()?;
    match step {
        Step::Block(range) => feed.get(range),
        Step::Whole => feed.get(BlockRange { offset: 0, len: size }),
        _ => None,
    }
}

/// Bytes of memory that a step holds while it runs.
fn memory(task: &Task, payload: u64) -> u64 {
    let (from, to) = (task.pair.source.store.capabilities(), task.pair.destination.store.capabilities());
    match task.step {
        // What is read of a stream is bounded by how far it may be ahead.
        Step::Look | Step::Read(_) | Step::Begin | Step::Commit => 0,
        _ if task.is_by_service() => 0,
        Step::Digest => DIGEST_PIECE.min(task.pair.meta.size),
        Step::Whole | Step::Block(_) if to.streams && !from.at_hand => payload.min(STREAMED),
        Step::Whole | Step::Block(_) => payload,
        Step::Compare(_) => payload.min(STREAMED) + if from.at_hand || to.at_hand { payload } else { 0 },
    }
}
