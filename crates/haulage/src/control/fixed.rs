//! The controller that keeps to sensible values.

use std::time::Duration;

use super::{Controller, Limits, Observation, Wishes};
use crate::units::ByteSize;

/// Requests in flight: enough to fill 1 Gbit/s where a connection gives 20 Mbit/s.
const CONCURRENCY: usize = 48;

/// Small enough that `CONCURRENCY` of them fit into the memory of a small machine and a slow
/// connection passes one in a second; large enough that requests cost nothing beside their bytes.
const BLOCK_SIZE: ByteSize = ByteSize::mib(2);

/// Keeps the values it was given.
#[derive(Debug)]
pub struct FixedController {
    limits: Limits,
}

impl FixedController {
    /// The user's values, and sensible ones for the rest.
    pub fn new(wishes: &Wishes) -> Self {
        let block_size = wishes.block_size.unwrap_or(BLOCK_SIZE);
        Self {
            limits: Limits {
                concurrency: wishes.concurrency.unwrap_or(CONCURRENCY).max(1),
                block_size,
                // An object of one block would need a second request to commit it.
                single_put_max: wishes.single_put_max.unwrap_or(block_size),
            },
        }
    }
}

impl Controller for FixedController {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn observe(&mut self, _observation: &Observation, _now: Duration) {}

    fn explain(&self) -> String {
        let Limits { concurrency, block_size, single_put_max } = self.limits;
        format!("{concurrency} requests in flight, blocks of {block_size} above {single_put_max} (fixed)")
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
}
