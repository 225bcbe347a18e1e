//! A bound on the rate on the wire, shared by all connections and both directions, that may change at any time.
//!
//! Every piece of I/O is charged after it happened, as time on one common line: a connection
//! that moved `n` bytes may go on once the line has passed the end of its piece. Charging afterwards
//! keeps a connection that waits for its server from holding a claim that others could use.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::units::ByteRate;

/// The common line.
#[derive(Debug)]
pub(super) struct Pacer {
    /// Bits a second; 0 stands for no bound.
    rate: AtomicU64,
    /// The same as somebody else sets it, who shares out what several have together.
    leased: AtomicU64,
    /// When all bytes charged so far will have passed.
    paid_until: Mutex<Instant>,
}

impl Pacer {
    pub(super) fn new(cap: Option<ByteRate>) -> Self {
        let pacer = Self {
            rate: AtomicU64::new(0),
            leased: AtomicU64::new(0),
            paid_until: Mutex::new(Instant::now()),
        };
        pacer.set(cap);
        pacer
    }

    pub(super) fn cap(&self) -> Option<ByteRate> {
        rate(&self.rate)
    }

    /// From now on no more than this either. What was charged at a lower rate is not waited for longer than at this one.
    pub(super) fn lease(&self, most: Option<ByteRate>) {
        let before = self.bytes_per_second();
        self.leased.store(most.map_or(0, |rate| rate.bits().max(8)), Relaxed);
        if let (Some(before), Some(after)) = (before, self.bytes_per_second())
            && after > before
        {
            let mut paid_until = self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            *paid_until = now + paid_until.saturating_duration_since(now).mul_f64(before / after);
        }
    }

    /// From now on. What was charged at the old rate is still waited for: 2 ms of each connection at most.
    pub(super) fn set(&self, cap: Option<ByteRate>) {
        // A rate of zero would divide by nothing; one byte a second is as good a stop.
        self.rate.store(cap.map_or(0, |rate| rate.bits().max(8)), Relaxed);
    }

    fn bytes_per_second(&self) -> Option<f64> {
        let both = [rate(&self.rate), rate(&self.leased)];
        both.into_iter().flatten().min().map(ByteRate::bytes_per_second)
    }

    /// The most that one piece of I/O may move: 2 ms of the whole rate, so that connections
    /// take turns and nothing queues for long, within bounds that keep system calls worth their cost. `None` without a cap.
    pub(super) fn quantum(&self) -> Option<usize> {
        self.bytes_per_second().map(|rate| ((rate * 0.002) as usize).clamp(1 << 10, 1 << 18))
    }

    /// Charges `bytes` moved at `now`; the connection that moved them waits until the result.
    pub(super) fn charge(&self, bytes: usize, now: Instant) -> Option<Instant> {
        let rate = self.bytes_per_second()?;
        let mut paid_until = self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
        // No credit for idle time: a cap is kept from the first byte after a pause on.
        let start = (*paid_until).max(now);
        *paid_until = start + Duration::from_secs_f64(bytes as f64 / rate);
        Some(*paid_until)
    }
}

fn rate(bits: &AtomicU64) -> Option<ByteRate> {
    Some(bits.load(Relaxed)).filter(|bits| *bits > 0).map(ByteRate::bits_per_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_charged_by_anybody_take_their_time() {
        let pacer = Pacer::new(Some(ByteRate::bits_per_second(8_000)));
        let now = Instant::now() + Duration::from_secs(1);
        assert_eq!(pacer.charge(500, now), Some(now + Duration::from_millis(500)));
        assert_eq!(pacer.charge(500, now), Some(now + Duration::from_secs(1)));
        let later = now + Duration::from_secs(5);
        assert_eq!(pacer.charge(1000, later), Some(later + Duration::from_secs(1)));
    }

    #[test]
    fn a_lease_bounds_as_a_cap_does_and_lifts_none() {
        let rate = |bits| Some(ByteRate::bits_per_second(bits));
        let pacer = Pacer::new(rate(8_000));
        let now = Instant::now() + Duration::from_secs(1);
        pacer.lease(rate(80_000));
        assert_eq!(pacer.charge(500, now), Some(now + Duration::from_millis(500)));
        pacer.lease(rate(4_000));
        assert_eq!(pacer.charge(500, now), Some(now + Duration::from_millis(1500)));
        pacer.set(None);
        assert_eq!((pacer.cap(), pacer.quantum().is_some()), (None, true));
        pacer.lease(None);
        assert_eq!(pacer.charge(500, now), None);
    }

    #[test]
    fn what_was_charged_at_a_low_lease_does_not_outlast_it() {
        let rate = |bits| Some(ByteRate::bits_per_second(bits));
        let pacer = Pacer::new(None);
        pacer.lease(rate(8));
        let now = Instant::now();
        assert_eq!(pacer.charge(500, now), Some(now + Duration::from_secs(500)));
        pacer.lease(rate(8_000));
        let until = pacer.charge(500, now).unwrap() - now;
        assert!(until > Duration::from_millis(990) && until < Duration::from_secs(5), "{until:?}");
    }

    #[test]
    fn the_cap_may_change_and_go() {
        let pacer = Pacer::new(None);
        let now = Instant::now() + Duration::from_secs(1);
        assert_eq!((pacer.cap(), pacer.quantum(), pacer.charge(500, now)), (None, None, None));
        pacer.set(Some(ByteRate::bits_per_second(8_000)));
        assert_eq!(pacer.charge(500, now), Some(now + Duration::from_millis(500)));
        pacer.set(Some(ByteRate::bits_per_second(80_000)));
        assert_eq!(pacer.charge(500, now), Some(now + Duration::from_millis(550)));
        pacer.set(None);
        assert_eq!(pacer.charge(500, now), None);
    }
}
