//! How long bytes queue on their way, as looks have shown it.

/// Bytes that wait so long, in seconds, and this part of a round trip, are a queue: the way is full.
const LEAST: (f64, f64) = (0.005, 0.125);

/// What queued is forgotten by this part each look.
const FORGOTTEN: f64 = 0.05;

/// A queue that is there at so many looks in a row stands: it is no burst that comes and goes with the windows.
const STANDS: usize = 5;

/// The queue of late.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Queue {
    /// In seconds; a queue is forgotten within some looks.
    held: f64,
    lately: [f64; STANDS],
}

impl Queue {
    /// Takes in for how many seconds bytes queue.
    pub(super) fn look(&mut self, seconds: f64) {
        self.held = seconds.max(self.held + FORGOTTEN * (seconds - self.held));
        self.lately.rotate_left(1);
        self.lately[STANDS - 1] = seconds;
    }

    /// Whether there was one of late, over a way of `round_trip` seconds.
    pub(super) fn was_there(&self, round_trip: f64) -> bool {
        self.held > least(round_trip)
    }

    /// Whether there was one at each of the last looks.
    pub(super) fn stands(&self, round_trip: f64) -> bool {
        self.lately.iter().all(|seconds| *seconds > least(round_trip))
    }
}

fn least(round_trip: f64) -> f64 {
    (round_trip * LEAST.1).max(LEAST.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_remembered_and_does_not_stand() {
        let mut queue = Queue::default();
        [0.0, 0.05, 0.0, 0.0].into_iter().for_each(|seconds| queue.look(seconds));
        assert!(queue.was_there(0.1) && !queue.stands(0.1));
        (0..STANDS).for_each(|_| queue.look(0.02));
        assert!(queue.stands(0.1));
        assert!(!queue.stands(0.2), "over a longer way it is none");
        (0..60).for_each(|_| queue.look(0.0));
        assert!(!queue.was_there(0.1));
    }
}
