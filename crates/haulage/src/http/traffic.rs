//! What a connection has moved and when, seen from outside hyper.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::owner::HandOver;
use crate::trace::Carrier;

/// A window below this makes packets that are hardly filled.
const LEAST_WINDOW: u32 = 8 << 10;

/// What the kernel says of a connection.
pub(super) struct Look {
    /// Bytes that the other side has.
    pub(super) acknowledged: u64,
    /// How long bytes are under way; `None` where the system does not say, or nothing moved of late.
    pub(super) trip: Option<Duration>,
    /// The shortest that it ever took.
    pub(super) least: Option<Duration>,
    /// It receives more than it sends.
    pub(super) reads: bool,
}

/// What a connection has moved and when, seen from outside hyper. Times are nanoseconds since the
/// connection was made; 0 stands for never.
#[derive(Debug)]
pub(super) struct Traffic {
    began: Instant,
    pub(super) socket: i32,
    /// The machine at the other side.
    pub(super) remote: Option<IpAddr>,
    written: AtomicU64,
    read: AtomicU64,
    last_write_ns: AtomicU64,
    first_read_ns: AtomicU64,
    last_read_ns: AtomicU64,
    /// Until when the cap holds the connection back, which is no stall.
    paced_until_ns: AtomicU64,
    /// Bytes that must have arrived before the reader is woken.
    pub(super) low_water: AtomicU32,
    /// The window that was asked for; 0 where the kernel chooses.
    window: AtomicU32,
    /// Bytes a second of the answer that is read, or was read last.
    pub(super) read_rate: AtomicU64,
    /// Sessions of TLS between the kernel and what is counted here.
    pub(super) sealed: u64,
    /// What had been read when the exchange began.
    read_before: AtomicU64,
    /// What had been written.
    written_before: AtomicU64,
    /// What had been read and written for its earlier owners.
    read_for_others: AtomicU64,
    written_for_others: AtomicU64,
    /// Who takes the connection next.
    pub(super) hand_over: HandOver,
}

impl Traffic {
    pub(super) fn new(socket: i32, remote: Option<IpAddr>, sealed: u64) -> Self {
        Self {
            began: Instant::now(),
            socket,
            remote,
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
            last_write_ns: AtomicU64::new(0),
            first_read_ns: AtomicU64::new(0),
            last_read_ns: AtomicU64::new(0),
            paced_until_ns: AtomicU64::new(0),
            low_water: AtomicU32::new(1),
            window: AtomicU32::new(0),
            read_rate: AtomicU64::new(0),
            sealed,
            read_before: AtomicU64::new(0),
            written_before: AtomicU64::new(0),
            read_for_others: AtomicU64::new(0),
            written_for_others: AtomicU64::new(0),
            hand_over: HandOver::default(),
        }
    }

    /// Bytes moved in both directions.
    pub(super) fn moved(&self) -> u64 {
        self.written.load(Relaxed) + self.read.load(Relaxed)
    }

    /// Bytes that have arrived, on either side.
    pub(super) fn arrived(&self) -> u64 {
        self.acknowledged() + self.read.load(Relaxed)
    }

    /// Bytes read since the exchange began.
    pub(super) fn read_in_exchange(&self) -> u64 {
        self.read.load(Relaxed) - self.read_before.load(Relaxed)
    }

    /// Bytes written since the exchange began.
    pub(super) fn written_in_exchange(&self) -> u64 {
        self.written.load(Relaxed) - self.written_before.load(Relaxed)
    }

    /// How long ago the answer began; `None` before.
    pub(super) fn answering_for(&self) -> Option<Duration> {
        let first = self.first_read_ns();
        (first > 0).then(|| Duration::from_nanos(self.now_ns().saturating_sub(first)))
    }

    /// How long ago something was read; since the connection was made, where nothing was.
    pub(super) fn since_read(&self) -> Duration {
        Duration::from_nanos(self.now_ns().saturating_sub(self.last_read_ns()))
    }

    /// Bytes that the other side has; all that were written where the system does not say.
    pub(super) fn acknowledged(&self) -> u64 {
        super::kernel::bytes_acked(self.socket).unwrap_or_else(|| self.written.load(Relaxed))
    }

    /// What the kernel says of it now.
    pub(super) fn look(&self) -> Look {
        let read = self.read.load(Relaxed) - self.read_for_others.load(Relaxed);
        let written = self.written.load(Relaxed) - self.written_for_others.load(Relaxed);
        let reads = read > written;
        let Some((acknowledged, seen)) = super::kernel::progress(self.socket) else {
            return Look { acknowledged: self.written.load(Relaxed), trip: None, least: None, reads };
        };
        let trip = seen.and_then(|seen| match (seen.sending, seen.receiving) {
            // A download sends little: what it receives shows its way.
            (_, Some(receiving)) if reads => Some(receiving),
            (sending, receiving) => sending.or(receiving),
        });
        let micros = |micros| Duration::from_micros(u64::from(micros));
        Look { acknowledged, trip: trip.map(micros), least: seen.map(|seen| micros(seen.least)), reads }
    }

    /// Lets the other side send so many bytes before they are read; as many as the kernel likes with `None`.
    pub(super) fn set_window(&self, bytes: Option<u32>) {
        let bytes = bytes.map_or(0, |bytes| bytes.max(LEAST_WINDOW));
        // The kernel widens a narrow one by itself, so it is said at each look; that none is wanted, once.
        if bytes != 0 || self.window.load(Relaxed) != 0 {
            self.window.store(bytes, Relaxed);
            super::kernel::set_window(self.socket, if bytes == 0 { u32::MAX } else { bytes });
        }
    }

    /// Whether all that was written has arrived and no answer has begun: it is the server's turn.
    pub(super) fn is_servers_turn(&self) -> bool {
        !self.answered() && self.acknowledged() >= self.written.load(Relaxed)
    }

    /// Forgets the times of the last exchange.
    pub(super) fn begin_exchange(&self) {
        super::gather::reset(self);
        self.first_read_ns.store(0, Relaxed);
        self.last_read_ns.store(0, Relaxed);
        self.last_write_ns.store(0, Relaxed);
        self.read_before.store(self.read.load(Relaxed), Relaxed);
        self.written_before.store(self.written.load(Relaxed), Relaxed);
    }

    /// Whether anything of the answer has arrived.
    pub(super) fn answered(&self) -> bool {
        self.first_read_ns.load(Relaxed) != 0
    }

    pub(super) fn last_write_ns(&self) -> u64 {
        self.last_write_ns.load(Relaxed)
    }

    pub(super) fn first_read_ns(&self) -> u64 {
        self.first_read_ns.load(Relaxed)
    }

    pub(super) fn last_read_ns(&self) -> u64 {
        self.last_read_ns.load(Relaxed)
    }

    /// Whether the cap holds the connection back now.
    pub(super) fn is_paced(&self) -> bool {
        self.paced_until_ns.load(Relaxed) > self.now_ns()
    }

    /// The cap holds the connection back until then.
    pub(super) fn hold_until(&self, until: Instant) {
        self.paced_until_ns.fetch_max(self.ns_at(until), Relaxed);
    }

    /// What bounded its last owner's rate the next does not owe, and what moved for the one says nothing of the other.
    pub(super) fn change_owner(&self) {
        self.paced_until_ns.store(0, Relaxed);
        self.set_window(None);
        self.read_for_others.store(self.read.load(Relaxed), Relaxed);
        self.written_for_others.store(self.written.load(Relaxed), Relaxed);
    }

    /// The moment of one of these times.
    pub(super) fn instant(&self, at_ns: u64) -> Instant {
        self.began + Duration::from_nanos(at_ns)
    }

    /// Nanoseconds since the connection was made; never 0.
    pub(super) fn now_ns(&self) -> u64 {
        self.ns_at(Instant::now())
    }

    pub(super) fn ns_at(&self, now: Instant) -> u64 {
        (now.saturating_duration_since(self.began).as_nanos() as u64).max(1)
    }

    pub(super) fn note_write(&self, bytes: usize, now: Instant) {
        self.written.fetch_add(bytes as u64, Relaxed);
        self.last_write_ns.store(self.ns_at(now), Relaxed);
    }

    pub(super) fn note_read(&self, bytes: usize, now: Instant) {
        self.read.fetch_add(bytes as u64, Relaxed);
        let at = self.ns_at(now);
        self.last_read_ns.store(at, Relaxed);
        if self.first_read_ns.load(Relaxed) == 0 {
            self.first_read_ns.store(at, Relaxed);
        }
    }
}

impl Carrier for Traffic {
    fn arrived(&self) -> u64 {
        // All that was written for earlier exchanges had arrived before they were answered.
        let acknowledged = self.acknowledged().saturating_sub(self.written_before.load(Relaxed));
        acknowledged.min(self.written_in_exchange()) + self.read_in_exchange()
    }
}
