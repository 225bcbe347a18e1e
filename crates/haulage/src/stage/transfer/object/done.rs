//! What a step came to, what follows from it, and how an object ended.

use std::sync::Arc;

use bytes::Bytes;

use crate::checksum::{Crc64, Md5, Md5Stream};
use crate::error::Error;
use crate::event::{Method, Outcome, Proof};
use crate::stage::schedule::Step;
use crate::stage::transfer::staged::Staged;
use crate::store::{BlockRange, BlockWriter, Capabilities, ObjectMeta, Part, PutResult, Stored};

/// What the job is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Copy,
    /// Compare; `stored` trusts the checksums that stores keep with their objects.
    Verify {
        stored: bool,
        /// Read the contents even where a receipt could be compared with what the store says.
        deep: bool,
    },
}

impl Purpose {
    /// Whether what stores say of their objects is enough; of a receipt there is nothing else to go by.
    pub(crate) fn trusts(self, source: &Capabilities) -> bool {
        match self {
            // A copy compares to know whether to move: what was stored with an object tells that.
            Self::Copy => true,
            Self::Verify { stored, deep } => stored || (!deep && !source.contents),
        }
    }
}

/// What a step came to.
pub(crate) enum Done {
    /// What is at the destination; `told`: what the source's list had left out.
    Looked {
        there: Option<Box<ObjectMeta>>,
        told: Option<Box<ObjectMeta>>,
    },
    /// The next bytes of a stream; fewer than were asked for where it has come to its end. `md5`: of all so far.
    Read {
        asked: BlockRange,
        bytes: Bytes,
        crc64: Crc64,
        md5: Option<Md5Stream>,
    },
    Whole {
        put: PutResult,
        crc64: Option<Crc64>,
        md5: Option<Md5>,
        range_checked: bool,
    },
    /// The service has copied it. `told`: what the source's list had left out.
    Copied {
        put: PutResult,
        told: Option<Box<ObjectMeta>>,
    },
    Begun {
        writer: Arc<dyn BlockWriter>,
        staged: Staged,
        /// What the source's list had left out.
        told: Option<Box<ObjectMeta>>,
    },
    /// `resumed` says that the destination held the block already, from an earlier run.
    Block {
        stored: Stored,
        range_checked: bool,
        resumed: bool,
    },
    /// So many bytes of the source were read in order.
    Digested {
        end: u64,
        md5: Md5Stream,
    },
    Committed(PutResult),
    Equal {
        crc64: Option<Crc64>,
        len: u64,
    },
    /// Contents differ, in these words. `sure`: where nothing on the way can have changed a bit unseen; `removed`: the copy was removed
    /// again that turned out to be none.
    Differs {
        range: Option<BlockRange>,
        cause: String,
        sure: bool,
        removed: bool,
    },
    /// A range of the destination of which a receipt knows only the whole.
    Seen(Part),
    /// A duplicate of a block, in memory: it must not be written while the original still may be.
    Held(Held),
}

/// A block that was fetched and checked, or read from a stream, and waits to be written.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) bytes: Bytes,
    pub(crate) crc64: Crc64,
    pub(crate) range_checked: bool,
}

/// How an object ended.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) method: Method,
    /// The service has copied at least some of it.
    pub(crate) by_service: bool,
    pub(crate) proof: Proof,
    pub(crate) crc64: Option<Crc64>,
    pub(crate) md5: Option<Md5>,
    pub(crate) etag: Option<String>,
    pub(crate) reason: Option<&'static str>,
    /// What of its attributes could not be kept, in words.
    pub(crate) not_kept: Option<String>,
    pub(crate) error: Option<Error>,
}

impl Ended {
    pub(super) fn new(outcome: Outcome, method: Method, proof: Proof) -> Self {
        let (crc64, md5, etag, reason, not_kept, error) = Default::default();
        Self { outcome, method, by_service: false, proof, crc64, md5, etag, reason, not_kept, error }
    }

    pub(crate) fn failed(error: Error) -> Self {
        Self { error: Some(error), ..Self::new(Outcome::Failed, Method::None, Proof::None) }
    }

    pub(crate) fn skipped(reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Self::new(Outcome::Skipped, Method::None, Proof::None) }
    }
}

/// What follows from a step.
pub(crate) enum Then {
    /// These steps become possible.
    Steps(Vec<Step>),
    /// Blocks may now be taken by [`Object::take_range`](super::Object::take_range).
    Ranges,
    /// Both.
    StepsAndRanges(Vec<Step>),
    /// Nothing: others are in flight.
    Wait,
    /// What is at the destination must be backed up first; then it starts again.
    BackUp,
    /// The object is at its end.
    End(Ended),
}
