//! What all lives of an object share: the object, and the stretches that it is cut into.

use std::sync::Arc;

use super::{Ended, Then};
use crate::error::{Error, ErrorKind};
use crate::event::{Method, Outcome, Proof};
use crate::stage::plan::{Cutter, Existing, Pair, Pieces};
use crate::stage::schedule::Step;
use crate::store::{BlockRange, Capabilities, ObjectMeta, Part};

/// What is moved or compared, and how far that has come.
pub(crate) struct Subject {
    pub(crate) pair: Arc<Pair>,
    pub(crate) bytes_done: u64,
    pub(super) pieces: Pieces,
    /// Where it goes in blocks or ranges, once that has begun.
    pub(super) cutter: Option<Cutter>,
}

impl Subject {
    pub(super) fn size(&self) -> u64 {
        self.pair.meta.size
    }

    /// Begins to cut it into stretches; those of an earlier run, none larger than `largest`, as they were. `settled`: the size
    /// of all but the last, where the destination has one.
    pub(super) fn cut_ranges(
        &mut self,
        (from, to): (Capabilities, Capabilities),
        staged: impl Iterator<Item = BlockRange>,
        largest: u64,
        settled: Option<u64>,
    ) {
        let mut cutter = Cutter::new(self.size(), &from, &to);
        cutter.settle(settled);
        cutter.resume(staged, largest);
        self.cutter = Some(cutter);
    }

    /// So many bytes more of a stream have been read.
    pub(super) fn grow(&mut self, len: u64) {
        Arc::make_mut(&mut self.pair).meta.size += len;
    }

    /// Whether a stretch may be taken now.
    pub(super) fn may_cut(&self) -> bool {
        self.cutter.as_ref().is_some_and(Cutter::may_cut)
    }

    /// Takes in a stretch that is done.
    pub(super) fn take(&mut self, part: Part) {
        let len = part.id.range.len;
        if self.cutter.as_mut().is_some_and(|cutter| cutter.put(part)) {
            self.bytes_done += len;
        }
    }

    /// Bytes of stretches that are not done.
    pub(super) fn ranges_left(&self) -> u64 {
        self.cutter.as_ref().map_or(0, Cutter::left)
    }

    /// The stretches that are done, in order.
    pub(super) fn parts(&self) -> Vec<Part> {
        self.cutter.as_ref().map(Cutter::parts).unwrap_or_default()
    }

    /// What is at the destination, once somebody has looked.
    pub(super) fn looked(&mut self, there: Option<ObjectMeta>, told: Option<ObjectMeta>) {
        let pair = Arc::make_mut(&mut self.pair);
        pair.existing = Existing::looked(there);
        pair.looked_at = true;
        if let Some(told) = told {
            pair.meta = told;
        }
    }

    /// What is there, to be compared, of the same size; else what to do in its place.
    pub(super) fn counterpart(&self) -> Result<&ObjectMeta, Then> {
        let there = match &self.pair.existing {
            Existing::Present(there) | Existing::Listed(there) => there,
            // A list in another order may have passed it unseen.
            Existing::Unknown => return Err(Then::Steps(vec![Step::Look])),
            Existing::Absent => return Err(Then::End(self.missing())),
        };
        if there.size != self.size() {
            let cause = format!("{} bytes at the source, {} at the destination", self.size(), there.size);
            return Err(Then::End(self.differs(&cause)));
        }
        Ok(there)
    }

    /// The end of an object that is not equal: a finding, with the failure that says how.
    pub(super) fn differs(&self, cause: &str) -> Ended {
        self.found(Outcome::Differs, ErrorKind::Integrity, cause)
    }

    pub(super) fn missing(&self) -> Ended {
        self.found(Outcome::Missing, ErrorKind::NotFound, "missing at the destination")
    }

    pub(super) fn found(&self, outcome: Outcome, kind: ErrorKind, cause: &str) -> Ended {
        let error = Error::new(kind, "verify", &*self.pair.source.name(), cause);
        let hint = match outcome {
            Outcome::Missing => "copy it again, then verify again",
            _ => "check which side is right before you copy again",
        };
        let error = error.hint(hint);
        Ended { error: Some(error), ..Ended::new(outcome, Method::None, Proof::None) }
    }
}
