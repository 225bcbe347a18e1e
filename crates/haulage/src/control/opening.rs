//! The first round trips of a job: twice as many requests with each, as long as those that are there are fed.
//!
//! A new connection sends ten packets in its first round trip and twice as many in the next. So requests can double as
//! quickly at hardly any loss of time, and where the link is narrow, they have not flooded it before anybody knew.

use super::Observation;
use super::round::worth;

/// A connection that passes this many bytes in a round trip is fed: TCP sends 14 KiB in the first one, and twice as much in the
/// second.
const FED: f64 = 18.0 * 1024.0;

/// Round trips in which not all are fed that show it: the first ones go by with connecting, and with waiting for the first
/// acknowledgement.
const HUNGRY_TRIPS: u32 = 4;

/// Shorter ones, in seconds, are noise.
const TRIP_MIN: f64 = 0.02;

/// What the last look has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Opened {
    /// Nothing yet.
    Wait,
    /// All are fed, at so many bytes a second together: more.
    More(f64),
    /// What there is takes all that comes: enough.
    Enough,
}

/// Watches round trip by round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Opening {
    began: Option<f64>,
    /// What was done in this round trip, and since the beginning, in bytes.
    done: f64,
    moved: f64,
    unfed: u32,
}

/// Names are asked for with less.
const ASKING: f64 = 16.0 * 1024.0;

impl Opening {
    /// Whether nothing has moved yet but questions.
    pub(super) fn is_blank(&self) -> bool {
        self.moved < ASKING
    }

    /// Takes in what happened until `now` with `concurrency` requests over a way of `round_trip` seconds.
    pub(super) fn look(
        &mut self,
        seen: &Observation,
        concurrency: usize,
        round_trip: f64,
        now: f64,
    ) -> Opened {
        let Some(began) = self.began.filter(|_| seen.in_flight_bytes > 0) else {
            // What comes before are names.
            self.began = Some(now);
            return Opened::Wait;
        };
        if seen.busy + seen.stalled > 0 {
            return Opened::Enough;
        }
        let seen_worth = worth(seen.wire_bytes, seen.succeeded);
        self.done += seen_worth;
        self.moved += seen_worth;
        if now - began < round_trip.max(TRIP_MIN) {
            return Opened::Wait;
        }
        let trips = ((now - began) / round_trip.max(TRIP_MIN)).max(1.0);
        self.began = Some(now);
        let done = std::mem::take(&mut self.done);
        if done == 0.0 || !seen.hungry {
            // Still connecting, or too little to do.
            return Opened::Wait;
        }
        if done / trips >= FED * concurrency as f64 {
            self.unfed = 0;
            return Opened::More(done / (now - began));
        }
        self.unfed += 1;
        if self.unfed >= HUNGRY_TRIPS { Opened::Enough } else { Opened::Wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: f64 = 0.1;

    /// Round trips in which so much arrived; requests double as the opening says.
    fn play(bytes: impl Fn(usize) -> u64, trips: u32) -> (usize, Opened) {
        let (mut opening, mut concurrency, mut last) = (Opening::default(), 4, Opened::Wait);
        for trip in 0..=trips {
            let seen = Observation {
                wire_bytes: bytes(concurrency),
                in_flight_bytes: 1 << 20,
                hungry: true,
                ..Observation::default()
            };
            last = opening.look(&seen, concurrency, TRIP, f64::from(trip) * TRIP);
            match last {
                Opened::Wait => {}
                Opened::More(_) => concurrency *= 2,
                Opened::Enough => break,
            }
        }
        (concurrency, last)
    }

    #[test]
    fn a_wide_link_gets_twice_as_many_each_round_trip() {
        let (concurrency, last) = play(|concurrency| 50_000 * concurrency as u64, 3);
        assert!(concurrency == 32 && matches!(last, Opened::More(_)), "{concurrency} {last:?}");
    }

    #[test]
    fn a_narrow_link_gets_no_more_than_it_feeds() {
        assert_eq!(play(|_| 25_000, 9), (4, Opened::Enough));
        assert_eq!(play(|_| 200_000, 9), (16, Opened::Enough));
    }

    #[test]
    fn connecting_is_no_hunger() {
        assert_eq!(play(|_| 0, 9), (4, Opened::Wait));
    }
}
