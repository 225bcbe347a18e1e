//! How much at once, and in what pieces: pure decisions, no clock, no I/O.

mod fixed;

use std::time::Duration;

pub use fixed::FixedController;

use crate::units::ByteSize;

/// What the scheduler may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests in flight.
    pub concurrency: usize,
    /// Size of blocks and ranges, before a store's own bounds.
    pub block_size: ByteSize,
    /// Objects up to this size travel in one request.
    pub single_put_max: ByteSize,
}

/// What the user asks for; the controller chooses the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Requests in flight.
    pub concurrency: Option<usize>,
    /// Size of blocks and ranges.
    pub block_size: Option<ByteSize>,
    /// Objects up to this size travel in one request.
    pub single_put_max: Option<ByteSize>,
}

/// What happened on the link since the last look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observation {
    /// Bytes on the wire, both directions.
    pub wire_bytes: u64,
    /// Attempts that ended well.
    pub succeeded: u32,
    /// Attempts that the service refused because it is busy.
    pub busy: u32,
    /// Attempts that broke or stalled.
    pub broken: u32,
    /// Requests in flight now.
    pub in_flight: u32,
    /// The quickest answer of the job: a round trip and a little; `None` before the first.
    pub quickest_answer: Option<Duration>,
}

/// Decides how much is in flight and in what pieces, from what the link shows.
///
/// Pure: time comes in as an argument, so that a test of an hour takes no time.
pub trait Controller: Send + std::fmt::Debug {
    /// What the scheduler may do now.
    fn limits(&self) -> Limits;

    /// Takes in what happened; called every 100 ms or so. `now` is time since the job began.
    fn observe(&mut self, observation: &Observation, now: Duration);

    /// What was chosen and why, in a line or two for the summary.
    fn explain(&self) -> String;
}
