//! What may be in flight under a cap. The rate is known before the first byte, so that a job that is killed loses no more than
//! one that knows its link does: half a second of it. Pure.

use super::pieces::{SMALLEST, quarters};

/// What the cap lets pass in this time, in seconds, may be in flight, ...
const SECONDS: f64 = 0.5;

/// ... and in so many round trips: what waits for its answer moves nothing.
const TRIPS: f64 = 2.0;

/// Two blocks at least, so that one moves while the other waits for its answer.
const LEAST: u64 = 2 * SMALLEST;

/// Below this part of the cap there may be too few in flight, after so many seconds; ...
const STARVED: f64 = 0.7;
const AFTER: f64 = 3.0;

/// ... from this part on there are enough.
const FED: f64 = 0.9;

/// A bound that was wrong so often is not set again.
const LIFTED_MAX: u32 = 2;

/// The bound on the bytes in flight.
#[derive(Debug, Default)]
pub(super) struct Capped {
    /// Bytes a second; `None` without a cap.
    cap: Option<f64>,
    round_trip: f64,
    /// With the bound the cap was not reached: the link gives one connection little, or something else holds the job up.
    lifted: bool,
    times: u32,
    /// For how long it is as it is, in seconds.
    since: f64,
}

impl Capped {
    /// Takes in the cap, which may change at any time, in bytes a second.
    pub(super) fn set(&mut self, cap: Option<f64>) {
        if self.cap != cap {
            *self = Self { cap, round_trip: self.round_trip, ..Self::default() };
        }
    }

    pub(super) fn set_round_trip(&mut self, seconds: f64) {
        self.round_trip = seconds;
    }

    /// Takes in what the link gives, in bytes a second, while something was in flight for `seconds` more.
    pub(super) fn observe(&mut self, rate: f64, seconds: f64) {
        let Some(cap) = self.cap else { return };
        self.since += seconds;
        let turns = match self.lifted {
            false => rate < STARVED * cap,
            true => rate > FED * cap && self.times < LIFTED_MAX,
        };
        if turns && self.since >= AFTER {
            self.lifted = !self.lifted;
            self.times += u32::from(self.lifted);
            self.since = 0.0;
        }
    }

    /// Bytes that may be in flight; `None` for no bound.
    pub(super) fn most(&self) -> Option<u64> {
        let cap = self.cap.filter(|_| !self.lifted)?;
        Some(((cap * SECONDS.max(TRIPS * self.round_trip)) as u64).max(LEAST))
    }

    /// The size of a block with so many in flight, where it would be `block` without a cap.
    pub(super) fn block(&self, block: u64, concurrency: usize) -> u64 {
        let share = |most| quarters(most / concurrency.max(1) as u64).max(SMALLEST);
        self.most().map_or(block, |most| block.min(share(most)))
    }

    /// The size up to which an object travels whole, where it would be `whole` without a cap: what is lost of it is all of it.
    pub(super) fn whole(&self, whole: u64) -> u64 {
        self.most().map_or(whole, |most| whole.min(most / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: f64 = 125_000.0;

    fn capped(mbit: f64, round_trip: f64) -> Capped {
        let mut capped = Capped::default();
        capped.set(Some(mbit * MBIT));
        capped.set_round_trip(round_trip);
        capped
    }

    #[test]
    fn half_a_second_of_the_cap_is_in_flight_or_two_small_blocks() {
        assert_eq!(capped(8.0, 0.08).most(), Some(500_000));
        assert_eq!(capped(8.0, 0.6).most(), Some(1_200_000), "what waits for answers moves nothing");
        assert_eq!(capped(0.5, 0.08).most(), Some(128 << 10));
        for (mbit, concurrency) in [(8.0, 4), (8.0, 13), (100.0, 13), (1000.0, 64)] {
            let capped = capped(mbit, 0.08);
            let block = capped.block(4 << 20, concurrency);
            let fits = block * concurrency as u64 <= capped.most().unwrap();
            assert!(fits || block == SMALLEST, "{mbit} Mbit/s: {concurrency} of {block}");
        }
        let none = Capped::default();
        assert_eq!((none.most(), none.block(4 << 20, 16), none.whole(1 << 20)), (None, 4 << 20, 1 << 20));
    }

    #[test]
    fn a_bound_with_which_the_cap_is_not_reached_is_lifted_and_twice_for_good() {
        let mut capped = capped(8.0, 0.08);
        let seconds =
            |capped: &mut Capped, part: f64| (0..40).for_each(|_| capped.observe(part * 8.0 * MBIT, 0.1));
        seconds(&mut capped, 0.95);
        assert!(capped.most().is_some());
        seconds(&mut capped, 0.5);
        assert!(capped.most().is_none());
        seconds(&mut capped, 0.95);
        assert!(capped.most().is_some(), "it was something else");
        seconds(&mut capped, 0.5);
        seconds(&mut capped, 0.95);
        assert!(capped.most().is_none());
        capped.set(Some(80.0 * MBIT));
        assert_eq!(capped.most(), Some(5_000_000), "another cap");
    }
}
