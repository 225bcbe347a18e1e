//! The controller that keeps to what the user has set.

use super::{Controller, Limits, Observation};
use crate::units::ByteSize;
use std::time::Duration;

/// Keeps the values it was given, whatever the link shows.
#[derive(Debug)]
pub struct FixedController(Limits);

impl FixedController {
    /// At least one request in flight; objects up to a block travel in one request unless said otherwise.
    pub fn new(concurrency: usize, block_size: ByteSize, single_put_max: Option<ByteSize>) -> Self {
        // An object of one block would need a second request to commit it.
        let single_put_max = single_put_max.unwrap_or(block_size);
        Self(Limits {
            concurrency: concurrency.max(1),
            block_size,
            block_min: block_size,
            single_put_max,
            crowd_put_max: single_put_max,
            in_flight_max: None,
        })
    }
}

impl Controller for FixedController {
    fn limits(&self) -> Limits {
        self.0
    }

    fn observe(&mut self, _observation: &Observation, _now: Duration) {}

    fn explain(&self) -> String {
        let Limits { concurrency, block_size, .. } = self.0;
        let plural = if concurrency == 1 { "" } else { "s" };
        format!("{concurrency} request{plural} in flight, blocks of {block_size}, as asked")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_values_are_kept() {
        let mut controller = FixedController::new(0, ByteSize::mib(8), None);
        controller.observe(&Observation { busy: 9, ..Observation::default() }, Duration::from_secs(1));
        let limits = controller.limits();
        assert_eq!((limits.concurrency, limits.block_for(1)), (1, 8 << 20));
        assert_eq!(limits.single_put_max, ByteSize::mib(8));
    }
}
