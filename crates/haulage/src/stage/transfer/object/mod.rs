//! The life of one object: which steps it still needs, and how it ended. Pure but for the writer it holds.
//!
//! There are three lives: a [`Copy`](copy), a [`comparison`](compare) of two stores, and the [`check`](receipt) of a receipt. What they
//! share, the object and the stretches it is cut into, is the [`Subject`].

mod compare;
mod copy;
mod done;
mod feed;
mod portion;
mod receipt;
mod subject;

use std::sync::Arc;

use self::compare::Comparing;
pub(crate) use self::copy::Copying;
pub(crate) use self::done::{Done, Ended, Held, Purpose, Then};
use self::feed::Feed;
use self::receipt::Checking;
use self::subject::Subject;
use super::staged::Staged;
use crate::control::Limits;
use crate::error::{Error, ErrorKind};
use crate::options::{CopyOptions, MethodChoice, Portion};
use crate::stage::plan::{Pair, Pieces};
use crate::stage::schedule::Step;
use crate::store::{BlockRange, BlockSizes, Capabilities, Part};
use crate::units::ByteSize;

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
    /// An object that is yet to be [cut](Self::cut).
    pub(crate) fn new(pair: Pair, purpose: Purpose, options: &CopyOptions, now_ns: u64) -> Self {
        let contents = pair.source.store.capabilities().contents;
        let life = match purpose {
            Purpose::Copy => Life::Copy(Box::new(Copying::new(&pair, options))),
            Purpose::Verify { stored, .. } if contents => Life::Compare(Comparing::new(stored)),
            Purpose::Verify { stored, deep } => Life::Check(Checking::new(stored || !deep)),
        };
        let subject = Subject { pair: Arc::new(pair), bytes_done: 0, pieces: Pieces::Whole, cutter: None };
        Self { subject, started_ns: now_ns, attempts: 0, life }
    }

    /// Decides in what pieces the object moves.
    pub(crate) fn cut(&mut self, limits: &Limits) {
        let block = self.subject.pair.assigned.as_ref().and_then(|assigned| assigned.block);
        let settled = block.map(|block| Limits { block_size: ByteSize::new(block), ..*limits });
        let limits = settled.as_ref().unwrap_or(limits);
        let (from, to) = self.capabilities();
        let size = self.subject.size();
        self.subject.pieces = match &self.life {
            // What is shorter than one block goes whole, once that is known.
            Life::Copy(copy) if copy.feed.is_some() => Pieces::in_blocks(size, limits, &from, &to),
            Life::Copy(copy) => match (&copy.by_service, copy.atomic || copy.portion != Portion::All) {
                (Some(by), true) => by.in_blocks(size, &to),
                (Some(by), false) => by.pieces(size, copy.choice, &to, false),
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
            ahead: self.copying().map_or(sizes.ahead, Copying::ahead),
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
            // What a beginning has been told has the tags too, which are not asked for twice.
            let told = told.filter(|_| self.copying().is_none_or(|copying| copying.writer.is_none()));
            self.subject.looked(there.map(|there| *there), told.map(|told| *told));
            return self.start();
        }
        match &mut self.life {
            Life::Copy(copy) => copy.advance(&mut self.subject, bounds, done),
            Life::Compare(compare) => compare.advance(&mut self.subject, done),
            Life::Check(check) => check.advance(&mut self.subject, done),
        }
    }

    /// What its steps are for: a copy that is read back is compared as for a verification.
    pub(crate) fn purpose(&self, of_job: Purpose) -> Purpose {
        match &self.life {
            Life::Copy(copy) if copy.reads_back() => Purpose::Verify { stored: false, deep: true },
            _ => of_job,
        }
    }

    /// Its source will be deleted in the end.
    pub(crate) fn for_a_move(&mut self) {
        if let Life::Copy(copy) = &mut self.life {
            copy.for_a_move();
        }
    }

    /// It is a backup: its source will be replaced or deleted.
    pub(crate) fn for_a_backup(&mut self) {
        if let Life::Copy(copy) = &mut self.life {
            copy.for_a_backup();
        }
    }

    /// What was there is safe, and it may be replaced.
    pub(crate) fn backed_up(&mut self) {
        if let Life::Copy(copy) = &mut self.life {
            copy.backed_up = true;
        }
    }

    /// What a copy has come to know and holds; `None` for comparisons.
    pub(crate) fn copying(&self) -> Option<&Copying> {
        match &self.life {
            Life::Copy(copy) => Some(copy),
            Life::Compare(_) | Life::Check(_) => None,
        }
    }

    /// Bytes of it that an earlier run had sent.
    pub(crate) fn bytes_resumed(&self) -> u64 {
        self.copying().map_or(0, |copying| copying.bytes_resumed)
    }

    /// The next stretch to read, move or compare where one of `wanted` bytes is asked for, without taking it.
    pub(crate) fn peek_range(&self, wanted: u64) -> Option<Step> {
        let range = self.subject.cutter.as_ref()?.peek(wanted)?;
        let reads = self.copying().is_some_and(|copying| copying.feed.is_some());
        Some(if reads { Step::Read(range) } else { self.ranged(range) })
    }

    /// Takes the next stretch; true where no more may be taken, for the time being or at all.
    pub(crate) fn take_range(&mut self, wanted: u64) -> bool {
        let Some(cutter) = &mut self.subject.cutter else { return true };
        cutter.take(wanted);
        match &mut self.life {
            Life::Copy(copy) => copy.taken(cutter),
            Life::Compare(_) | Life::Check(_) => cutter.is_cut(),
        }
    }

    /// Whether this is a stream of which more may come.
    pub(crate) fn is_open(&self) -> bool {
        self.subject.cutter.as_ref().is_some_and(|cutter| cutter.is_open())
    }

    /// Bytes that this job is to move or compare, as far as it is known.
    pub(crate) fn to_move(&self) -> u64 {
        let size = self.subject.size();
        self.copying().map_or(size, |copying| copying.to_move(size))
    }

    /// Whether no other job moves parts of it.
    pub(crate) fn is_all(&self) -> bool {
        self.copying().is_none_or(|copying| copying.portion == Portion::All)
    }

    /// Whether no later run can go on from what this one has done: one end of it is a stream.
    pub(crate) fn is_stream(&self) -> bool {
        let Pair { source, destination, .. } = &*self.subject.pair;
        source.store.capabilities().in_order || destination.store.capabilities().in_order
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
            Step::Look | Step::Read(_) | Step::Begin | Step::Digest | Step::Commit => {
                BlockRange { offset: 0, len: 0 }
            }
        }
    }

    /// The blocks that are there, in order.
    pub(crate) fn parts(&self) -> Vec<Part> {
        self.subject.parts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::{Md5, Md5Stream};
    use crate::stage::plan::{Existing, Place};
    use crate::store::{MemoryStore, ObjectMeta, Properties, PutOptions, Store as _, Tags, Trace};

    #[tokio::test]
    async fn tags_that_a_beginning_was_told_outlast_a_look() {
        let store = Arc::new(MemoryStore::named("x"));
        let place = Place { store: store.clone(), key: "a".into() };
        let meta = ObjectMeta { size: 1 << 30, ..ObjectMeta::default() };
        let pair = Pair::new(place.clone(), place, 0, meta.clone(), Existing::Unknown);
        let mut object = Object::new(pair, Purpose::Copy, &CopyOptions::default(), 0);
        let (options, trace) = (PutOptions::default(), Trace::detached());
        let writer = store.begin("a", Some(meta.size), &options, &trace).await.unwrap();
        let tags = Tags::Known(vec![("a".to_owned(), "b".to_owned())]);
        let properties = Properties { tags, ..Properties::default() }.kept();
        let tagged = ObjectMeta { properties, ..meta.clone() };
        let told = Some(Box::new(tagged.clone()));
        object.advance(Done::Begun { writer, staged: Staged::default(), told });
        let there = Some(Box::new(ObjectMeta { modified_ns: 7, ..meta.clone() }));
        object.advance(Done::Looked { there, told: Some(Box::new(meta)) });
        assert_eq!(object.subject.pair.meta, tagged);
    }

    #[test]
    fn what_is_digested_of_a_large_source_stays_while_the_rest_is_asked_for_again() {
        let place = Place { store: Arc::new(MemoryStore::named("x")), key: "a".into() };
        let meta = ObjectMeta { size: 5, ..ObjectMeta::default() };
        let pair = Pair::new(place.clone(), place, 0, meta, Existing::Absent);
        let mut object = Object::new(pair, Purpose::Copy, &CopyOptions::default(), 0);
        let mut digest = Md5Stream::default();
        for (end, piece) in [(2, b"ab"), (4, b"cd")] {
            digest.update(piece);
            let then = object.advance(Done::Digested { end, md5: digest.clone() });
            assert!(matches!(then, Then::Steps(steps) if steps == [Step::Digest]));
            // From here each further attempt reads.
            digest = object.copying().unwrap().digested.1.clone();
            assert_eq!(object.copying().unwrap().digested.0, end);
        }
        digest.update(b"e");
        object.advance(Done::Digested { end: 5, md5: digest });
        assert_eq!(object.copying().unwrap().md5, Some(Md5::of(b"abcde")));
    }
}
