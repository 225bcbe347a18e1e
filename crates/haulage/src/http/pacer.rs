//! A bound on the rate on the wire, shared by all connections and both directions.
//!
//! Every piece of I/O is charged after it happened, as time on one common line: a connection
//! that moved `n` bytes may go on once the line has passed the end of its piece. Charging afterwards
//! keeps a connection that waits for its server from holding a claim that others could use.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::units::ByteRate;

/// The common line.
#[derive(Debug)]
pub(super) struct Pacer {
    bytes_per_second: f64,
    /// When all bytes charged so far will have passed.
    paid_until: Mutex<Instant>,
}

impl Pacer {
    pub(super) fn new(rate: ByteRate) -> Self {
        // A rate of zero would divide by nothing; one byte a second is as good a stop.
        Self { bytes_per_second: rate.bytes_per_second().max(1.0), paid_until: Mutex::new(Instant::now()) }
    }

    /// The most that one piece of I/O may move: 20 ms of the whole rate, so that connections
    /// take turns, within bounds that keep system calls worth their cost.
    pub(super) fn quantum(&self) -> usize {
        ((self.bytes_per_second * 0.02) as usize).clamp(1 << 10, 1 << 18)
    }

    /// Charges `bytes` moved at `now`; the connection that moved them waits until the result.
    pub(super) fn charge(&self, bytes: usize, now: Instant) -> Instant {
        let mut paid_until = self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
        // No credit for idle time: a cap is kept from the first byte after a pause on.
        let start = (*paid_until).max(now);
        *paid_until = start + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        *paid_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_charged_by_anybody_take_their_time() {
        let pacer = Pacer::new(ByteRate::bits_per_second(8_000));
        let now = Instant::now() + Duration::from_secs(1);
        assert_eq!(pacer.charge(500, now) - now, Duration::from_millis(500));
        assert_eq!(pacer.charge(500, now) - now, Duration::from_secs(1));
        let later = now + Duration::from_secs(5);
        assert_eq!(pacer.charge(1000, later) - later, Duration::from_secs(1));
    }
}
