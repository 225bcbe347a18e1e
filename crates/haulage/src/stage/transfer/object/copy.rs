//! The life of an object that is copied.

mod proven;

use std::collections::HashMap;
use std::sync::Arc;

use self::proven::{Differing, Unproven};
use super::{Capabilities, Done, Ended, Feed, Staged, Subject, Then};
use crate::checksum::{ChecksumMode, Crc64, Md5, Md5Stream};
use crate::event::{Method, Outcome, Proof};
use crate::options::{Compare, CopyOptions, MethodChoice, Portion};
use crate::stage::plan::{ByService, Cutter, Decision, Existing, Pair, Pieces, Rule, decide};
use crate::stage::schedule::Step;
use crate::stage::verify;
use crate::store::{BlockRange, BlockWriter, Part};

/// Times a whole object is fetched again because its combined checksum was wrong though no range's was.
const WHOLE_RETRIES: u32 = 3;

/// Times a stretch of such an object is fetched again because it came to something else each time.
const DOUBTS_MAX: u32 = 5;

/// From this size on an object is begun before it is known what is there: it most likely travels in blocks.
const EARLY_MIN: u64 = 4 << 20;

/// What is wanted of a copy, and what is known of it so far.
pub(crate) struct Copying {
    pub(super) choice: MethodChoice,
    /// Staged first and committed with others, so that it never travels whole.
    pub(super) atomic: bool,
    pub(crate) rule: Rule,
    /// Nothing is written.
    dry_run: bool,
    /// What is at the destination is backed up before it is replaced, and whether that is done.
    pub(crate) backs_up: bool,
    pub(crate) backed_up: bool,
    /// The source will be deleted.
    pub(crate) moves: bool,
    /// The source may be gone soon, so that its copy must be proven.
    must_prove: bool,
    /// Why it moves.
    why: Option<&'static str>,
    /// It was written, and is read once more, for nothing proves the copy.
    unproven: Option<Unproven>,
    mode: ChecksumMode,
    content_md5: bool,
    /// Bound on what one block may hold.
    pub(super) memory: u64,
    pub(crate) writer: Option<Arc<dyn BlockWriter>>,
    /// What an interrupted run has left at the destination.
    pub(crate) staged: Arc<Staged>,
    pub(crate) bytes_resumed: u64,
    pub(crate) md5: Option<Md5>,
    pub(crate) crc64: Option<Crc64>,
    digest_wanted: bool,
    /// How much of the source was read in order, and its digest.
    pub(crate) digested: (u64, Md5Stream),
    /// It was begun before anybody knew what is there.
    begun_early: bool,
    ranges_checked: bool,
    /// The destination has confirmed every block so far.
    confirmed: bool,
    whole_retries: u32,
    /// Where the whole was wrong: what each stretch came to when it was last fetched, and how often that has been another
    /// checksum than before.
    doubted: HashMap<BlockRange, (Crc64, u32)>,
    /// How the service copies it; `None` where the bytes pass this machine.
    pub(crate) by_service: Option<ByService>,
    /// The service has copied at least some of it.
    copied_there: bool,
    /// It has stated a checksum of what it made.
    answered: bool,
    /// What the parts come to together, where all of them are known.
    known: Option<Crc64>,
    /// What a stream has brought; `None` where the source is none.
    pub(crate) feed: Option<Feed>,
    /// One end is a stream: what has moved cannot be moved again, and nothing goes far ahead of it.
    in_order: bool,
    /// No stretch may be taken before another has arrived.
    pub(super) waits: bool,
    /// What of it this job moves.
    pub(super) portion: Portion,
    /// The only version that is to be moved.
    pub(super) source_etag: Option<String>,
}

impl Copying {
    pub(super) fn new(pair: &Pair, options: &CopyOptions) -> Self {
        let from_stream = pair.source.store.capabilities().in_order;
        let portion = pair.portion(&options.portion);
        Self {
            feed: from_stream.then(|| Feed::new(options.content_md5)),
            in_order: from_stream || pair.destination.store.capabilities().in_order,
            waits: false,
            by_service: ByService::of(pair, options).filter(|_| *portion == Portion::All),
            portion: portion.clone(),
            source_etag: options.source_etag.clone(),
            copied_there: false,
            answered: false,
            known: None,
            choice: options.method,
            atomic: options.atomic,
            rule: Rule::from(options),
            dry_run: options.dry_run,
            backs_up: options.backup.is_some(),
            backed_up: false,
            moves: false,
            must_prove: false,
            why: None,
            unproven: None,
            mode: options.checksum,
            content_md5: options.content_md5,
            memory: options.max_memory.bytes(),
            writer: None,
            staged: Arc::default(),
            bytes_resumed: 0,
            md5: None,
            crc64: None,
            digest_wanted: false,
            digested: (0, Md5Stream::default()),
            begun_early: false,
            ranges_checked: true,
            confirmed: true,
            whole_retries: 0,
            doubted: HashMap::new(),
        }
    }

    pub(super) fn start(&mut self, it: &mut Subject, bounds: (Capabilities, Capabilities)) -> Then {
        if self.feed.is_some() {
            return self.start_reading(it, bounds);
        }
        if let Err(error) = self.check_version(it) {
            return Then::End(Ended::failed(error));
        }
        match decide(&it.pair, self.rule) {
            Decision::Skip(reason) => Then::End(skipped(it, reason)),
            Decision::Read => Then::Steps(vec![Step::Compare(None)]),
            // A round trip is saved where both are asked at once: what is there, and what an interrupted run has left of it.
            Decision::Look if begins_early(it) && self.may_begin_early() && it.pieces != Pieces::Whole => {
                self.begun_early = true;
                Then::Steps(vec![Step::Look, Step::Begin])
            }
            Decision::Look => Then::Steps(vec![Step::Look]),
            Decision::Move(why) => self.go(it, bounds, why),
        }
    }

    /// Whether it may be begun before it is known that it moves.
    fn may_begin_early(&self) -> bool {
        !self.dry_run && !self.backs_up && self.rule.compare != Compare::Checksum
    }

    /// It moves, for this reason.
    fn go(&mut self, it: &mut Subject, bounds: (Capabilities, Capabilities), why: &'static str) -> Then {
        self.why = Some(why);
        if self.backs_up && !self.backed_up {
            match it.pair.existing {
                Existing::Unknown => return Then::Steps(vec![Step::Look]),
                Existing::Present(_) | Existing::Listed(_) => return Then::BackUp,
                Existing::Absent => {}
            }
        }
        if self.dry_run {
            let (why, crc64, md5) = (Some(why), it.pair.meta.crc64, it.pair.meta.md5);
            return Then::End(Ended {
                reason: why,
                crc64,
                md5,
                ..Ended::new(Outcome::WouldCopy, Method::None, Proof::None)
            });
        }
        if let Some(by) = self.by_service.as_ref().filter(|_| it.pieces == Pieces::Whole) {
            // When it was cut, nobody had looked what is there.
            let replaces = it.pair.existing.there().is_some();
            it.pieces = by.pieces(it.size(), self.choice, &bounds.1, replaces);
        }
        match it.pieces {
            Pieces::Whole => Then::Steps(vec![Step::Whole]),
            Pieces::Blocks(_) if self.writer.is_some() => self.open_ranges(it, bounds),
            Pieces::Blocks(_) if self.begun_early => Then::Wait,
            Pieces::Blocks(_) => Then::Steps(vec![Step::Begin]),
        }
    }

    pub(super) fn advance(
        &mut self,
        it: &mut Subject,
        bounds: (Capabilities, Capabilities),
        done: Done,
    ) -> Then {
        match done {
            Done::Read { asked, bytes, crc64, md5 } => self.read(it, bounds, asked, (bytes, crc64, md5)),
            Done::Whole { put, crc64, md5, range_checked } => {
                it.bytes_done = it.size();
                self.ranges_checked = range_checked;
                self.confirmed = put.confirmed;
                (self.crc64, self.md5) = (crc64, md5.or(it.pair.meta.md5));
                self.written(it, put, Method::Whole)
            }
            Done::Copied { put, told } => {
                if let Some(told) = told {
                    Arc::make_mut(&mut it.pair).meta = *told;
                }
                it.bytes_done = it.size();
                let Pair { meta, .. } = &*it.pair;
                (self.crc64, self.md5) = (put.crc64.or(meta.crc64), put.md5.or(meta.md5));
                (self.copied_there, self.answered) = (true, put.confirmed);
                self.written(it, put, Method::Whole)
            }
            Done::Begun { writer, staged, told } => {
                if let Some(told) = told {
                    Arc::make_mut(&mut it.pair).meta = *told;
                }
                self.writer = Some(writer);
                self.staged = Arc::new(staged);
                if self.feed.is_some() {
                    return self.go_on_reading(it, BlockRange { offset: 0, len: it.size() });
                }
                let kept = it.pair.destination.store.capabilities().keeps_checksums;
                let ends = !matches!(self.portion, Portion::Stretch(_));
                self.digest_wanted = self.content_md5 && kept && ends && it.pair.meta.md5.is_none();
                // What is there decides whether, and how, it travels.
                let waits = matches!(it.pair.existing, Existing::Unknown) || it.pieces == Pieces::Whole;
                if waits { Then::Wait } else { self.open_ranges(it, bounds) }
            }
            Done::Block { stored, range_checked, resumed } => {
                self.bytes_resumed += if resumed { stored.part.id.range.len } else { 0 };
                self.ranges_checked &= range_checked;
                self.confirmed &= stored.confirmed;
                self.copied_there |= self.by_service.is_some();
                if self.differs(&stored.part) {
                    return Then::Steps(vec![Step::Block(stored.part.id.range)]);
                }
                if let Some(feed) = &mut self.feed {
                    feed.forget(stored.part.id.range);
                }
                it.take(stored.part);
                match self.when_all_there(it, bounds) {
                    Then::Wait if self.may_go_on(it) => Then::Ranges,
                    then => then,
                }
            }
            Done::Digested { end, md5 } if end < it.size() => {
                // What is digested stays, however often the next piece has to be asked for.
                self.digested = (end, md5);
                Then::Steps(vec![Step::Digest])
            }
            Done::Digested { md5, .. } => {
                self.md5 = Some(md5.value());
                self.when_all_there(it, bounds)
            }
            Done::Committed(put) => {
                self.answered = self.confirmed || (put.confirmed && put.crc64.is_some());
                self.confirmed &= put.confirmed;
                self.written(it, put, Method::Blocks)
            }
            // What is held is written by a step of its own; the others are not asked for.
            Done::Held(_) | Done::Looked { .. } | Done::Seen(_) => Then::Wait,
            Done::Equal { .. } => self.compared(it, bounds, None),
            Done::Differs { removed, .. } => self.compared(it, bounds, Some(Differing { removed })),
        }
    }

    /// Whether the MD5 of the whole must be computed by reading the source in order.
    pub(crate) fn wants_digest(&self) -> bool {
        self.digest_wanted && self.md5.is_none()
    }

    /// Bytes that may be on their way beyond the first that has not arrived.
    pub(super) fn ahead(&self) -> u64 {
        if self.in_order { self.memory / 2 } else { u64::MAX }
    }

    /// Notes that a stretch was taken; true where no other may be, for the time being or at all.
    pub(super) fn taken(&mut self, cutter: &Cutter) -> bool {
        if let Some(feed) = &mut self.feed {
            feed.reading = true;
        }
        self.waits = self.feed.is_some() || !cutter.may_cut();
        self.waits
    }

    /// Whether stretches may be taken again that had to wait.
    pub(super) fn may_go_on(&mut self, it: &Subject) -> bool {
        let reading = self.feed.as_ref().is_some_and(|feed| feed.reading);
        let goes_on = self.waits && !reading && it.may_cut();
        self.waits &= !goes_on;
        goes_on
    }

    fn open_ranges(&mut self, it: &mut Subject, bounds: (Capabilities, Capabilities)) -> Then {
        let settled = self.writer.as_ref().and_then(|writer| writer.block_len(0));
        // What the service copies needs no memory here, and does not follow the link.
        let (largest, settled) = match (self.by_service, it.pieces) {
            (Some(_), Pieces::Blocks(size)) => (u64::MAX, settled.or(Some(size))),
            _ => (self.memory, settled),
        };
        match self.doubted.is_empty() {
            true => it.cut_ranges(bounds, self.staged.ranges(), largest, settled),
            // As before, to be compared with what came then.
            false => it.cut_ranges(bounds, self.doubted.keys().copied(), u64::MAX, settled),
        }
        if let Some(cutter) = &mut it.cutter {
            cutter.keep_close(self.ahead());
        }
        // What others have staged was not compared here.
        (self.waits, self.ranges_checked) = (false, !matches!(self.portion, Portion::Commit(_)));
        match self.take_portion(it) {
            // Nothing is left that would ask for it.
            Ok(()) if it.ranges_left() == 0 && self.wants_digest() => Then::Steps(vec![Step::Digest]),
            Ok(()) if it.ranges_left() == 0 => self.when_all_there(it, bounds),
            Ok(()) => Then::Ranges,
            Err(error) => Then::End(Ended::failed(error)),
        }
    }

    /// With the last block and the digest there, judges the whole.
    pub(super) fn when_all_there(&mut self, it: &mut Subject, bounds: (Capabilities, Capabilities)) -> Then {
        if it.ranges_left() > 0 || self.wants_digest() {
            return Then::Wait;
        }
        if let Portion::Stretch(_) = self.portion {
            return Then::End(Ended::new(Outcome::Staged, Method::Blocks, Proof::None));
        }
        let name = it.pair.source.name();
        let whole = match verify::combine(&name, &it.parts(), it.size()) {
            Ok(whole) => whole,
            Err(error) => return Then::End(Ended::failed(error)),
        };
        // Where it is not known, the service is told what the source states.
        self.crc64 = whole.or(it.pair.meta.crc64);
        self.known = whole;
        self.copied_there |= whole.is_none();
        match whole.map_or(Ok(()), |whole| verify::check_crc64(&name, whole, it.pair.meta.crc64)) {
            Ok(()) => Then::Steps(vec![Step::Commit]),
            // Where the source vouched for every range, its statement on the whole is what is wrong.
            Err(_) if self.may_fetch_again() => {
                self.whole_retries += 1;
                self.doubted = it.parts().iter().map(|part| (part.id.range, (part.id.crc64, 0))).collect();
                it.bytes_done = 0;
                self.bytes_resumed = 0;
                self.staged = Arc::default();
                self.open_ranges(it, bounds)
            }
            Err(error) => Then::End(Ended::failed(error)),
        }
    }

    /// Whether the whole may be fetched again that was wrong.
    fn may_fetch_again(&self) -> bool {
        !self.ranges_checked
            && !self.in_order
            && self.portion == Portion::All
            && self.whole_retries < WHOLE_RETRIES
    }

    /// Whether a stretch of a whole that was wrong has come to something else than the last time. Then one of the two was
    /// wrong, and it is fetched until two in a row agree.
    fn differs(&mut self, part: &Part) -> bool {
        let Some((before, times)) = self.doubted.get_mut(&part.id.range) else { return false };
        let differs = *before != part.id.crc64 && *times < DOUBTS_MAX;
        *times += u32::from(differs);
        *before = part.id.crc64;
        differs
    }
}

/// Whether it will most likely travel in blocks, to a service that is told nothing by a beginning. Not where something is known to be
/// there: then it most likely is the same, and only the source has to say so.
fn begins_early(it: &Subject) -> bool {
    matches!(it.pair.existing, Existing::Unknown)
        && it.pair.destination.store.capabilities().begins_freely
        && it.size() >= EARLY_MIN
}

/// The end of an object that is there already, with what the store says of it.
fn skipped(it: &Subject, reason: &'static str) -> Ended {
    let there = it.pair.existing.there();
    Ended {
        crc64: there.and_then(|there| there.crc64).or(it.pair.meta.crc64),
        md5: there.and_then(|there| there.md5),
        etag: there.map(|there| there.etag.clone()),
        ..Ended::skipped(reason)
    }
}
