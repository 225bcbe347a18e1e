//! How far a job has come, and how it ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::words::{Word, word};
use super::{Failure, Proofs};

/// A sample of how far the job has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// `copy`, `verify`, `sync` or `move`.
    #[serde(deserialize_with = "word")]
    pub operation: Word,
    /// Objects found.
    pub objects_total: u64,
    /// Copied, staged where only a portion was to be, or compared and equal.
    pub objects_done: u64,
    /// Skipped.
    pub objects_skipped: u64,
    /// Of these, at the destination already; the others are no regular files, such as links.
    #[serde(default)]
    pub objects_there: u64,
    /// Failed: not copied, or not compared because one side could not be read.
    pub objects_failed: u64,
    /// Compared and found different (verify).
    pub objects_differ: u64,
    /// Objects only at the source (verify).
    pub objects_missing: u64,
    /// Objects only at the destination (verify; sync that may not delete them).
    pub objects_extra: u64,
    /// Objects deleted: only the destination had them (sync), or they have been copied (move).
    #[serde(default)]
    pub objects_deleted: u64,
    /// Objects that were copied to where backups go before they were replaced or deleted.
    #[serde(default)]
    pub objects_backed_up: u64,
    /// Nothing was done: the numbers say what would have been.
    #[serde(default)]
    pub dry_run: bool,
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

    /// Keeps what became of one object, if there is room.
    pub(crate) fn keep_of_object(&mut self, failure: Failure) {
        if self.failures.len() < Self::FAILURES_KEPT {
            self.failures.push(failure);
        }
    }

    /// Keeps what became of the job as a whole, for which there always is: before so many objects that only the first are read.
    pub(crate) fn keep_of_job(&mut self, failure: Failure) {
        let full = self.failures.len() >= Self::FAILURES_KEPT;
        self.failures.truncate(Self::FAILURES_KEPT - 1);
        let place = if full { 0 } else { self.failures.len() };
        self.failures.insert(place, failure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};

    #[test]
    fn why_a_job_stopped_is_kept_beside_any_number_of_objects() {
        let of = |kind| Failure::from(&Error::new(kind, "copy", "a", "no"));
        let mut summary = Summary::default();
        (0..2000).for_each(|_| summary.keep_of_object(of(ErrorKind::NotFound)));
        summary.keep_of_job(of(ErrorKind::Unsupported));
        assert_eq!(summary.failures.len(), Summary::FAILURES_KEPT);
        assert_eq!(summary.failures.first().map(|first| first.kind), Some(ErrorKind::Unsupported));
    }
}
