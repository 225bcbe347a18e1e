//! What the job of many nodes and whoever carries its shards share.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::deal::Deal;
use super::wire::NodeEnd;
use crate::event::{Failure, ObjectRecord, Progress};
use crate::eventlog::EventLog;
use crate::http::Cap;
use crate::options::CopyOptions;

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
pub(super) struct NodeSeen {
    pub(super) progress: Progress,
    pub(super) shards: usize,
    pub(super) learnt: Option<f64>,
    /// Payload of the objects that it has finished, and of those that a process of the same name had before it was lost.
    pub(super) finished: u64,
    pub(super) before: u64,
    /// Start of the job in this process of that name.
    pub(super) began_unix_ns: u64,
    pub(super) lost: bool,
    /// Files that it wrote are seen here too; `None` before it wrote any.
    pub(super) shares: Option<bool>,
    /// Its clock less ours, in nanoseconds.
    pub(super) clock_ns: i64,
    pub(super) end: Option<NodeEnd>,
    /// Its rows, in a file without a name: those of many nodes are too much to be held.
    pub(super) record: Option<File>,
}

impl NodeSeen {
    /// What is to be added to its times, so that they count from the beginning of the job of all. Each began by its own clock.
    pub(super) fn shift_ns(&self, began_unix_ns: u64, job_began_unix_ns: u64) -> i64 {
        began_unix_ns.wrapping_sub(job_began_unix_ns).cast_signed().saturating_sub(self.clock_ns)
    }
}

/// What whoever carries shards and the job share.
pub(super) struct Shared {
    pub(super) deal: Mutex<Deal>,
    pub(super) nodes: Mutex<BTreeMap<String, NodeSeen>>,
    pub(super) phase: watch::Sender<Phase>,
    /// What ended the work of all nodes before its end.
    pub(super) failure: Mutex<Option<Failure>>,
    pub(super) options: CopyOptions,
    pub(super) cap: Cap,
    pub(super) began_unix_ns: u64,
    pub(super) log: Option<Arc<EventLog>>,
}

/// What is told to the job.
pub(super) enum Message {
    Ended(Vec<ObjectRecord>),
    Warning(String, String),
    Finish,
}

impl Shared {
    pub(super) fn set(&self, phase: Phase) {
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
}

pub(super) fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is whole before the next call that could panic.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
