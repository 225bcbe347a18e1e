//! How far a request in flight has come, when it will end at its own pace, and whether a fresh attempt would end sooner.

use std::collections::VecDeque;

/// Looks that are kept: the pace is that of the last second.
const LOOKS: usize = 10;

/// An attempt beside a request must end so much sooner than the request itself, ...
const SOONER: f64 = 0.75;

/// ... by so much at least, for it costs a request and its bytes.
const SOONER_NS: f64 = 50e6;

/// Younger requests have shown too little of their pace, ...
const YOUNG_NS: u64 = 200_000_000;

/// ... as have those that have been under way for less than this part of the time that a fresh attempt takes. A connection opens
/// its window while it moves, so that its pace in the beginning tells little of what follows.
const YOUNG: f64 = 0.5;

/// Fewer bytes in all are no pace, but a head, or what TLS adds.
const PACE_MIN: u64 = 2 << 10;

/// A request that moves no bytes has stalled or is answered late: from what it has waited follows what it will.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Times and the payload that had arrived by then, newest last.
    looks: VecDeque<(u64, u64)>,
    /// When the last byte moved, as far as looks can tell.
    moved_ns: u64,
}

impl Course {
    /// Looks at a request that began at `began_ns`, of which `arrived` bytes have arrived.
    pub(super) fn look(&mut self, began_ns: u64, now_ns: u64, arrived: u64) {
        if self.looks.back().is_none_or(|(_, before)| arrived > *before) {
            self.moved_ns = now_ns;
        }
        if self.looks.is_empty() {
            self.looks.push_back((began_ns, 0));
            // Nobody knows when in its life they came; half of it is as good as any guess.
            self.moved_ns = if arrived > 0 { began_ns.midpoint(now_ns) } else { began_ns };
        }
        if self.looks.len() == LOOKS {
            self.looks.pop_front();
        }
        self.looks.push_back((now_ns, arrived));
    }

    /// For how long no byte has moved.
    pub(super) fn silent_ns(&self) -> u64 {
        self.looks.back().map_or(0, |(now, _)| now.saturating_sub(self.moved_ns))
    }

    /// How much longer a request of `len` bytes will take, in nanoseconds.
    pub(super) fn left_ns(&self, len: u64) -> f64 {
        let (Some(first), Some(last)) = (self.looks.front(), self.looks.back()) else { return 0.0 };
        let silent = last.0.saturating_sub(self.moved_ns) as f64;
        let left = len.saturating_sub(last.1) as f64;
        let moved = last.1.saturating_sub(first.1);
        if moved == 0 || last.1 < PACE_MIN {
            return silent;
        }
        let pace = moved as f64 / last.0.saturating_sub(first.0).max(1) as f64;
        (left / pace).max(silent)
    }
}

/// Whether a fresh attempt that takes `fresh_ns` would end well before a request that takes `left_ns` more. Where it goes in the
/// place of the request (`instead`) all that has arrived is lost: then the request is given the whole of that time.
pub(super) fn is_overtaken(age_ns: u64, left_ns: f64, fresh_ns: f64, instead: bool) -> bool {
    let young = if instead { 1.0 } else { YOUNG };
    let known = age_ns >= YOUNG_NS && age_ns as f64 >= young * fresh_ns;
    known && fresh_ns < SOONER * left_ns && fresh_ns + SOONER_NS < left_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;
    const BLOCK: u64 = 1 << 20;

    fn course(arrived: &[u64]) -> Course {
        let mut course = Course::default();
        for (look, arrived) in arrived.iter().enumerate() {
            course.look(0, (look as u64 + 1) * 100 * MILLI, *arrived);
        }
        course
    }

    fn left_ms(arrived: &[u64]) -> u64 {
        (course(arrived).left_ns(BLOCK) / 1e6).round() as u64
    }

    #[test]
    fn a_request_ends_at_its_own_pace() {
        assert_eq!(left_ms(&[BLOCK / 4, BLOCK / 2]), 200);
        assert_eq!(left_ms(&[BLOCK / 2]), 100);
    }

    #[test]
    fn the_pace_is_that_of_the_last_second() {
        // Half at once, then next to nothing for a second and a half.
        let slow: Vec<u64> = (0..15).map(|look| BLOCK / 2 + look * 1024).collect();
        assert!(left_ms(&slow) > 40_000, "{}", left_ms(&slow));
        let quick: Vec<u64> =
            (0..15).map(|look| if look < 5 { 0 } else { (look - 4) * BLOCK / 20 }).collect();
        assert!((900..1100).contains(&left_ms(&quick)), "{}", left_ms(&quick));
    }

    #[test]
    fn silence_is_taken_to_last_as_long_as_it_has() {
        assert_eq!(left_ms(&[0, 0, 0, 0, 0]), 500);
        // All has arrived; the answer is late.
        assert_eq!(left_ms(&[BLOCK, BLOCK, BLOCK, BLOCK, BLOCK]), 450);
    }

    #[test]
    fn a_few_bytes_are_no_pace() {
        // The head has arrived, and the window has not opened yet: 4 h at this pace.
        assert_eq!(left_ms(&[600, 600]), 150);
        // A packet now and then is one: it has come so far, and will take hours for the rest.
        let slow: Vec<u64> = (0..15).map(|look| BLOCK / 2 + look * 100).collect();
        assert!(left_ms(&slow) > 100_000, "{}", left_ms(&slow));
    }

    #[test]
    fn an_attempt_beside_must_be_worth_it() {
        let beside = |age_ms, left_ns, fresh_ns| is_overtaken(age_ms * MILLI, left_ns, fresh_ns, false);
        assert!(beside(500, 600e6, 200e6));
        assert!(!beside(100, 600e6, 200e6), "too young");
        assert!(!beside(500, 600e6, 500e6), "hardly sooner");
        assert!(!beside(500, 60e6, 20e6), "by too little");
        assert!(!beside(500, 9e9, 1.2e9) && beside(600, 9e9, 1.2e9), "it is not in its stride yet");
    }

    #[test]
    fn what_is_given_up_had_as_long_as_a_fresh_attempt_takes() {
        let instead = |age_ms| is_overtaken(age_ms * MILLI, 9e9, 1.2e9, true);
        assert!(!instead(600) && instead(1200));
    }
}
