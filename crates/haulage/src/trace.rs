//! The trace of one attempt: which phases it passed, when, and over which connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::event::{Clock, Phases};

/// The points in an attempt's life that are timed. See [`Phases`] for what each means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Put into the queue.
    Queued,
    /// Granted a slot.
    Slot,
    /// Body in memory, checksum known.
    Ready,
    /// Connection at hand.
    Connected,
    /// Request given to the kernel.
    Sent,
    /// Response begins.
    FirstByte,
    /// Response complete.
    LastByte,
    /// Effect done.
    Committed,
}

/// Collects what one attempt went through. Cheap: one uncontended lock for each mark.
/// Clones share what is collected, so that a body that arrives later can still mark its end.
#[derive(Clone, Debug)]
pub struct Trace {
    clock: Clock,
    /// Whether somebody keeps what the kernel knows of the connection, which takes a system call to ask.
    asks_kernel: bool,
    seen: Arc<Mutex<Seen>>,
}

/// Who knows how much of an attempt's payload has arrived at the other side, or from it.
pub(crate) trait Carrier: std::fmt::Debug + Send + Sync {
    /// Bytes so far, heads of requests and answers among them.
    fn arrived(&self) -> u64;
}

/// What an attempt went through.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// When each phase was reached.
    pub phases: Phases,
    /// Connection number; 0 for none.
    pub connection: u64,
    /// Whether the connection had served before.
    pub connection_reused: bool,
    /// Whether a connection was lost without an answer before this one, on which the same request was sent.
    pub(crate) resent: bool,
    /// HTTP status.
    pub status: Option<u16>,
    /// The service's id for the request.
    pub request_id: Option<String>,
    /// The way to the service.
    pub route: Route,
    /// What the connection had gone through when the attempt ended, where somebody keeps that.
    pub tcp: Option<TcpHistory>,
    /// The connection itself.
    pub(crate) carrier: Option<Arc<dyn Carrier>>,
}

/// The way that a request took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    /// The address at the other end of the connection: the service's, or that of a proxy.
    pub remote: Option<SocketAddr>,
    /// Whether it is a proxy's.
    pub proxied: bool,
    /// What it took to look its name up, in nanoseconds; only for the request that the connection was made for.
    pub dns_ns: Option<u64>,
    /// What it took a proxy to open a tunnel; the same.
    pub proxy_ns: Option<u64>,
    /// What it took to agree on TLS, with a proxy too where it speaks it; the same.
    pub tls_ns: Option<u64>,
}

impl Route {
    /// Where it leads, without what it took.
    pub(crate) fn known(self) -> Self {
        Self { remote: self.remote, proxied: self.proxied, ..Self::default() }
    }
}

/// What a TCP connection has gone through since it was made, as the kernel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHistory {
    /// Round trip of late, in nanoseconds.
    pub rtt_ns: u64,
    /// Segments that were sent again.
    pub retransmits: u32,
    /// Time in which something was on its way to the other side.
    pub busy_ns: u64,
    /// Of it, time in which the other side's window was full.
    pub rwnd_limited_ns: u64,
    /// Of it, time in which our buffer held too little to send on.
    pub sndbuf_limited_ns: u64,
}

impl Trace {
    /// An empty trace on this clock.
    pub fn new(clock: Clock) -> Self {
        Self { clock, asks_kernel: false, seen: Arc::default() }
    }

    /// The same trace, with [`Seen::tcp`] filled if `asked`.
    #[must_use]
    pub fn asking_kernel(self, asked: bool) -> Self {
        Self { asks_kernel: asked, ..self }
    }

    /// Whether the kernel shall be asked.
    pub(crate) fn asks_kernel(&self) -> bool {
        self.asks_kernel
    }

    /// Notes what the connection has gone through.
    pub(crate) fn tcp(&self, history: Option<TcpHistory>) {
        self.lock().tcp = history;
    }

    /// A trace for calls outside any job, whose times nobody reads.
    pub fn detached() -> Self {
        Self::new(Clock::start())
    }

    /// Marks `phase` as reached now.
    pub fn mark(&self, phase: Phase) {
        self.mark_at(phase, self.clock.now_ns());
    }

    /// Marks `phase` as reached at `at_ns` of this trace's clock.
    pub fn mark_at(&self, phase: Phase, at_ns: u64) {
        let mut seen = self.lock();
        let phases = &mut seen.phases;
        *match phase {
            Phase::Queued => &mut phases.queued_ns,
            Phase::Slot => &mut phases.slot_ns,
            Phase::Ready => &mut phases.ready_ns,
            Phase::Connected => &mut phases.connected_ns,
            Phase::Sent => &mut phases.sent_ns,
            Phase::FirstByte => &mut phases.first_byte_ns,
            Phase::LastByte => &mut phases.last_byte_ns,
            Phase::Committed => &mut phases.committed_ns,
        } = Some(at_ns);
    }

    /// Bytes of the attempt that have arrived; none before it has a connection.
    pub(crate) fn arrived(&self) -> u64 {
        let carrier = self.lock().carrier.clone();
        carrier.map_or(0, |carrier| carrier.arrived())
    }

    /// Notes the connection that carries the request, and where it leads.
    pub(crate) fn connection(&self, number: u64, reused: bool, route: Route, carrier: Arc<dyn Carrier>) {
        let mut seen = self.lock();
        seen.carrier = Some(carrier);
        seen.connection = number;
        seen.connection_reused = reused;
        seen.route = route;
    }

    /// Notes that the request goes out once more, on another connection.
    pub(crate) fn mark_resent(&self) {
        self.lock().resent = true;
    }

    /// Whether the service may have received the request twice.
    pub(crate) fn is_resent(&self) -> bool {
        self.lock().resent
    }

    /// Notes the answer.
    pub fn answer(&self, status: u16, request_id: Option<String>) {
        let mut seen = self.lock();
        seen.status = Some(status);
        seen.request_id = request_id;
    }

    /// The clock of the times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// What was seen so far, which is not kept any longer.
    pub fn take(&self) -> Seen {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        // A panic while marking leaves nothing half done, so the data is good either way.
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
