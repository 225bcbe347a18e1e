//! The trace of one attempt: which phases it passed, when, and over which connection.

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
    seen: Arc<Mutex<Seen>>,
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
    /// HTTP status.
    pub status: Option<u16>,
    /// The service's id for the request.
    pub request_id: Option<String>,
}

impl Trace {
    /// An empty trace on this clock.
    pub fn new(clock: Clock) -> Self {
        Self { clock, seen: Arc::default() }
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

    /// Notes the connection that carries the request.
    pub fn connection(&self, number: u64, reused: bool) {
        let mut seen = self.lock();
        seen.connection = number;
        seen.connection_reused = reused;
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

    /// What was seen so far.
    pub fn seen(&self) -> Seen {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        // A panic while marking leaves nothing half done, so the data is good either way.
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
