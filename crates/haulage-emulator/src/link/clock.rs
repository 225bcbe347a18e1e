//! When bytes will have passed at a given rate.

use std::time::Duration;

use tokio::time::Instant;

/// How long the past may still be used after a pause. A reader woken a little late, or a socket
/// empty for a moment, must not lose rate; a long pause must not turn into a burst.
pub(super) const GRACE: Duration = Duration::from_millis(10);

/// The moment until which a pipe is booked. Bytes are booked once moved: the next ones wait, so
/// the long-run rate is exact, and no more than one quantum a connection is ahead of its time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    booked_until: Option<Instant>,
}

impl Clock {
    /// Books `bytes` at `rate` bytes a second; the moment when they have passed. They may use up to
    /// `grace` of the past that nobody has booked.
    pub(super) fn book(&mut self, bytes: usize, rate: f64, now: Instant, grace: Duration) -> Instant {
        let from = match self.booked_until {
            None => now,
            Some(until) => until.max(now.checked_sub(grace).unwrap_or(now)),
        };
        let until = from + Duration::from_secs_f64(bytes as f64 / rate);
        self.booked_until = Some(until);
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_pipe_keeps_its_rate_though_woken_late() {
        let start = Instant::now();
        let (mut clock, mut now, mut moved) = (Clock::default(), start, 0);
        while moved < 10_000_000 {
            let free = clock.book(5_000, 1e6, now, GRACE);
            moved += 5_000;
            // Each wake-up comes 3 ms late.
            if free > now {
                now = free + Duration::from_millis(3);
            }
        }
        let seconds = (now - start).as_secs_f64();
        assert!((9.99..10.02).contains(&seconds), "{seconds} s for 10 s worth");
    }

    #[test]
    fn a_pause_does_not_become_a_burst() {
        let start = Instant::now();
        let mut clock = Clock::default();
        clock.book(1_000, 1e6, start, GRACE);
        let later = start + Duration::from_secs(5);
        let free = clock.book(1_000_000, 1e6, later, GRACE);
        assert!(free - later >= Duration::from_millis(990));
    }
}
