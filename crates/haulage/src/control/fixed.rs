//! The controller that keeps to sensible values: one set for services that are near, one for the rest.

use std::time::Duration;

use super::{Controller, Limits, Observation, Wishes};
use crate::units::{ByteSize, format_duration};

/// An answer within this comes from the same machine or rack. The services of a cloud take longer.
const NEAR: Duration = Duration::from_millis(2);

/// A near connection gives all that the machine can take; more of them only push the bytes out of the
/// processor's cache between reading and sending. Fewer, larger blocks save requests.
const NEAR_LIMITS: (usize, ByteSize) = (8, ByteSize::mib(4));

/// A far connection is bound by its round trip, so it takes many: 64 fill 1 Gbit/s where each gives
/// 20 Mbit/s, and still do when a seventh of their time is waiting. Blocks of 1 MiB let them share a
/// file of a few, and a slow connection passes one in a second.
const FAR_LIMITS: (usize, ByteSize) = (64, ByteSize::mib(1));

/// Keeps the values it was given, and for the others those of the distance.
#[derive(Debug)]
pub struct FixedController {
    wishes: Wishes,
    quickest_answer: Option<Duration>,
}

impl FixedController {
    /// The user's values, and sensible ones for the rest.
    pub fn new(wishes: &Wishes) -> Self {
        Self { wishes: *wishes, quickest_answer: None }
    }

    fn is_near(&self) -> bool {
        self.quickest_answer.is_some_and(|answer| answer < NEAR)
    }
}

impl Controller for FixedController {
    fn limits(&self) -> Limits {
        let (concurrency, block_size) = if self.is_near() { NEAR_LIMITS } else { FAR_LIMITS };
        let block_size = self.wishes.block_size.unwrap_or(block_size);
        Limits {
            concurrency: self.wishes.concurrency.unwrap_or(concurrency).max(1),
            block_size,
            // An object of one block would need a second request to commit it.
            single_put_max: self.wishes.single_put_max.unwrap_or(block_size),
        }
    }

    fn observe(&mut self, observation: &Observation, _now: Duration) {
        self.quickest_answer = observation.quickest_answer.or(self.quickest_answer);
    }

    fn explain(&self) -> String {
        let Limits { concurrency, block_size, .. } = self.limits();
        let plural = if concurrency == 1 { "" } else { "s" };
        let why = match self.quickest_answer {
            Some(answer) => {
                let place = if self.is_near() { "near" } else { "far" };
                format!(": the service is {place} (quickest answer {})", format_duration(answer))
            }
            None => String::new(),
        };
        format!("{concurrency} request{plural} in flight, blocks of {block_size}{why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_values_win() {
        let wishes = Wishes { concurrency: Some(0), block_size: Some(ByteSize::mib(8)), ..Wishes::default() };
        let limits = FixedController::new(&wishes).limits();
        assert_eq!((limits.concurrency, limits.block_size), (1, ByteSize::mib(8)));
        assert_eq!(limits.single_put_max, ByteSize::mib(8));
    }

    #[test]
    fn near_services_get_few_large_requests_and_far_ones_many() {
        let mut controller = FixedController::new(&Wishes::default());
        let mut after = |answer| {
            let quickest_answer = Some(answer);
            controller.observe(&Observation { quickest_answer, ..Observation::default() }, Duration::ZERO);
            (controller.limits().concurrency, controller.limits().block_size, controller.explain())
        };
        let (far, near) = (after(Duration::from_millis(60)), after(Duration::from_micros(300)));
        assert_eq!((far.0, far.1), FAR_LIMITS);
        assert_eq!((near.0, near.1), NEAR_LIMITS);
        assert!(far.2.contains("far (quickest answer 60 ms)"), "{}", far.2);
    }
}
