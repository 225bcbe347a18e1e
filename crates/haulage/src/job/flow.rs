//! The one flow: list, plan, schedule, transfer, verify, record.
//!
//! One task owns all state and makes all decisions; requests run beside it and report back. So nothing here
//! needs a lock, and what happens next is always a function of what is known. Something happens, [`Flow::run`] takes it in, and
//! what follows from it is an effect that the words after it apply.
//!
//! [`Flow::list`] is here; [`Flow::plan`] is in `planning`, [`Flow::schedule`] and [`Flow::record`] in `effects`, [`Flow::transfer`] in
//! `sending`, [`Flow::verify`] in `landing`. They decide what becomes of the `objects`; the stages of the same names do the work.

mod abandoned;
pub(super) mod atomic;
mod attempts;
pub(super) mod check;
pub(super) mod clearing;
mod course;
mod effects;
mod flights;
mod landing;
mod names;
mod objects;
mod planning;
mod progress;
mod sending;
mod tail;
mod watching;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use self::abandoned::Abandoned;
use self::clearing::Clearing;
use self::flights::{Flights, Landed};
use self::objects::Objects;
use self::progress::ProgressMeter;
use super::{CopyOptions, Portion, Work};
use crate::control::{Controller, Limits, Observation, Politeness, controller};
use crate::error::{Error, Result};
use crate::event::{AttemptRecord, Clock, Failure, Progress, Summary};
use crate::gate::Gate;
use crate::http::Cap;
use crate::report::Reports;
use crate::stage::list::{Listed, Listing};
use crate::stage::record::{Recorder, Sinks};
use crate::stage::schedule::{Schedule, Unit};
use crate::stage::transfer::{Held, Purpose};
use crate::store::{Input, StoreOpener};
use crate::units::ByteRate;
use crate::verbose::verbose;

/// Objects known at once: enough to choose from, little to hold.
const WINDOW: usize = 10_000;

/// Names taken at once.
const BATCH: usize = 256;

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
    /// What every request passes, and the rows of those that are no steps of an object.
    gate: Gate,
    beside: Option<mpsc::Receiver<AttemptRecord>>,
    /// Where the job shall give way to other traffic: how, and what the user allows at most.
    politeness: Option<(Politeness, Option<ByteRate>)>,
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
    /// What is deleted in the end, and where backups go.
    clearing: Clearing,
    /// What was written may not last.
    broken: bool,
    /// Why no more objects are begun.
    stop: Option<Failure>,
    /// The reader of the stream that is written is gone.
    hung_up: Option<Error>,
    /// What was staged is being removed.
    abandoned: Abandoned,
    listed: bool,
    /// When to look again how it goes, and when the first step that waits is due, in nanoseconds of the job.
    look_at: u64,
    wake: Option<u64>,
}

/// What the listing finds, and the listing.
struct Names {
    found: mpsc::Receiver<Listed>,
    listing: JoinHandle<Result<()>>,
}

/// What the flow takes in.
enum Happened {
    /// Names were found; none where there are no more.
    Found(Vec<Listed>),
    /// A request has ended.
    Landed(Landed),
    /// A request has ended that was no step of an object.
    Beside(AttemptRecord),
    /// It is time to look how it goes.
    Tick,
    /// A step that had to wait need not any more.
    Due,
    /// The job is to stop.
    Stopped,
}

impl Flow {
    pub(super) fn new(
        work: Work,
        mut options: CopyOptions,
        sinks: Sinks,
        cancelled: watch::Receiver<bool>,
        progress: Arc<Mutex<Progress>>,
    ) -> Result<Self> {
        let gate = Gate::new(options.max_memory.bytes());
        let clock = gate.clock();
        let operation = work.operation();
        let purpose = match &work {
            Work::Verify { stored, deep, .. } => Purpose::Verify { stored: *stored, deep: *deep },
            _ => Purpose::Copy,
        };
        check::check(&work, &options)?;
        let opener = StoreOpener::through(options.store.clone(), gate.clone())?;
        let mut recorder = Recorder::new(operation, clock, sinks, options.record.as_deref())?;
        if options.dry_run {
            recorder.only_plans();
            options.links = None;
        } else if let Some(path) = &options.receipt {
            recorder.keep_receipt(path, work.names())?;
        }
        recorder.keep_reports(Reports::create(&options.reports)?);
        if let Some(address) = options.metrics {
            recorder.serve_metrics(address, work.direction(&options.store))?;
        }
        let backup = options.backup.as_ref();
        let backup = backup.map(|place| opener.following_none().open_destination(place)).transpose()?;
        let mut objects = Objects::new(options.atomic);
        objects.moves = matches!(work, Work::Move { .. });
        objects.versions = options.receipt.is_some();
        let controller = controller(&options.wishes_for(&work)?, options.max_memory);
        gate.guide(controller.limits().concurrency);
        let Limits { concurrency, block_size, .. } = controller.limits();
        verbose!(
            Info,
            "{operation}: begins with {concurrency} requests in flight and blocks of {block_size}"
        );
        Ok(Self {
            controller,
            beside: recorder.wants_attempt(true).then(|| gate.keep_rows()),
            gate,
            politeness: options.polite.then(|| (Politeness::default(), options.store.cap)),
            meter: ProgressMeter::new(clock, Arc::clone(opener.meter()), progress),
            schedule: Schedule::default(),
            objects,
            clearing: Clearing::new(backup, &options),
            broken: false,
            flights: Flights::new(clock),
            held: Vec::new(),
            seen: Observation::default(),
            queueing: Duration::ZERO,
            hungry: false,
            located: false,
            stop: None,
            hung_up: None,
            abandoned: Abandoned::default(),
            listed: false,
            look_at: FIRST_TICK.as_nanos() as u64,
            wake: None,
            options: Arc::new(options),
            work,
            purpose,
            opener,
            clock,
            cancelled,
            recorder,
        })
    }

    /// Reads from `input`, called `name` in messages, where the work says `-`.
    pub(super) fn reading(self, input: Input, name: &str) -> Self {
        Self { opener: self.opener.reading(input, name), ..self }
    }

    /// The bound on the rate of all that the job opens.
    pub(super) fn cap(&self) -> Cap {
        self.opener.cap()
    }

    /// What its requests pass.
    pub(super) fn gate(&self) -> Gate {
        self.gate.clone()
    }

    /// Runs the job to its end.
    pub(super) async fn run(mut self) -> Result<Summary> {
        self.recorder.announce(self.work.names(), &self.options).await;
        let names = self.list()?;
        let (outcome, interrupted) = self.move_all(names).await;
        // An interrupted job promises nothing, and shall end at once.
        let interrupted = interrupted || {
            self.flush().await;
            self.clear(&outcome).await
        };
        self.finish(outcome, interrupted).await
    }

    /// Moves all that a listing finds; how that has ended, and whether the job was stopped.
    async fn move_all(&mut self, mut names: Names) -> (Result<()>, bool) {
        self.listed = false;
        let interrupted = loop {
            match self.next(&mut names).await {
                Happened::Found(batch) => self.plan(batch),
                Happened::Landed(landed) => self.verify(landed),
                Happened::Beside(row) => self.objects.effects().attempt(row),
                Happened::Tick => self.look(),
                Happened::Due => {}
                Happened::Stopped => break true,
            }
            self.keep_backups().await;
            self.schedule();
            self.transfer();
            self.record().await;
            if self.listed && self.objects.is_empty() && self.flights.is_empty() {
                break false;
            }
        };
        (names.end(interrupted).await, interrupted)
    }

    /// Begins to list what the work names.
    fn list(&self) -> Result<Names> {
        let (sender, found) = mpsc::channel(1000);
        let now_ns = self.clock.began_unix_ns();
        let listing = Listing::new(self.opener.clone(), &self.options, now_ns, sender)?
            .backing_up(self.clearing.backup.as_ref().map(|(place, _)| place.clone()))
            .single(self.options.portion != Portion::All)
            .for_requests(self.options.concurrency.fixed().unwrap_or(usize::MAX));
        let work = self.work.clone();
        Ok(Names { found, listing: tokio::spawn(async move { listing.run(&work).await }) })
    }

    /// Waits until something happens.
    async fn next(&mut self, names: &mut Names) -> Happened {
        let room = !self.listed && (self.options.atomic || self.objects.len() < WINDOW);
        let due = self.wake.map_or(self.look_at, |wake| wake.min(self.look_at));
        let mut batch = Vec::new();
        tokio::select! {
            _ = names.found.recv_many(&mut batch, BATCH), if room => Happened::Found(batch),
            Some(landed) = self.flights.next(), if !self.flights.is_empty() => Happened::Landed(landed),
            row = next_row(&mut self.beside) => Happened::Beside(row),
            () = self.gate.left() => Happened::Due,
            () = sleep_until(due, self.clock) => match self.clock.now_ns() >= self.look_at {
                true => Happened::Tick,
                false => Happened::Due,
            },
            () = stopped(&mut self.cancelled) => Happened::Stopped,
        }
    }

    async fn finish(mut self, outcome: Result<()>, interrupted: bool) -> Result<Summary> {
        self.flights.stop().await;
        if !interrupted {
            self.abandoned.settle().await;
        }
        self.opener.uninterrupted().settle().await;
        // A job in which objects failed says little of the link.
        if self.recorder.summary().objects_failed == 0
            && !self.gate.is_leased()
            && let Some((file, link)) = self.options.link_file(&self.work).zip(self.controller.learnt())
        {
            file.write(&link);
        }
        self.recorder.rest_beside(self.beside.take()).await;
        if let Err(error) = &outcome {
            self.recorder.failure(Failure::from(error));
            // Not everything was compared: former reports stay.
            self.recorder.keep_reports(Reports::none());
        }
        self.meter.arrived_since_last();
        self.sample(0);
        self.recorder.count_beside(self.gate.counted());
        let total = self.objects.total();
        let mut chosen = self.controller.explain();
        if let Some(limit) = self.gate.learnt() {
            chosen += &format!("; the service takes about {limit:.0} requests a second");
        }
        let summary = self.recorder.finish(interrupted, total, self.meter.wire(), chosen).await;
        match (self.hung_up, outcome) {
            (Some(error), _) => Err(error),
            (None, Err(error)) if total == 0 => Err(error),
            _ => Ok(summary),
        }
    }
}

impl Flow {
    /// Waits until what was written is on the disk.
    async fn flush(&mut self) {
        self.flights.stop().await;
        if self.opener.has_written() {
            self.meter.flushing();
        }
        let folder = self.work.destination().filter(|_| !self.options.dry_run);
        if let Err(error) = self.opener.flush(folder).await {
            self.recorder.not_on_disk(&error);
            self.broken = true;
        }
    }
}

impl Names {
    /// How the listing ended; it is called off where the job was.
    async fn end(self, interrupted: bool) -> Result<()> {
        drop(self.found);
        if interrupted {
            self.listing.abort();
            return Ok(());
        }
        match self.listing.await {
            Ok(result) => result,
            Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
            Err(_) => Ok(()),
        }
    }
}

fn not_started(stop: &Failure) -> Failure {
    let cause = format!("not begun, because the job stopped: {}", stop.cause);
    Failure { operation: "copy", cause, ..stop.clone() }
}

async fn sleep_until(due: u64, clock: Clock) {
    tokio::time::sleep(Duration::from_nanos(due.saturating_sub(clock.now_ns()))).await;
}

/// The row of the next request that was no step of an object; waits for ever where nobody keeps them.
pub(super) async fn next_row(rows: &mut Option<mpsc::Receiver<AttemptRecord>>) -> AttemptRecord {
    match rows.as_mut() {
        Some(rows) => match rows.recv().await {
            Some(row) => row,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

/// Ends when the job is to stop.
pub(super) async fn stopped(cancelled: &mut watch::Receiver<bool>) {
    // A handle that is gone has cancelled on its way out.
    let _ = cancelled.wait_for(|cancelled| *cancelled).await;
}
