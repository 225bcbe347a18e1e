//! The one schema of events: what the engine says while it works.
//!
//! Progress bars, JSON lines, Parquet rows and Python all read these. Outcomes ([`Event::Attempt`],
//! [`Event::Object`], [`Event::Summary`]) are never dropped; [`Event::Progress`] samples may be.
//! Times are nanoseconds since the job began, on one monotonic clock; [`Event::JobStarted`] ties
//! that clock to the calendar.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::checksum::{Crc64, Md5};
use crate::error::Error;

/// A monotonic clock that began with the job.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    began_unix_ns: u64,
}

impl Clock {
    /// Starts a clock now.
    pub fn start() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { began: Instant::now(), began_unix_ns: unix.as_nanos() as u64 }
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Nanoseconds from the start to `instant`; 0 for anything earlier.
    pub fn ns_at(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.began).as_nanos() as u64
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The start, in nanoseconds since 1970 (UTC).
    pub fn began_unix_ns(&self) -> u64 {
        self.began_unix_ns
    }
}

/// Everything the engine says.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The job begins.
    JobStarted(JobStarted),
    /// A request ended, well or badly.
    Attempt(AttemptRecord),
    /// An object reached its end: copied, skipped or failed.
    Object(ObjectRecord),
    /// A sample of how far the job has come.
    Progress(Progress),
    /// Something a person should know that is no failure.
    Warning {
        /// What it is about.
        object: String,
        /// What was seen and what it means.
        message: String,
    },
    /// The job ended; always the last event.
    Summary(Summary),
}

/// The head of the record.
#[derive(Clone, Debug, Serialize)]
pub struct JobStarted {
    /// A random name for this run.
    pub job: String,
    /// `copy` or `verify`.
    pub operation: &'static str,
    /// Sources without secrets.
    pub sources: Vec<String>,
    /// Destination without secrets.
    pub destination: String,
    /// Start of the clock, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// Version of the engine.
    pub version: &'static str,
}

/// The phases of an attempt, in nanoseconds since the job began; `None` where a phase was not reached
/// or does not exist for that request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Phases {
    /// Put into the queue.
    pub queued_ns: Option<u64>,
    /// Granted a slot of the budget.
    pub slot_ns: Option<u64>,
    /// The body is in memory and its checksum known.
    pub ready_ns: Option<u64>,
    /// A connection is at hand, new or reused.
    pub connected_ns: Option<u64>,
    /// The last byte of the request was given to the kernel.
    pub sent_ns: Option<u64>,
    /// The first byte of the response arrived.
    pub first_byte_ns: Option<u64>,
    /// The last byte of the response arrived.
    pub last_byte_ns: Option<u64>,
    /// The effect is done: answered by the service, or written to the file.
    pub committed_ns: Option<u64>,
}

/// One attempt of one request.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptRecord {
    /// Number of the object in this job; `None` for requests that are no step of one: of listing, of a look at a name
    /// that was given, of a stream.
    pub object_id: Option<u64>,
    /// The object's name, without secrets.
    pub object: Arc<str>,
    /// The operation by its name in the service: `PutBlob`, `PutBlock`, `GetBlob`, `Read`, ...
    pub api: &'static str,
    /// First byte of the range or block within the object.
    pub offset_bytes: u64,
    /// Payload of this attempt.
    pub size_bytes: u64,
    /// 1 for the first try.
    pub attempt: u32,
    /// The in-flight slot, from 0.
    pub lane: u32,
    /// The connection, numbered from 1; 0 where there was none.
    pub connection: u64,
    /// Whether the connection had served before.
    pub connection_reused: bool,
    /// `ok`, or the code of the [`crate::error::ErrorKind`].
    pub fate: &'static str,
    /// HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// The service's own name for a failure, or the cause in words.
    pub cause: Option<String>,
    /// The service's id for the request.
    pub request_id: Option<String>,
    /// Wait before the next attempt; `None` when there is none.
    pub backoff_ns: Option<u64>,
    /// When each phase was reached.
    #[serde(flatten)]
    pub phases: Phases,
    /// When the attempt ended.
    pub ended_ns: u64,
    /// The address at the other end of the connection: the service's, or that of a proxy.
    pub remote: Option<SocketAddr>,
    /// Whether it is a proxy's.
    pub proxied: bool,
    /// What it took to look its name up; only for the request that a connection was made for.
    pub dns_ns: Option<u64>,
    /// What it took a proxy to open a tunnel; the same.
    pub proxy_ns: Option<u64>,
    /// What it took to agree on TLS; the same.
    pub tls_ns: Option<u64>,
    /// The wait that the service asked for.
    pub retry_after_ns: Option<u64>,
    /// Round trip of the connection at the end of the attempt, as the kernel sees it.
    pub tcp_rtt_ns: Option<u64>,
    /// Segments that the connection had sent again by then, since it was made.
    pub tcp_retransmits: Option<u32>,
    /// Time in which it had something on its way, since it was made.
    pub tcp_busy_ns: Option<u64>,
    /// Of it, time in which the other side's window was full.
    pub tcp_rwnd_limited_ns: Option<u64>,
    /// Of it, time in which our buffer held too little to send on.
    pub tcp_sndbuf_limited_ns: Option<u64>,
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Moved and committed.
    Copied,
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
    /// Only at the destination; seen when two sides are compared.
    Extra,
}

/// How an object was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

/// How many objects were proven by what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
    /// Why it was skipped, in a word or two.
    pub reason: Option<&'static str>,
    /// Why it failed.
    pub failure: Option<Failure>,
}

/// An [`Error`] as it stands in events and reports.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Code of the kind.
    pub kind: crate::error::ErrorKind,
    /// What was being done.
    pub operation: &'static str,
    /// What it was done to.
    pub object: String,
    /// Why it failed.
    pub cause: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            operation: error.operation(),
            object: error.object_name().to_owned(),
            cause: error.cause().to_owned(),
            hint: error.hint_text().map(str::to_owned),
        }
    }
}

impl From<&Failure> for Error {
    fn from(failure: &Failure) -> Self {
        let error = Error::new(failure.kind, failure.operation, &failure.object, &failure.cause);
        match &failure.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// A sample of how far the job has come.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Progress {
    /// Time since the job began.
    pub elapsed_ns: u64,
    /// Whether all names are listed, so that the totals are final.
    pub listed: bool,
    /// Objects found so far.
    pub objects_total: u64,
    /// Objects that reached their end.
    pub objects_done: u64,
    /// Of these, failed.
    pub objects_failed: u64,
    /// Of these, skipped.
    pub objects_skipped: u64,
    /// Bytes of the objects found so far, skipped ones not counted.
    pub bytes_total: u64,
    /// Payload bytes that arrived.
    pub bytes_done: u64,
    /// Rate on the wire over the last seconds, in bits per second.
    pub rate_bits_per_second: u64,
    /// Time left at this rate; `None` while unknown.
    pub eta_ns: Option<u64>,
    /// Requests in flight.
    pub in_flight: u32,
    /// Attempts that failed and were sent again.
    pub retries: u64,
    /// All has arrived, and the disk is being waited for.
    pub flushing: bool,
    /// The objects longest in flight, slowest first, at most three.
    pub slowest: Vec<SlowObject>,
}

/// An object that takes long.
#[derive(Clone, Debug, Serialize)]
pub struct SlowObject {
    /// Its name.
    pub object: Arc<str>,
    /// How long it has been in flight.
    pub age_ns: u64,
    /// How much of it has arrived.
    pub bytes_done: u64,
    /// Its size.
    pub size_bytes: u64,
}

/// The end of the job.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// `copy` or `verify`.
    pub operation: &'static str,
    /// Objects found.
    pub objects_total: u64,
    /// Copied, or compared and equal.
    pub objects_done: u64,
    /// Skipped.
    pub objects_skipped: u64,
    /// Failed: not copied, or not compared because one side could not be read.
    pub objects_failed: u64,
    /// Compared and found different (verify).
    pub objects_differ: u64,
    /// Objects only at the source (verify).
    pub objects_missing: u64,
    /// Objects only at the destination (verify).
    pub objects_extra: u64,
    /// Copied objects of which only the length was compared.
    pub objects_unproven: u64,
    /// How many of the copied or compared objects were proven by what.
    pub proofs: Proofs,
    /// Verified payload of the copied or compared objects.
    pub bytes_done: u64,
    /// Of these, found staged by an interrupted run and not sent again.
    pub bytes_resumed: u64,
    /// Copied objects that the service copied by itself, at least in part.
    pub objects_by_service: u64,
    /// Of the bytes done, those of these objects.
    pub bytes_by_service: u64,
    /// Bytes on the wire, both directions, all attempts and headers counted.
    pub bytes_wire: u64,
    /// Requests sent.
    pub requests: u64,
    /// Attempts that failed and were sent again.
    pub retries: u64,
    /// Of these, caught by a checksum.
    pub integrity_retries: u64,
    /// Blocks that stalled and were sent again in halves.
    pub splits: u64,
    /// Requests sent a second time beside a slow one, near the end of the job.
    pub duplicates: u64,
    /// Payload of these: what being quicker cost.
    pub bytes_duplicated: u64,
    /// Wall time.
    pub elapsed_ns: u64,
    /// Goodput: verified payload over wall time, in bits per second.
    pub goodput_bits_per_second: u64,
    /// What the controller chose and why.
    pub chosen: String,
    /// Samples that were dropped under load; outcomes never are.
    pub events_dropped: u64,
    /// The failures, at most [`Summary::FAILURES_KEPT`]; the events hold all of them.
    pub failures: Vec<Failure>,
    /// What a person should know that is no failure, at most [`Summary::WARNINGS_KEPT`].
    pub warnings: Vec<String>,
    /// Exit code of the command.
    pub exit_code: u8,
}

impl Summary {
    /// How many failures a summary names.
    pub const FAILURES_KEPT: usize = 1000;

    /// How many warnings a summary holds.
    pub const WARNINGS_KEPT: usize = 100;
}
