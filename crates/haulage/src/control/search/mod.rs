//! How many requests in flight pay: open as many as are fed, climb while doubling pays, stay at the knee, look around
//! now and then.
//!
//! Time is cut into rounds. A round lets a change settle, then measures; only rounds in which more requests would
//! have gone out, had they been allowed, say anything about the number of them.

mod around;

use self::around::SPREAD_FIRST;
use super::Observation;
use super::opening::{Opened, Opening};
use super::queue::Queue;
use super::round::Round;

/// Doubling must give this much more to go on; a link that is not full gives nearly twice.
const CLIMB_GAIN: f64 = 1.25;

/// From this round trip on, in seconds, windows open slowly.
const SLOWLY: f64 = 0.1;

/// A little above the knee, so that a slow connection leaves no hole.
const KNEE_MARGIN: f64 = 1.15;

/// Connections that get up to speed are waited for in this many rounds.
const RAMP_ROUNDS: u32 = 4;

/// So many rounds in a row with fewer than pay, and the link is another one.
const HELD_BACK_ROUNDS: u32 = 4;

/// Below this share of refusals the service is not overloaded by us.
const REFUSED_MIN: f64 = 0.05;

/// After refusals or stalls, the part goes on that was not refused, between these.
const YIELD: (f64, f64) = (0.5, 0.7);

/// Seconds for which a refused number is not tried again.
const CEILING_SECONDS: f64 = 60.0;

/// Seconds to stay before looking around, at first and at most: where nothing changes, looks become rare.
const PAUSE: (f64, f64) = (1.0, 16.0);

/// Requests with which the opening ends: from there on a round must show that more pay.
pub(super) const OPEN_MOST: usize = 64;

/// The same where objects are small: each waits longer than it moves.
pub(super) const OPEN_MOST_SMALL: usize = 128;

/// A connection to which TCP gives so many bytes in a round trip has a window that a lost packet does not empty.
const FED: f64 = 28.0 * 1024.0;

/// With fewer a connection that waits for its answer leaves a hole.
const FEWEST: usize = 3;

/// Why the number is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Nothing else was tried, or needed.
    Start,
    /// More gave no more.
    Knee,
    /// The service refused more.
    Refused,
    /// No more are allowed.
    Bound,
}

/// A number of requests in flight and what it gave, in bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    concurrency: usize,
    rate: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The first round trips.
    Open(Opening),
    /// Doubles as long as it pays.
    Climb { before: Option<Step> },
    /// Stays until then.
    Hold { until: f64 },
    /// Tries another number for some rounds, and goes back where that does not pay: where fewer give less than this part. What
    /// the rounds gave so far.
    Probe { from: Step, keeps: f64, rounds: u32, sum: f64 },
    /// Fewer, because the service refused this share at this number; for the second time in a row where `again`.
    Yield { from: Step, refused: f64, again: bool },
}

/// The search.
#[derive(Debug)]
pub(super) struct Search {
    concurrency: usize,
    least: usize,
    most: usize,
    round_trip: f64,
    phase: Phase,
    round: Round,
    /// Requests with which the opening ends.
    open_most: usize,
    /// The number that seemed enough while climbing, to be tried next.
    knee: Option<usize>,
    /// Going at once to what the way can feed did not pay.
    leapt: bool,
    /// Rounds in a row in which connections got up to speed.
    ramped: u32,
    /// How long bytes queue on their way.
    queue: Queue,
    /// The rate where we stay, slowly followed.
    usual: Option<f64>,
    /// The best that this link has given.
    best: f64,
    /// How far rounds stray from the usual rate, as a part of it.
    spread: f64,
    /// Rounds in a row that fell out of the usual.
    odd: u32,
    /// Rounds in a row in which fewer were allowed than pay.
    held_back: u32,
    pause: f64,
    /// The number that was refused, and until when that is remembered.
    ceiling: Option<(usize, f64)>,
    /// The next look goes upwards.
    upwards: bool,
    /// Refusals of this share do not depend on how many we send.
    futile: f64,
    why: Why,
}

impl Search {
    pub(super) fn new(start: usize, least: usize, most: usize) -> Self {
        Self {
            concurrency: start,
            least,
            most,
            round_trip: 0.0,
            phase: Phase::Open(Opening::default()),
            round: Round::default(),
            open_most: OPEN_MOST,
            knee: None,
            leapt: false,
            ramped: 0,
            queue: Queue::default(),
            usual: None,
            best: 0.0,
            spread: SPREAD_FIRST,
            odd: 0,
            held_back: 0,
            pause: PAUSE.0,
            ceiling: None,
            upwards: true,
            futile: 0.0,
            why: Why::Start,
        }
    }

    /// A service so near that its number is known: only looks around.
    pub(super) fn settled(start: usize, least: usize, most: usize) -> Self {
        Self { phase: Phase::Hold { until: PAUSE.0 }, ..Self::new(start, least, most) }
    }

    pub(super) fn concurrency(&self) -> usize {
        self.concurrency.min(self.most)
    }

    pub(super) fn why(&self) -> Why {
        if self.concurrency >= self.most { Why::Bound } else { self.why }
    }

    pub(super) fn set_round_trip(&mut self, seconds: f64) {
        self.round_trip = seconds;
    }

    /// As many as this are opened without a proof that they pay.
    pub(super) fn set_open_most(&mut self, most: usize) {
        self.open_most = most;
    }

    /// Whether something has been seen.
    pub(super) fn has_begun(&self) -> bool {
        !matches!(&self.phase, Phase::Open(opening) if opening.is_blank())
    }

    /// As many as this while nothing has been seen.
    pub(super) fn begin_with(&mut self, start: usize) {
        self.concurrency = start;
    }

    /// No more than this from now on.
    pub(super) fn set_most(&mut self, most: usize) {
        self.most = most.max(1);
    }

    /// Takes in what happened until `now`, in seconds since the job began.
    pub(super) fn look(&mut self, seen: &Observation, now: f64) {
        self.queue.look(seen.queueing.map_or(0.0, |queue| queue.as_secs_f64()));
        if let Phase::Open(opening) = &mut self.phase {
            let opened = opening.look(seen, self.concurrency, self.round_trip, now);
            self.open(opened, now);
            return;
        }
        if matches!(self.phase, Phase::Probe { .. }) && seen.in_flight as usize > self.concurrency() {
            // Fewer are not seen before those that were too many have ended.
            self.settle(now);
            return;
        }
        let Some((round, seconds)) = self.round.look(seen, self.round_min(), now) else { return };
        if matches!(self.phase, Phase::Climb { .. }) && !self.is_full(round.rate(seconds)) {
            let waits = round.ramps() && self.ramped < RAMP_ROUNDS;
            self.ramped = if waits { self.ramped + 1 } else { 0 };
            if waits {
                return;
            }
        }
        let before = self.concurrency();
        self.end_round(&round, seconds, now);
        if self.concurrency != before {
            self.settle(now);
        }
    }

    /// New connections take a round trip or three, and then carry what their buffers take.
    fn settle(&mut self, now: f64) {
        self.round = Round::after(now + (3.0 * self.round_trip).clamp(0.1, 1.0));
    }

    fn open(&mut self, opened: Opened, now: f64) {
        let most = self.open_most.min(self.most);
        if let Opened::More(rate) = opened {
            self.best = self.best.max(rate);
        }
        match opened {
            Opened::Wait => return,
            Opened::More(rate) if self.concurrency < most && !self.is_full(rate) => {
                self.concurrency = self.scaled(2.0).min(most);
                return;
            }
            Opened::More(_) | Opened::Enough => {}
        }
        self.phase = Phase::Climb { before: None };
        self.settle(now);
    }

    /// Whether the way is full and could not feed twice as many.
    fn is_full(&self, rate: f64) -> bool {
        self.fed(rate).is_some_and(|fed| fed < 2 * self.concurrency)
    }

    /// How many connections the way feeds at `rate`, where it is full: each with a good window.
    /// `None` where nothing queues, for then more may well give more.
    fn fed(&self, rate: f64) -> Option<usize> {
        self.queue.was_there(self.round_trip).then(|| ((rate * self.round_trip / FED) as usize).max(FEWEST))
    }

    /// Whether each connection has a good window at `rate` that would open again slowly.
    fn has_windows(&self, rate: f64) -> bool {
        self.round_trip >= SLOWLY && rate * self.round_trip >= FED * self.concurrency as f64
    }

    /// Quick steps while climbing, steadier ones later.
    fn round_min(&self) -> f64 {
        match self.phase {
            Phase::Climb { .. } => (2.0 * self.round_trip).clamp(0.2, 1.0),
            _ => (4.0 * self.round_trip).clamp(0.5, 2.0),
        }
    }

    fn end_round(&mut self, round: &Round, seconds: f64, now: f64) {
        self.ceiling = self.ceiling.filter(|(_, until)| now < *until);
        if self.is_held_back() {
            self.call_off(now);
            return;
        }
        self.concurrency = self.concurrency();
        let rate = round.rate(seconds);
        if self.yielded(round, rate, now) {
            return;
        }
        if !round.was_hungry() || rate <= 0.0 {
            // Too little to do, or no memory for more: no evidence.
            self.call_off(now);
            return;
        }
        match self.phase {
            Phase::Open(_) => {}
            Phase::Climb { before } => self.climb(before, rate, now),
            Phase::Hold { until } => self.stay(rate, until, now),
            Phase::Probe { from, keeps, rounds, sum }
                if rounds + 1 < self.rounds_needed() && !self.is_clear(from, sum + rate, rounds + 1) =>
            {
                self.phase = Phase::Probe { from, keeps, rounds: rounds + 1, sum: sum + rate };
            }
            Phase::Probe { from, keeps, rounds, sum } => {
                self.judge(from, keeps, (sum + rate) / f64::from(rounds + 1), now);
            }
            Phase::Yield { .. } => {
                self.usual = Some(rate);
                self.hold(now);
            }
        }
    }

    /// Whether fewer are allowed than were found to pay, as where a link stands still for a while: then the round says nothing of that
    /// number, which is taken up again with the link. A link that has become narrow is believed after some rounds.
    fn is_held_back(&mut self) -> bool {
        self.held_back = if self.concurrency > self.most { self.held_back + 1 } else { 0 };
        (1..HELD_BACK_ROUNDS).contains(&self.held_back)
    }

    /// Backs off where the service refuses; true where that settles the round.
    fn yielded(&mut self, round: &Round, rate: f64, now: f64) -> bool {
        let share = round.refused_share();
        if round.refused < 3 || share <= REFUSED_MIN.max(1.5 * self.futile) {
            return false;
        }
        match self.phase {
            // A service with too much to do does as much for fewer requests. This one did less and refused as often, at
            // half the number and at a quarter: it is not we who are too many.
            Phase::Yield { from, refused, again: true }
                if share > 0.6 * refused && rate < 0.85 * from.rate =>
            {
                self.futile = share.max(refused);
                self.concurrency = from.concurrency;
                self.ceiling = None;
                self.why = Why::Start;
                self.phase = Phase::Climb { before: None };
            }
            before => {
                let here = (Step { concurrency: self.concurrency, rate }, share);
                let ((from, refused), again) = match before {
                    Phase::Yield { from, refused, again: false } => ((from, refused), true),
                    _ => (here, false),
                };
                self.phase = Phase::Yield { from, refused, again };
                self.ceiling = Some((self.concurrency, now + CEILING_SECONDS));
                self.concurrency = self.scaled((1.0 - share).clamp(YIELD.0, YIELD.1));
                self.why = Why::Refused;
            }
        }
        true
    }

    fn climb(&mut self, before: Option<Step>, rate: f64, now: f64) {
        self.best = self.best.max(rate);
        let here = Step { concurrency: self.concurrency, rate };
        match before {
            Some(before) if rate < CLIMB_GAIN * before.rate => {
                let knee = before.concurrency as f64 * (rate / before.rate).max(1.0) * KNEE_MARGIN;
                let knee = (knee.ceil() as usize).min(self.concurrency);
                // Where each has a good window, those that go would take theirs along, and far away the others open theirs
                // slowly: that is tried a little later, and taken back where it costs.
                if self.has_windows(rate) && knee < self.concurrency {
                    (self.knee, self.upwards) = (Some(knee), false);
                } else {
                    self.concurrency = knee;
                }
                self.why = Why::Knee;
                self.usual = Some(rate.max(before.rate));
                self.hold(now);
            }
            _ if self.is_full(rate) => {
                self.why = Why::Knee;
                self.usual = Some(rate);
                self.phase = Phase::Hold { until: now };
                self.upwards = false;
            }
            _ if self.scaled(2.0) <= self.concurrency => {
                self.usual = Some(rate);
                self.hold(now);
            }
            _ => {
                self.phase = Phase::Climb { before: Some(here) };
                self.concurrency = self.scaled(2.0);
            }
        }
    }

    /// Goes back from a probe of which nothing is to be learnt.
    fn call_off(&mut self, now: f64) {
        if let Phase::Probe { from, .. } = self.phase {
            self.concurrency = from.concurrency;
            self.hold(now);
        }
    }

    fn hold(&mut self, now: f64) {
        self.phase = Phase::Hold { until: now + self.pause };
    }

    /// The number times `factor`, changed by one at least, within the bounds.
    fn scaled(&self, factor: f64) -> usize {
        let scaled = self.concurrency as f64 * factor;
        let scaled = if factor > 1.0 { scaled.ceil() } else { scaled.floor() } as usize;
        // Just below what was refused.
        let most = self.ceiling.map_or(self.most, |(refused, _)| self.most.min(refused * 9 / 10));
        let least = self.least.min(self.most);
        scaled.clamp(least, most.max(least))
    }
}
