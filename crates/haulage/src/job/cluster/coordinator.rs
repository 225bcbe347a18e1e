//! The side of a job of many nodes that whoever carries its shards speaks to.

use std::fmt;
use std::io::{Seek as _, Write as _};
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::deal::{Deal, Dealt};
use super::ending::OWN_RECORD;
use super::placed::{name_node, not_seen_here, shares_files};
use super::places::{absolute, check_places, full};
use super::run::Run;
use super::shared::{Message, Phase, Shared, locked};
use super::spread::{Seen, spread};
use super::wire::{Beat, NodeEnd, ShardResult, Spec, packed, unpacked};
use crate::error::{Error, Result};
use crate::event::{Failure, ObjectRecord, Outcome, Progress, Summary};
use crate::gate::{Allowance, Gate};
use crate::job::flow::check::check;
use crate::job::handle::{EVENTS, JobHandle, stop_after};
use crate::job::logged::{Logged, with_log};
use crate::options::{CopyOptions, Work};
use crate::stage::record::{Attempts, Recorder, Sink, Sinks};
use crate::store::StoreOpener;

/// The side of a job of many nodes that deals out what they shall do. Clones are the same.
///
/// Any thread may call it, and nothing waits. It knows nodes by the names that they tell.
#[derive(Clone)]
pub struct Coordinator {
    shared: Arc<Shared>,
    messages: mpsc::UnboundedSender<Message>,
    spec: Arc<Vec<u8>>,
    job: Arc<str>,
}

impl fmt::Debug for Coordinator {
    /// Without the URLs, which may hold signatures.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("job", &self.job)
            .field("phase", &self.phase())
            .finish_non_exhaustive()
    }
}

impl Coordinator {
    /// Starts a copy that nodes are to do; the handle is as that of a job on one machine. A session of `options` serves what is asked
    /// here, and does not travel. Where `listen` is set its events must be taken. Must be called on a runtime.
    ///
    /// # Errors
    /// What is wrong before anything is asked of a store, and what several machines cannot do: streams, memory, stores without a
    /// name elsewhere, secrets that would have to travel.
    pub fn start(work: Work, mut options: CopyOptions, listen: bool) -> Result<(JobHandle, Self)> {
        check(&work, &options)?;
        let (to_service, begins) = check_places(&work, &options)?;
        let work = absolute(work, &options.store)?;
        options.log = options.log.map(|log| full(log, &options.store)).transpose()?;
        let gate = Gate::new(options.max_memory.bytes());
        let clock = gate.clock();
        let opener = StoreOpener::through(options.store.clone(), gate.clone())?;
        let (cancel, cancelled) = watch::channel(false);
        let (sender, events) = listen.then(|| mpsc::channel(EVENTS)).unzip();
        let listener = sender.map(|to| Sink { to, attempts: Attempts::None });
        let (sinks, logged) = Logged::open(&mut options, true, listener.into_iter().collect())?;
        let sinks = Sinks::of(&options.job, &options.node, sinks);
        let job = Arc::clone(&sinks.job);
        let spec = Spec::new(&work, &options, clock.began_unix_ns())?;
        let scratch = options.record.is_some().then(tempfile::tempdir).transpose();
        let scratch = scratch.map_err(|e| Error::from_io("create", "a folder for the record", e))?;
        let own_record = scratch.as_ref().map(|folder| folder.path().join(OWN_RECORD));
        let mut recorder = Recorder::new(work.operation(), clock, sinks, own_record.as_deref())?;
        if let Some(path) = &options.receipt {
            recorder.keep_receipt(path, work.names())?;
        }
        if let Some(address) = options.metrics {
            recorder.serve_metrics(address, work.direction(&options.store))?;
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
            log: logged.as_ref().map(Logged::log),
            options,
        });
        let beside = recorder.wants_attempt(true).then(|| gate.keep_rows());
        stop_after(shared.options.max_duration, &cancel);
        let run = Run {
            scratch,
            gate: gate.clone(),
            beside,
            work,
            opener,
            clock,
            recorder,
            extras: None,
            cancelled,
            told,
            shared: Arc::clone(&shared),
            progress: Arc::clone(&progress),
        };
        let cap = shared.cap.clone();
        let task: JoinHandle<Result<Summary>> = with_log(tokio::spawn(run.run()), logged);
        let handle = JobHandle::of(events, progress, cancel, cap, gate, task);
        Ok((handle, Self { shared, messages, spec: Arc::new(packed(&spec)?), job }))
    }

    /// The random name of the job.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// The URLs among sources and destinations as the user wrote them, secrets and all.
    pub fn urls(&self) -> Vec<String> {
        let log = self.shared.options.log.clone();
        locked(&self.shared.deal).urls().into_iter().chain(log).collect()
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
        let finished: u64 = objects.iter().map(payload).sum();
        let known = locked(&self.shared.nodes).get(&node).and_then(|seen| seen.shares);
        // Disks are not looked at with the lock held.
        let shares = known.or_else(|| shares_files(&objects));
        if shares == Some(false) {
            objects.iter_mut().for_each(|object| not_seen_here(object, &node));
        }
        objects.iter_mut().for_each(|object| name_node(object, &node));
        {
            let mut nodes = locked(&self.shared.nodes);
            let seen = nodes.entry(node).or_default();
            seen.shares = shares;
            let shift_ns = seen.shift_ns(began_unix_ns, self.shared.began_unix_ns);
            for object in &mut objects {
                object.started_ns = object.started_ns.saturating_add_signed(shift_ns);
                object.ended_ns = object.ended_ns.saturating_add_signed(shift_ns);
            }
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
            if let Some(log) = &self.shared.log {
                let fields = serde_json::json!({ "lost": node, "cause": "its worker is gone" });
                // An object of JSON it is.
                let _ = log.say("node_lost", &fields.to_string());
            }
            self.warn(node, "this node is gone; others do what it has not finished");
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
        let kept = |rows: Vec<u8>| {
            let mut file = tempfile::tempfile()?;
            file.write_all(&rows).and_then(|()| file.rewind()).map(|()| file)
        };
        let record = record.map(kept).transpose();
        let record = record.map_err(|e| Error::from_io("keep", format!("the record of {}", end.node), e))?;
        let mut nodes = locked(&self.shared.nodes);
        let seen = nodes.entry(end.node.clone()).or_default();
        (seen.record, seen.end) = (record, Some(end));
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

/// Payload that a node has moved for an object.
fn payload(record: &ObjectRecord) -> u64 {
    match record.outcome {
        Outcome::Copied => record.size_bytes,
        Outcome::Staged => record.parts.iter().map(|part| part.size_bytes).sum(),
        _ => 0,
    }
}
