//! What one machine plans and another moves: shards of a job, and how they come to a job that waits for them.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use super::{Portion, Work};
use crate::error::Result;
use crate::store::ObjectMeta;

/// Objects that are moved together by one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shard {
    /// Number of the shard in its job.
    pub(crate) id: u64,
    /// Sources and destinations, each pair once: where the items are, and where they go.
    pub(crate) places: Vec<(Root, Root)>,
    pub(crate) items: Vec<Item>,
}

impl Shard {
    /// Payload that it moves.
    pub(crate) fn bytes(&self) -> u64 {
        self.items.iter().fold(0, |sum, item| sum.saturating_add(item.bytes()))
    }
}

/// What keys count from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Root {
    /// The store of this URL, as the user wrote it.
    Url(String),
    /// This folder. Whether a path is one may change once the first file is there, so it is not asked again. Of links in it only the
    /// one that the user has named is followed, unless all are.
    Folder { path: PathBuf, named: String },
}

/// An object, or a portion of one, as it was planned.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    /// Which of the places of the shard.
    pub(crate) place: usize,
    /// Its key at the destination, and where in it the name below what the user wrote begins.
    pub(crate) to: String,
    pub(crate) name_at: usize,
    /// The source as it was listed, with its key.
    pub(crate) meta: ObjectMeta,
    /// Whether the destination is still to be asked what is there.
    pub(crate) look: bool,
    pub(crate) assigned: Assigned,
    /// Why it moves, where that was known before a node got it; stays with whoever dealt it out.
    #[serde(skip)]
    pub(crate) reason: Option<&'static str>,
    /// How often a node has given it back as it was.
    pub(crate) returned: u32,
}

impl Item {
    /// The same, for another node than the one that has had it since then.
    pub(crate) fn again(mut self, since_ns: i128) -> Self {
        self.assigned.since_ns = Some(since_ns);
        // What is only staged is found by whoever goes on with it; what that node may have put in place must be looked for.
        self.look |= !matches!(self.assigned.portion, Portion::Stretch(_));
        self
    }

    /// Payload that it moves.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.assigned.portion {
            Portion::All => self.meta.size,
            Portion::Stretch(stretch) => stretch.len,
            Portion::Commit(_) => 0,
        }
    }
}

/// What a node is told of an object besides where it is and where it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Assigned {
    /// Its number, which no other portion has.
    pub(crate) id: u64,
    /// The number of its object in the job of all nodes.
    pub(crate) object: u64,
    pub(crate) portion: Portion,
    /// The size of its blocks, where several nodes stage some.
    pub(crate) block: Option<u64>,
    /// Another node has had it, and is lost: what was written since then, in nanoseconds since 1970, is the work of that one.
    pub(crate) since_ns: Option<i128>,
}

/// A shard on its way into a job, and whom to tell whether its places could be opened.
pub(crate) type Given = (Shard, oneshot::Sender<Result<()>>);

/// Shards that may wait to be taken in.
const WAITING: usize = 4;

/// Where a job gets its objects from that another machine plans, a shard at a time.
#[derive(Clone)]
pub struct Feed {
    shards: Arc<Mutex<Option<mpsc::Receiver<Given>>>>,
    /// Work of the same kind, with the first source and the destination that the user wrote.
    pub(crate) like: Box<Work>,
}

impl Feed {
    /// A feed, and the end into which shards go. The job ends when that is dropped and all is moved.
    pub(crate) fn new(like: Work) -> (mpsc::Sender<Given>, Self) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (sender, Self { shards: Arc::new(Mutex::new(Some(receiver))), like: Box::new(like) })
    }

    /// What comes; nothing where it was taken before.
    pub(crate) fn take(&self) -> Option<mpsc::Receiver<Given>> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Feed({:?})", self.like)
    }
}
