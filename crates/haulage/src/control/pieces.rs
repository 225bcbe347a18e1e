//! How large a block should be: half a second of what one connection gives, or nine round trips, so that a job that is killed
//! has little to do again and a connection seldom rests.

use std::time::Duration;

use super::STREAMED;
use crate::units::ByteSize;

/// Time that a block takes. What is in flight when a job is killed, or a connection lost, is sent again: with this it is half a
/// second of the link, whatever the number of connections.
const AIM_SECONDS: f64 = 0.5;

/// Far away it takes so many round trips: a connection rests for one between two blocks, and others do not take up its
/// share at once. Measured over 80 ms with bbr: blocks of 5 round trips leave 5 % of the link unused, of 8 nothing.
const AIM_TRIPS: f64 = 9.0;

/// A far connection is waited for between blocks; its first ones are small, as nobody knows how slow it is, ...
const FAR_FIRST: u64 = 512 << 10;

/// ... and smaller where the job is short: this many in all, but not below a quarter.
const FIRST_BLOCKS: u64 = 64;

const LARGEST: u64 = 4 << 20;
pub(super) const SMALLEST: u64 = 64 << 10;

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
    /// A block is written as it comes: see [`STREAMED`].
    streams: bool,
    /// The size over a near link, where larger blocks save requests and the processor is what bounds.
    near_block: u64,
    near: bool,
    /// What an earlier measurement has found good.
    told: Option<u64>,
    /// The first size over a far link.
    first: u64,
    round_trip: f64,
    /// Bytes a second of one connection; `None` before anybody knows.
    connection: Option<f64>,
    block: u64,
}

impl Pieces {
    pub(super) fn new(memory: ByteSize, near_block: ByteSize, told: Option<ByteSize>, streams: bool) -> Self {
        let (memory, near_block) = (memory.bytes(), near_block.bytes());
        let told = told.map(|size| size.bytes().clamp(SMALLEST, LARGEST));
        let block = told.unwrap_or(FAR_FIRST);
        Self {
            memory,
            streams,
            near_block,
            near: false,
            told,
            first: FAR_FIRST,
            round_trip: 0.0,
            connection: None,
            block,
        }
    }

    /// Takes in how many bytes there are to move, before the first is.
    pub(super) fn begin_with(&mut self, bytes: u64) {
        self.first = floor_power(bytes / FIRST_BLOCKS).clamp(FAR_FIRST / 4, FAR_FIRST);
        self.begin();
    }

    fn begin(&mut self) {
        if self.connection.is_none() {
            self.block = self.told.unwrap_or(if self.near { self.near_block } else { self.first });
        }
    }

    /// Takes in how far the service is.
    pub(super) fn locate(&mut self, near: bool, round_trip: Duration) {
        self.near = near;
        self.round_trip = round_trip.as_secs_f64();
        self.begin();
    }

    /// Takes in what one connection gives, in bytes a second, as seen over `seconds`.
    pub(super) fn learn(&mut self, connection: f64, seconds: f64) {
        // Follows within a second or so, and passes over a hiccup.
        let weight = (seconds / 0.7).min(1.0);
        let known = *self.connection.get_or_insert(connection);
        let known = known + weight * (connection - known);
        self.connection = Some(known);
        let wanted = known * AIM_SECONDS.max(AIM_TRIPS * self.round_trip);
        let largest = if self.near { self.near_block } else { LARGEST };
        // Noise of a tenth shall not flip it to and fro.
        if wanted > 1.35 * self.block as f64 || wanted < 0.88 * self.block as f64 {
            self.block = quarters(wanted as u64).clamp(SMALLEST, largest);
        }
    }

    /// What one connection gives, in bytes a second.
    pub(super) fn connection(&self) -> Option<f64> {
        self.connection
    }

    /// The size of a block with so many in flight.
    pub(super) fn block(&self, concurrency: usize) -> u64 {
        let slots = if self.near { concurrency as u64 } else { (concurrency as u64).max(SLOTS_MIN) };
        if self.streams && self.memory / slots.max(1) >= STREAMED {
            return self.block;
        }
        // A fifth stays for what is not a block.
        let room = quarters(self.memory / (slots * 5 / 4).max(1));
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

/// The largest of 4, 5, 6 and 7 quarters of a power of two that is not larger.
pub(super) fn quarters(value: u64) -> u64 {
    let quarter = (floor_power(value) / 4).max(1);
    value / quarter * quarter
}

/// The largest power of two that is not larger.
fn floor_power(value: u64) -> u64 {
    1 << value.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rate: f64, concurrency: usize) -> u64 {
        let mut pieces = Pieces::new(ByteSize::mib(96), ByteSize::mib(4), None, false);
        pieces.locate(false, Duration::from_millis(60));
        for _ in 0..30 {
            pieces.learn(rate, 0.1);
        }
        pieces.block(concurrency)
    }

    #[test]
    fn a_block_takes_half_a_second() {
        assert_eq!(after(15_000.0, 16), 64 << 10, "4 s: smaller ones would only cost requests");
        assert_eq!(after(500_000.0, 16), 256 << 10);
        assert_eq!(after(800_000.0, 16), 384 << 10, "not only powers of two");
        assert_eq!(after(2.5e6, 16), 1 << 20);
        assert_eq!(after(10e6, 16), 1 << 20, "bounded by memory for the slots to come");
        assert_eq!(after(10e6, 200), 384 << 10, "bounded by memory");
    }

    #[test]
    fn what_is_written_as_it_comes_may_be_larger_than_its_share_of_memory() {
        let mut pieces = Pieces::new(ByteSize::mib(96), ByteSize::mib(4), None, true);
        pieces.locate(false, Duration::from_millis(200));
        for _ in 0..30 {
            pieces.learn(1_200_000.0, 0.1);
        }
        assert_eq!((pieces.block(100), pieces.block(200)), (2 << 20, 384 << 10));
    }

    #[test]
    fn the_size_follows_the_rate_but_not_its_noise() {
        let mut pieces = Pieces::new(ByteSize::mib(96), ByteSize::mib(4), None, false);
        pieces.locate(false, Duration::from_millis(60));
        for tick in 0..200 {
            let noise = if tick % 2 == 0 { 1.3 } else { 0.7 };
            pieces.learn(300_000.0 * noise, 0.1);
            assert!(tick < 20 || pieces.block(8) == 160 << 10, "{tick}");
        }
        for _ in 0..30 {
            pieces.learn(20_000.0, 0.1);
        }
        assert_eq!(pieces.block(8), 64 << 10);
    }

    #[test]
    fn a_short_job_begins_with_small_blocks() {
        let first = |bytes: u64| {
            let mut pieces = Pieces::new(ByteSize::mib(96), ByteSize::mib(4), None, false);
            pieces.begin_with(bytes);
            pieces.locate(false, Duration::from_millis(200));
            pieces.block(4)
        };
        assert_eq!(first(6 << 20), 128 << 10);
        assert_eq!(first(u64::MAX), 512 << 10);
    }

    #[test]
    fn near_services_get_large_blocks_from_the_start() {
        let mut pieces = Pieces::new(ByteSize::mib(96), ByteSize::mib(4), None, false);
        pieces.locate(true, Duration::from_micros(300));
        assert_eq!(pieces.block(8), 4 << 20);
    }
}
