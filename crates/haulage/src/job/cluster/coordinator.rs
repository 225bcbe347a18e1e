//! The machine on which a job of many nodes was started: it lists, plans, deals out, and keeps the one record.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Interval;

use super::deal::{Deal, Dealt};
use super::parted::PARTED_MIN;
use super::record::{NodeRecord, merge};
use super::spread::{Seen, spread};
use super::wire::{Beat, NodeEnd, ShardResult, Spec, packed, unpacked};
use crate::checksum::ChecksumMode;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{
    AttemptRecord, Clock, Event, Failure, JobStarted, ObjectRecord, Outcome, Progress, Summary,
};
use crate::gate::{Allowance, Gate, through};
use crate::http::Cap;
use crate::job::flow::check::check;
use crate::job::flow::{job_name, next_row, node_name};
use crate::job::handle::{EVENTS, JobHandle};
use crate::options::{CopyOptions, Portion, Work};
use crate::receipt::{ReceiptHead, ReceiptWriter};
use crate::stage::list::{Filter, Listed, Listing};
use crate::stage::plan::{Decision, Existing, Pair, decide};
use crate::stage::record::{Recorder, Sinks};
use crate::stage::transfer::look_at;
use crate::store::{Address, Request, StoreOpener};
use crate::task::{joined, off_thread};

/// How often the progress is put together.
const TICK: Duration = Duration::from_millis(200);

/// Names taken at once.
const BATCH: usize = 256;

/// The rows of what this machine itself asks for, until those of the nodes have come.
const OWN_RECORD: &str = "coordinator.parquet";

/// How long nodes may take to stop before the job ends without a word of theirs.
const STOP_PATIENCE: Duration = Duration::from_secs(12);

/// What is to be done next by whoever carries shards to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Deal out shards, and bring what became of them.
    Deal,
    /// All objects have ended: end the nodes, bring what they say, then [`Coordinator::finish`].
    Close,
    /// The job was stopped: cancel the nodes, then the same.
    Stop,
    /// There is nothing more to do.
    Ended,
}

/// What a node has told of itself.
#[derive(Debug, Default)]
struct NodeSeen {
    progress: Progress,
    shards: usize,
    learnt: Option<f64>,
    /// Payload of the objects that it has finished, and of those that a process of the same name had before it was lost.
    finished: u64,
    before: u64,
    /// Start of the job in this process of that name.
    began_unix_ns: u64,
    lost: bool,
    /// Its clock less ours, in nanoseconds.
    clock_ns: i64,
    end: Option<NodeEnd>,
    record: Option<Bytes>,
}

/// What whoever carries shards and the job share.
struct Shared {
    deal: Mutex<Deal>,
    nodes: Mutex<BTreeMap<String, NodeSeen>>,
    phase: watch::Sender<Phase>,
    /// What ended the work of all nodes before its end.
    failure: Mutex<Option<Failure>>,
    options: CopyOptions,
    cap: Cap,
    began_unix_ns: u64,
}

/// What is told to the job.
enum Message {
    Ended(Vec<ObjectRecord>),
    Warning(String, String),
    Finish,
}

/// The side of a job of many nodes that deals out what they shall do. Clones are the same.
///
/// Any thread may call it, and nothing waits. It knows nodes by the names that they tell.
#[derive(Clone)]
pub struct Coordinator {
    shared: Arc<Shared>,
    messages: mpsc::UnboundedSender<Message>,
    spec: Arc<Vec<u8>>,
    job: Arc<str>,
    names: Arc<Vec<String>>,
}

impl fmt::Debug for Coordinator {
    /// Without the names, which may hold signatures.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("job", &self.job)
            .field("phase", &self.phase())
            .finish_non_exhaustive()
    }
}

impl Coordinator {
    /// Starts a copy that nodes are to do; the handle is as that of a job on one machine. A session of `options` serves what is asked
    /// here, and does not travel. Where `listen` is set its events must be
    /// taken. Must be called on a runtime.
    ///
    /// # Errors
    /// What is wrong before anything is asked of a store, and what several machines cannot do: streams, memory, stores without a
    /// name elsewhere, secrets that would have to travel.
    pub fn start(work: Work, options: CopyOptions, listen: bool) -> Result<(JobHandle, Self)> {
        check(&work, &options)?;
        let (to_service, begins) = check_places(&work, &options)?;
        let work = absolute(work, &options)?;
        let gate = Gate::new(options.max_memory.bytes());
        let clock = gate.clock();
        let opener = StoreOpener::through(options.store.clone(), gate.clone())?;
        let job = job_name();
        let spec = Spec::new(&job, &work, &options, clock.began_unix_ns())?;
        let names = Arc::new(names_of(&work));
        let (cancel, cancelled) = watch::channel(false);
        let (sender, events) = listen.then(|| mpsc::channel(EVENTS)).unzip();
        let sinks = Sinks {
            job: Arc::clone(&job),
            node: node_name(&options.node),
            attempts: false,
            all: sender.into_iter().collect(),
        };
        let scratch = options.record.is_some().then(tempfile::tempdir).transpose();
        let scratch = scratch.map_err(|e| Error::from_io("create", "a folder for the record", e))?;
        let own_record = scratch.as_ref().map(|folder| folder.path().join(OWN_RECORD));
        let mut recorder = Recorder::new("copy", clock, sinks, own_record.as_deref())?;
        if let Some(path) = &options.receipt {
            let (sources, destination) = work.names();
            let head = ReceiptHead::new(sources, destination, clock.began_unix_ns());
            recorder.keep_receipt(ReceiptWriter::create(path, head)?);
        }
        let progress = Arc::new(Mutex::new(Progress::default()));
        let (messages, told) = mpsc::unbounded_channel();
        let (phase, _) = watch::channel(Phase::Deal);
        let deal = Deal::new(&work, &options, to_service, begins, clock.began_unix_ns());
        let shared = Arc::new(Shared {
            deal: Mutex::new(deal),
            nodes: Mutex::default(),
            phase,
            failure: Mutex::default(),
            cap: opener.cap(),
            began_unix_ns: clock.began_unix_ns(),
            options,
        });
        let beside = recorder.wants_attempts().then(|| gate.keep_rows());
        let run = Run {
            scratch,
            gate: gate.clone(),
            beside,
            work,
            opener,
            clock,
            recorder,
            cancelled,
            told,
            shared: Arc::clone(&shared),
            progress: Arc::clone(&progress),
        };
        let cap = shared.cap.clone();
        let task: JoinHandle<Result<Summary>> = tokio::spawn(run.run());
        let handle = JobHandle::of(events, progress, cancel, cap, gate, task);
        Ok((handle, Self { shared, messages, spec: Arc::new(packed(&spec)?), job, names }))
    }

    /// The random name of the job.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// Sources and destination as the user wrote them, secrets and all.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What each node must be started with.
    pub fn spec(&self) -> &[u8] {
        &self.spec
    }

    /// What is to be done next.
    pub fn phase(&self) -> Phase {
        *self.shared.phase.borrow()
    }

    /// The next shard for one of so many nodes; `None` where there is nothing to deal out now.
    ///
    /// # Errors
    /// None that could be mended.
    pub fn next(&self, nodes: usize) -> Result<Option<Dealt>> {
        if self.phase() != Phase::Deal {
            return Ok(None);
        }
        let Some(shard) = locked(&self.shared.deal).next(nodes) else { return Ok(None) };
        let (id, objects, bytes) = (shard.id, shard.items.len(), shard.bytes());
        Ok(Some(Dealt { id, objects, bytes, shard: packed(&shard)? }))
    }

    /// Takes in what became of a shard.
    ///
    /// # Errors
    /// `Protocol` for what no node of this version says.
    pub fn came(&self, result: &[u8]) -> Result<()> {
        let ShardResult { shard, node, began_unix_ns, mut objects } = unpacked(result)?;
        let shift = self.shared.shift_of(&node, began_unix_ns);
        for object in &mut objects {
            object.started_ns = object.started_ns.saturating_add_signed(shift);
            object.ended_ns = object.ended_ns.saturating_add_signed(shift);
        }
        let finished: u64 = objects.iter().map(payload).sum();
        {
            let mut nodes = locked(&self.shared.nodes);
            let seen = nodes.entry(node).or_default();
            match began_unix_ns >= seen.began_unix_ns {
                true => seen.finished += finished,
                false => seen.before += finished,
            }
        }
        let ended = locked(&self.shared.deal).came(shard, objects);
        self.tell(Message::Ended(ended));
        Ok(())
    }

    /// Takes in a sign of life.
    ///
    /// # Errors
    /// As for [`Self::came`].
    pub fn beat(&self, beat: &[u8]) -> Result<()> {
        let Beat { node, began_unix_ns, progress, shards, learnt } = unpacked(beat)?;
        let mut nodes = locked(&self.shared.nodes);
        let seen = nodes.entry(node).or_default();
        if began_unix_ns > seen.began_unix_ns {
            seen.before += std::mem::take(&mut seen.finished);
            seen.began_unix_ns = began_unix_ns;
        }
        (seen.progress, seen.shards, seen.learnt, seen.lost) = (progress, shards, learnt, false);
        Ok(())
    }

    /// What a node's clock says less what ours says, in nanoseconds.
    pub fn clock(&self, node: &str, offset_ns: i64) {
        locked(&self.shared.nodes).entry(node.to_owned()).or_default().clock_ns = offset_ns;
    }

    /// A node is gone.
    pub fn gone(&self, node: &str) {
        let known = locked(&self.shared.nodes).get_mut(node).map(|seen| (seen.lost, seen.lost = true).0);
        if known == Some(false) && self.phase() == Phase::Deal {
            let words = "this node is gone; others do what it has not finished";
            self.tell(Message::Warning(node.to_owned(), words.to_owned()));
        }
    }

    /// Has the job warn of something.
    pub fn warn(&self, object: &str, words: &str) {
        self.tell(Message::Warning(object.to_owned(), words.to_owned()));
    }

    /// The node that had this shard is lost: another will get it, until it has cost three.
    pub fn lost(&self, shard: u64) {
        let ended = locked(&self.shared.deal).lost(shard);
        self.tell(Message::Ended(ended));
    }

    /// This shard could not be moved at all.
    pub fn failed(&self, shard: u64, error: &Error) {
        let ended = locked(&self.shared.deal).fail(shard, &Failure::from(error));
        self.tell(Message::Ended(ended));
    }

    /// What each node may take of what all share, as it is now; empty where nothing is bounded.
    pub fn allowances(&self) -> Vec<(String, Allowance)> {
        let nodes = locked(&self.shared.nodes);
        let live: Vec<_> = nodes.iter().filter(|(_, seen)| !seen.lost && seen.end.is_none()).collect();
        let seen: Vec<_> =
            live.iter().map(|(_, seen)| Seen { busy: seen.shards > 0, learnt: seen.learnt }).collect();
        let spread = spread(self.shared.cap.get(), &seen);
        live.into_iter().map(|(name, _)| name.clone()).zip(spread).collect()
    }

    /// The work of all nodes cannot go on: the job ends with this.
    pub fn fail(&self, error: &Error) {
        locked(&self.shared.failure).get_or_insert_with(|| Failure::from(error));
        self.shared.set(Phase::Stop);
    }

    /// Takes in how a node ended, and its record where there is one.
    ///
    /// # Errors
    /// As for [`Self::came`].
    pub fn ended(&self, end: &[u8], record: Option<Vec<u8>>) -> Result<()> {
        let end: NodeEnd = unpacked(end)?;
        let mut nodes = locked(&self.shared.nodes);
        let seen = nodes.entry(end.node.clone()).or_default();
        (seen.record, seen.end) = (record.map(Bytes::from), Some(end));
        Ok(())
    }

    /// All nodes that could be asked have said how they ended: now the job ends.
    pub fn finish(&self) {
        self.tell(Message::Finish);
    }

    fn tell(&self, message: Message) {
        // The job is gone where it was dropped: then nobody wants to know.
        let _ = self.messages.send(message);
    }
}

impl Shared {
    fn set(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let later = match *now {
                Phase::Deal => true,
                Phase::Close => matches!(phase, Phase::Stop | Phase::Ended),
                Phase::Stop | Phase::Ended => phase == Phase::Ended,
            };
            if later {
                *now = phase;
            }
            later
        });
    }

    /// What is to be added to times of a node, so that they count from the beginning of the job.
    fn shift_of(&self, node: &str, began_unix_ns: u64) -> i64 {
        let clock_ns = locked(&self.nodes).get(node).map_or(0, |seen| seen.clock_ns);
        began_unix_ns.wrapping_sub(self.began_unix_ns).cast_signed().saturating_sub(clock_ns)
    }
}

/// What the job takes in.
enum Happened {
    /// Names were found; none where there are no more.
    Found(Vec<Listed>),
    /// Something was told of the nodes; nothing where whoever carries shards is gone.
    Told(Option<Message>),
    /// A request of this machine has ended.
    Beside(Box<AttemptRecord>),
    /// It is time to look how far all have come.
    Tick,
    /// The job is to stop.
    Stopped,
}

/// The job itself.
struct Run {
    work: Work,
    opener: StoreOpener,
    clock: Clock,
    recorder: Recorder,
    cancelled: watch::Receiver<bool>,
    told: mpsc::UnboundedReceiver<Message>,
    shared: Arc<Shared>,
    progress: Arc<Mutex<Progress>>,
    gate: Gate,
    /// The rows of requests of this machine.
    beside: Option<mpsc::Receiver<AttemptRecord>>,
    /// Where its own record is.
    scratch: Option<TempDir>,
}

impl Run {
    async fn run(mut self) -> Result<Summary> {
        self.announce().await;
        let (sender, mut found) = mpsc::channel(1000);
        let listing = self.listing(sender)?;
        let work = self.work.clone();
        let mut listing = tokio::spawn(async move { listing.run(&work).await });
        let mut ticks = tokio::time::interval(TICK);
        let (mut listed, mut outcome, mut stopped_at) = (false, Ok(()), None);
        let shared = Arc::clone(&self.shared);
        loop {
            let stopped = *shared.phase.borrow() == Phase::Stop;
            let room = !listed && !stopped && locked(&shared.deal).has_room();
            match self.next(&mut found, room, &mut ticks, stopped).await {
                Happened::Found(batch) if batch.is_empty() => {
                    listed = true;
                    outcome = joined((&mut listing).await).and_then(|ended| ended);
                    let ended = locked(&shared.deal).listed(outcome.is_ok());
                    self.take_in(ended).await;
                }
                Happened::Found(batch) => {
                    for listed in batch {
                        self.plan(listed).await;
                    }
                }
                Happened::Told(Some(Message::Ended(ended))) => self.take_in(ended).await,
                Happened::Told(Some(Message::Warning(node, words))) => {
                    self.recorder.warn(node.into(), words).await;
                }
                Happened::Told(Some(Message::Finish) | None) => break,
                Happened::Beside(row) => self.recorder.attempt(|| *row).await,
                Happened::Tick => self.sample(listed),
                Happened::Stopped => shared.set(Phase::Stop),
            }
            if locked(&shared.deal).is_too_large() && !stopped {
                locked(&shared.failure).get_or_insert_with(too_large);
                shared.set(Phase::Stop);
            }
            if *shared.phase.borrow() == Phase::Stop {
                locked(&shared.deal).stop();
                // Whoever carries shards may itself wait for what does not answer.
                if stopped_at.get_or_insert_with(Instant::now).elapsed() > STOP_PATIENCE {
                    break;
                }
            } else if locked(&shared.deal).is_done() {
                shared.set(Phase::Close);
            }
        }
        drop(found);
        listing.abort();
        let ended = self.finish(listed, outcome).await;
        shared.set(Phase::Ended);
        ended
    }

    /// Waits until something happens.
    async fn next(
        &mut self,
        found: &mut mpsc::Receiver<Listed>,
        room: bool,
        ticks: &mut Interval,
        stopped: bool,
    ) -> Happened {
        let mut batch = Vec::new();
        tokio::select! {
            _ = found.recv_many(&mut batch, BATCH), if room => Happened::Found(batch),
            message = self.told.recv() => Happened::Told(message),
            row = next_row(&mut self.beside) => Happened::Beside(Box::new(row)),
            _ = ticks.tick() => Happened::Tick,
            // A handle that is gone has cancelled on its way out.
            _ = self.cancelled.wait_for(|cancelled| *cancelled), if !stopped => Happened::Stopped,
        }
    }

    fn listing(&self, found: mpsc::Sender<Listed>) -> Result<Listing> {
        let options = &self.shared.options;
        let filter = Filter::new(&options.include, &options.exclude)?;
        let outputs = [&options.record, &options.receipt].into_iter().flatten().cloned().collect();
        Ok(Listing::new(self.opener.clone(), filter, options.overwrite, found).without(outputs))
    }

    async fn announce(&mut self) {
        let (sources, destination) = self.work.names();
        let started = JobStarted {
            job: self.recorder.job(),
            node: self.recorder.node(),
            operation: "copy",
            sources,
            destination,
            started_unix_ns: self.clock.began_unix_ns(),
            version: env!("CARGO_PKG_VERSION"),
        };
        self.recorder.say(Event::JobStarted(started)).await;
    }

    async fn plan(&mut self, listed: Listed) {
        let now = self.clock.now_ns();
        match listed {
            Listed::Pair(mut pair) => {
                if let Err(error) = self.look(&mut pair).await {
                    let id = locked(&self.shared.deal).problem();
                    return self.recorder.object(ObjectRecord::problem(id, &error, now)).await;
                }
                let skipped = locked(&self.shared.deal).add(*pair, &self.shared.options, now);
                self.take_in(skipped.into_iter().collect()).await;
            }
            Listed::Problem(error) => {
                let id = locked(&self.shared.deal).problem();
                self.recorder.object(ObjectRecord::problem(id, &error, now)).await;
            }
            Listed::NotAFile(error) => {
                let id = locked(&self.shared.deal).number();
                self.recorder.warn(error.object_name().into(), format!("skipped: {}", error.cause())).await;
                self.recorder.object(ObjectRecord::not_a_file(id, &error, now)).await;
            }
            // Only comparisons speak of these.
            Listed::Extra(_) | Listed::Unsure { .. } => {}
        }
    }

    /// Learns of an object that several nodes may move what is at its destination: others are looked at by the node that moves them.
    async fn look(&self, pair: &mut Pair) -> Result<()> {
        let is_parted = pair.meta.size >= PARTED_MIN;
        if !is_parted || decide(pair, self.shared.options.overwrite) != Decision::Look {
            return Ok(());
        }
        let to = &pair.destination;
        let api = to.store.api(Request::Look);
        let seen = through!(self.gate, api, to.name(), trace => look_at(pair, trace).await)?;
        (pair.existing, pair.looked_at) = (Existing::looked(seen.0), true);
        if let Some(told) = seen.1 {
            pair.meta = told;
        }
        Ok(())
    }

    async fn take_in(&mut self, ended: Vec<ObjectRecord>) {
        for record in ended {
            self.recorder.object(record).await;
        }
    }

    /// Puts together how far all have come.
    fn sample(&mut self, listed: bool) {
        let summary = self.recorder.summary();
        let mut sample = Progress {
            elapsed_ns: self.clock.now_ns(),
            listed,
            objects_done: summary.objects_done + summary.objects_skipped + summary.objects_failed,
            objects_failed: summary.objects_failed,
            objects_skipped: summary.objects_skipped,
            ..Progress::default()
        };
        {
            let deal = locked(&self.shared.deal);
            (sample.objects_total, sample.bytes_total) = (deal.objects(), deal.bytes_found());
        }
        for seen in locked(&self.shared.nodes).values() {
            sample.bytes_done += seen.before;
            match seen.lost {
                true => sample.bytes_done += seen.finished,
                false => {
                    sample.bytes_done += seen.progress.bytes_done;
                    sample.rate_bits_per_second += seen.progress.rate_bits_per_second;
                    sample.in_flight += seen.progress.in_flight;
                    sample.slowest.extend(seen.progress.slowest.iter().cloned());
                }
            }
            sample.retries += seen.progress.retries;
        }
        sample.bytes_done = sample.bytes_done.min(sample.bytes_total);
        sample.slowest.sort_unstable_by_key(|slow| std::cmp::Reverse(slow.age_ns));
        sample.slowest.truncate(3);
        let left = (sample.bytes_total - sample.bytes_done) as f64 * 8.0;
        let rate = sample.rate_bits_per_second as f64;
        sample.eta_ns = (listed && (rate > 0.0 || left == 0.0)).then(|| (left / rate.max(1.0) * 1e9) as u64);
        self.recorder.sample(&sample);
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = sample;
    }

    async fn finish(mut self, listed: bool, outcome: Result<()>) -> Result<Summary> {
        while let Ok(message) = self.told.try_recv() {
            if let Message::Ended(ended) = message {
                self.take_in(ended).await;
            }
        }
        self.sample(listed);
        let failure = locked(&self.shared.failure).take();
        let interrupted = *self.shared.phase.borrow() == Phase::Stop && failure.is_none();
        if let Err(error) = &outcome {
            self.recorder.failure(Failure::from(error));
        }
        let failure = failure.or_else(|| {
            let left = !interrupted && outcome.is_ok() && !(listed && locked(&self.shared.deal).is_done());
            left.then(left_undone)
        });
        if let Some(failure) = &failure {
            let left = locked(&self.shared.deal).abandon(failure);
            if left.is_empty() {
                self.recorder.failure(failure.clone());
            }
            self.take_in(left).await;
        }
        let nodes = std::mem::take(&mut *locked(&self.shared.nodes));
        let silent: Vec<&String> =
            nodes.iter().filter(|(_, seen)| seen.end.is_none()).map(|(name, _)| name).collect();
        if !silent.is_empty() && !interrupted {
            self.flush_for_others().await;
            let names: Vec<_> = silent.iter().map(|name| name.as_str()).collect();
            let words = "what they sent and their rows of the record are not counted".to_owned();
            self.recorder.warn(names.join(", ").into(), words).await;
        }
        let wire =
            self.count_nodes(&nodes).await + self.opener.meter().sent() + self.opener.meter().received();
        let total = locked(&self.shared.deal).objects();
        let words = if nodes.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", nodes.len()) };
        let recorded = self.write_record(nodes).await;
        if let Err(error) = &recorded {
            self.recorder.failure(Failure::from(error));
        }
        let summary = self.recorder.finish(interrupted, total, wire, words).await?;
        match (failure, outcome) {
            (Some(failure), _) if summary.objects_done + summary.objects_skipped == 0 => {
                Err(Error::from(&failure))
            }
            (_, Err(error)) if total == 0 => Err(error),
            _ => Ok(summary),
        }
    }

    /// Brings to the disk what nodes have written that could not do so themselves any more, as far as this machine can.
    async fn flush_for_others(&mut self) {
        let Work::Copy { destination, .. } = &self.work else { return };
        let options = &self.shared.options.store;
        let (true, Ok(Address::Local(path))) = (options.flush, Address::parse(destination, options)) else {
            return;
        };
        let flushed = off_thread(move || {
            let there = path.ancestors().find(|path| path.is_dir()).map(std::fs::File::open);
            there.map_or(Ok(()), |folder| rustix::fs::syncfs(folder?).map_err(std::io::Error::from))
        });
        if let Err(error) =
            flushed.await.and_then(|done| done.map_err(|e| Error::from_io("flush", "files", e)))
        {
            self.recorder.not_on_disk(&error);
        }
    }

    /// Adds what the nodes say of the wire; the bytes on it.
    async fn count_nodes(&mut self, nodes: &BTreeMap<String, NodeSeen>) -> u64 {
        let mut wire = 0;
        // Parts that were committed were sent by this job, and are not what an earlier one has left.
        let mut committed = locked(&self.shared.deal).committed();
        let mut told: HashMap<String, u64> = HashMap::new();
        for end in nodes.values().filter_map(|seen| seen.end.as_ref()) {
            wire += end.summary.bytes_wire;
            let found = end.summary.bytes_resumed;
            let bytes_resumed = found.saturating_sub(committed);
            committed -= committed.min(found);
            self.recorder.count_node(&Summary { bytes_resumed, ..end.summary.clone() });
            // What failed as files were brought to the disk is no object's end.
            let of_node =
                end.failure.iter().chain(end.summary.failures.iter().filter(|f| f.operation == "flush"));
            for failure in of_node {
                self.recorder.not_on_disk(&Error::from(failure));
            }
            for warning in &end.summary.warnings {
                *told.entry(warning.clone()).or_default() += 1;
            }
        }
        let mut told: Vec<_> = told.into_keys().collect();
        told.sort_unstable();
        for warning in told {
            let (object, message) = warning.split_once(": ").unwrap_or(("node", &warning));
            self.recorder.warn(object.into(), message.to_owned()).await;
        }
        wire
    }

    /// Writes the record of all nodes.
    async fn write_record(&mut self, nodes: BTreeMap<String, NodeSeen>) -> Result<()> {
        if let Some(mut rows) = self.beside.take() {
            rows.close();
            while let Some(row) = rows.recv().await {
                self.recorder.attempt(|| row).await;
            }
        }
        self.recorder.count_beside(self.gate.counted());
        let (Some(path), Some(scratch)) = (self.shared.options.record.clone(), self.scratch.take()) else {
            return Ok(());
        };
        self.recorder.close_rows().await?;
        let own = std::fs::read(scratch.path().join(OWN_RECORD));
        let own = own.map_err(|e| Error::from_io("read", "the record of this machine", e))?;
        let began = self.shared.began_unix_ns;
        let mut records = vec![NodeRecord { rows: Bytes::from(own), shift_ns: 0 }];
        for seen in nodes.into_values() {
            if let (Some(rows), Some(end)) = (seen.record, seen.end) {
                let shift = end.began_unix_ns.wrapping_sub(began).cast_signed().saturating_sub(seen.clock_ns);
                records.push(NodeRecord { rows, shift_ns: shift });
            }
        }
        let shared = Arc::clone(&self.shared);
        off_thread(move || {
            let deal = locked(&shared.deal);
            merge(&path, &records, |id| deal.object_of(id))
        })
        .await?
    }
}

/// Why objects failed that nobody has moved.
fn left_undone() -> Failure {
    let cause = "the nodes ended before it was moved";
    let hint = "run the same command again; what has arrived is not sent again";
    Failure::from(&Error::new(ErrorKind::NodeLost, "copy", "the nodes", cause).hint(hint))
}

/// Why a collection is not copied at once.
fn too_large() -> Failure {
    let cause = "more than 100000 objects cannot be committed together";
    let error = Error::new(ErrorKind::Unsupported, "copy", "the collection", cause);
    Failure::from(&error.hint("copy it in parts, or without --atomic"))
}

/// Payload that a node has moved for an object.
fn payload(record: &ObjectRecord) -> u64 {
    match record.outcome {
        Outcome::Copied => record.size_bytes,
        Outcome::Staged => record.parts.iter().map(|part| part.size_bytes).sum(),
        _ => 0,
    }
}

fn names_of(work: &Work) -> Vec<String> {
    match work {
        Work::Copy { sources, destination } => sources.iter().chain([destination]).cloned().collect(),
        Work::CopyPairs(pairs) => pairs.iter().flat_map(|(from, to)| [from.clone(), to.clone()]).collect(),
        Work::Verify { .. } | Work::Fed(_) => Vec::new(),
    }
}

/// Refuses what only this process can reach; whether a service is written to, and one that keeps uploads.
fn check_places(work: &Work, options: &CopyOptions) -> Result<(bool, bool)> {
    let usage = |name: &str, cause: &str| Error::new(ErrorKind::Unsupported, "run", name, cause);
    if options.portion != Portion::All {
        return Err(usage("portion", "nodes are given portions by themselves").hint("copy the whole object"));
    }
    if options.atomic && options.checksum == ChecksumMode::None {
        return Err(usage("--atomic", "parts that several nodes stage are told apart by their CRC64")
            .hint("leave out --checksum none"));
    }
    if options.source_etag.is_some() {
        return Err(usage("source_etag", "nodes are given versions by themselves").hint("leave it out"));
    }
    if options.profile.is_some() {
        return Err(usage("--profile", "a profile is of the link of one machine")
            .hint("leave it out: each node follows its own link"));
    }
    if options.store.keys.is_some() {
        return Err(usage("credentials", "credentials of this process do not travel to other nodes")
            .hint("set them in the environment of each node, or use a managed identity"));
    }
    let names: Vec<(&String, bool)> = match work {
        Work::Copy { sources, destination } => {
            sources.iter().map(|source| (source, false)).chain([(destination, true)]).collect()
        }
        Work::CopyPairs(pairs) => {
            pairs.iter().flat_map(|(source, destination)| [(source, false), (destination, true)]).collect()
        }
        Work::Verify { .. } | Work::Fed(_) => {
            return Err(usage("verify", "only copies are shared out among nodes"));
        }
    };
    let (mut to_service, mut begins) = (true, false);
    for (name, is_destination) in names {
        let address = Address::parse(name, &options.store)?;
        let stream =
            address.clone().source_stream().is_some() || address.clone().destination_stream().is_some();
        match &address {
            Address::Memory { .. } => {
                return Err(usage(name, "memory is seen by this process alone").hint("copy without nodes"));
            }
            _ if stream => {
                return Err(usage(name, "a stream goes through one process").hint("copy it without nodes"));
            }
            Address::Azure(_) => {}
            Address::S3(_) => begins |= is_destination,
            Address::Local(_) | Address::Stdio => to_service &= !is_destination,
        }
    }
    Ok((to_service, begins))
}

/// The same work with local paths in full: other processes stand in other folders.
fn absolute(work: Work, options: &CopyOptions) -> Result<Work> {
    let full = |name: String| -> Result<String> {
        let Address::Local(path) = Address::parse(&name, &options.store)? else { return Ok(name) };
        // As a folder, whether or not it is there.
        let into = name.ends_with('/') || name.ends_with("/.") || name == ".";
        let path = std::path::absolute(&path).map_err(|e| Error::from_io("open", &*name, e))?;
        let text = path.to_str().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "open", &*name, "the name of its folder is not valid UTF-8")
        })?;
        Ok(if into && !text.ends_with('/') { format!("{text}/") } else { text.to_owned() })
    };
    Ok(match work {
        Work::Copy { sources, destination } => Work::Copy {
            sources: sources.into_iter().map(full).collect::<Result<_>>()?,
            destination: full(destination)?,
        },
        Work::CopyPairs(pairs) => Work::CopyPairs(
            pairs.into_iter().map(|(from, to)| Ok((full(from)?, full(to)?))).collect::<Result<_>>()?,
        ),
        other => other,
    })
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is whole before the next call that could panic.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
