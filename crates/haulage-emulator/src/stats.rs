//! What the emulator has seen.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::request::Operation;
use crate::s3;
use crate::table;

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct EmulatorStats {
    /// Requests by operation (`PutBlock`, `GetBlob`, `UploadPart`, ...), those seen at least once. Requests that
    /// were refused or met a fault count as well.
    pub requests: BTreeMap<&'static str, u64>,
    /// Bytes of request bodies received.
    pub bytes_in: u64,
    /// Bytes of response bodies handed to the connection.
    pub bytes_out: u64,
    /// Faults that took effect.
    pub faults: FaultCounts,
    /// Connections accepted.
    pub connections: u64,
    /// Entities of tables that queries looked at, whether they met the filter or not.
    pub rows_read: u64,
    /// Entities of tables that answers held.
    pub rows_returned: u64,
    /// Entities of tables that were inserted, changed or deleted.
    pub rows_written: u64,
}

impl EmulatorStats {
    /// How many requests asked for this operation.
    pub fn requests(&self, operation: &str) -> u64 {
        self.requests.get(operation).copied().unwrap_or(0)
    }
}

macro_rules! faults {
    ($($(#[doc = $doc:literal])* $name:ident)*) => {
        /// Faults that took effect, by kind.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        pub struct FaultCounts {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl FaultCounts {
            /// All of them, by name.
            pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }

        #[derive(Debug, Default)]
        pub(crate) struct FaultCounters {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl FaultCounters {
            fn read(&self) -> FaultCounts {
                FaultCounts { $($name: self.$name.load(Relaxed),)* }
            }
        }
    };
}

faults! {
    /// Answered 503.
    busy
    /// Connections reset.
    cut
    /// Connections that stopped moving.
    stall
    /// Bodies with a bit flipped.
    flip
    /// Answers that never came, though the effect was done.
    lost
    /// Bodies that ended early.
    truncate
    /// Answers with fewer bytes than were asked for.
    short
    /// Answers that stated a wrong checksum.
    checksum
}

/// The counters behind [`EmulatorStats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: [AtomicU64; Operation::COUNT],
    s3_requests: [AtomicU64; s3::Operation::COUNT],
    table_requests: [AtomicU64; table::Operation::COUNT],
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) connections: AtomicU64,
    rows_read: AtomicU64,
    rows_returned: AtomicU64,
    rows_written: AtomicU64,
    pub(crate) faults: FaultCounters,
}

impl Counters {
    pub(crate) fn request(&self, operation: Operation) {
        self.requests[operation as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn s3_request(&self, operation: s3::Operation) {
        self.s3_requests[operation as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn table_request(&self, operation: table::Operation) {
        self.table_requests[operation as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn rows_read(&self, rows: usize) {
        self.rows_read.fetch_add(rows as u64, Relaxed);
    }

    pub(crate) fn rows_returned(&self, rows: usize) {
        self.rows_returned.fetch_add(rows as u64, Relaxed);
    }

    pub(crate) fn rows_written(&self, rows: usize) {
        self.rows_written.fetch_add(rows as u64, Relaxed);
    }

    pub(crate) fn read(&self) -> EmulatorStats {
        let azure = Operation::ALL.map(Operation::name).into_iter().zip(&self.requests);
        let s3 = s3::Operation::ALL.map(s3::Operation::name).into_iter().zip(&self.s3_requests);
        let tables = table::Operation::ALL.map(table::Operation::name).into_iter().zip(&self.table_requests);
        let counts = azure.chain(s3).chain(tables).map(|(name, count)| (name, count.load(Relaxed)));
        EmulatorStats {
            requests: counts.filter(|(_, count)| *count > 0).collect(),
            bytes_in: self.bytes_in.load(Relaxed),
            bytes_out: self.bytes_out.load(Relaxed),
            faults: self.faults.read(),
            connections: self.connections.load(Relaxed),
            rows_read: self.rows_read.load(Relaxed),
            rows_returned: self.rows_returned.load(Relaxed),
            rows_written: self.rows_written.load(Relaxed),
        }
    }
}
