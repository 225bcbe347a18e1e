//! The requests in flight, which of them lag, and what became of each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use super::course::{Course, is_overtaken};
use crate::budget::Share;
use crate::error::Result;
use crate::event::Clock;
use crate::stage::plan::Pair;
use crate::stage::schedule::{Step, Unit};
use crate::stage::transfer::{self, Done, Task};
use crate::trace::Trace;

/// Ended requests whose times are kept: as many as may be in flight.
const KEPT: usize = 256;

/// With fewer ended, nobody knows what is usual for a request.
const KNOWN_MIN: usize = 3;

/// Ended requests that tell what a fresh one would take: the newest.
const NEWEST: usize = 32;

/// Each further attempt at a step must be worth so many times as much.
const FURTHER: f64 = 2.0;

/// So many second attempts may be in flight, or this part of all requests: where all lag, the link has become slow, and
/// more bytes would make it slower; where each has stalled by itself, the next ones follow as soon as these have ended.
const SECONDS_MOST: (usize, usize) = (2, 3);

/// A fresh attempt waits so many times as long as bytes queue.
const QUEUED_TIMES: f64 = 2.0;

/// Below this, requests take about as long as empty ones.
const SMALL: u64 = 64 << 10;

/// A request in flight.
pub(super) struct Flight {
    pub(super) unit: Unit,
    /// `None` of what is no request.
    pub(super) share: Option<Share>,
    pub(super) api: &'static str,
    pub(super) trace: Trace,
    /// Payload in bytes.
    pub(super) len: u64,
    pub(super) pair: Arc<Pair>,
    /// The service copies: nothing of it passes the link.
    pub(super) by_service: bool,
    /// Bytes that would have to pass the wire again.
    at_risk: u64,
    /// A second attempt beside a first.
    duplicate: bool,
    /// Second attempts that were made beside this one.
    duplicates: i32,
    /// Another attempt was quicker: whatever this one still comes to does not count.
    overtaken: bool,
    began_ns: u64,
    course: Course,
    abort: AbortHandle,
}

/// A request that ended; without a result where another attempt was quicker.
pub(super) struct Landed {
    pub(super) flight: Flight,
    pub(super) ended_ns: u64,
    pub(super) result: Option<Result<Done>>,
}

/// A request that carried payload and ended well.
struct Ended {
    len: u64,
    took_ns: u64,
}

/// All of them.
pub(super) struct Flights {
    clock: Clock,
    tasks: JoinSet<(u64, Result<Done>)>,
    by_id: HashMap<Id, Flight>,
    payload: u64,
    /// As much of it as would have to pass the wire again.
    at_risk: u64,
    /// Whether there ever was a second attempt beside a first.
    duplicated: bool,
    /// Whether a stream was ever read.
    reads: bool,
    /// Requests that ended well, newest last.
    ended: VecDeque<Ended>,
}

impl Flights {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            tasks: JoinSet::new(),
            by_id: HashMap::new(),
            payload: 0,
            at_risk: 0,
            duplicated: false,
            reads: false,
            ended: VecDeque::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Payload of all in flight, in bytes.
    pub(super) fn payload(&self) -> u64 {
        self.payload
    }

    /// Whether a step with so many bytes may go where so many may be lost at once; one may always go.
    pub(super) fn has_room(&self, task: &Task, len: u64, most: Option<u64>) -> bool {
        let full = self.at_risk > 0 && most.is_some_and(|most| self.at_risk.saturating_add(len) > most);
        !(full && task.may_be_lost())
    }

    /// Sends a step on its way.
    pub(super) fn start(&mut self, unit: Unit, task: Task, len: u64, share: Option<Share>, trace: Trace) {
        let (clock, api, pair, duplicate) = (self.clock, task.api(), Arc::clone(&task.pair), task.duplicate);
        let by_service = task.is_by_service();
        let at_risk = if task.may_be_lost() { len } else { 0 };
        self.duplicated |= task.duplicate;
        self.reads |= unit.step.is_read();
        let seen = trace.clone();
        let abort = self.tasks.spawn(async move {
            let result = transfer::run(&task, &seen).await;
            (clock.now_ns(), result)
        });
        self.payload += len;
        self.at_risk += at_risk;
        let flight = Flight {
            unit,
            share,
            api,
            trace,
            len,
            at_risk,
            pair,
            by_service,
            duplicate,
            duplicates: 0,
            overtaken: false,
            began_ns: clock.now_ns(),
            course: Course::default(),
            abort,
        };
        self.by_id.insert(flight.abort.id(), flight);
    }

    /// The next one to end.
    pub(super) async fn next(&mut self) -> Option<Landed> {
        let ended = self.tasks.join_next_with_id().await?;
        self.landed(ended)
    }

    /// One that has ended already.
    pub(super) fn try_next(&mut self) -> Option<Landed> {
        let ended = self.tasks.try_join_next_with_id()?;
        self.landed(ended)
    }

    fn landed(&mut self, ended: Result<(Id, (u64, Result<Done>)), JoinError>) -> Option<Landed> {
        let (id, ended_ns, result) = match ended {
            Ok((id, (ended_ns, result))) => (id, ended_ns, Some(result)),
            Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
            Err(failed) => (failed.id(), self.clock.now_ns(), None),
        };
        let flight = self.by_id.remove(&id)?;
        self.payload -= flight.len;
        self.at_risk -= flight.at_risk;
        let result = result.filter(|_| !flight.overtaken);
        // What was staged already says nothing of the link.
        let went = matches!(result, Some(Ok(ref done)) if !matches!(done, Done::Block { resumed: true, .. }));
        if went && flight.len > 0 && !flight.by_service {
            if self.ended.len() == KEPT {
                self.ended.pop_front();
            }
            let took_ns = ended_ns.saturating_sub(flight.began_ns);
            self.ended.push_back(Ended { len: flight.len, took_ns });
        }
        Some(Landed { flight, ended_ns, result })
    }

    /// Whether another attempt of this step is in flight, given up or not.
    pub(super) fn has_twin(&self, unit: &Unit) -> bool {
        self.duplicated && self.by_id.values().any(|flight| is_twin(flight, unit))
    }

    /// Whether another attempt of this step may still come to something.
    pub(super) fn has_live_twin(&self, unit: &Unit) -> bool {
        self.duplicated && self.by_id.values().any(|flight| is_twin(flight, unit) && !flight.overtaken)
    }

    /// Ends the other attempts of this step: they land without a result.
    pub(super) fn cancel_twins(&mut self, unit: &Unit) {
        if self.duplicated {
            for flight in self.by_id.values_mut().filter(|flight| is_twin(flight, unit)) {
                // It may have ended already, and then its result is on the way.
                flight.overtaken = true;
                flight.abort.abort();
            }
        }
    }

    /// Steps that carry payload and would end sooner by a fresh attempt, where bytes queue on their way for so long; the one that would take longest first. While
    /// the way is full, only those that have stalled: more bytes would come in the way of the others. To be asked
    /// now and then: each time all requests are looked at.
    pub(super) fn laggards(&mut self, queueing: Duration, full: bool) -> Vec<Unit> {
        let now = self.clock.now_ns();
        // A fresh attempt stands in the same queue, with its first bytes and with its last.
        let queued_ns = QUEUED_TIMES * queueing.as_nanos() as f64;
        for flight in self.by_id.values_mut() {
            flight.course.look(flight.began_ns, now, flight.trace.arrived());
        }
        let mut found: Vec<(f64, Unit)> = Vec::new();
        for flight in self.by_id.values().filter(|flight| !flight.duplicate && !flight.overtaken) {
            if !may_be_duplicated(flight) {
                continue;
            }
            let Some(fresh_ns) = fresh_ns(&self.ended, flight.len) else { return Vec::new() };
            let fresh_ns = fresh_ns + queued_ns;
            let before = if is_replaced(flight) { flight.unit.attempt as i32 - 1 } else { flight.duplicates };
            let attempts = || self.by_id.values().filter(|other| is_twin(other, &flight.unit));
            let left_ns =
                attempts().map(|other| other.course.left_ns(other.len)).fold(f64::INFINITY, f64::min);
            let newest_ns = attempts().map(|other| other.began_ns).max().unwrap_or(flight.began_ns);
            let patient = fresh_ns * FURTHER.powi(before);
            if full && attempts().any(|other| (other.course.silent_ns() as f64) < patient) {
                continue;
            }
            if is_overtaken(now.saturating_sub(newest_ns), left_ns, patient, is_replaced(flight)) {
                found.push((left_ns, flight.unit));
            }
        }
        found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let seconds = self.by_id.values().filter(|flight| flight.duplicate && !flight.overtaken).count();
        let (most, part) = SECONDS_MOST;
        let free = most.max(self.by_id.len() / part).saturating_sub(seconds);
        found.into_iter().take(free).map(|(_, unit)| unit).collect()
    }

    /// Ends what waits for more of a stream on behalf of this object, which has ended.
    pub(super) fn stop_reading(&mut self, object: u64) {
        if !self.reads {
            return;
        }
        let reads = |flight: &&mut Flight| flight.unit.object == object && flight.unit.step.is_read();
        for flight in self.by_id.values_mut().filter(reads) {
            flight.overtaken = true;
            flight.abort.abort();
        }
    }

    /// Notes that a duplicate was made beside this step's first attempt.
    pub(super) fn note_duplicate(&mut self, unit: &Unit) {
        let first = self.by_id.values_mut().find(|flight| !flight.duplicate && is_twin(flight, unit));
        if let Some(flight) = first {
            flight.duplicates += 1;
        }
    }

    /// Whether another attempt goes in place of this one, not beside it; ends this one if so.
    pub(super) fn replace(&mut self, unit: &Unit) -> bool {
        let same = |flight: &&mut Flight| is_twin(flight, unit) && flight.unit.attempt == unit.attempt;
        let Some(flight) = self.by_id.values_mut().find(same).filter(|flight| is_replaced(flight)) else {
            return false;
        };
        flight.overtaken = true;
        flight.abort.abort();
        true
    }

    /// Ends everything.
    pub(super) async fn stop(&mut self) {
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Blocks are staged under a name that says what they hold, and a file gets its name at once: twice is as good as once. A
/// whole object that is sent twice might arrive the second time when its owner has long replaced it: there the first attempt is
/// given up before the second goes on its way.
fn may_be_duplicated(flight: &Flight) -> bool {
    if flight.by_service {
        // Nobody sees how far it has come.
        return false;
    }
    let Pair { source, destination, .. } = &*flight.pair;
    if source.store.capabilities().in_order || destination.store.capabilities().in_order {
        // It may wait for whoever writes or reads the stream.
        return false;
    }
    match flight.unit.step {
        Step::Block(_) => true,
        Step::Whole => flight.len > 0,
        _ => false,
    }
}

fn is_replaced(flight: &Flight) -> bool {
    flight.unit.step == Step::Whole && flight.pair.destination.store.capabilities().late_writes
}

fn is_twin(flight: &Flight, unit: &Unit) -> bool {
    flight.unit.object == unit.object && flight.unit.step == unit.step
}

/// What a fresh request of `len` bytes would take, as those that ended last tell: a quick one, for they had more company than it will
/// have. `None` where too few have ended.
fn fresh_ns(ended: &VecDeque<Ended>, len: u64) -> Option<f64> {
    let mut times: Vec<f64> = (ended.iter().rev().take(NEWEST))
        // A larger one takes longer; a smaller one may take as long, for waiting does not shrink.
        .map(|other| other.took_ns as f64 * (len.max(SMALL) as f64 / other.len.max(SMALL) as f64).max(1.0))
        .collect();
    if times.len() < KNOWN_MIN {
        return None;
    }
    let quick = times.len() / 4;
    Some(*times.select_nth_unstable_by(quick, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::plan::{Existing, Place};
    use crate::store::{BlockRange, MemoryStore, ObjectMeta};

    const SECOND: u64 = 1_000_000_000;
    const BLOCK: u64 = 1 << 20;

    fn fresh_s(took: &[u64], len: u64) -> Option<f64> {
        let ended = took.iter().map(|seconds| Ended { len: BLOCK, took_ns: seconds * SECOND });
        fresh_ns(&ended.collect(), len).map(|ns| ns / 1e9)
    }

    #[test]
    fn a_fresh_request_takes_what_others_took_last() {
        assert_eq!(fresh_s(&[1, 2, 8, 9], BLOCK), Some(2.0));
        assert_eq!(fresh_s(&[1, 2, 8, 9], 4 * BLOCK), Some(8.0), "a larger one takes longer");
        assert_eq!(fresh_s(&[1, 2, 8, 9], BLOCK / 16), Some(2.0), "a smaller one may as well");
        assert_eq!(fresh_s(&[1, 2], BLOCK), None);
        let before = [vec![1; NEWEST], vec![5; NEWEST]].concat();
        assert_eq!(fresh_s(&before, BLOCK), Some(5.0), "the link has become slower");
    }

    #[tokio::test]
    async fn an_attempt_that_was_given_up_is_no_reason_to_wait() {
        let place = Place { store: Arc::new(MemoryStore::named("twins")), key: "a".into() };
        let pair = Arc::new(Pair::new(place.clone(), place, 0, ObjectMeta::default(), Existing::Absent));
        let mut flights = Flights::new(Clock::start());
        let mut unit = Unit::first(0, Step::Block(BlockRange { offset: 0, len: BLOCK }), 0);
        for attempt in [1, 2] {
            unit.attempt = attempt;
            let abort = flights.tasks.spawn(std::future::pending());
            let flight = Flight {
                unit,
                share: None,
                api: "PutBlock",
                trace: Trace::detached(),
                len: BLOCK,
                pair: Arc::clone(&pair),
                by_service: false,
                at_risk: 0,
                duplicate: attempt == 2,
                duplicates: 0,
                overtaken: false,
                began_ns: 0,
                course: Course::default(),
                abort,
            };
            flights.by_id.insert(flight.abort.id(), flight);
            (flights.payload, flights.duplicated) = (flights.payload + BLOCK, attempt == 2);
        }
        assert!(flights.has_live_twin(&unit));
        flights.cancel_twins(&unit);
        // Until they have landed, both are still there.
        assert_eq!((flights.has_twin(&unit), flights.has_live_twin(&unit)), (true, false));
        assert!(flights.next().await.is_some_and(|landed| landed.result.is_none()));
    }
}
