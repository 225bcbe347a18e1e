//! The one schema of events: what the engine says while it works.
//!
//! Progress bars, JSON lines, Parquet rows and Python all read these. Outcomes ([`Event::Attempt`],
//! [`Event::Object`], [`Event::Summary`]) are never dropped; [`Event::Progress`] samples may be.
//! Times are nanoseconds since the job began, on one monotonic clock; [`Event::JobStarted`] ties
//! that clock to the calendar.

mod failure;
mod object;
mod summary;
mod words;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::time::Instant;

pub use failure::Failure;
pub use object::{Method, ObjectRecord, Outcome, PartRecord, Proof, Proofs, Written};
pub use summary::{Progress, SlowObject, Summary};
pub use words::Word;

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

/// An event, and whose it is: what a sink is told that hears of several jobs.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// The random name of the run.
    pub job: Arc<str>,
    /// The machine that it runs on.
    pub node: Arc<str>,
    /// What happened.
    pub event: Arc<Event>,
}

/// The head of the record.
#[derive(Clone, Debug, Serialize)]
pub struct JobStarted {
    /// A random name for this run.
    pub job: Arc<str>,
    /// The machine that it runs on.
    pub node: Arc<str>,
    /// `copy`, `verify`, `sync` or `move`.
    pub operation: &'static str,
    /// Sources without secrets.
    pub sources: Vec<String>,
    /// Destination without secrets.
    pub destination: String,
    /// What was set, in the words of the command: see [`CopyOptions::words`](crate::CopyOptions::words).
    pub options: Vec<String>,
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
    /// The last byte of the request is about to be given to the kernel: before the write, so that no answer seems to come at once.
    pub sent_ns: Option<u64>,
    /// The first byte of the response arrived.
    pub first_byte_ns: Option<u64>,
    /// The last byte of the response arrived.
    pub last_byte_ns: Option<u64>,
    /// The effect is done: answered by the service, or written to the file.
    pub committed_ns: Option<u64>,
}

impl AttemptRecord {
    /// Whether it ended badly. One that another was quicker than did not.
    pub fn failed(&self) -> bool {
        is_failure(self.fate)
    }
}

/// Whether this is how an attempt ends that failed.
fn is_failure(fate: &str) -> bool {
    !matches!(fate, "ok" | "cancelled")
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
