//! Bytes on the wire, counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes on the wire, headers included, before TLS.
#[derive(Debug, Default)]
pub struct WireMeter {
    sent: AtomicU64,
    received: AtomicU64,
    /// Quickest answer to a small request; 0 for none yet.
    answer_ns: AtomicU64,
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

    /// The quickest answer so far: from the last byte of a request to the first of its response. About a round
    /// trip and what the service needs to think; `None` before the first.
    pub fn quickest_answer(&self) -> Option<Duration> {
        Some(self.answer_ns.load(Ordering::Relaxed)).filter(|ns| *ns > 0).map(Duration::from_nanos)
    }

    pub(super) fn note_answer(&self, ns: u64) {
        let quicker = |best: u64| (best == 0 || ns < best).then_some(ns.max(1));
        let _ = self.answer_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, quicker);
    }

    pub(super) fn add_sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn add_received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }
}
