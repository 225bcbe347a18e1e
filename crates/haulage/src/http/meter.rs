//! Bytes on the wire, counted.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::traffic::{Look, Traffic};

/// Bytes that are read lie here for so long at most where the rate is bounded: the reader takes them in turns.
const STANDING: Duration = Duration::from_millis(25);

/// What the kernel says of all connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireLook {
    /// Bytes that the other side has acknowledged, which were sent and arrived.
    pub acknowledged: u64,
    /// How long bytes queue on their way, as the middle one of the connections in use tells: longer than at best while it was
    /// open. `None` where nobody knows.
    pub queueing: Option<Duration>,
    /// The same beyond the shortest way that any of the open connections knows: of all that queues, that of others too.
    pub standing: Option<Duration>,
}

fn middle(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// Bytes on the wire, headers included. What is sent and received is counted before TLS, what is acknowledged after it.
#[derive(Debug, Default)]
pub struct WireMeter {
    sent: AtomicU64,
    received: AtomicU64,
    /// Quickest answer to a small request; 0 for none yet.
    answer_ns: AtomicU64,
    /// What the other side has acknowledged of connections that are closed.
    acknowledged: AtomicU64,
    /// Bytes a second that are read at most; 0 for no bound. See [`WireMeter::bound`].
    bound: AtomicU64,
    /// Connections, each with what it had acknowledged when it came here.
    open: Mutex<Vec<(Arc<Traffic>, u64)>>,
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

    /// The same of both directions.
    pub fn total(&self) -> u64 {
        self.sent() + self.received()
    }

    /// The quickest answer so far: from the last byte of a request to the first of its response. About a round
    /// trip and what the service needs to think; `None` before the first.
    pub fn quickest_answer(&self) -> Option<Duration> {
        Some(self.answer_ns.load(Ordering::Relaxed)).filter(|ns| *ns > 0).map(Duration::from_nanos)
    }

    /// Asks the kernel about every connection.
    pub fn look(&self) -> WireLook {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut there = self.acknowledged.load(Ordering::Relaxed);
        let mut looks = Vec::with_capacity(open.len());
        // The shortest way to each machine: a connection that was opened while others filled the way never saw it empty.
        let mut nearest = HashMap::new();
        for (traffic, before) in open.iter() {
            let look = traffic.look();
            there += look.acknowledged.saturating_sub(*before);
            if let Some(least) = look.least {
                let known = nearest.entry(traffic.remote).or_insert(least);
                *known = least.min(*known);
            }
            looks.push((traffic, look));
        }
        looks.retain(|(_, look)| look.trip.is_some());
        self.set_windows(&looks, &nearest);
        let beyond = |trip: Option<Duration>, least: Option<Duration>| Some(trip?.saturating_sub(least?));
        let queueing = looks.iter().filter_map(|(_, look)| beyond(look.trip, look.least)).collect();
        let standing = looks
            .iter()
            .filter_map(|(traffic, look)| beyond(look.trip, nearest.get(&traffic.remote).copied()));
        WireLook { acknowledged: there, queueing: middle(queueing), standing: middle(standing.collect()) }
    }

    fn set_windows(&self, looks: &[(&Arc<Traffic>, Look)], nearest: &HashMap<Option<IpAddr>, Duration>) {
        let bound = Some(self.bound.load(Ordering::Relaxed)).filter(|bound| *bound > 0);
        let reading = looks.iter().filter(|(_, look)| look.reads);
        let share = bound.map(|bound| bound as f64 / reading.clone().count().max(1) as f64);
        for (traffic, _) in reading {
            let trip = nearest.get(&traffic.remote).copied().unwrap_or_default() + STANDING;
            traffic.set_window(share.map(|share| (share * trip.as_secs_f64()) as u32));
        }
    }

    /// Lets the other sides send no more than is read at so many bytes a second. Without that they fill the kernel's buffers
    /// first, and go on for seconds after the reader has slowed down. Holds from the next [`look`](Self::look) on.
    pub fn bound(&self, bytes_per_second: Option<f64>) {
        self.bound.store(bytes_per_second.map_or(0, |bound| bound.max(1.0) as u64), Ordering::Relaxed);
    }

    /// Bytes moved, both directions, and the number of open connections, idle ones included.
    pub(super) fn moved(&self) -> (u64, usize) {
        (self.total(), self.connections.load(Ordering::Relaxed))
    }

    /// Counts a connection, of which so many bytes were acknowledged for others.
    pub(super) fn opened(&self, traffic: &Arc<Traffic>, acknowledged: u64) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push((traffic.clone(), acknowledged));
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Before the socket is closed, for its number may soon stand for another; or before it serves somebody else.
    pub(super) fn closes(&self, traffic: &Arc<Traffic>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = open.iter().position(|(other, _)| Arc::ptr_eq(other, traffic)) {
            let (_, before) = open.swap_remove(at);
            self.connections.fetch_sub(1, Ordering::Relaxed);
            let acknowledged = traffic.acknowledged().saturating_sub(before);
            self.acknowledged.fetch_add(acknowledged, Ordering::Relaxed);
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
