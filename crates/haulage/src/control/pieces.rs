//! How large a block should be: a second or two of what one connection gives.

use std::time::Duration;

use crate::units::ByteSize;

/// Time that a block should take. Long enough that a round trip between blocks is a small part of it, short enough
/// that a block lost with its connection is a small loss.
const AIM_SECONDS: f64 = 2.0;

/// A far connection is waited for between blocks; its first ones are small, as nobody knows how slow it is.
const FAR_FIRST: u64 = 512 << 10;

const LARGEST: u64 = 4 << 20;
const SMALLEST: u64 = 64 << 10;

/// Below this an object is always one request: a block list costs two more.
const WHOLE_MIN: u64 = 256 << 10;

/// Among many objects, ones up to this size travel whole; more would hold a slot, and memory, too long.
const CROWD_MAX: u64 = 8 << 20;

/// Slots for which there shall be memory while the search is still climbing.
const SLOTS_MIN: u64 = 64;

/// Follows what one connection gives.
#[derive(Debug)]
pub(super) struct Pieces {
    memory: u64,
    /// The size over a near link, where larger blocks save requests and the processor is what bounds.
    near_block: u64,
    near: bool,
    /// What an earlier measurement has found good.
    told: Option<u64>,
    round_trip: f64,
    /// Bytes a second of one connection; `None` before anybody knows.
    connection: Option<f64>,
    block: u64,
}

impl Pieces {
    pub(super) fn new(memory: ByteSize, near_block: ByteSize, told: Option<ByteSize>) -> Self {
        let (memory, near_block) = (memory.bytes(), near_block.bytes());
        let told = told.map(|size| size.bytes().clamp(SMALLEST, LARGEST));
        let block = told.unwrap_or(FAR_FIRST);
        Self { memory, near_block, near: false, told, round_trip: 0.0, connection: None, block }
    }

    /// Takes in how far the service is.
    pub(super) fn locate(&mut self, near: bool, round_trip: Duration) {
        if near != self.near && self.connection.is_none() {
            self.block = self.told.unwrap_or(if near { self.near_block } else { FAR_FIRST });
        }
        self.near = near;
        self.round_trip = round_trip.as_secs_f64();
    }

    /// Takes in what one connection gives, in bytes a second, as seen over `seconds`.
    pub(super) fn learn(&mut self, connection: f64, seconds: f64) {
        // Follows within a second or so, and passes over a hiccup.
        let weight = (seconds / 0.7).min(1.0);
        let known = *self.connection.get_or_insert(connection);
        let known = known + weight * (connection - known);
        self.connection = Some(known);
        let wanted = known * AIM_SECONDS;
        // A step of two needs more than half a step of change, lest noise flips it to and fro.
        let largest = if self.near { self.near_block } else { LARGEST };
        while self.block < largest && wanted >= 2.4 * self.block as f64 {
            self.block *= 2;
        }
        while self.block > SMALLEST && wanted < 0.8 * self.block as f64 {
            self.block /= 2;
        }
    }

    /// What one connection gives, in bytes a second.
    pub(super) fn connection(&self) -> Option<f64> {
        self.connection
    }

    /// The size of a block with so many in flight.
    pub(super) fn block(&self, concurrency: usize) -> u64 {
        let slots = if self.near { concurrency as u64 } else { (concurrency as u64).max(SLOTS_MIN) };
        // A fifth stays for what is not a block.
        let room = floor_power(self.memory / (slots * 5 / 4).max(1));
        self.block.min(room).max(SMALLEST)
    }

    /// The smallest block of the tail: below a few round trips' worth a connection mostly waits.
    pub(super) fn block_min(&self) -> u64 {
        match (self.near, self.connection) {
            (true, _) => 1 << 20,
            (false, None) => WHOLE_MIN,
            (false, Some(rate)) => {
                floor_power((rate * 2.0 * self.round_trip) as u64).clamp(SMALLEST, LARGEST)
            }
        }
    }

    /// Objects up to this size travel whole: among few objects, and among many.
    pub(super) fn whole_max(&self, block: u64) -> (u64, u64) {
        let few = block.max(WHOLE_MIN);
        // Four blocks' time in one request; more could not be split where it fails.
        (few, (4 * block).clamp(few, CROWD_MAX))
    }
}

/// The largest power of two that is not larger.
fn floor_power(value: u64) -> u64 {
    1 << value.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rate: f64, concurrency: usize) -> u64 {
        let mut pieces = Pieces::new(ByteSize::mib(96), ByteSize::mib(4), None);
        pieces.locate(false, Duration::from_millis(60));
        for _ in 0..30 {
            pieces.learn(rate, 0.1);
        }
        pieces.block(concurrency)
    }

    #[test]
    fn a_block_takes_a_second_or_two() {
        assert_eq!(after(15_000.0, 16), 64 << 10, "4 s: smaller ones would only cost requests");
        assert_eq!(after(150_000.0, 16), 256 << 10);
        assert_eq!(after(2.5e6, 16), 1 << 20, "bounded by memory for the slots to come");
        assert_eq!(after(2.5e6, 200), 256 << 10, "bounded by memory");
    }

    #[test]
    fn the_size_follows_the_rate_but_not_its_noise() {
        let mut pieces = Pieces::new(ByteSize::mib(96), ByteSize::mib(4), None);
        pieces.locate(false, Duration::from_millis(60));
        for tick in 0..200 {
            let noise = if tick % 2 == 0 { 1.3 } else { 0.7 };
            pieces.learn(300_000.0 * noise, 0.1);
            assert!(tick < 20 || pieces.block(8) == 512 << 10, "{tick}");
        }
        for _ in 0..30 {
            pieces.learn(20_000.0, 0.1);
        }
        assert_eq!(pieces.block(8), 64 << 10);
    }

    #[test]
    fn near_services_get_large_blocks_from_the_start() {
        let mut pieces = Pieces::new(ByteSize::mib(96), ByteSize::mib(4), None);
        pieces.locate(true, Duration::from_micros(300));
        assert_eq!(pieces.block(8), 4 << 20);
    }
}
