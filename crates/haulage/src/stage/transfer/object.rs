//! The life of one object: which steps it still needs, and how it ended. Pure but for the writer it holds.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;

use crate::checksum::{ChecksumMode, Crc64, Md5};
use crate::control::Limits;
use crate::error::{Error, ErrorKind};
use crate::event::{Method, Outcome, Proof};
use crate::job::{CopyOptions, MethodChoice, Overwrite};
use crate::stage::plan::{Cutter, Decision, Existing, Pair, Pieces, decide};
use crate::stage::schedule::Step;
use crate::stage::verify;
use crate::store::{BlockId, BlockRange, BlockWriter, Capabilities, ObjectMeta, PutResult, Stored};

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
    Looked(Option<ObjectMeta>),
    Whole {
        put: PutResult,
        crc64: Option<Crc64>,
        md5: Option<Md5>,
        range_checked: bool,
    },
    Begun {
        writer: Arc<dyn BlockWriter>,
        staged: HashSet<BlockId>,
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
    Seen(BlockId),
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
    pub(crate) proof: Proof,
    pub(crate) crc64: Option<Crc64>,
    pub(crate) md5: Option<Md5>,
    pub(crate) etag: Option<String>,
    pub(crate) reason: Option<&'static str>,
    pub(crate) error: Option<Error>,
}

impl Ended {
    fn new(outcome: Outcome, method: Method, proof: Proof) -> Self {
        Self { outcome, method, proof, crc64: None, md5: None, etag: None, reason: None, error: None }
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

/// Times a whole object is fetched again because its combined checksum was wrong though no range's was.
const WHOLE_RETRIES: u32 = 3;

/// From this size on an object is begun before it is known what is there: it most likely travels in blocks.
const EARLY_MIN: u64 = 4 << 20;

/// An object on its way.
pub(crate) struct Object {
    pub(crate) pair: Arc<Pair>,
    pub(crate) started_ns: u64,
    pub(crate) attempts: u32,
    pub(crate) bytes_done: u64,
    pieces: Pieces,
    choice: MethodChoice,
    /// Where it moves in blocks or ranges, once that has begun.
    cutter: Option<Cutter>,
    pub(crate) writer: Option<Arc<dyn BlockWriter>>,
    /// What an interrupted run has left at the destination.
    pub(crate) staged: Arc<HashSet<BlockId>>,
    pub(crate) bytes_resumed: u64,
    digest_wanted: bool,
    /// It was begun before anybody knew what is there.
    begun_early: bool,
    pub(crate) md5: Option<Md5>,
    pub(crate) crc64: Option<Crc64>,
    ranges_checked: bool,
    /// The destination has confirmed every block so far.
    confirmed: bool,
    /// Stretches that seemed to differ and are looked at again.
    doubted: Vec<Option<BlockRange>>,
    whole_retries: u32,
    mode: ChecksumMode,
    content_md5: bool,
    /// Staged first and committed with others, so that it never travels whole.
    atomic: bool,
    pub(crate) overwrite: Overwrite,
    purpose: Purpose,
    /// Bound on what one block may hold.
    memory: u64,
}

impl Object {
    pub(crate) fn new(
        pair: Pair,
        purpose: Purpose,
        options: &CopyOptions,
        limits: &Limits,
        now_ns: u64,
    ) -> Self {
        let mut object = Self {
            pair: Arc::new(pair),
            started_ns: now_ns,
            attempts: 0,
            bytes_done: 0,
            pieces: Pieces::Whole,
            choice: options.method,
            cutter: None,
            writer: None,
            staged: Arc::default(),
            bytes_resumed: 0,
            digest_wanted: false,
            begun_early: false,
            md5: None,
            crc64: None,
            ranges_checked: true,
            confirmed: true,
            doubted: Vec::new(),
            whole_retries: 0,
            mode: options.checksum,
            content_md5: options.content_md5,
            atomic: options.atomic,
            overwrite: options.overwrite,
            purpose,
            memory: options.max_memory.bytes(),
        };
        object.cut(limits);
        object
    }

    /// Decides in what pieces the object moves.
    pub(crate) fn cut(&mut self, limits: &Limits) {
        let (from, to) = self.capabilities();
        let choice = match self.purpose {
            Purpose::Copy => self.choice,
            Purpose::Verify { .. } => MethodChoice::Auto,
        };
        self.pieces = match self.atomic {
            true => Pieces::in_blocks(self.pair.meta.size, limits, &from, &to),
            false => Pieces::of(self.pair.meta.size, limits, choice, &from, &to),
        };
    }

    /// What the two sides can do.
    fn capabilities(&self) -> (Capabilities, Capabilities) {
        let Pair { source, destination, .. } = &*self.pair;
        let (from, to) = (source.store.capabilities(), destination.store.capabilities());
        match self.purpose {
            Purpose::Copy => (from, to),
            // A comparison moves nothing to the destination, so only its reads bound the pieces.
            Purpose::Verify { .. } if from.contents => (from, from),
            Purpose::Verify { .. } => (to, to),
        }
    }

    /// The first steps.
    pub(crate) fn start(&mut self) -> Then {
        match self.purpose {
            Purpose::Copy => match decide(&self.pair, self.overwrite) {
                Decision::Skip(reason) => Then::End(self.skipped(reason)),
                // A round trip is saved where both are asked at once: what is there, and what an interrupted run has left of it.
                Decision::Look if self.begins_early() => {
                    self.begun_early = true;
                    Then::Steps(vec![Step::Look, Step::Begin])
                }
                Decision::Look => Then::Steps(vec![Step::Look]),
                Decision::Move => self.move_it(),
            },
            Purpose::Verify { .. } => self.compare_it(),
        }
    }

    /// Whether it will most likely travel in blocks, to a service that is told nothing by a beginning.
    fn begins_early(&self) -> bool {
        !self.pair.destination.store.capabilities().local && self.pair.meta.size >= EARLY_MIN
    }

    fn move_it(&mut self) -> Then {
        match self.pieces {
            Pieces::Whole => Then::Steps(vec![Step::Whole]),
            Pieces::Blocks(_) if self.writer.is_some() => self.open_ranges(),
            Pieces::Blocks(_) if self.begun_early => Then::Wait,
            Pieces::Blocks(_) => Then::Steps(vec![Step::Begin]),
        }
    }

    /// The end of an object that is there already, with what the store says of it.
    fn skipped(&self, reason: &'static str) -> Ended {
        let skipped = Ended { crc64: self.pair.meta.crc64, ..Ended::skipped(reason) };
        match &self.pair.existing {
            Existing::Present(there) => Ended {
                crc64: there.crc64.or(skipped.crc64),
                md5: there.md5,
                etag: Some(there.etag.clone()),
                ..skipped
            },
            _ => skipped,
        }
    }

    fn compare_it(&mut self) -> Then {
        let there = match &self.pair.existing {
            Existing::Present(there) => there,
            // A list in another order may have passed it unseen.
            Existing::Unknown => return Then::Steps(vec![Step::Look]),
            Existing::Absent => return Then::End(self.missing()),
        };
        if there.size != self.pair.meta.size {
            let cause =
                format!("{} bytes at the source, {} at the destination", self.pair.meta.size, there.size);
            return Then::End(self.differs(&cause));
        }
        let from = self.pair.source.store.capabilities();
        let trusts = self.purpose.trusts(&from);
        if trusts && !from.contents && !there.etag.is_empty() && there.etag == self.pair.meta.etag {
            let crc64 = self.pair.meta.crc64;
            return Then::End(Ended { crc64, ..Ended::new(Outcome::Equal, Method::None, Proof::Etag) });
        }
        if trusts || self.pieces == Pieces::Whole {
            return Then::Steps(vec![Step::Compare(None)]);
        }
        self.open_ranges()
    }

    fn open_ranges(&mut self) -> Then {
        let (from, to) = self.capabilities();
        let mut cutter = Cutter::new(self.pair.meta.size, &from, &to);
        cutter.resume(self.staged.iter().map(|id| id.range), self.memory);
        self.cutter = Some(cutter);
        self.ranges_checked = true;
        // An empty object has no blocks to wait for.
        if self.pair.meta.size == 0 { self.when_all_there() } else { Then::Ranges }
    }

    /// The next stretch to move or compare where one of `wanted` bytes is asked for, without taking it.
    pub(crate) fn peek_range(&self, wanted: u64) -> Option<Step> {
        self.cutter.as_ref()?.peek(wanted).map(|range| self.ranged(range))
    }

    /// Takes the next stretch; true with the last one.
    pub(crate) fn take_range(&mut self, wanted: u64) -> bool {
        self.cutter.as_mut().is_none_or(|cutter| {
            cutter.take(wanted);
            cutter.is_cut()
        })
    }

    /// Halves of a stretch that was too much for the link, to be moved instead of it.
    pub(crate) fn split(&mut self, step: Step) -> Option<[Step; 2]> {
        match step {
            Step::Block(range) => {
                let halves = self.cutter.as_mut()?.split(range)?;
                Some(halves.map(|half| self.ranged(half)))
            }
            _ => None,
        }
    }

    fn ranged(&self, range: BlockRange) -> Step {
        match self.purpose {
            Purpose::Copy => Step::Block(range),
            Purpose::Verify { .. } => Step::Compare(Some(range)),
        }
    }

    /// Who may write but not look writes: what is there is replaced, as it would be anyway. Who is not
    /// known at all may do neither.
    pub(crate) fn may_go_unseen(&self, step: Step, error: &Error) -> bool {
        let known = error.service_code() != Some("AuthenticationFailed");
        step == Step::Look && self.purpose == Purpose::Copy && error.kind() == ErrorKind::Permission && known
    }

    /// Payload that a step carries.
    pub(crate) fn payload(&self, step: Step) -> BlockRange {
        match step {
            Step::Block(range) | Step::Compare(Some(range)) => range,
            Step::Whole | Step::Compare(None) => BlockRange { offset: 0, len: self.pair.meta.size },
            Step::Look | Step::Begin | Step::Digest | Step::Commit => BlockRange { offset: 0, len: 0 },
        }
    }

    /// The blocks that are there, in order.
    pub(crate) fn block_ids(&self) -> Vec<BlockId> {
        self.cutter.as_ref().map(Cutter::blocks).unwrap_or_default()
    }

    /// Bytes of blocks or ranges that have not arrived.
    fn ranges_left(&self) -> u64 {
        self.cutter.as_ref().map_or(0, Cutter::left)
    }

    /// Takes in the end of a step and says what follows.
    pub(crate) fn advance(&mut self, done: Done) -> Then {
        match done {
            Done::Looked(there) => {
                let existing = there.map_or(Existing::Absent, |meta| Existing::Present(Box::new(meta)));
                Arc::make_mut(&mut self.pair).existing = existing;
                self.start()
            }
            Done::Whole { put, crc64, md5, range_checked } => {
                self.bytes_done = self.pair.meta.size;
                self.ranges_checked = range_checked;
                self.confirmed = put.confirmed;
                (self.crc64, self.md5) = (crc64, md5.or(self.pair.meta.md5));
                Then::End(self.copied(put, Method::Whole))
            }
            Done::Begun { writer, staged } => {
                self.writer = Some(writer);
                self.staged = Arc::new(staged);
                let kept = !self.pair.destination.store.capabilities().local;
                self.digest_wanted = self.content_md5 && kept && self.pair.meta.md5.is_none();
                // What is there decides whether, and how, it travels.
                let waits = matches!(self.pair.existing, Existing::Unknown) || self.pieces == Pieces::Whole;
                if waits { Then::Wait } else { self.open_ranges() }
            }
            Done::Block { stored, range_checked, resumed } => {
                self.bytes_resumed += if resumed { stored.id.range.len } else { 0 };
                self.ranges_checked &= range_checked;
                self.confirmed &= stored.confirmed;
                self.take_block(stored.id);
                self.when_all_there()
            }
            Done::Digested(md5) => {
                self.md5 = Some(md5);
                self.when_all_there()
            }
            Done::Committed(put) => {
                self.confirmed &= put.confirmed;
                Then::End(self.copied(put, Method::Blocks))
            }
            Done::Equal { crc64, len } => {
                self.bytes_done += len;
                if self.bytes_done < self.pair.meta.size {
                    return Then::Wait;
                }
                let method = if self.cutter.is_none() { Method::Whole } else { Method::Blocks };
                let trusted = self.purpose.trusts(&self.pair.source.store.capabilities());
                let proof = if trusted { Proof::Stored } else { Proof::Crc64 };
                Then::End(Ended { crc64, ..Ended::new(Outcome::Equal, method, proof) })
            }
            // The wire may have lied: one more look.
            Done::Differs { range, sure: false, .. } if !self.doubted.contains(&range) => {
                self.doubted.push(range);
                Then::Steps(vec![Step::Compare(range)])
            }
            Done::Differs { cause, .. } => Then::End(self.differs(&cause)),
            Done::Seen(id) => {
                self.take_block(id);
                self.when_all_seen()
            }
            // It is written by a step of its own.
            Done::Held(_) => Then::Wait,
        }
    }

    /// Whether the MD5 of the whole must be computed by reading the source in order.
    pub(crate) fn wants_digest(&self) -> bool {
        self.digest_wanted && self.md5.is_none()
    }

    fn take_block(&mut self, id: BlockId) {
        if self.cutter.as_mut().is_some_and(|cutter| cutter.put(id)) {
            self.bytes_done += id.range.len;
        }
    }

    /// With the last block and the digest there, judges the whole.
    fn when_all_there(&mut self) -> Then {
        if self.ranges_left() > 0 || self.wants_digest() {
            return Then::Wait;
        }
        let name = self.pair.source.name();
        let whole = match verify::combine(&name, &self.block_ids(), self.pair.meta.size) {
            Ok(whole) => whole,
            Err(error) => return Then::End(Ended::failed(error)),
        };
        self.crc64 = Some(whole);
        match verify::check_crc64(&name, whole, self.pair.meta.crc64) {
            Ok(()) => Then::Steps(vec![Step::Commit]),
            // Where the source vouched for every range, its statement on the whole is what is wrong.
            Err(_) if !self.ranges_checked && self.whole_retries < WHOLE_RETRIES => {
                self.whole_retries += 1;
                self.bytes_done = 0;
                self.bytes_resumed = 0;
                self.staged = Arc::default();
                self.open_ranges()
            }
            Err(error) => Then::End(Ended::failed(error)),
        }
    }

    /// With the last range seen, compares the whole with what a receipt says.
    fn when_all_seen(&self) -> Then {
        if self.ranges_left() > 0 {
            return Then::Wait;
        }
        let name = self.pair.source.name();
        let whole = verify::combine(&name, &self.block_ids(), self.pair.meta.size);
        match whole.and_then(|whole| verify::check_crc64(&name, whole, self.pair.meta.crc64).map(|()| whole))
        {
            Ok(whole) => {
                let crc64 = Some(whole);
                Then::End(Ended { crc64, ..Ended::new(Outcome::Equal, Method::Blocks, Proof::Crc64) })
            }
            Err(_) => Then::End(self.differs("the contents are not what the receipt says")),
        }
    }

    fn copied(&self, put: PutResult, method: Method) -> Ended {
        let Pair { source, destination, meta, .. } = &*self.pair;
        let (from, to) = (source.store.capabilities(), destination.store.capabilities());
        // An MD5 of the whole is compared where the whole passes in order: in one request, or in a file.
        let compared =
            ObjectMeta { md5: meta.md5.filter(|_| method == Method::Whole || to.local), ..meta.clone() };
        let ends = verify::Ends {
            from_local: from.local,
            to_local: to.local,
            vouched: self.ranges_checked,
            confirmed: self.confirmed,
        };
        let proof = verify::proof(&compared, ends, self.mode);
        Ended {
            crc64: self.crc64.or(put.crc64),
            md5: self.md5,
            etag: Some(put.etag),
            ..Ended::new(Outcome::Copied, method, proof)
        }
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
