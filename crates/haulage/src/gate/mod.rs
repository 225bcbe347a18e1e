//! The one gate that every request passes: a slot and memory of the budget, a turn at the pace that the service allows, one policy
//! for what failed, and a row in the record. Each job has its own; what services were found to take is shared.
//!
//! The flow of a job takes what it needs for each step without waiting, and comes back when something has ended. Whoever asks
//! beside it (for a page of a list, for what is at one name, for a piece of a stream) waits at the gate, and goes before the steps,
//! for what it finds is what these wait for. Half of the slots stay with the steps all the same.
//!
//! What lies on this machine is asked without a request, so it passes a gate of its own, which nobody counts.

mod lease;
mod manners;
mod permit;
mod retry;
mod row;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};

pub use self::lease::Allowance;
use self::lease::Leased;
pub(crate) use self::manners::Manners;
use self::manners::Services;
pub(crate) use self::permit::{Permit, through};
use self::retry::backoff;
pub(crate) use self::retry::was_too_slow;
pub(crate) use self::row::{Attempted, attempt};
use crate::budget::{Budget, Share};
use crate::error::Error;
use crate::event::{AttemptRecord, Clock};
use crate::trace::{Phase, Trace};
use crate::wait::scaled;

/// Requests in flight where no controller says how many.
const UNGUIDED: usize = 64;

/// Rows that wait to be recorded.
const ROWS: usize = 256;

/// Who waits looks again after this long, in case that nobody tells.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A gate; clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    inner: Mutex<Inner>,
    /// A slot is free, for those who wait beside the flow, ...
    freed: Notify,
    /// ... and for the flow, which did not see it come.
    left: Notify,
}

#[derive(Debug)]
struct Inner {
    budget: Budget,
    services: Services,
    lease: Leased,
    concurrency: usize,
    /// How many wait for a slot beside the flow.
    waiting: usize,
    /// The flow was turned away, and comes back when it is told.
    turned_away: bool,
    counted: Counted,
    rows: Option<mpsc::Sender<AttemptRecord>>,
    asks_kernel: bool,
}

/// How many requests went beside the flow of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Attempts that ended.
    pub(crate) requests: u64,
    /// Of these, failed and sent again.
    pub(crate) retries: u64,
    /// Of these, because a checksum did not match.
    pub(crate) integrity_retries: u64,
}

/// Why nothing may go now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The service takes no more before this time, in nanoseconds of the clock.
    Pace(u64),
    /// As many are in flight as may be.
    Slots,
    /// As many are in flight, or have just gone, as somebody else allows.
    Lease,
    /// There is a slot, but not the memory.
    Memory,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new(u64::MAX)
    }
}

impl Gate {
    /// A gate that lets `memory` bytes pass at a time. Its clock starts now.
    pub(crate) fn new(memory: u64) -> Self {
        let inner = Inner {
            budget: Budget::new(memory),
            services: Services::default(),
            lease: Leased::default(),
            concurrency: UNGUIDED,
            waiting: 0,
            turned_away: false,
            counted: Counted::default(),
            rows: None,
            asks_kernel: false,
        };
        Self(Arc::new(Shared {
            clock: Clock::start(),
            inner: Mutex::new(inner),
            freed: Notify::new(),
            left: Notify::new(),
        }))
    }

    pub(crate) fn clock(&self) -> Clock {
        self.0.clock
    }

    /// Requests that pass here go to this service too, and keep to the pace that was learnt of it.
    pub(crate) fn lead_to(&self, service: &Manners) {
        self.lock().services.name(service);
    }

    /// From now on rows of requests beside the flow come to the receiver.
    pub(crate) fn keep_rows(&self) -> mpsc::Receiver<AttemptRecord> {
        let (sender, receiver) = mpsc::channel(ROWS);
        let mut inner = self.lock();
        (inner.rows, inner.asks_kernel) = (Some(sender), true);
        receiver
    }

    /// Lets so many requests pass at a time, until a step says otherwise.
    pub(crate) fn guide(&self, concurrency: usize) {
        self.lock().concurrency = concurrency;
    }

    /// Lets at least so many requests pass at a time where no controller says how many.
    pub(crate) fn widen(&self, concurrency: usize) {
        let mut inner = self.lock();
        inner.concurrency = inner.concurrency.max(concurrency);
    }

    /// Whether somebody else has ever bounded what passes.
    pub(crate) fn is_leased(&self) -> bool {
        self.lock().lease.is_set()
    }

    /// From now on no more passes than this.
    pub(crate) fn allow(&self, allowance: Allowance) {
        self.lock().lease.set(&allowance);
        self.make_room();
        self.0.freed.notify_waiters();
    }

    /// Takes what a step needs, which holds `bytes` of memory; `concurrency` is what the controller allows.
    pub(crate) fn take(&self, bytes: u64, concurrency: usize) -> std::result::Result<Share, Closed> {
        let mut inner = self.lock();
        inner.concurrency = concurrency;
        let leased = inner.lease.of(concurrency);
        // Who waits goes first, but a crowd of them does not keep all steps back.
        let kept = inner.waiting.min(leased.div_ceil(2));
        let taken = inner.take(bytes, leased - kept, self.0.clock.elapsed());
        let taken = taken.map_err(|closed| match closed {
            Closed::Slots if leased < concurrency => Closed::Lease,
            closed => closed,
        });
        inner.turned_away = taken.is_err();
        taken
    }

    /// Takes a slot beside what the pace allows: for a second attempt at what is under way.
    pub(crate) fn take_unpaced(&self, bytes: u64, concurrency: usize) -> Option<Share> {
        let now = self.0.clock.elapsed();
        let mut inner = self.lock();
        let concurrency = inner.lease.of(concurrency);
        if concurrency == 0 || inner.lease.wait(now).is_some() {
            return None;
        }
        let share = inner.budget.take(bytes, concurrency)?;
        inner.lease.sent();
        Some(share)
    }

    /// Takes a share whether there is room or not: for bytes that are in memory already.
    pub(crate) fn force(&self, bytes: u64) -> Share {
        self.lock().budget.force(bytes)
    }

    /// Gives a share back.
    pub(crate) fn release(&self, share: Share) {
        let mut inner = self.lock();
        inner.budget.release(share);
        let waiting = inner.waiting > 0;
        drop(inner);
        if waiting {
            self.0.freed.notify_one();
        }
    }

    /// Waits until somebody beside the flow has made room for what was turned away.
    pub(crate) async fn left(&self) {
        self.0.left.notified().await;
    }

    /// Requests in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.lock().budget.in_flight()
    }

    /// Takes in how the steps of a job ended since the last call: well, and refused.
    pub(crate) fn observe(&self, succeeded: u32, busy: u32) {
        self.lock().services.observe(succeeded, busy);
    }

    /// How many requests have gone beside the flow so far.
    pub(crate) fn counted(&self) -> Counted {
        self.lock().counted
    }

    /// The requests a second that were found to be taken, if the service refused more.
    pub(crate) fn learnt(&self) -> Option<f64> {
        self.lock().services.learnt()
    }

    /// How long what failed has to wait before it is sent again; `None` to give up.
    pub(crate) fn retry_after(&self, error: &Error, attempt: u32) -> Option<Duration> {
        let wait = backoff(error, attempt, fastrand::f64())?;
        Some(scaled(wait.max(self.lock().services.retry())))
    }

    /// Waits for a turn of a request beside the flow, which `api` and `object` name in the record.
    pub(crate) async fn enter(&self, api: &'static str, object: &str, attempt: u32) -> Permit {
        let queued_ns = self.0.clock.now_ns();
        let waiting = Waiting::at(self);
        let share = loop {
            let freed = self.0.freed.notified();
            let closed = {
                let mut inner = self.lock();
                let concurrency = inner.concurrency;
                match inner.take(0, concurrency, self.0.clock.elapsed()) {
                    Ok(share) => break share,
                    Err(closed) => closed,
                }
            };
            let wait = match closed {
                Closed::Pace(due) => Duration::from_nanos(due.saturating_sub(self.0.clock.now_ns())),
                Closed::Slots | Closed::Lease | Closed::Memory => LOOK_AGAIN,
            };
            let _ = tokio::time::timeout(wait, freed).await;
        };
        drop(waiting);
        let trace = Trace::new(self.0.clock).asking_kernel(self.lock().asks_kernel);
        trace.mark_at(Phase::Queued, queued_ns);
        trace.mark(Phase::Slot);
        let (gate, object) = (self.clone(), object.into());
        Permit { gate, share: Some(share), trace, api, object, attempt, offset_bytes: 0, size_bytes: 0 }
    }

    /// Tells the flow, where it was turned away, that there is room.
    fn make_room(&self) {
        if std::mem::take(&mut self.lock().turned_away) {
            self.0.left.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.retries += other.retries;
        self.integrity_retries += other.integrity_retries;
    }
}

impl Inner {
    fn take(&mut self, bytes: u64, concurrency: usize, now: Duration) -> std::result::Result<Share, Closed> {
        let concurrency = self.lease.of(concurrency);
        if concurrency == 0 {
            return Err(Closed::Slots);
        }
        if let Some(wait) = self.services.wait().max(self.lease.wait(now)) {
            return Err(Closed::Pace((now + wait).as_nanos() as u64));
        }
        match self.budget.take(bytes, concurrency) {
            Some(share) => {
                self.services.sent();
                self.lease.sent();
                Ok(share)
            }
            None if self.budget.in_flight() >= concurrency => Err(Closed::Slots),
            None => Err(Closed::Memory),
        }
    }
}

/// Counted among those who wait, until this is dropped.
struct Waiting(Gate);

impl Waiting {
    fn at(gate: &Gate) -> Self {
        gate.lock().waiting += 1;
        Self(gate.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
        self.0.make_room();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, Result, Retry};

    fn busy() -> Error {
        Error::new(ErrorKind::Busy, "list", "names", "busy").retry(Retry::Backoff)
    }

    #[tokio::test]
    async fn who_waits_beside_the_flow_goes_before_its_steps() {
        let gate = Gate::new(100);
        let step = gate.take(10, 1).unwrap();
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.enter("ListBlobs", "names", 1).await }
        });
        tokio::task::yield_now().await;
        gate.release(step);
        assert_eq!(gate.take(10, 1).unwrap_err(), Closed::Slots, "the slot is for who waits");
        let permit = waiting.await.unwrap();
        assert_eq!(gate.in_flight(), 1);
        drop(permit);
        gate.left().await;
        assert!(gate.take(10, 1).is_ok(), "what was called off holds nothing");
    }

    #[tokio::test]
    async fn a_crowd_that_waits_leaves_half_of_the_slots_to_steps() {
        let gate = Gate::default();
        let steps = [(); 4].map(|()| gate.take(1, 4).unwrap());
        for _ in 0..8 {
            let gate = gate.clone();
            tokio::spawn(async move { gate.enter("GetBlobProperties", "names", 1).await });
        }
        tokio::task::yield_now().await;
        steps.into_iter().for_each(|step| gate.release(step));
        let _steps = [(); 2].map(|()| gate.take(1, 4).unwrap());
        assert_eq!(gate.take(1, 4).unwrap_err(), Closed::Slots);
    }

    #[tokio::test]
    async fn each_try_leaves_a_row_and_the_last_error_comes_through() {
        let gate = Gate::default();
        let mut rows = gate.keep_rows();
        let mut tries = 0;
        let result: Result<u32> = through!(gate, "ListBlobs", "names", trace => {
            tries += 1;
            trace.mark(Phase::Connected);
            if tries < 3 { Err(busy()) } else { Ok(tries) }
        });
        assert_eq!(result.unwrap(), 3);
        let never: Result<u32> = through!(gate, "ListBlobs", "names", _trace => {
            Err(busy().retry(Retry::Never))
        });
        assert_eq!(never.unwrap_err().kind(), ErrorKind::Busy);
        let unsent: Result<u32> = through!(gate, "ListBlobs", "names", _trace => Ok(0));
        assert_eq!(unsent.unwrap(), 0);
        assert_eq!(gate.counted(), Counted { requests: 4, retries: 2, integrity_retries: 0 });
        let fates: Vec<_> =
            std::iter::from_fn(|| rows.try_recv().ok()).map(|row| (row.fate, row.attempt)).collect();
        assert_eq!(fates, [("busy", 1), ("busy", 2), ("ok", 3), ("busy", 1)]);
    }

    #[test]
    fn what_does_not_fit_waits_for_memory_or_for_a_slot() {
        let gate = Gate::new(100);
        let _first = gate.take(60, 4).unwrap();
        assert_eq!(gate.take(60, 4).unwrap_err(), Closed::Memory);
        assert_eq!(gate.take(10, 1).unwrap_err(), Closed::Slots);
    }
}
