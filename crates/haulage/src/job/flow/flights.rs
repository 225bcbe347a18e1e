//! The requests in flight, which of them lag, and what became of each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use crate::budget::Share;
use crate::error::Result;
use crate::event::Clock;
use crate::stage::plan::Pair;
use crate::stage::schedule::{Step, Unit};
use crate::stage::transfer::{self, Done, Task};
use crate::trace::Trace;

/// Ended requests whose times are kept: as many as may be in flight.
const KEPT: usize = 256;

/// With fewer of its time, nobody knows what is usual for a request.
const KNOWN_MIN: usize = 3;

/// A request lags that takes this many times as long as nearly all others of its time and size ...
const LAGS: f64 = 3.0;

/// ... and at least this long: a duplicate costs a round trip and its bytes.
const LAGS_MIN_NS: u64 = 500_000_000;

/// Below this, requests take about as long as empty ones.
const SMALL: u64 = 64 << 10;

/// A request in flight.
pub(super) struct Flight {
    pub(super) unit: Unit,
    pub(super) share: Share,
    pub(super) api: &'static str,
    pub(super) trace: Trace,
    /// Payload in bytes.
    pub(super) len: u64,
    pub(super) pair: Arc<Pair>,
    /// A second attempt beside a first.
    duplicate: bool,
    /// Second attempts that were made beside this one.
    duplicates: i32,
    /// Another attempt was quicker: whatever this one still comes to does not count.
    overtaken: bool,
    began_ns: u64,
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
    began_ns: u64,
    len: u64,
    took_ns: u64,
}

/// All of them.
pub(super) struct Flights {
    clock: Clock,
    tasks: JoinSet<(u64, Result<Done>)>,
    by_id: HashMap<Id, Flight>,
    payload: u64,
    /// Whether there ever was a second attempt beside a first.
    duplicated: bool,
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
            duplicated: false,
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

    /// Sends a step on its way.
    pub(super) fn start(&mut self, unit: Unit, task: Task, len: u64, share: Share, trace: Trace) {
        let (clock, api, pair, duplicate) = (self.clock, task.api(), Arc::clone(&task.pair), task.duplicate);
        self.duplicated |= task.duplicate;
        let seen = trace.clone();
        let abort = self.tasks.spawn(async move {
            let result = transfer::run(&task, &seen).await;
            (clock.now_ns(), result)
        });
        self.payload += len;
        let flight = Flight {
            unit,
            share,
            api,
            trace,
            len,
            pair,
            duplicate,
            duplicates: 0,
            overtaken: false,
            began_ns: clock.now_ns(),
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
        let result = result.filter(|_| !flight.overtaken);
        // What was staged already says nothing of the link.
        let went = matches!(result, Some(Ok(ref done)) if !matches!(done, Done::Block { resumed: true, .. }));
        if went && flight.len > 0 {
            if self.ended.len() == KEPT {
                self.ended.pop_front();
            }
            let took_ns = ended_ns.saturating_sub(flight.began_ns);
            self.ended.push_back(Ended { began_ns: flight.began_ns, len: flight.len, took_ns });
        }
        Some(Landed { flight, ended_ns, result })
    }

    /// Whether another attempt of this step is in flight.
    pub(super) fn has_twin(&self, unit: &Unit) -> bool {
        self.duplicated && self.by_id.values().any(|flight| is_twin(flight, unit))
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

    /// Steps that carry payload and lag; the one that lags most first.
    pub(super) fn laggards(&self) -> Vec<Unit> {
        let now = self.clock.now_ns();
        let mut found: Vec<(u64, Unit)> = Vec::new();
        for flight in self.by_id.values().filter(|flight| !flight.duplicate && !flight.overtaken) {
            // Each further duplicate waits three times as long.
            let age = now.saturating_sub(flight.began_ns);
            let patient = (age as f64 / LAGS.powi(flight.duplicates)) as u64;
            if may_be_duplicated(flight) && lags(&self.ended, flight.began_ns, flight.len, patient) {
                found.push((age, flight.unit));
            }
        }
        found.sort_unstable_by_key(|(age, _)| std::cmp::Reverse(*age));
        found.into_iter().map(|(_, unit)| unit).collect()
    }

    /// Notes that a duplicate was made beside this step's first attempt.
    pub(super) fn note_duplicate(&mut self, unit: &Unit) {
        let first = self.by_id.values_mut().find(|flight| !flight.duplicate && is_twin(flight, unit));
        if let Some(flight) = first {
            flight.duplicates += 1;
        }
    }

    /// Ends everything.
    pub(super) async fn stop(&mut self) {
        self.tasks.abort_all();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Blocks are staged under a name that says what they hold, and a file gets its name at once: twice is as good as once. A
/// whole object that is sent twice may arrive the second time when its owner has long replaced it.
fn may_be_duplicated(flight: &Flight) -> bool {
    match flight.unit.step {
        Step::Block(_) => true,
        Step::Whole => flight.len > 0 && flight.pair.destination.store.capabilities().local,
        _ => false,
    }
}

fn is_twin(flight: &Flight, unit: &Unit) -> bool {
    flight.unit.object == unit.object && flight.unit.step == unit.step
}

/// Whether a request of `len` bytes that has taken `age_ns` is left behind by those of its time: by requests that began with
/// it or later. When all have become slow, none lags.
fn lags(ended: &VecDeque<Ended>, began_ns: u64, len: u64, age_ns: u64) -> bool {
    let since = began_ns.saturating_sub(age_ns / 4);
    let mut times: Vec<f64> = (ended.iter().filter(|other| other.began_ns >= since))
        // A larger one takes longer; a smaller one may take as long, for waiting does not shrink.
        .map(|other| other.took_ns as f64 * (len.max(SMALL) as f64 / other.len.max(SMALL) as f64).max(1.0))
        .collect();
    if times.len() < KNOWN_MIN || age_ns < LAGS_MIN_NS {
        return false;
    }
    let at = times.len() * 9 / 10;
    age_ns as f64 > LAGS * *times.select_nth_unstable_by(at, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const BLOCK: u64 = 1 << 20;

    fn ended(took: &[(u64, u64)]) -> VecDeque<Ended> {
        took.iter()
            .map(|(began_ns, took_ns)| Ended { began_ns: *began_ns, len: BLOCK, took_ns: *took_ns })
            .collect()
    }

    #[test]
    fn a_request_lags_that_others_of_its_time_have_left_behind() {
        let others = ended(&[(SECOND, SECOND), (2 * SECOND, SECOND), (3 * SECOND, SECOND)]);
        assert!(lags(&others, SECOND, BLOCK, 4 * SECOND));
        assert!(!lags(&others, SECOND, BLOCK, 2 * SECOND), "not for long enough");
        assert!(!lags(&others, SECOND, 4 * BLOCK, 4 * SECOND), "a larger one may take longer");
        assert!(lags(&others, SECOND, BLOCK / 16, 4 * SECOND));
    }

    #[test]
    fn when_all_have_become_slow_none_lags() {
        let before = ended(&[(0, SECOND), (SECOND, SECOND), (2 * SECOND, SECOND), (3 * SECOND, SECOND)]);
        assert!(!lags(&before, 10 * SECOND, BLOCK, 8 * SECOND));
    }
}
