//! The objects on their way: what each needs next, and how each ended.

use std::collections::HashMap;
use std::sync::Arc;

use crate::control::{Limits, STREAMED};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Clock, Failure, Method, ObjectRecord, Outcome, Proof};
use crate::job::{CopyOptions, Overwrite};
use crate::stage::record::Recorder;
use crate::stage::schedule::{Schedule, Step, Unit};
use crate::stage::transfer::{DIGEST_PIECE, Done, Ended, Object, Purpose, Task, Then};

/// An object and how many of its requests are in flight.
pub(super) struct OnItsWay {
    pub(super) object: Object,
    pub(super) in_flight: u32,
    /// When its first request went out.
    pub(super) first_ns: Option<u64>,
}

/// All of them.
#[derive(Default)]
pub(super) struct Objects {
    by_id: HashMap<u64, OnItsWay>,
    total: u64,
    bytes_total: u64,
    /// Payload that arrived, of ended objects and of those on their way.
    bytes_done: u64,
    /// Where all are committed together: the commits that wait for the others.
    staged: Option<Vec<Unit>>,
}

impl Objects {
    /// None yet; `together` holds all commits back until they are released.
    pub(super) fn new(together: bool) -> Self {
        Self { staged: together.then(Vec::new), ..Self::default() }
    }

    /// Whether all there are wait for their commits.
    pub(super) fn all_staged(&self) -> bool {
        let waiting = |staged: &Vec<Unit>| !staged.is_empty() && staged.len() == self.by_id.len();
        self.staged.as_ref().is_some_and(waiting)
    }

    /// Lets all commits go, and those to come too.
    pub(super) fn release_commits(&mut self, schedule: &mut Schedule, now_ns: u64) {
        for unit in self.staged.take().into_iter().flatten() {
            schedule.push(Unit { queued_ns: now_ns, ..unit }, 0);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Bytes found and bytes arrived.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.bytes_total, self.bytes_done)
    }

    pub(super) fn on_their_way(&self) -> impl Iterator<Item = &OnItsWay> {
        self.by_id.values().filter(|it| it.in_flight > 0)
    }

    pub(super) fn add(&mut self, object: Object) -> u64 {
        let id = self.total;
        self.total += 1;
        // A list may claim any size.
        self.bytes_total = self.bytes_total.saturating_add(object.pair.meta.size);
        self.by_id.insert(id, OnItsWay { object, in_flight: 0, first_ns: None });
        id
    }

    /// Counts an object that is skipped, and says no more of it.
    pub(super) fn pass(&mut self, recorder: &mut Recorder) {
        self.total += 1;
        recorder.skipped();
    }

    /// Decides anew in what pieces an object moves, before it does.
    pub(super) fn cut(&mut self, id: u64, limits: &Limits) {
        if let Some(it) = self.by_id.get_mut(&id) {
            it.object.cut(limits);
        }
    }

    /// The first steps of a new object.
    pub(super) async fn start(
        &mut self,
        id: u64,
        schedule: &mut Schedule,
        recorder: &mut Recorder,
        clock: Clock,
    ) {
        let Some(it) = self.by_id.get_mut(&id) else { return };
        let then = it.object.start();
        self.follow(id, then, schedule, recorder, clock).await;
    }

    /// The next stretch of an object, without taking it.
    pub(super) fn peek_range(&self, id: u64, wanted: u64) -> Option<Step> {
        self.by_id.get(&id)?.object.peek_range(wanted)
    }

    /// Halves of a stretch, to be moved instead of it.
    pub(super) fn split(&mut self, unit: &Unit) -> Option<[Step; 2]> {
        self.by_id.get_mut(&unit.object)?.object.split(unit.step)
    }

    /// What a step needs to run, the memory it will hold and its payload, in bytes. `None` where the object has ended.
    pub(super) fn task(
        &self,
        unit: &Unit,
        purpose: Purpose,
        options: &Arc<CopyOptions>,
    ) -> Option<(Task, u64, u64)> {
        let object = &self.by_id.get(&unit.object)?.object;
        let commit = unit.step == Step::Commit;
        let task = Task {
            step: unit.step,
            pair: Arc::clone(&object.pair),
            purpose,
            options: Arc::clone(options),
            writer: object.writer.clone(),
            staged: Arc::clone(&object.staged),
            blocks: if commit { object.block_ids() } else { Vec::new() },
            crc64: object.crc64,
            md5: object.md5,
            duplicate: false,
            held: None,
        };
        let len = object.payload(unit.step).len;
        let bytes = memory(&task, len);
        Some((task, bytes, len))
    }

    /// Notes that a step went into flight, and takes it out of the queue.
    pub(super) fn taken(&mut self, unit: &Unit, wanted: u64, now_ns: u64, schedule: &mut Schedule) {
        self.launched(unit, schedule);
        let Some(it) = self.by_id.get_mut(&unit.object) else { return };
        it.first_ns.get_or_insert(now_ns);
        if is_ranged(unit.step) && unit.attempt == 1 {
            if it.object.take_range(wanted) {
                schedule.finish_large(unit.object);
            }
        } else {
            schedule.take(unit);
        }
    }

    /// Notes that an attempt of a step went into flight.
    pub(super) fn launched(&mut self, unit: &Unit, schedule: &mut Schedule) {
        if is_ranged(unit.step) {
            schedule.note_block(true);
        }
        if let Some(it) = self.by_id.get_mut(&unit.object) {
            it.in_flight += 1;
            it.object.attempts += 1;
        }
    }

    /// Notes that a step came out of flight.
    pub(super) fn came_back(&mut self, unit: &Unit, schedule: &mut Schedule) {
        if is_ranged(unit.step) {
            schedule.note_block(false);
        }
        if let Some(it) = self.by_id.get_mut(&unit.object) {
            it.in_flight -= 1;
        }
    }

    /// Takes in what a step came to.
    pub(super) async fn advance(
        &mut self,
        unit: Unit,
        result: Result<Done>,
        schedule: &mut Schedule,
        recorder: &mut Recorder,
        clock: Clock,
    ) {
        let Some(it) = self.by_id.get_mut(&unit.object) else { return };
        let then = match result {
            Ok(done) => {
                let before = it.object.bytes_done;
                let then = it.object.advance(done);
                self.bytes_done = self.bytes_done + it.object.bytes_done - before;
                then
            }
            Err(error) if it.object.may_go_unseen(unit.step, &error) => it.object.advance(Done::Looked(None)),
            Err(error) if error.kind() == ErrorKind::Exists && it.object.overwrite == Overwrite::Never => {
                // Somebody else was quicker: what was written is of no use.
                if let Some(writer) = it.object.writer.clone() {
                    writer.abandon().await;
                }
                Then::End(Ended::skipped("there already"))
            }
            Err(error) => Then::End(Ended::failed(error)),
        };
        self.follow(unit.object, then, schedule, recorder, clock).await;
    }

    async fn follow(
        &mut self,
        id: u64,
        then: Then,
        schedule: &mut Schedule,
        recorder: &mut Recorder,
        clock: Clock,
    ) {
        let Some(it) = self.by_id.get(&id) else { return };
        let (now, size) = (clock.now_ns(), it.object.pair.meta.size);
        match then {
            Then::Wait => {}
            Then::Steps(steps) => {
                for step in steps {
                    let unit = Unit { object: id, step, attempt: 1, queued_ns: now };
                    match &mut self.staged {
                        Some(staged) if step == Step::Commit => staged.push(unit),
                        _ => schedule.push(unit, size),
                    }
                }
            }
            Then::Ranges => {
                schedule.push_large(id, size);
                if it.object.wants_digest() {
                    let digest = Unit { object: id, step: Step::Digest, attempt: 1, queued_ns: now };
                    schedule.push(digest, size);
                }
            }
            Then::End(ended) => self.end(id, ended, recorder, clock).await,
        }
    }

    /// Ends an object and says so.
    async fn end(&mut self, id: u64, ended: Ended, recorder: &mut Recorder, clock: Clock) {
        let Some(OnItsWay { object, .. }) = self.by_id.remove(&id) else { return };
        if let Some(writer) = &object.writer
            && ended.error.as_ref().is_some_and(|error| spoils(error.kind()))
        {
            writer.abandon().await;
        }
        recorder.resumed(object.bytes_resumed);
        let moved = matches!(ended.outcome, Outcome::Copied | Outcome::Equal);
        if !moved {
            // What did not arrive is no longer awaited.
            self.bytes_total = self.bytes_total.saturating_sub(object.pair.meta.size);
            self.bytes_done -= object.bytes_done;
        }
        let record = ObjectRecord {
            object_id: id,
            source: object.pair.source.name(),
            destination: object.pair.destination.name(),
            name: object.pair.relative_name().into(),
            size_bytes: object.pair.meta.size,
            outcome: ended.outcome,
            method: ended.method,
            proof: ended.proof,
            crc64: ended.crc64,
            md5: ended.md5,
            etag: ended.etag,
            attempts: object.attempts,
            started_ns: object.started_ns,
            ended_ns: clock.now_ns(),
            reason: ended.reason,
            failure: ended.error.as_ref().map(Failure::from),
        };
        recorder.object(record).await;
    }

    /// Ends an object that was never begun.
    pub(super) async fn fail(&mut self, id: u64, failure: Failure, recorder: &mut Recorder, clock: Clock) {
        let Some(it) = self.by_id.get(&id) else { return };
        let error = Error::from(&failure).object(&*it.object.pair.source.name());
        self.end(id, Ended::failed(error), recorder, clock).await;
    }

    /// Ends all objects that have nothing in flight.
    pub(super) async fn fail_waiting(&mut self, failure: &Failure, recorder: &mut Recorder, clock: Clock) {
        let idle = |(id, it): (&u64, &OnItsWay)| (it.in_flight == 0).then_some(*id);
        let waiting: Vec<u64> = self.by_id.iter().filter_map(idle).collect();
        for id in waiting {
            self.fail(id, failure.clone(), recorder, clock).await;
        }
    }

    /// A name that cannot be moved: an outcome like any other.
    pub(super) async fn problem(&mut self, error: Error, recorder: &mut Recorder, clock: Clock) {
        let failure = Some(Failure::from(&error));
        let source = error.object_name().into();
        let object_id = self.count_name();
        let record = ObjectRecord { object_id, source, outcome: Outcome::Failed, failure, ..unmoved(clock) };
        recorder.object(record).await;
    }

    /// A link, a socket or a device: skipped, and said.
    pub(super) async fn not_a_file(&mut self, error: Error, recorder: &mut Recorder, clock: Clock) {
        let source: Arc<str> = error.object_name().into();
        let object_id = self.count_name();
        recorder.warn(source.clone(), format!("skipped: {}", error.cause())).await;
        let reason = Some("not a regular file");
        recorder.object(ObjectRecord { object_id, source, reason, ..unmoved(clock) }).await;
    }

    fn count_name(&mut self) -> u64 {
        self.total += 1;
        self.total - 1
    }

    /// Whether the object is still on its way.
    pub(super) fn contains(&self, id: u64) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Names seem to be only at the destination, but a list was not whole.
    pub(super) async fn unsure(&mut self, extras: u64, recorder: &mut Recorder) {
        let message =
            format!("a list is not whole: {extras} names that seem to be only there are not reported");
        if extras > 0 {
            recorder.warn("destination".into(), message).await;
        }
    }

    /// An object that is only at the destination.
    pub(super) async fn extra(&mut self, name: String, recorder: &mut Recorder, clock: Clock) {
        let record = ObjectRecord { destination: name.into(), outcome: Outcome::Extra, ..unmoved(clock) };
        recorder.object(record).await;
    }
}

/// The record of a name that never was an object of the job.
fn unmoved(clock: Clock) -> ObjectRecord {
    let now = clock.now_ns();
    ObjectRecord {
        object_id: 0,
        source: "".into(),
        destination: "".into(),
        name: "".into(),
        size_bytes: 0,
        outcome: Outcome::Skipped,
        method: Method::None,
        proof: Proof::None,
        crc64: None,
        md5: None,
        etag: None,
        attempts: 0,
        started_ns: now,
        ended_ns: now,
        reason: None,
        failure: None,
    }
}

/// Whether a failure says that what has arrived is of no use to a later run.
fn spoils(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Integrity | ErrorKind::SourceChanged | ErrorKind::Exists | ErrorKind::Unsupported
    )
}

fn is_ranged(step: Step) -> bool {
    matches!(step, Step::Block(_) | Step::Compare(Some(_)))
}

/// Bytes of memory that a step holds while it runs.
fn memory(task: &Task, payload: u64) -> u64 {
    let (from, to) = (task.pair.source.store.capabilities(), task.pair.destination.store.capabilities());
    match task.step {
        Step::Look | Step::Begin | Step::Commit => 0,
        Step::Digest => DIGEST_PIECE.min(task.pair.meta.size),
        Step::Whole | Step::Block(_) if to.streams && !from.local => payload.min(STREAMED),
        Step::Whole | Step::Block(_) => payload,
        Step::Compare(_) => payload.min(STREAMED) + if from.local || to.local { payload } else { 0 },
    }
}
