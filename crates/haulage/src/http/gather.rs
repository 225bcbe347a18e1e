//! Fewer wake-ups: the reader of a long answer is woken when a good piece has arrived, not for every packet.
//!
//! The kernel takes the least piece as the low-water mark of the socket. It follows the rate, so that a slow link is read as its
//! bytes come, and it is gone before the answer ends: the last bytes would never reach it.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::kernel;
use super::traffic::Traffic;

/// A piece is what arrives in this time, ...
const PIECE_SECONDS: f64 = 0.04;

/// ... between these: below, packets may as well come one by one; above, nothing is saved any more.
const PIECE: (f64, f64) = (8.0 * 1024.0, 128.0 * 1024.0);

/// A session of TLS may have taken so much from the kernel and not handed it on: a record and a little, of which the end has not come.
const RECORD: u64 = 18 << 10;

/// A rate is known after so long.
const KNOWN_AFTER: Duration = Duration::from_millis(30);

/// When nothing was read for so long, the link has become slower than the mark knows.
const SILENCE: Duration = Duration::from_millis(300);

/// Sets the mark for an answer of which `left` bytes have not been read yet.
pub(super) fn choose(traffic: &Traffic, left: u64) {
    if traffic.is_paced() {
        return set(traffic, 1);
    }
    if let Some(since) = traffic.answering_for().filter(|since| *since >= KNOWN_AFTER) {
        let rate = traffic.read_in_exchange() as f64 / since.as_secs_f64();
        traffic.read_rate.store(rate as u64, Relaxed);
    }
    // Before it is known, as quick as the answer before.
    let behind = RECORD * traffic.sealed;
    set(traffic, piece(traffic.read_rate.load(Relaxed), left.saturating_sub(behind)));
}

/// Every byte wakes the reader again: the head of an answer is short.
pub(super) fn reset(traffic: &Traffic) {
    set(traffic, 1);
}

/// Lets through what waits below the mark, where it has waited long.
pub(super) fn release(traffic: &Traffic) {
    if traffic.low_water.load(Relaxed) > 1 && traffic.since_read() >= SILENCE {
        set(traffic, 1);
    }
}

fn set(traffic: &Traffic, bytes: u32) {
    if traffic.low_water.swap(bytes, Relaxed) != bytes {
        kernel::set_low_water(traffic.socket, bytes);
    }
}

/// The piece at `rate` bytes a second: a power of two, so that it seldom changes.
fn piece(rate: u64, left: u64) -> u32 {
    let wanted = (rate as f64 * PIECE_SECONDS).min(PIECE.1);
    if wanted < PIECE.0 {
        return 1;
    }
    let piece = 1_u64 << (wanted as u32).ilog2();
    left.clamp(1, piece) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_the_rate_and_end_before_the_answer() {
        assert_eq!(piece(0, u64::MAX), 1, "nothing is known");
        assert_eq!(piece(150_000, u64::MAX), 1, "a slow link");
        assert_eq!(piece(1_000_000, u64::MAX), 32 << 10);
        assert_eq!(piece(1_000_000_000, u64::MAX), 128 << 10);
        assert_eq!(piece(1_000_000_000, 50_000), 50_000, "the end is near");
        assert_eq!(piece(1_000_000_000, 0), 1);
    }
}
