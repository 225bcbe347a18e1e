//! The one flow: list, plan, schedule, transfer, verify, record.
//!
//! One task owns all state and makes all decisions; requests run beside it and report back. So nothing here
//! needs a lock, and what happens next is always a function of what is known.

mod atomic;
mod attempts;
mod check;
mod course;
mod flights;
mod landing;
mod objects;
mod progress;
mod tail;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use self::flights::Flights;
use self::progress::ProgressMeter;
use super::{CopyOptions, Work};
use crate::budget::Budget;
use crate::control::{Controller, Limits, Observation, Politeness, RequestPace, RetryBudget, controller};
use crate::error::Result;
use crate::event::{Clock, Event, Failure, JobStarted, Progress, Summary};
use crate::http::{Cap, WireLook};
use crate::receipt::{ReceiptHead, ReceiptWriter};
use crate::stage::list::{Filter, Listed, Listing};
use crate::stage::plan::{Decision, Pair, decide};
use crate::stage::record::Recorder;
use crate::stage::schedule::{Next, Schedule, Unit};
use crate::stage::stream;
use crate::stage::transfer::{self, Held, Purpose};
use crate::store::{Phase, StoreOpener, Trace};
use crate::units::ByteRate;

use self::objects::Objects;

/// Objects known at once: enough to choose from, little to hold.
const WINDOW: usize = 10_000;

/// How often the controller and the progress look, ...
const TICK: Duration = Duration::from_millis(100);

/// ... and how often in the beginning, in which each round trip counts.
const FIRST_TICK: Duration = Duration::from_millis(50);
const BEGINNING: Duration = Duration::from_secs(2);

/// Everything a running job is made of.
pub(super) struct Flow {
    work: Work,
    options: Arc<CopyOptions>,
    purpose: Purpose,
    opener: StoreOpener,
    clock: Clock,
    cancelled: watch::Receiver<bool>,
    recorder: Recorder,
    controller: Box<dyn Controller>,
    pace: RequestPace,
    retries: RetryBudget,
    /// Where the job shall give way to other traffic: how, and what the user allows at most.
    politeness: Option<(Politeness, Option<ByteRate>)>,
    budget: Budget,
    schedule: Schedule,
    objects: Objects,
    flights: Flights,
    /// Duplicates that wait for the original to be gone before they are written.
    held: Vec<(Unit, Held)>,
    meter: ProgressMeter,
    seen: Observation,
    /// How long bytes queue on their way.
    queueing: Duration,
    /// Requests wait that only the concurrency holds back.
    hungry: bool,
    /// The controller knows how far the service is.
    located: bool,
    /// Why no more objects are begun.
    stop: Option<Failure>,
    listed: bool,
}

impl Flow {
    pub(super) fn new(
        work: Work,
        options: CopyOptions,
        listener: Option<mpsc::Sender<Event>>,
        cancelled: watch::Receiver<bool>,
        progress: Arc<Mutex<Progress>>,
    ) -> Result<Self> {
        let clock = Clock::start();
        let (operation, purpose) = match &work {
            Work::Verify { stored, deep, .. } => ("verify", Purpose::Verify { stored: *stored, deep: *deep }),
            Work::Copy { .. } | Work::CopyPairs(_) => ("copy", Purpose::Copy),
        };
        check::check(&work, &options)?;
        let opener = StoreOpener::new(options.store.clone())?;
        let mut recorder = Recorder::new(operation, clock, listener, options.record.as_deref())?;
        if let Some(path) = &options.receipt {
            let (sources, destination) = work.names();
            let head = ReceiptHead::new(sources, destination, clock.began_unix_ns());
            recorder.keep_receipt(ReceiptWriter::create(path, head)?);
        }
        Ok(Self {
            controller: controller(&options.wishes_for(&work)?, options.max_memory),
            pace: RequestPace::default(),
            retries: RetryBudget::default(),
            politeness: options.polite.then(|| (Politeness::default(), options.store.cap)),
            budget: Budget::new(options.max_memory.bytes()),
            meter: ProgressMeter::new(clock, Arc::clone(opener.meter()), progress),
            schedule: Schedule::default(),
            objects: Objects::new(options.atomic),
            flights: Flights::new(clock),
            held: Vec::new(),
            seen: Observation::default(),
            queueing: Duration::ZERO,
            hungry: false,
            located: false,
            stop: None,
            listed: false,
            options: Arc::new(options),
            work,
            purpose,
            opener,
            clock,
            cancelled,
            recorder,
        })
    }

    /// The bound on the rate of all that the job opens.
    pub(super) fn cap(&self) -> Cap {
        self.opener.cap()
    }

    /// Runs the job to its end.
    pub(super) async fn run(mut self) -> Result<Summary> {
        self.announce().await;
        if let Some(ends) = stream::ends(&self.work, &self.options) {
            return self.run_stream(ends).await;
        }
        let (found, mut names) = mpsc::channel(1000);
        let filter = Filter::new(&self.options.include, &self.options.exclude)?;
        let outputs = [&self.options.record, &self.options.receipt].into_iter().flatten().cloned().collect();
        let listing =
            Listing::new(self.opener.clone(), filter, self.options.overwrite, found).without(outputs);
        let work = self.work.clone();
        let listing = tokio::spawn(async move { listing.run(&work).await });

        let interrupted = self.transfer_all(&mut names).await;
        drop(names);
        let outcome = match interrupted {
            true => {
                listing.abort();
                Ok(())
            }
            false => match listing.await {
                Ok(result) => result,
                Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
                Err(_) => Ok(()),
            },
        };
        self.finish(outcome, interrupted).await
    }

    async fn announce(&mut self) {
        let (sources, destination) = self.work.names();
        let started = JobStarted {
            job: format!("{:016x}", fastrand::u64(..)),
            operation: self.recorder.summary().operation,
            sources,
            destination,
            started_unix_ns: self.clock.began_unix_ns(),
            version: env!("CARGO_PKG_VERSION"),
        };
        self.recorder.say(Event::JobStarted(started)).await;
    }

    /// Moves everything that is listed. True when it was interrupted.
    async fn transfer_all(&mut self, names: &mut mpsc::Receiver<Listed>) -> bool {
        let mut tick = every(FIRST_TICK);
        let mut batch = Vec::with_capacity(256);
        loop {
            let wake = self.start_requests();
            if self.listed && self.objects.is_empty() && self.flights.is_empty() {
                return false;
            }
            if self.listed && self.objects.all_staged() {
                self.commit_together().await;
                continue;
            }
            let room = !self.listed && (self.options.atomic || self.objects.len() < WINDOW);
            tokio::select! {
                count = names.recv_many(&mut batch, 256), if room => {
                    self.listed = count == 0;
                    self.locate(&batch);
                    self.plan(&mut batch).await;
                    self.check_collection().await;
                }
                Some(landed) = self.flights.next(), if !self.flights.is_empty() => {
                    self.landed(landed).await;
                    while let Some(landed) = self.flights.try_next() {
                        self.landed(landed).await;
                    }
                }
                _ = tick.tick() => {
                    self.look();
                    self.duplicate_laggards();
                    if tick.period() != TICK && self.clock.elapsed() > BEGINNING {
                        tick = every(TICK);
                    }
                }
                () = sleep_until(wake, self.clock) => {}
                () = stopped(&mut self.cancelled) => return true,
            }
        }
    }

    /// Puts as many requests into flight as the budget allows; gives the time of the next retry.
    fn start_requests(&mut self) -> Option<u64> {
        self.hungry = false;
        loop {
            let now = self.clock.now_ns();
            let limits = self.controller.limits();
            let wanted = limits.block_for(self.left());
            let unit = match self.schedule.peek(now, limits.concurrency) {
                Next::Empty => return None,
                Next::Wait(due) => return Some(due),
                Next::Step(unit) => unit,
                Next::BlockOf(object) => match self.objects.peek_range(object, wanted) {
                    Some(step) => Unit { object, step, attempt: 1, queued_ns: now },
                    None => {
                        self.schedule.finish_large(object);
                        continue;
                    }
                },
            };
            let Some((task, bytes, len)) = self.objects.task(&unit, self.purpose, &self.options) else {
                // The object has failed meanwhile.
                self.schedule.take(&unit);
                continue;
            };
            if let Some(due) = self.pace.wait(self.clock.elapsed()) {
                return Some(due.as_nanos() as u64);
            }
            let Some(share) = self.budget.take(bytes, limits.concurrency) else {
                self.hungry = self.budget.in_flight() >= limits.concurrency;
                return None;
            };
            self.pace.sent();
            self.objects.taken(&unit, wanted, now, &mut self.schedule);
            self.flights.start(unit, task, len, share, self.trace(&unit));
        }
    }

    fn trace(&self, unit: &Unit) -> Trace {
        let trace = Trace::new(self.clock).asking_kernel(self.recorder.wants_attempts());
        trace.mark_at(Phase::Queued, unit.queued_ns);
        trace.mark(Phase::Slot);
        trace
    }

    /// Bytes of the job that are not on their way yet, as far as anybody knows.
    fn left(&self) -> u64 {
        let (total, done) = self.objects.bytes();
        if self.listed { total.saturating_sub(done + self.flights.payload()) } else { u64::MAX }
    }

    /// What the controller allows, seen among this many objects.
    fn limits(&self, objects: usize) -> Limits {
        self.controller.limits().among(objects)
    }

    async fn plan(&mut self, batch: &mut Vec<Listed>) {
        let limits = self.limits(self.objects.len() + batch.len());
        for listed in batch.drain(..) {
            match listed {
                Listed::Unsure { extras } => self.objects.unsure(extras, &mut self.recorder).await,
                Listed::Extra(name) => self.objects.extra(name, &mut self.recorder, self.clock).await,
                Listed::NotAFile(error) => {
                    self.objects.not_a_file(error, &mut self.recorder, self.clock).await;
                }
                Listed::Problem(error) => self.objects.problem(error, &mut self.recorder, self.clock).await,
                Listed::Pair(pair) if self.passes(&pair) => self.objects.pass(&mut self.recorder),
                Listed::Pair(pair) => {
                    let now = self.clock.now_ns();
                    let object = transfer::Object::new(*pair, self.purpose, &self.options, &limits, now);
                    let id = self.objects.add(object);
                    if let Some(stop) = &self.stop {
                        self.objects.fail(id, not_started(stop), &mut self.recorder, self.clock).await;
                    } else {
                        self.objects.start(id, &mut self.schedule, &mut self.recorder, self.clock).await;
                    }
                }
            }
        }
    }

    /// Whether an object is there already and nobody wants to hear of it: of millions it is most.
    fn passes(&self, pair: &Pair) -> bool {
        let Purpose::Copy = self.purpose else { return false };
        let skipped = |pair| matches!(decide(pair, self.options.overwrite), Decision::Skip(_));
        !self.recorder.wants_objects() && skipped(pair)
    }

    /// Shows the controller and the user how it goes.
    fn look(&mut self) {
        let in_flight = self.observe((0, 0));
        let progress = self.meter.sample(&self.objects, self.recorder.summary(), self.listed, in_flight);
        self.recorder.sample(&progress);
    }

    /// The first answer shows how far the service is: the controller shall know before anything is cut.
    fn locate(&mut self, coming: &[Listed]) {
        if !self.located && self.opener.meter().quickest_answer().is_some() {
            self.located = true;
            let sizes = coming.iter().filter_map(|listed| match listed {
                Listed::Pair(pair) => Some(pair.meta.size),
                _ => None,
            });
            // A list may claim any size.
            let coming =
                sizes.fold((0, 0_u64), |(count, bytes), size| (count + 1, bytes.saturating_add(size)));
            self.observe(coming);
        }
    }

    /// Shows the controller what happened since it was last shown; `coming` are objects that are not known yet, and their bytes.
    fn observe(&mut self, coming: (u64, u64)) -> u32 {
        let wire = self.opener.meter();
        let now = self.clock.elapsed();
        self.pace.observe(self.seen.succeeded, self.seen.busy, now);
        self.retries.succeeded(self.seen.succeeded);
        let (arrived, WireLook { queueing, standing, .. }) = self.meter.arrived_since_last();
        self.queueing = queueing.unwrap_or_default();
        let (total, done) = self.objects.bytes();
        let seen = Observation {
            left_bytes: total.saturating_sub(done + self.flights.payload()).saturating_add(coming.1),
            left_objects: self.objects.len() as u64 + coming.0,
            listing: !self.listed,
            queueing,
            in_flight: self.budget.in_flight() as u32,
            in_flight_bytes: self.flights.payload(),
            wire_bytes: arrived,
            quickest_answer: wire.quickest_answer(),
            hungry: self.hungry,
            ..std::mem::take(&mut self.seen)
        };
        if let Some((politeness, most)) = &mut self.politeness {
            let moving = self.meter.bits_per_second();
            let bound = politeness.observe(standing, moving, *most, now);
            self.opener.cap().set(bound);
            wire.bound(bound.map(ByteRate::bytes_per_second));
        }
        self.controller.observe(&seen, now);
        seen.in_flight
    }

    async fn run_stream(mut self, ends: stream::Ends) -> Result<Summary> {
        let moved = tokio::select! {
            moved = stream::run(ends, &self.options, &self.opener, self.clock) => Some(moved),
            () = stopped(&mut self.cancelled) => None,
        };
        let interrupted = moved.is_none();
        let outcome = match moved {
            Some(Ok(record)) => {
                self.recorder.object(record).await;
                Ok(())
            }
            Some(Err(error)) => Err(error),
            None => Ok(()),
        };
        self.finish(outcome, interrupted).await
    }

    async fn finish(mut self, outcome: Result<()>, interrupted: bool) -> Result<Summary> {
        self.flights.stop().await;
        // An interrupted job promises nothing, and shall end at once.
        if !interrupted {
            self.flush(outcome.is_ok()).await;
        }
        if let Err(error) = &outcome {
            self.recorder.failure(Failure::from(error));
        }
        self.meter.arrived_since_last();
        let sample = self.meter.sample(&self.objects, self.recorder.summary(), self.listed, 0);
        self.recorder.sample(&sample);
        let total = self.objects.total().max(self.recorder.summary().objects_done);
        let mut chosen = self.controller.explain();
        if let Some(limit) = self.pace.learnt() {
            chosen += &format!("; the service takes about {limit:.0} requests a second");
        }
        let summary = self.recorder.finish(interrupted, total, self.meter.wire(), chosen).await?;
        match outcome {
            Err(error) if total == 0 => Err(error),
            _ => Ok(summary),
        }
    }
}

impl Flow {
    /// Waits until what was written is on the disk.
    async fn flush(&mut self, listed: bool) {
        let filtered = !(self.options.include.is_empty() && self.options.exclude.is_empty());
        let whole = listed && self.recorder.summary().objects_failed == 0 && !filtered;
        self.meter.flushing();
        if let Err(error) = self.opener.flush(whole).await {
            self.recorder.not_on_disk(&error);
        }
    }
}

fn not_started(stop: &Failure) -> Failure {
    let cause = format!("not begun, because the job stopped: {}", stop.cause);
    Failure { operation: "copy", cause, ..stop.clone() }
}

fn every(period: Duration) -> Interval {
    let mut tick = tokio::time::interval_at(Instant::now() + period, period);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick
}

async fn sleep_until(wake: Option<u64>, clock: Clock) {
    match wake {
        Some(due) => {
            let left = Duration::from_nanos(due.saturating_sub(clock.now_ns()));
            tokio::time::sleep_until(Instant::now() + left).await;
        }
        None => std::future::pending().await,
    }
}

/// Ends when the job is to stop.
async fn stopped(cancelled: &mut watch::Receiver<bool>) {
    // A handle that is gone has cancelled on its way out.
    let _ = cancelled.wait_for(|cancelled| *cancelled).await;
}
