//! How much at once, and in what pieces: pure decisions, no clock, no I/O.
//!
//! [`AdaptiveController`] follows the link all through the job: `search` finds how many requests in flight
//! pay, `pieces` sizes blocks so that each takes a second or two. [`FixedController`] keeps to what a user has set.
//! [`RequestPace`] and [`RetryBudget`] hold back what a service in trouble would only refuse.

mod adaptive;
mod capped;
mod fixed;
mod known;
mod opening;
mod pace;
mod pieces;
mod polite;
mod queue;
mod round;
mod search;
#[cfg(test)]
mod simulator;

use std::time::Duration;

pub use adaptive::AdaptiveController;
pub use fixed::FixedController;
pub use known::KnownLink;
pub use pace::{RequestPace, RetryBudget};
pub use polite::Politeness;

use crate::units::{ByteRate, ByteSize};

/// Memory that a body holds which goes into a file as it comes: a piece that is being written, one that waits, and the socket's.
pub(crate) const STREAMED: u64 = 768 << 10;

/// What the scheduler may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests in flight.
    pub concurrency: usize,
    /// Size of blocks and ranges, before a store's own bounds.
    pub block_size: ByteSize,
    /// Smallest block or range when little is left and all slots shall end together.
    pub block_min: ByteSize,
    /// Objects up to this size travel in one request.
    pub single_put_max: ByteSize,
    /// The same where there are many objects, so that no slot is idle while a few travel whole.
    pub crowd_put_max: ByteSize,
    /// Bytes on their way that a killed job would have to send again; `None` for no bound. One request may always go.
    pub in_flight_max: Option<ByteSize>,
}

impl Limits {
    /// The size of the next block when `left` bytes of the job are not yet on their way: an even share for every
    /// slot, twice over, so that no slot is left alone with a large block at the end.
    pub fn block_for(&self, left: u64) -> u64 {
        let share = left / (2 * self.concurrency as u64);
        let even = if share.is_power_of_two() { share } else { share.next_power_of_two() / 2 };
        even.clamp(self.block_min.bytes().min(self.block_size.bytes()), self.block_size.bytes())
    }

    /// The limits for an object among `objects`.
    #[must_use]
    pub fn among(self, objects: usize) -> Self {
        match objects >= 2 * self.concurrency {
            true => Self { single_put_max: self.crowd_put_max, ..self },
            false => self,
        }
    }
}

/// Where the search begins, as far as an earlier measurement has told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Requests in flight.
    pub concurrency: Option<usize>,
    /// Size of blocks and ranges.
    pub block_size: Option<ByteSize>,
    /// Objects up to this size travel in one request.
    pub single_put_max: Option<ByteSize>,
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
    /// Where to begin, from an earlier measurement.
    pub start: Start,
    /// What the last job found of the link.
    pub known: Option<KnownLink>,
    /// The bound on the rate, in all.
    pub cap: Option<ByteRate>,
    /// Blocks are hashed several at once (MD5), so that there should be several: more of them, and smaller.
    pub side_by_side: bool,
    /// Others come first: few connections.
    pub polite: bool,
    /// Bodies go into files as they come, so that a larger block holds no more memory than [`STREAMED`].
    pub streams: bool,
}

/// What happened on the link since the last look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observation {
    /// Bytes that arrived, both directions: received, or acknowledged by the other side.
    pub wire_bytes: u64,
    /// Attempts that ended well.
    pub succeeded: u32,
    /// Attempts that the service refused because it is busy.
    pub busy: u32,
    /// Attempts that stalled.
    pub stalled: u32,
    /// Requests in flight now.
    pub in_flight: u32,
    /// Payload of the requests in flight now, in bytes.
    pub in_flight_bytes: u64,
    /// More requests would have gone out, had the concurrency allowed.
    pub hungry: bool,
    /// Bytes of the job that are not on their way yet, as far as they are listed.
    pub left_bytes: u64,
    /// Objects that are not done yet, as far as they are listed.
    pub left_objects: u64,
    /// More objects may be listed.
    pub listing: bool,
    /// How long bytes queue on their way: round trips beyond the shortest. `None` where nobody knows.
    pub queueing: Option<Duration>,
    /// The quickest answer of the job: a round trip and a little; `None` before the first.
    pub quickest_answer: Option<Duration>,
    /// The bound on the rate now, in all.
    pub cap: Option<ByteRate>,
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

    /// What was found of the link, for the next job; `None` where that is not known well, or not worth knowing.
    fn learnt(&self) -> Option<KnownLink> {
        None
    }
}

/// The controller for these wishes: one that adapts, unless the user has set all there is to adapt.
/// `memory` bounds the bytes in flight.
pub fn controller(wishes: &Wishes, memory: ByteSize) -> Box<dyn Controller> {
    match (wishes.concurrency, wishes.block_size) {
        (Some(concurrency), Some(block_size)) => {
            let single_put_max = wishes.single_put_max.or(wishes.start.single_put_max);
            Box::new(FixedController::new(concurrency, block_size, single_put_max))
        }
        _ => Box::new(AdaptiveController::new(*wishes, memory)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_cut_into_even_shares_within_bounds() {
        let limits = Limits {
            block_min: ByteSize::kib(64),
            ..FixedController::new(4, ByteSize::mib(1), None).limits()
        };
        assert_eq!(limits.block_for(u64::MAX), 1 << 20);
        assert_eq!(limits.block_for(8 << 20), 1 << 20);
        assert_eq!(limits.block_for((8 << 20) - 1), 512 << 10);
        assert_eq!(limits.block_for(0), 64 << 10);
    }

    #[test]
    fn in_a_crowd_larger_objects_travel_whole() {
        let limits = AdaptiveController::new(Wishes::default(), ByteSize::mib(96)).limits();
        assert_eq!(limits.among(2 * limits.concurrency - 1), limits);
        assert!(limits.among(2 * limits.concurrency).single_put_max > limits.single_put_max);
    }

    #[test]
    fn near_a_few_large_requests_begin_or_more_small_ones() {
        let start = |bytes_each: u64| {
            let mut controller = AdaptiveController::new(Wishes::default(), ByteSize::mib(96));
            let near = Some(Duration::from_micros(300));
            controller
                .observe(&Observation { quickest_answer: near, ..Observation::default() }, Duration::ZERO);
            assert_eq!(controller.limits().concurrency, 4, "before anything is in flight");
            let seen = Observation {
                in_flight: 4,
                in_flight_bytes: 4 * bytes_each,
                wire_bytes: 1 << 20,
                quickest_answer: near,
                ..Observation::default()
            };
            controller.observe(&seen, Duration::from_millis(100));
            controller.limits().concurrency
        };
        assert_eq!(start(4 << 20), 4);
        assert_eq!(start(4 << 10), 16);
    }
}
