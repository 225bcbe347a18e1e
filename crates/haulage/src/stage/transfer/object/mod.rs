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
use crate::store::{BlockRange, BlockSizes, Capabilities, ObjectMeta, Part};
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

    /// Goes in blocks of about `wanted` bytes from now on, and from its beginning, though it was to travel whole: near the end of a job it
    /// then shares the connections that have nothing else to do. `None` where that is not allowed, or brings nothing.
    pub(crate) fn part(&mut self, wanted: u64, limits: &Limits) -> Option<Then> {
        self.subject.pieces = self.parted(wanted, limits)?;
        Some(Then::Steps(vec![Step::Begin]))
    }

    /// The blocks that it would go in.
    pub(crate) fn parted(&self, wanted: u64, limits: &Limits) -> Option<Pieces> {
        let size = self.subject.size();
        let (from, to) = self.capabilities();
        let allowed = self.copying().is_some_and(Copying::may_be_parted) && !self.is_stream();
        if !allowed || self.subject.pieces != Pieces::Whole || !(to.at_hand || to.begins_freely) {
            return None;
        }
        // Up, a beginning and a commit take a round trip each.
        let least = limits.late_whole_max.bytes().saturating_mul(if to.at_hand { 1 } else { 2 });
        let limits = Limits { block_size: ByteSize::new(wanted.max(least / 2)), ..*limits };
        let Pieces::Blocks(block) = Pieces::in_blocks(size, &limits, &from, &to) else { return None };
        let pays = size >= least && size >= block.saturating_mul(3) / 2;
        (pays && proves_as_much(&self.subject.pair.meta, &from, block)).then_some(Pieces::Blocks(block))
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

    /// Its source will be deleted in the end.
    pub(crate) fn for_a_move(&mut self) {
        if let Life::Copy(copy) = &mut self.life {
            copy.for_a_move();
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

/// Whether blocks of an object are proven as well as the whole would be: what is fetched whole is compared with the MD5 that is stated of it.
fn proves_as_much(meta: &ObjectMeta, from: &Capabilities, block: u64) -> bool {
    from.at_hand || meta.crc64.is_some() || (meta.md5.is_none() && from.range_checksum_max >= block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::plan::{Existing, Place};
    use crate::store::{MemoryStore, Properties, PutOptions, Store as _, Tags, Trace};

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

    /// An object of so many bytes that was to travel whole, and the blocks it goes in near the end where one of 64 KiB is wanted.
    fn parted(size: u64, meta: ObjectMeta, change: impl FnOnce(&mut CopyOptions)) -> Option<Pieces> {
        let place = Place { store: Arc::new(MemoryStore::named("x")), key: "a".into() };
        let meta = ObjectMeta { size, ..meta };
        let pair = Pair::new(place.clone(), place, 0, meta, Existing::Absent);
        let mut options = CopyOptions::default();
        change(&mut options);
        let limits = Limits { late_whole_max: ByteSize::kib(128), ..near_the_end() };
        let mut object = Object::new(pair, Purpose::Copy, &options, 0);
        object.cut(&limits);
        assert!(matches!(object.start(), Then::Steps(steps) if steps == [Step::Whole]));
        object.parted(64 << 10, &limits)
    }

    fn near_the_end() -> Limits {
        use crate::control::{Controller as _, FixedController};
        FixedController::new(8, ByteSize::mib(1), Some(ByteSize::mib(8))).limits()
    }

    #[test]
    fn near_the_end_what_would_travel_whole_goes_in_blocks_if_it_is_large_enough() {
        let stated = || ObjectMeta { crc64: Some(crate::checksum::Crc64::EMPTY), ..ObjectMeta::default() };
        let as_usual = |size| parted(size, stated(), |_| ());
        assert_eq!(as_usual(256 << 10), Some(Pieces::Blocks(64 << 10)));
        assert_eq!(as_usual(64 << 10), None);
        let chosen = |method| parted(256 << 10, stated(), |options| options.method = method);
        assert_eq!(chosen(MethodChoice::Whole), None, "it is to travel whole");
    }

    #[test]
    fn an_object_with_nothing_but_an_md5_is_fetched_whole_for_blocks_would_prove_less() {
        use crate::checksum::Md5;
        let md5 = Some(Md5::of(b""));
        let only_md5 = ObjectMeta { md5, ..ObjectMeta::default() };
        let memory = MemoryStore::named("x").capabilities();
        let far = Capabilities { at_hand: false, ..memory };
        assert!(!proves_as_much(&only_md5, &far, 64 << 10) && proves_as_much(&only_md5, &memory, 64 << 10));
        assert!(proves_as_much(&ObjectMeta::default(), &far, 64 << 10), "the service vouches for each");
        let silent = Capabilities { range_checksum_max: 0, ..far };
        assert!(!proves_as_much(&ObjectMeta::default(), &silent, 64 << 10));
    }
}
