//! An object of which several nodes move a portion: begun, staged in stretches, committed. Pure.

use crate::event::{Failure, ObjectRecord, Outcome, PartRecord};
use crate::options::{Item, Portion};
use crate::store::BlockRange;
use crate::units::ByteSize;

/// Smaller objects go whole: three steps for one would be a waste.
pub(super) const PARTED_MIN: u64 = 256 << 20;

/// The smallest stretch: some seconds of a slow node.
const STRETCH_MIN: u64 = 16 << 20;

/// The largest, so that no node is left alone with one.
const STRETCH_MAX: u64 = 512 << 20;

/// Stretches are multiples of this.
const GRANULE: u64 = 1 << 20;

/// Where blocks of all nodes are of one size: small enough for a slow link, as few as a service takes.
const BLOCK_MIN: u64 = 8 << 20;
const BLOCKS_MAX: u64 = 8000;

/// How far one such object has come.
#[derive(Debug)]
pub(super) struct Parted {
    /// The object as it was planned, which stands for all of its portions.
    pub(super) item: Item,
    /// Which of the user's sources it came from.
    pub(super) origin: usize,
    /// Stretches that are not staged yet; what is not cut yet counts as one.
    left: usize,
    parts: Vec<PartRecord>,
    failure: Option<Failure>,
    attempts: u32,
    started_ns: Option<u64>,
}

/// What follows from a portion that has ended.
#[derive(Debug)]
pub(super) enum Next {
    /// This portion is to be dealt out.
    Deal(Box<Item>),
    /// All of it is staged.
    Staged,
    /// Others are still under way.
    Wait,
    /// The object has reached its end.
    Ended(Box<ObjectRecord>),
}

impl Parted {
    pub(super) fn new(item: Item, origin: usize) -> Self {
        Self { item, origin, left: 0, parts: Vec::new(), failure: None, attempts: 0, started_ns: None }
    }

    /// Its first portion: all of it, to be [cut](Self::cut) as it is dealt out. `begins`: the service keeps uploads, which one node
    /// begins for all; of parts of about the size that is `wanted`.
    pub(super) fn first(&mut self, begins: bool, wanted: Option<ByteSize>) -> Item {
        let wanted = wanted.map_or(BLOCK_MIN, ByteSize::bytes);
        let block = self.item.meta.size.div_ceil(BLOCKS_MAX).max(wanted).next_multiple_of(GRANULE);
        self.item.assigned.block = begins.then_some(block);
        match begins {
            true => self.portion(Portion::Stretch(BlockRange { offset: 0, len: 0 })),
            false => self.whole(),
        }
    }

    fn whole(&mut self) -> Item {
        self.left = 1;
        self.portion(Portion::Stretch(BlockRange { offset: 0, len: self.item.meta.size }))
    }

    /// Cuts a stretch off the rest of it; `None` where that is to go in one. `share`: what a node is given at once.
    pub(super) fn cut(&mut self, rest: &mut BlockRange, share: u64) -> Option<Item> {
        let granule = self.item.assigned.block.unwrap_or(GRANULE);
        let len = share.clamp(STRETCH_MIN, STRETCH_MAX).next_multiple_of(granule);
        // A last one that is hardly any is not worth a round of its own.
        if rest.len < len + len / 2 {
            return None;
        }
        self.left += 1;
        let taken = BlockRange { offset: rest.offset, len };
        *rest = BlockRange { offset: rest.offset + len, len: rest.len - len };
        Some(self.portion(Portion::Stretch(taken)))
    }

    fn portion(&self, portion: Portion) -> Item {
        let mut item = self.item.clone();
        item.assigned.portion = portion;
        item
    }

    /// The last step.
    pub(super) fn commit(&mut self) -> Item {
        self.parts.sort_unstable_by_key(|part| part.offset_bytes);
        let parts = std::mem::take(&mut self.parts);
        self.portion(Portion::Commit(parts))
    }

    /// Takes in how a portion of it ended.
    pub(super) fn came(&mut self, portion: &Portion, record: ObjectRecord) -> Next {
        self.attempts += record.attempts;
        let started = *self.started_ns.get_or_insert(record.started_ns);
        let began = matches!(portion, Portion::Stretch(stretch) if stretch.len == 0) && self.left == 0;
        let staged = record.outcome == Outcome::Staged;
        if !staged && let Some(failure) = &record.failure {
            self.failure.get_or_insert_with(|| failure.clone());
        }
        match portion {
            Portion::Stretch(_) if began && staged => return Next::Deal(Box::new(self.whole())),
            Portion::Stretch(_) if began => {}
            Portion::Stretch(_) => {
                self.left = self.left.saturating_sub(1);
                self.parts.extend_from_slice(&record.parts);
            }
            Portion::All | Portion::Commit(_) => {}
        }
        if self.left > 0 {
            return Next::Wait;
        }
        if staged && self.failure.is_none() {
            return Next::Staged;
        }
        let outcome = if self.failure.is_some() { Outcome::Failed } else { record.outcome };
        Next::Ended(Box::new(ObjectRecord {
            outcome,
            failure: self.failure.take(),
            attempts: self.attempts,
            started_ns: started,
            parts: Vec::new(),
            source_etag: None,
            ..record
        }))
    }
}
