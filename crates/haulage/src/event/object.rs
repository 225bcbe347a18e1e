//! How one object ended, and what proves it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Failure;
use super::words::{Word, known_word};
use crate::checksum::{Crc64, Md5};
use crate::error::Error;
use crate::secret::redacted;

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Moved and committed.
    Copied,
    /// This job's portion of it was staged; another job makes it an object.
    Staged,
    /// Compared and found equal.
    Equal,
    /// Already there, or not asked for.
    Skipped,
    /// Not moved, or not compared; the error says why.
    Failed,
    /// Compared and found different.
    Differs,
    /// Only at the source; seen when two sides are compared.
    Missing,
    /// Only at the destination; seen when two sides are compared, or not deleted by a sync.
    Extra,
    /// Deleted: by a sync because only the destination had it, by a move because it has been copied.
    Deleted,
    /// Copied to where backups go, because it is about to be replaced or deleted.
    BackedUp,
    /// A dry run: would be copied.
    WouldCopy,
    /// A dry run: would be deleted.
    WouldDelete,
    /// A dry run: would be backed up.
    WouldBackUp,
}

/// How an object was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// One request carries the whole object.
    Whole,
    /// Blocks up, or ranges down, several at once.
    Blocks,
    /// Nothing was moved.
    None,
}

/// What proves that the destination holds the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// Every byte compared by CRC64: with what the other side states of it, or on both sides.
    Crc64,
    /// The same by MD5.
    Md5,
    /// We know a checksum of every byte, and the destination took them without stating one of its own.
    Sent,
    /// The source states no checksum: only lengths and the transport's own checks were compared.
    Length,
    /// The service made the copy by itself, of the version that was listed, and states a checksum of it; the source states none to
    /// compare it with.
    Service,
    /// One side was read, and compared with the checksum that is stored with the object on the other.
    Stored,
    /// Nothing was read: by its ETag the object is still what was written.
    Etag,
    /// Nothing was compared.
    None,
}

/// A part of an object that was staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Its first byte within the object.
    pub offset_bytes: u64,
    /// Its length.
    pub size_bytes: u64,
    /// CRC64 of its bytes.
    pub crc64: Crc64,
}

/// How many objects were proven by what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proofs {
    /// By [`Proof::Crc64`].
    pub crc64: u64,
    /// By [`Proof::Md5`].
    pub md5: u64,
    /// By [`Proof::Sent`].
    pub sent: u64,
    /// By [`Proof::Length`].
    pub length: u64,
    /// By [`Proof::Service`].
    pub service: u64,
    /// By [`Proof::Stored`].
    pub stored: u64,
    /// By [`Proof::Etag`].
    pub etag: u64,
}

impl Proofs {
    /// Counts an object.
    pub(crate) fn count(&mut self, proof: Proof) {
        match proof {
            Proof::Crc64 => self.crc64 += 1,
            Proof::Md5 => self.md5 += 1,
            Proof::Sent => self.sent += 1,
            Proof::Length => self.length += 1,
            Proof::Service => self.service += 1,
            Proof::Stored => self.stored += 1,
            Proof::Etag => self.etag += 1,
            Proof::None => {}
        }
    }
}

/// The end of one object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Number of the object in this job.
    pub object_id: u64,
    /// Source name, without secrets.
    pub source: Arc<str>,
    /// Destination name, without secrets.
    pub destination: Arc<str>,
    /// Its name below the destination; empty where it has none.
    pub name: Arc<str>,
    /// Size at the source.
    pub size_bytes: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// How it was moved.
    pub method: Method,
    /// The service copied it by itself: its bytes, or some of them, did not pass this machine.
    pub by_service: bool,
    /// What proves it.
    pub proof: Proof,
    /// CRC64 of the whole.
    pub crc64: Option<Crc64>,
    /// MD5 of the whole, as far as one is stored with it.
    pub md5: Option<Md5>,
    /// ETag at the destination.
    pub etag: Option<String>,
    /// Requests sent for it, all attempts counted.
    pub attempts: u32,
    /// When it was planned.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Why it was skipped, copied or deleted, in a word or two.
    #[serde(deserialize_with = "known_word")]
    pub reason: Option<Word>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// ETag of the source, where only a portion of it was to be staged, for that of the others must be the same, and where a receipt
    /// is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_etag: Option<String>,
    /// The parts that were staged, where only a portion of it was to be: what commits them names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartRecord>,
}

impl ObjectRecord {
    /// A name that cannot be moved: an outcome like any other.
    pub(crate) fn problem(object_id: u64, error: &Error, now_ns: u64) -> Self {
        let (source, failure) = (error.object_name().into(), Some(Failure::from(error)));
        Self { object_id, source, outcome: Outcome::Failed, failure, ..Self::unmoved(now_ns) }
    }

    /// A link, a socket or a device, which is skipped.
    pub(crate) fn not_a_file(object_id: u64, error: &Error, now_ns: u64) -> Self {
        let (source, reason) = (error.object_name().into(), Some("not a regular file"));
        Self { object_id, source, reason, ..Self::unmoved(now_ns) }
    }

    /// The record of what nobody has moved, skipped at that time.
    pub(crate) fn unmoved(now_ns: u64) -> Self {
        Self {
            object_id: 0,
            source: "".into(),
            destination: "".into(),
            name: "".into(),
            size_bytes: 0,
            outcome: Outcome::Skipped,
            method: Method::None,
            by_service: false,
            proof: Proof::None,
            crc64: None,
            md5: None,
            etag: None,
            attempts: 0,
            started_ns: now_ns,
            ended_ns: now_ns,
            reason: None,
            failure: None,
            source_etag: None,
            parts: Vec::new(),
        }
    }
}

/// What was written.
#[derive(Clone, Debug, Serialize)]
pub struct Written {
    /// Its name, without secrets.
    pub object: String,
    /// Its size.
    pub size_bytes: u64,
    /// ETag of what was written.
    pub etag: String,
    /// CRC64 of the whole.
    pub crc64: Option<Crc64>,
    /// MD5 of the whole, as far as one is stored with it.
    pub md5: Option<Md5>,
    /// What proves that the store holds these bytes.
    pub proof: Proof,
}

impl From<ObjectRecord> for Written {
    fn from(record: ObjectRecord) -> Self {
        Self {
            object: redacted(record.destination.to_string()),
            size_bytes: record.size_bytes,
            etag: redacted(record.etag.unwrap_or_default()),
            crc64: record.crc64,
            md5: record.md5,
            proof: record.proof,
        }
    }
}
