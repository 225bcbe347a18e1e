//! A node: one job of the engine that moves the shards it is given.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::shared::locked;
use super::spread::{forgotten, waiting};
use super::wire::{Beat, NodeEnd, ShardResult, Spec, packed, unpacked};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Failure, ObjectRecord, Progress, Summary, Told};
use crate::gate::Allowance;
use crate::job::{Job, JobHandle, Lease};
use crate::options::{CopyOptions, Feed, Given, Shard, Work};
use crate::store::Session;

/// Events that may wait to be sorted by shard.
const EVENTS: usize = 4096;

/// How long a node waits for its share of a cap: whoever deals out shards tells it with the second beat.
const SHARE_PATIENCE: Duration = Duration::from_secs(5);

/// Shards that are under way, by their numbers, and the rest of the job.
#[derive(Default)]
struct Shards {
    /// Which shard an item is of.
    of_item: HashMap<u64, u64>,
    open: HashMap<u64, Open>,
    /// The job has ended: nothing more will come.
    ended: bool,
}

/// A shard that is under way.
struct Open {
    left: usize,
    objects: Vec<ObjectRecord>,
    done: Option<oneshot::Sender<Vec<ObjectRecord>>>,
}

impl Shards {
    /// Takes in a shard that is to be moved; whether it is being moved already, since somebody asked who has gone away.
    fn add(&mut self, shard: &Shard) -> Result<(oneshot::Receiver<Vec<ObjectRecord>>, bool)> {
        if self.ended {
            let cause = "the job on this node has ended";
            return Err(Error::new(ErrorKind::Cancelled, "run", format!("shard {}", shard.id), cause));
        }
        let (done, ended) = oneshot::channel();
        if let Some(open) = self.open.get_mut(&shard.id) {
            open.done = Some(done);
            return Ok((ended, true));
        }
        self.of_item.extend(shard.items.iter().map(|item| (item.assigned.id, shard.id)));
        let left = shard.items.len();
        self.open.insert(shard.id, Open { left, objects: Vec::with_capacity(left), done: Some(done) });
        Ok((ended, false))
    }

    fn ended(&mut self, record: ObjectRecord) {
        let Some(id) = self.of_item.remove(&record.object_id) else { return };
        let Some(open) = self.open.get_mut(&id) else { return };
        open.objects.push(record);
        open.left -= 1;
        if open.left == 0 {
            self.close(id);
        }
    }

    /// Gives what became of a shard to whoever waits for it.
    fn close(&mut self, id: u64) {
        if let Some(Open { objects, done: Some(done), .. }) = self.open.remove(&id) {
            // Nobody waits where the node is being stopped.
            let _ = done.send(objects);
        }
    }

    /// No more records will come.
    fn end(&mut self) {
        self.ended = true;
        self.of_item.clear();
        let open: Vec<u64> = self.open.keys().copied().collect();
        open.into_iter().for_each(|id| self.close(id));
    }
}

/// One of several machines, or processes, that do a job together. It runs until it is [ended](Self::end) or dropped.
pub struct Node {
    name: String,
    began_unix_ns: u64,
    since_ns: i128,
    shards: Arc<Mutex<Shards>>,
    feed: Mutex<Option<mpsc::Sender<Given>>>,
    handle: Mutex<Option<JobHandle>>,
    lease: Lease,
    /// It was told what it may take.
    told: Arc<AtomicBool>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.name)
    }
}

impl Node {
    /// Begins with what the [`Coordinator`](super::Coordinator) says of the job. Connections and credentials are those of `session`,
    /// else what the environment of this process says. Where rows for every attempt are wanted they go to `record`. Must be called on
    /// a runtime.
    ///
    /// # Errors
    /// What is wrong with the options here: a file of certificates that is not there, no room for the record.
    pub fn start(spec: &[u8], name: &str, session: Option<Session>, record: Option<PathBuf>) -> Result<Self> {
        let spec: Spec = unpacked(spec)?;
        let (feed, fed) = Feed::new(spec.like());
        let mut options = spec.options()?;
        options.store.session = session;
        let record = record.filter(|_| spec.record);
        let options = CopyOptions { record, node: name.to_owned(), ..options };
        let (told, events) = mpsc::channel(EVENTS);
        let (cap_bits, since_ns) = (spec.cap_bits, spec.since_ns);
        let handle = Job::new(Work::Fed(fed), options).tell_of_objects(told).start()?;
        let told = Arc::<AtomicBool>::default();
        if let Some(cap) = cap_bits {
            wait_for_a_share(handle.lease(), cap, Arc::clone(&told));
        }
        let shards = Arc::<Mutex<Shards>>::default();
        tokio::spawn(sort(events, Arc::clone(&shards)));
        Ok(Self {
            name: name.to_owned(),
            began_unix_ns: handle.began_unix_ns(),
            since_ns,
            lease: handle.lease(),
            told,
            shards,
            feed: Mutex::new(Some(feed)),
            handle: Mutex::new(Some(handle)),
        })
    }

    /// Moves a shard; returns what became of its objects, for [`Coordinator::came`](super::Coordinator::came). `again`: this node
    /// is not the first one that gets it.
    ///
    /// Dropped, it leaves the shard to be moved by the job, and nobody hears of it unless it is asked for again.
    ///
    /// # Errors
    /// What stopped all of it: a place that cannot be opened, a node that was stopped.
    pub fn run<'a>(&'a self, shard: &'a [u8], again: bool) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            let mut shard: Shard = unpacked(shard)?;
            let id = shard.id;
            if again {
                shard.items = shard.items.into_iter().map(|item| item.again(self.since_ns)).collect();
            }
            let stopped =
                || Error::new(ErrorKind::Cancelled, "run", format!("shard {id}"), "the node was stopped");
            let feed = locked(&self.feed).clone().ok_or_else(stopped)?;
            let (ended, is_known) = locked(&self.shards).add(&shard)?;
            let mut claim = Claim { shards: &self.shards, id, given: is_known };
            let given = match is_known {
                true => Ok(()),
                false => give(&feed, shard).await.unwrap_or_else(|| Err(stopped())),
            };
            claim.given = true;
            drop(feed);
            if let Err(error) = given {
                locked(&self.shards).close(id);
                return Err(error);
            }
            let objects = ended.await.map_err(|_| stopped())?;
            packed(&ShardResult {
                shard: id,
                node: self.name.clone(),
                began_unix_ns: self.began_unix_ns,
                objects,
            })
        })
    }

    /// A sign of life that says how far it has come, for [`Coordinator::beat`](super::Coordinator::beat).
    ///
    /// # Errors
    /// None that could be mended.
    pub fn beat(&self) -> Result<Vec<u8>> {
        let progress = locked(&self.handle).as_ref().map_or_else(Progress::default, JobHandle::progress);
        let shards = locked(&self.shards).open.len();
        let (node, learnt) = (self.name.clone(), self.lease.learnt());
        packed(&Beat { node, began_unix_ns: self.began_unix_ns, progress, shards, learnt })
    }

    /// From now on takes no more than this of what all nodes share.
    pub fn allow(&self, allowance: Allowance) {
        self.told.store(true, Ordering::Relaxed);
        self.lease.allow(allowance);
    }

    /// Whether its job has ended, by itself or because it was stopped: another node is to take its place.
    pub fn has_ended(&self) -> bool {
        locked(&self.shards).ended
    }

    /// Stops at once. What has arrived stays where it is for another to go on from.
    pub fn cancel(&self) {
        locked(&self.feed).take();
        if let Some(handle) = &*locked(&self.handle) {
            handle.cancel();
        }
    }

    /// Waits until all that it was given is done, and returns how the job on this node ended, for
    /// [`Coordinator::ended`](super::Coordinator::ended). It takes no more shards.
    ///
    /// # Errors
    /// `Cancelled` where it has ended before.
    pub fn end(&self) -> BoxFuture<'_, Result<Vec<u8>>> {
        Box::pin(async move {
            locked(&self.feed).take();
            let handle = locked(&self.handle).take();
            let ended =
                || Error::new(ErrorKind::Cancelled, "end", self.name.clone(), "the node has ended already");
            let result = handle.ok_or_else(ended)?.wait().await;
            let (summary, failure) = match result {
                Ok(summary) => (summary, None),
                Err(error) => (Summary::default(), Some(Failure::from(&error))),
            };
            packed(&NodeEnd { node: self.name.clone(), began_unix_ns: self.began_unix_ns, summary, failure })
        })
    }
}

/// A shard that is on its way into the job. Dropped before it is there, it is forgotten: it may be asked for again.
struct Claim<'a> {
    shards: &'a Mutex<Shards>,
    id: u64,
    given: bool,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if !self.given {
            locked(self.shards).close(self.id);
        }
    }
}

/// Gives a shard to the job; whether its places could be opened. `None` where the job has ended.
async fn give(feed: &mpsc::Sender<Given>, shard: Shard) -> Option<Result<()>> {
    let (opened, may_begin) = oneshot::channel();
    feed.send((shard, opened)).await.ok()?;
    may_begin.await.ok()
}

/// Holds a job back until it is told its share of the cap, or for so long that nobody will.
fn wait_for_a_share(lease: Lease, cap_bits: u64, told: Arc<AtomicBool>) {
    lease.allow(waiting(cap_bits));
    tokio::spawn(async move {
        tokio::time::sleep(SHARE_PATIENCE).await;
        if !told.load(Ordering::Relaxed) {
            lease.allow(forgotten(cap_bits));
        }
    });
}

/// Sorts what the job tells by shards.
async fn sort(mut events: mpsc::Receiver<Told>, shards: Arc<Mutex<Shards>>) {
    while let Some(told) = events.recv().await {
        if let Event::Object(record) = Arc::unwrap_or_clone(told.event) {
            locked(&shards).ended(record);
        }
    }
    locked(&shards).end();
}
