//! The life of one object: which steps it still needs, and how it ended. Pure but for the writer it holds.
//!
//! There are three lives: a [`Copy`](copy), a [`comparison`](compare) of two stores, and the [`check`](receipt) of a receipt. What they
//! share, the object and the stretches it is cut into, is the [`Subject`].

mod compare;
mod copy;
mod receipt;

use std::sync::Arc;

use bytes::Bytes;

use self::compare::Comparing;
pub(crate) use self::copy::Copying;
use self::receipt::Checking;
use super::staged::Staged;
use crate::checksum::{Crc64, Md5};
use crate::control::Limits;
use crate::error::{Error, ErrorKind};
use crate::event::{Method, Outcome, Proof};
use crate::options::{CopyOptions, MethodChoice};
use crate::stage::plan::{Cutter, Existing, Pair, Pieces};
use crate::stage::schedule::Step;
use crate::store::{BlockRange, BlockSizes, BlockWriter, Capabilities, ObjectMeta, Part, PutResult, Stored};

/// What the job is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Copy,
    /// Compare; `stored` trusts the checksums that stores keep with their objects.
    Verify {
        stored: bool,
        /// Read the contents even where a receipt could be compared with what the store says.
        deep: bool,
    },
}

impl Purpose {
    /// Whether what stores say of their objects is enough; of a receipt there is nothing else to go by.
    pub(crate) fn trusts(self, source: &Capabilities) -> bool {
        match self {
            Self::Copy => false,
            Self::Verify { stored, deep } => stored || (!deep && !source.contents),
        }
    }
}

/// What a step came to.
pub(crate) enum Done {
    /// What is at the destination; `told`: what the source's list had left out.
    Looked {
        there: Option<Box<ObjectMeta>>,
        told: Option<Box<ObjectMeta>>,
    },
    Whole {
        put: PutResult,
        crc64: Option<Crc64>,
        md5: Option<Md5>,
        range_checked: bool,
    },
    /// The service has copied it. `told`: what the source's list had left out.
    Copied {
        put: PutResult,
        told: Option<Box<ObjectMeta>>,
    },
    Begun {
        writer: Arc<dyn BlockWriter>,
        staged: Staged,
        /// What the source's list had left out.
        told: Option<Box<ObjectMeta>>,
    },
    /// `resumed` says that the destination held the block already, from an earlier run.
    Block {
        stored: Stored,
        range_checked: bool,
        resumed: bool,
    },
    Digested(Md5),
    Committed(PutResult),
    Equal {
        crc64: Option<Crc64>,
        len: u64,
    },
    /// Contents differ, in these words. `sure`: where nothing on the way can have changed a bit unseen.
    Differs {
        range: Option<BlockRange>,
        cause: String,
        sure: bool,
    },
    /// A range of the destination of which a receipt knows only the whole.
    Seen(Part),
    /// A duplicate of a block, in memory: it must not be written while the original still may be.
    Held(Held),
}

/// A block that was fetched and checked, and waits to be written.
pub(crate) struct Held {
    pub(crate) bytes: Bytes,
    pub(crate) crc64: Crc64,
    pub(crate) range_checked: bool,
}

/// How an object ended.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) method: Method,
    /// The service has copied at least some of it.
    pub(crate) by_service: bool,
    pub(crate) proof: Proof,
    pub(crate) crc64: Option<Crc64>,
    pub(crate) md5: Option<Md5>,
    pub(crate) etag: Option<String>,
    pub(crate) reason: Option<&'static str>,
    /// What of its attributes could not be kept, in words.
    pub(crate) not_kept: Option<String>,
    pub(crate) error: Option<Error>,
}

impl Ended {
    fn new(outcome: Outcome, method: Method, proof: Proof) -> Self {
        let (crc64, md5, etag, reason, not_kept, error) = Default::default();
        Self { outcome, method, by_service: false, proof, crc64, md5, etag, reason, not_kept, error }
    }

    pub(crate) fn failed(error: Error) -> Self {
        Self { error: Some(error), ..Self::new(Outcome::Failed, Method::None, Proof::None) }
    }

    pub(crate) fn skipped(reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Self::new(Outcome::Skipped, Method::None, Proof::None) }
    }
}

/// What follows from a step.
pub(crate) enum Then {
    /// These steps become possible.
    Steps(Vec<Step>),
    /// Blocks may now be taken by [`Object::take_range`].
    Ranges,
    /// Nothing: others are in flight.
    Wait,
    /// The object is at its end.
    End(Ended),
}

/// What is moved or compared, and how far that has come.
pub(crate) struct Subject {
    pub(crate) pair: Arc<Pair>,
    pub(crate) bytes_done: u64,
    pieces: Pieces,
    /// Where it goes in blocks or ranges, once that has begun.
    cutter: Option<Cutter>,
}

impl Subject {
    fn size(&self) -> u64 {
        self.pair.meta.size
    }

    /// Begins to cut it into stretches; those of an earlier run, none larger than `largest`, as they were. `settled`: the size
    /// of all but the last, where the destination has one.
    fn cut_ranges(
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

    /// Takes in a stretch that is done.
    fn take(&mut self, part: Part) {
        let len = part.id.range.len;
        if self.cutter.as_mut().is_some_and(|cutter| cutter.put(part)) {
            self.bytes_done += len;
        }
    }

    /// Bytes of stretches that are not done.
    fn ranges_left(&self) -> u64 {
        self.cutter.as_ref().map_or(0, Cutter::left)
    }

    /// The stretches that are done, in order.
    fn parts(&self) -> Vec<Part> {
        self.cutter.as_ref().map(Cutter::parts).unwrap_or_default()
    }

    /// What is at the destination, once somebody has looked.
    fn looked(&mut self, there: Option<ObjectMeta>, told: Option<ObjectMeta>) {
        let pair = Arc::make_mut(&mut self.pair);
        pair.existing = Existing::looked(there);
        pair.looked_at = true;
        if let Some(told) = told {
            pair.meta = told;
        }
    }

    /// What is there, to be compared, of the same size; else what to do in its place.
    fn counterpart(&self) -> Result<&ObjectMeta, Then> {
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
    fn differs(&self, cause: &str) -> Ended {
        self.found(Outcome::Differs, ErrorKind::Integrity, cause)
    }

    fn missing(&self) -> Ended {
        self.found(Outcome::Missing, ErrorKind::NotFound, "missing at the destination")
    }

    fn found(&self, outcome: Outcome, kind: ErrorKind, cause: &str) -> Ended {
        let error = Error::new(kind, "verify", &*self.pair.source.name(), cause);
        let error = error.hint("copy it again, then verify again");
        Ended { error: Some(error), ..Ended::new(outcome, Method::None, Proof::None) }
    }
}

/// What happens with it.
enum Life {
    Copy(Box<Copying>),
    Compare(Comparing),
    Check(Checking),
}

/// An object on its way.
pub(crate) struct Object {
    pub(crate) subject: Subject,
    pub(crate) started_ns: u64,
    pub(crate) attempts: u32,
    life: Life,
}

impl Object {
    pub(crate) fn new(
        pair: Pair,
        purpose: Purpose,
        options: &CopyOptions,
        limits: &Limits,
        now_ns: u64,
    ) -> Self {
        let contents = pair.source.store.capabilities().contents;
        let life = match purpose {
            Purpose::Copy => Life::Copy(Box::new(Copying::new(&pair, options))),
            Purpose::Verify { stored, .. } if contents => Life::Compare(Comparing::new(stored)),
            Purpose::Verify { stored, deep } => Life::Check(Checking::new(stored || !deep)),
        };
        let subject = Subject { pair: Arc::new(pair), bytes_done: 0, pieces: Pieces::Whole, cutter: None };
        let mut object = Self { subject, started_ns: now_ns, attempts: 0, life };
        object.cut(limits);
        object
    }

    /// Decides in what pieces the object moves.
    pub(crate) fn cut(&mut self, limits: &Limits) {
        let (from, to) = self.capabilities();
        let size = self.subject.size();
        self.subject.pieces = match &self.life {
            Life::Copy(copy) => match (&copy.by_service, copy.atomic) {
                (Some(by), true) => by.in_blocks(size, &to),
                (Some(by), false) => by.pieces(size, copy.choice, &to),
                (None, true) => Pieces::in_blocks(size, limits, &from, &to),
                (None, false) => Pieces::of(size, limits, copy.choice, &from, &to),
            },
            Life::Compare(_) | Life::Check(_) => Pieces::of(size, limits, MethodChoice::Auto, &from, &to),
        };
    }

    /// What bounds the pieces. A comparison moves nothing to the destination, so that only reads do.
    fn capabilities(&self) -> (Capabilities, Capabilities) {
        let Pair { source, destination, .. } = &*self.subject.pair;
        let (from, to) = (source.store.capabilities(), destination.store.capabilities());
        match &self.life {
            // Who reads nothing needs nobody to vouch for what is read.
            Life::Copy(copy) if copy.by_service.is_some() => {
                (Capabilities { range_checksum_max: 0, ..from }, to)
            }
            Life::Copy(_) => (from, to),
            Life::Compare(_) => (from, from),
            Life::Check(_) => (to, to),
        }
    }

    /// Has the bytes pass this machine from now on, because the service would not copy `step`; says what follows.
    pub(crate) fn turn_back(&mut self, step: Step, limits: &Limits) -> Then {
        let Life::Copy(copy) = &mut self.life else { return Then::Wait };
        copy.by_service = None;
        let memory = copy.memory;
        let (from, to) = self.capabilities();
        match (step, &mut self.subject.cutter) {
            (Step::Block(range), Some(cutter)) => {
                let pieces = cutter.turn_back(range, memory, &from, &to);
                Then::Steps(pieces.into_iter().map(Step::Block).collect())
            }
            _ => {
                self.cut(limits);
                self.start()
            }
        }
    }

    /// Has the bytes of an object pass this machine of which nothing was sent yet.
    pub(crate) fn turn_back_early(&mut self, limits: &Limits) {
        if let Life::Copy(copy) = &mut self.life
            && self.subject.cutter.is_none()
            && copy.by_service.take().is_some()
        {
            let in_blocks = self.subject.pieces != Pieces::Whole;
            self.cut(limits);
            // It may be about to be begun in blocks.
            if in_blocks && self.subject.pieces == Pieces::Whole {
                let (from, to) = self.capabilities();
                self.subject.pieces = Pieces::in_blocks(self.subject.size(), limits, &from, &to);
            }
        }
    }

    /// How large blocks are to be where one size is settled for all, as an object is begun.
    pub(crate) fn blocks(&self) -> BlockSizes {
        let sizes = BlockSizes::default();
        BlockSizes {
            wanted: match self.subject.pieces {
                Pieces::Whole => sizes.wanted,
                Pieces::Blocks(size) => size,
            },
            most: self.copying().map_or(sizes.most, |copying| copying.memory),
        }
    }

    /// The first steps.
    pub(crate) fn start(&mut self) -> Then {
        let bounds = self.capabilities();
        match &mut self.life {
            Life::Copy(copy) => copy.start(&mut self.subject, bounds),
            Life::Compare(compare) => compare.start(&mut self.subject, bounds),
            Life::Check(check) => check.start(&mut self.subject, bounds),
        }
    }

    /// Takes in the end of a step and says what follows.
    pub(crate) fn advance(&mut self, done: Done) -> Then {
        let bounds = self.capabilities();
        if let Done::Looked { there, told } = done {
            self.subject.looked(there.map(|there| *there), told.map(|told| *told));
            return self.start();
        }
        match &mut self.life {
            Life::Copy(copy) => copy.advance(&mut self.subject, bounds, done),
            Life::Compare(compare) => compare.advance(&mut self.subject, done),
            Life::Check(check) => check.advance(&mut self.subject, done),
        }
    }

    /// What a copy has come to know and holds; `None` for comparisons.
    pub(crate) fn copying(&self) -> Option<&Copying> {
        match &self.life {
            Life::Copy(copy) => Some(copy),
            Life::Compare(_) | Life::Check(_) => None,
        }
    }

    /// The next stretch to move or compare where one of `wanted` bytes is asked for, without taking it.
    pub(crate) fn peek_range(&self, wanted: u64) -> Option<Step> {
        self.subject.cutter.as_ref()?.peek(wanted).map(|range| self.ranged(range))
    }

    /// Takes the next stretch; true with the last one.
    pub(crate) fn take_range(&mut self, wanted: u64) -> bool {
        self.subject.cutter.as_mut().is_none_or(|cutter| {
            cutter.take(wanted);
            cutter.is_cut()
        })
    }

    /// Halves of a stretch that was too much for the link, to be moved instead of it.
    pub(crate) fn split(&mut self, step: Step) -> Option<[Step; 2]> {
        match step {
            Step::Block(range) => {
                let halves = self.subject.cutter.as_mut()?.split(range)?;
                Some(halves.map(|half| self.ranged(half)))
            }
            _ => None,
        }
    }

    fn ranged(&self, range: BlockRange) -> Step {
        match self.life {
            Life::Copy(_) => Step::Block(range),
            Life::Compare(_) | Life::Check(_) => Step::Compare(Some(range)),
        }
    }

    /// Who may write but not look writes: what is there is replaced, as it would be anyway. Who is not
    /// known at all may do neither.
    pub(crate) fn may_go_unseen(&self, step: Step, error: &Error) -> bool {
        let known = !error.refuses_credential();
        let copies = matches!(self.life, Life::Copy(_));
        step == Step::Look && copies && error.kind() == ErrorKind::Permission && known
    }

    /// Payload that a step carries.
    pub(crate) fn payload(&self, step: Step) -> BlockRange {
        match step {
            Step::Block(range) | Step::Compare(Some(range)) => range,
            Step::Whole | Step::Compare(None) => BlockRange { offset: 0, len: self.subject.size() },
            Step::Look | Step::Begin | Step::Digest | Step::Commit => BlockRange { offset: 0, len: 0 },
        }
    }

    /// The blocks that are there, in order.
    pub(crate) fn parts(&self) -> Vec<Part> {
        self.subject.parts()
    }
}
