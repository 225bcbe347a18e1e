//! What a job may take of what it shares with others, as whoever shares it out says.

use std::time::Duration;

use crate::control::RequestPace;
use crate::units::ByteRate;

/// Bounds that somebody else sets, at any time: of a cap, or of the requests a second that a service takes, the part that is
/// this job's. What is `None` is bounded by nothing but the job itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Allowance {
    /// On the wire, in both directions together.
    pub rate: Option<ByteRate>,
    /// Requests a second, where one that follows another within a step (a part that is read, then sent) is not counted by itself; 0
    /// stops them.
    pub requests_per_second: Option<f64>,
    /// Requests in flight; 0 stops them once those in flight have ended.
    pub in_flight: Option<usize>,
}

/// What a gate makes of it.
#[derive(Debug, Default)]
pub(super) struct Leased {
    set: bool,
    in_flight: Option<usize>,
    pace: Option<RequestPace>,
}

impl Leased {
    pub(super) fn set(&mut self, allowance: &Allowance) {
        self.set = true;
        self.in_flight = allowance.in_flight;
        let pace = self.pace.take().unwrap_or_default();
        self.pace = allowance.requests_per_second.map(|limit| pace.limited(limit));
    }

    /// Whether anybody has set it: what a job finds then is not what its link gives.
    pub(super) fn is_set(&self) -> bool {
        self.set
    }

    /// How many of `concurrency` may be in flight.
    pub(super) fn of(&self, concurrency: usize) -> usize {
        self.in_flight.map_or(concurrency, |most| most.min(concurrency))
    }

    /// How long the next request has to wait; `None` for not at all.
    pub(super) fn wait(&mut self, now: Duration) -> Option<Duration> {
        Some(self.pace.as_mut()?.wait(now)?.saturating_sub(now))
    }

    /// Notes that a request goes.
    pub(super) fn sent(&mut self) {
        if let Some(pace) = &mut self.pace {
            pace.sent();
        }
    }
}
