//! Bytes on the wire, counted.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::io::Traffic;

/// Bytes on the wire, headers included. What is sent and received is counted before TLS, what is acknowledged after it.
#[derive(Debug, Default)]
pub struct WireMeter {
    sent: AtomicU64,
    received: AtomicU64,
    /// Quickest answer to a small request; 0 for none yet.
    answer_ns: AtomicU64,
    /// What the other side has acknowledged of connections that are closed.
    acknowledged: AtomicU64,
    open: Mutex<Vec<Arc<Traffic>>>,
    connections: AtomicUsize,
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

    /// Asks the kernel about every connection: bytes that the other side has acknowledged, which were sent and arrived, and
    /// how long bytes queue on their way, as the middle one of the connections in use tells; `None` where nobody knows.
    pub fn look(&self) -> (u64, Option<Duration>) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut there, mut delays) =
            (self.acknowledged.load(Ordering::Relaxed), Vec::with_capacity(open.len()));
        for traffic in open.iter() {
            let (acknowledged, queueing) = traffic.look();
            there += acknowledged;
            delays.extend(queueing);
        }
        drop(open);
        delays.sort_unstable();
        (there, delays.get(delays.len() / 2).copied())
    }

    /// Bytes moved, both directions, and the number of open connections, idle ones included.
    pub(super) fn moved(&self) -> (u64, usize) {
        (self.sent() + self.received(), self.connections.load(Ordering::Relaxed))
    }

    pub(super) fn opened(&self, traffic: &Arc<Traffic>) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push(traffic.clone());
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Before the socket is closed: its number may soon stand for another.
    pub(super) fn closes(&self, traffic: &Arc<Traffic>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = open.iter().position(|other| Arc::ptr_eq(other, traffic)) {
            open.swap_remove(at);
            self.connections.fetch_sub(1, Ordering::Relaxed);
            self.acknowledged.fetch_add(traffic.acknowledged(), Ordering::Relaxed);
        }
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
