//! A job: what to do, a handle on it while it runs, and the one flow that does it.

use std::path::PathBuf;
use std::time::Duration;

use crate::checksum::ChecksumMode;
use crate::error::Result;
use crate::event::{Event, Progress, Summary};
use crate::store::StoreOptions;
use crate::units::{ByteRate, ByteSize};

/// A setting that the controller chooses unless the user does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setting<T> {
    /// The controller chooses.
    #[default]
    Auto,
    /// The user's choice.
    Fixed(T),
}

/// How large objects are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MethodChoice {
    /// By size: whole objects below the single-put threshold, blocks or ranges above.
    #[default]
    Auto,
    /// One request for each object, whatever its size.
    Whole,
    /// Blocks or ranges wherever there is more than one.
    Ranges,
}

/// Whether an object at the destination is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// Unless size and source time say that it is the same: makes a re-run cheap.
    #[default]
    IfDifferent,
    /// Always.
    Always,
    /// Never; what is there is skipped.
    Never,
}

/// Everything a copy can be told. `Default` is what the command does with no flags.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// Requests in flight.
    pub concurrency: Setting<usize>,
    /// Size of blocks and ranges.
    pub block_size: Setting<ByteSize>,
    /// Objects up to this size travel in one request.
    pub single_put_max: Setting<ByteSize>,
    /// Whole objects or ranges.
    pub method: MethodChoice,
    /// Checksum on the wire and with the object.
    pub checksum: ChecksumMode,
    /// Bound on the bytes in flight in this process.
    pub max_memory: ByteSize,
    /// Replace or keep.
    pub overwrite: Overwrite,
    /// Only names (below the source) that match one of these globs; all where empty.
    pub include: Vec<String>,
    /// No names that match one of these globs.
    pub exclude: Vec<String>,
    /// A row for every attempt and object goes into this Parquet file.
    pub record: Option<PathBuf>,
    /// How to reach the stores.
    pub store: StoreOptions,
}

/// What a job shall do.
#[derive(Clone, Debug)]
pub enum Work {
    /// Copy files, folders, blobs or prefixes into one destination.
    Copy {
        /// Paths or URLs.
        sources: Vec<String>,
        /// Path or URL; with more than one source, or a trailing `/`, they go into it.
        destination: String,
    },
    /// Copy each source file or blob to exactly its own destination.
    CopyPairs(Vec<(String, String)>),
    /// Compare contents by checksum.
    Verify {
        /// Path or URL.
        source: String,
        /// Path or URL.
        destination: String,
        /// Trust the checksums stored with remote objects instead of reading them again.
        stored: bool,
    },
}

/// Work and how to do it.
#[derive(Clone, Debug)]
pub struct Job {
    /// What.
    pub work: Work,
    /// How.
    pub options: CopyOptions,
}

impl Job {
    /// A job with these options.
    pub fn new(work: Work, options: CopyOptions) -> Self {
        Self { work, options }
    }

    /// Starts the job on the current tokio runtime.
    ///
    /// # Errors
    /// Only what is wrong before anything moves: a bad option or URL, no credentials, a record
    /// file that cannot be written. All later failures are outcomes in the [`Summary`].
    pub fn start(self) -> Result<JobHandle> {
        todo!()
    }
}

/// A job at work. Dropping the handle cancels the job.
#[derive(Debug)]
pub struct JobHandle {}

impl JobHandle {
    /// The next event; `None` after the [`Event::Summary`].
    ///
    /// Whoever calls this must go on calling it: outcomes are never dropped, so a full queue holds the job.
    /// Until the first call events are only counted, not queued.
    pub async fn next_event(&mut self) -> Option<Event> {
        todo!()
    }

    /// A sample of how far the job has come; cheap, callable at any time from any thread.
    pub fn progress(&self) -> Progress {
        todo!()
    }

    /// Stops at once: requests in flight are dropped, partial files removed, the summary says what was done.
    pub fn cancel(&self) {
        todo!()
    }

    /// Waits for the end. The summary names the failures; an error is one that stopped the whole job.
    pub async fn wait(self) -> Result<Summary> {
        todo!()
    }
}

/// What a copy would do.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PlanReport {
    /// Objects found.
    pub objects: u64,
    /// Objects that are there already and would be skipped.
    pub objects_skipped: u64,
    /// Payload that would move.
    pub bytes: u64,
    /// Requests needed, retries not counted.
    pub requests: u64,
    /// Objects that travel whole.
    pub whole: u64,
    /// Objects that travel in blocks or ranges.
    pub blocks: u64,
    /// Smallest and largest block size planned, where there are any.
    pub block_size: Option<(u64, u64)>,
    /// Requests in flight.
    pub concurrency: u32,
    /// Round trip measured with the listing; `None` for local stores.
    pub round_trip_ns: Option<u64>,
    /// Names that cannot be moved, with reasons.
    pub problems: Vec<crate::event::Failure>,
    /// Time needed if the link gives this rate: (bits per second, nanoseconds).
    pub estimates: Vec<(u64, u64)>,
}

/// Plans a copy without moving anything.
pub async fn plan(_sources: &[String], _destination: &str, _options: &CopyOptions) -> Result<PlanReport> {
    todo!()
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self {
            concurrency: Setting::Auto,
            block_size: Setting::Auto,
            single_put_max: Setting::Auto,
            method: MethodChoice::Auto,
            checksum: ChecksumMode::Crc64,
            // Leaves room for code, stacks and socket buffers below 128 MiB in all.
            max_memory: ByteSize::mib(96),
            overwrite: Overwrite::IfDifferent,
            include: Vec::new(),
            exclude: Vec::new(),
            record: None,
            store: StoreOptions::default(),
        }
    }
}

#[allow(unused)]
fn _used(_: Duration, _: ByteRate) {}
