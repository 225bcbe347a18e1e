//! Bytes on the wire, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes on the wire, headers included, before TLS.
#[derive(Debug, Default)]
pub struct WireMeter {
    sent: AtomicU64,
    received: AtomicU64,
}

impl WireMeter {
    /// Bytes given to the kernel so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes taken from the kernel so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(super) fn add_sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn add_received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }
}
