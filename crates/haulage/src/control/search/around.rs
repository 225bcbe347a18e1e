//! Looking around: from the number where we stay, other numbers are tried for some rounds, and kept where they pay.

use super::{PAUSE, Phase, Search, Step, Why};

/// A quarter more in flight must give this much, ...
const MORE_GAIN: f64 = 0.08;

/// ... where it gives this much the knee is far: climb on, ...
const CLIMB_AGAIN: f64 = 0.15;

/// ... and both must be so many times as much as chance gives.
const BEYOND_CHANCE: f64 = 2.0;

/// ... and a quarter fewer must keep this part of the rate, seen against the best that is known.
const FEWER_KEEP: f64 = 0.985;

/// Fewer are tried so many seconds later than more: they spare a queue, and can only cost time.
const FEWER_LATER: f64 = 3.0;

/// The number that seemed enough while climbing is tried so much later, and must keep this part of the rate.
const KNEE_LATER: f64 = 1.0;
const KNEE_KEEPS: f64 = 0.95;

/// A link that gives this part of what it gave is another link, ...
const WORSE: f64 = 0.6;

/// ... and so is one that gives this much more.
const BETTER: f64 = 1.15;

/// So many times as many are tried, and so many where no queue stands: packets are lost, or nothing is full. As lost counts a
/// rate below this part of the best.
const MORE: f64 = 1.25;
const AGAIN: f64 = 1.5;
const LOST: f64 = 0.85;

/// A rate that is so much better than usual rises by itself.
const RISES: f64 = 1.03;

/// Where the way can feed no more than this part of the connections, at once to what it can.
const LEAPS: f64 = 0.4;

/// The best rate is forgotten by this part each round: it may have been that of buffers that were filled.
const BEST_FORGOTTEN: f64 = 0.05;

/// A rate that strays by this part needs one round to be judged, ...
const ROUND_NOISE: f64 = 0.03;

/// ... as one is taken to do before it is known, ...
pub(super) const SPREAD_FIRST: f64 = 0.035;

/// ... and none needs more than these.
const ROUNDS_MAX: u32 = 5;

impl Search {
    pub(super) fn stay(&mut self, rate: f64, until: f64, now: f64) {
        let usual = *self.usual.get_or_insert(rate);
        // What the link has given before is no news: connections that have lost packets get up to speed again.
        let (worse, better) = (rate < WORSE * usual, rate > BETTER * usual.max(self.best));
        self.odd = if worse || better { self.odd + 1 } else { 0 };
        if self.odd >= 2 {
            self.odd = 0;
            self.usual = Some(rate);
            self.pause = PAUSE.0;
            self.best = rate;
            self.leapt = false;
            if better {
                self.phase = Phase::Climb { before: None };
            } else {
                // Bytes that queue say that the way is full: it has become narrow. Where nothing queues, packets were lost
                // and the connections are slow: more of them recover sooner.
                self.probe(rate, if self.fed(rate).is_some() { 0.5 } else { AGAIN }, FEWER_KEEP);
            }
            return;
        }
        if self.odd > 0 {
            return;
        }
        self.spread += 0.2 * ((rate - usual).abs() / usual - self.spread);
        let usual = usual + 0.3 * (rate - usual);
        self.usual = Some(usual);
        self.best = (self.best - BEST_FORGOTTEN * (self.best - usual).max(0.0)).max(rate);
        // Less than it gave, and nothing queues: fewer would give less still.
        let stands = self.queue.stands(self.round_trip);
        self.upwards |= usual < LOST * self.best && !stands;
        // Far more than the way can feed: at once to what it can.
        let fed = self.fed(usual).filter(|_| self.queue.stands(self.round_trip));
        let fed = fed.map_or(1.0, |fed| fed as f64 / self.concurrency as f64);
        let leaps = fed < LEAPS && !self.leapt;
        let later = if self.knee.is_some() { KNEE_LATER } else { FEWER_LATER };
        let until = if self.upwards && !leaps { until } else { until + later };
        // While the rate rises by itself, fewer would seem to pay.
        if now >= until && rate < RISES * usual {
            let knee = self.knee.take().map(|knee| knee as f64 / self.concurrency as f64);
            let more = if stands { MORE } else { AGAIN };
            let factor = if self.upwards { more } else { knee.unwrap_or(0.75) };
            self.leapt |= leaps;
            let keeps = if knee.is_some() { KNEE_KEEPS } else { FEWER_KEEP };
            self.probe(usual, if leaps { fed } else { factor }, keeps);
        }
    }

    fn probe(&mut self, rate: f64, factor: f64, keeps: f64) {
        let from = Step { concurrency: self.concurrency, rate };
        self.concurrency = self.scaled(factor);
        if self.concurrency == from.concurrency {
            // At a bound: the other way next time.
            self.upwards = !self.upwards;
            return;
        }
        self.phase = Phase::Probe { from, keeps, rounds: 0, sum: 0.0 };
    }

    /// The more the rate strays by itself, the more rounds it takes to see a difference.
    pub(super) fn rounds_needed(&self) -> u32 {
        ((self.spread / ROUND_NOISE).powi(2) as u32 + 1).min(ROUNDS_MAX)
    }

    /// Whether rounds that gave `sum` together leave no doubt: fewer cost much, or more give much.
    pub(super) fn is_clear(&self, from: Step, sum: f64, rounds: u32) -> bool {
        let (rate, chance) = (sum / f64::from(rounds), self.chance(rounds));
        match self.concurrency > from.concurrency {
            true => rate >= (1.0 + CLIMB_AGAIN + chance) * from.rate,
            false => rate < (1.0 - CLIMB_AGAIN / 2.0 - chance) * from.rate,
        }
    }

    /// The part that chance makes of the mean of so many rounds.
    fn chance(&self, rounds: u32) -> f64 {
        BEYOND_CHANCE * self.spread / f64::from(rounds).sqrt()
    }

    pub(super) fn judge(&mut self, from: Step, keeps: f64, rate: f64, now: f64) {
        let up = self.concurrency > from.concurrency;
        let explained = BETTER.max(1.2 * self.concurrency as f64 / from.concurrency as f64) * from.rate;
        if rate > explained.max(BETTER * self.best) {
            // More than the probe can explain: it is another link.
            self.usual = Some(rate);
            self.pause = PAUSE.0;
            self.phase = Phase::Climb { before: None };
            return;
        }
        let chance = self.chance(self.rounds_needed());
        let gains = |least: f64| rate >= (1.0 + least.max(chance)) * from.rate;
        let pays = if up { gains(MORE_GAIN) } else { rate >= keeps * from.rate };
        if pays {
            let factor = self.concurrency as f64 / from.concurrency as f64;
            // Giving up a little each time must not add up, so the best rate is forgotten slowly.
            let reference = if up { rate } else { rate.max(0.99 * from.rate) };
            self.usual = Some(reference);
            self.pause = PAUSE.0;
            self.why = Why::Knee;
            self.phase = Phase::Hold { until: now };
            if up && gains(CLIMB_AGAIN) {
                self.climb(None, rate, now);
            } else {
                self.probe(reference, factor.clamp(0.5, 1.5), FEWER_KEEP);
            }
            return;
        }
        // The link itself may have changed under the probe: the next rounds will tell.
        self.concurrency = from.concurrency;
        self.why = Why::Knee;
        self.upwards = !up;
        self.pause = if up { self.pause } else { (2.0 * self.pause).min(PAUSE.1) };
        self.hold(now);
    }
}
