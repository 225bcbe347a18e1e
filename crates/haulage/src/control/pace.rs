//! How many requests a second a service takes, learnt from its refusals, and how many may be sent again. Pure.

use std::time::Duration;

/// A window of answers is judged after this many seconds, ...
const WINDOW: f64 = 1.0;

/// ... if there are this many of them.
const ANSWERS_MIN: u32 = 20;

/// Seconds after which a storm is seen: as many refusals as that, and more than those that are taken.
const STORM: f64 = 0.02;

/// While a limit is on trial that a storm has set, this is judged after so many seconds, ...
const TRIAL: f64 = 0.1;

/// ... so many times.
const TRIALS: u32 = 5;

/// Seconds after which whoever asks is not at the same work any more: those at work tell several times a second.
const PAUSE: f64 = 5.0;

/// From this share of refusals on the service is overloaded; with fewer, retries are cheaper than going slower.
const REFUSED: f64 = 0.10;

/// With a share below this the limit is tried upwards, ...
const ACCEPTED: f64 = 0.03;

/// ... by so much a window.
const RAISE: f64 = 1.08;

/// After more refusals than that the limit is not tried upwards for so many seconds: what is refused then is sent in vain.
const HOLD: f64 = 10.0;

/// Refusals that do not fall below this part of what they were do not depend on how many are sent.
const HELPED: f64 = 0.7;

/// Seconds for which such refusals are then let be.
const LET_BE: f64 = 30.0;

/// Never fewer a second than this: what a service bounds is thousands. So few are sent where most wait for their turn.
const LEAST: f64 = 100.0;

/// With less than this part of the limit in use it holds nobody back, and is forgotten.
const UNUSED: f64 = 0.5;

/// Requests that may go at once after a pause, in seconds' worth.
const BURST: f64 = 0.1;

/// Bounds the requests a second where a service refuses more than so many.
///
/// A service that bounds the rate refuses what is above it. Sending what it accepted in the last second, and a little
/// more each second, loses next to nothing. Refusals that go on whatever is sent are another matter: then it stands aside.
#[derive(Debug, Default)]
pub struct RequestPace {
    /// Requests a second; `None` while nothing is known.
    limit: Option<f64>,
    /// Requests that may go now.
    credit: f64,
    /// When the credit was last counted, in seconds since the job began.
    counted: f64,
    window: Window,
    /// The answers of the last moment.
    moment: Window,
    /// Requests a second that were taken in the last window.
    taken: f64,
    /// When answers were last taken in.
    observed: f64,
    on_trial: Option<Trial>,
    let_be_until: f64,
    /// The limit is not tried upwards until then.
    held_until: f64,
    /// It has just been.
    raised: bool,
    learnt: Option<f64>,
}

/// Whether a limit helps is not known yet.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// The share that was refused before it was set.
    before: f64,
    /// Times that it may still be judged, and whether that is done after a moment.
    left: u32,
    quick: bool,
    /// Requests a second that were taken before.
    calm: f64,
}

#[derive(Debug, Default)]
struct Window {
    began: f64,
    accepted: u32,
    refused: u32,
}

impl Window {
    fn answers(&self) -> u32 {
        self.accepted + self.refused
    }

    fn share(&self) -> f64 {
        f64::from(self.refused) / f64::from(self.answers().max(1))
    }

    fn add(&mut self, accepted: u32, refused: u32) {
        self.accepted += accepted;
        self.refused += refused;
    }

    /// Begins anew; what was in it.
    fn close(&mut self, now: f64) -> Self {
        std::mem::replace(self, Self { began: now, ..Self::default() })
    }
}

impl RequestPace {
    /// Takes in how requests ended since the last call.
    pub fn observe(&mut self, accepted: u32, refused: u32, now: Duration) {
        let now = now.as_secs_f64();
        if now - self.observed > PAUSE {
            // One job has ended and another begins: the time between says nothing of what the service takes.
            self.window.close(now);
            self.moment.close(now);
            self.taken = 0.0;
        }
        self.observed = now;
        self.window.add(accepted, refused);
        if refused > 0 && self.moment.refused == 0 && self.on_trial.is_none() {
            // What the service had saved up is gone: from now on it takes what it takes.
            self.moment.close(now);
        }
        self.moment.add(accepted, refused);
        let quick = self.on_trial.is_some_and(|trial| trial.quick);
        if now - self.moment.began >= if quick { TRIAL } else { STORM } {
            let moment = self.moment.close(now);
            let storms = moment.refused >= ANSWERS_MIN && moment.share() >= 0.5;
            if quick && moment.answers() > 0 || storms && now >= self.let_be_until {
                let calm = self.window.close(now);
                let seconds = (moment.began - calm.began).max(WINDOW);
                let calm = f64::from(calm.accepted.saturating_sub(moment.accepted)) / seconds;
                return self.judge(&moment, now, Some(calm.max(self.taken)));
            }
        }
        // A limit of a few a second must be judged too, only later.
        let seconds = now - self.window.began;
        if seconds < WINDOW || (self.window.answers() < ANSWERS_MIN && seconds < 5.0 * WINDOW) {
            return;
        }
        let window = self.window.close(now);
        self.taken = f64::from(window.accepted) / seconds;
        if window.answers() > 0 {
            self.judge(&window, now, None);
        }
    }

    /// `calm`: it was a storm, or a moment after one; so many a second were taken before.
    fn judge(&mut self, seen: &Window, now: f64, calm: Option<f64>) {
        let (share, seconds) = (seen.share(), now - seen.began);
        let taken = (f64::from(seen.accepted) / seconds).max(LEAST);
        let Some(limit) = self.limit else {
            if share >= REFUSED && now >= self.let_be_until {
                let (quick, left) = (calm.is_some(), if calm.is_some() { TRIALS } else { 1 });
                let trial = Trial { before: share, left, quick, calm: calm.unwrap_or_default() };
                (self.limit, self.on_trial) = (Some(taken), Some(trial));
                (self.credit, self.counted) = (0.0, now);
            }
            return;
        };
        let trial = self.on_trial.take();
        // It may have been over in a moment: then the way back is quick too, as far as what was taken before.
        if let Some(trial) = trial.filter(|trial| share <= ACCEPTED && RAISE * limit < trial.calm) {
            let limit = (2.0 * limit).min(trial.calm);
            (self.limit, self.on_trial) = (Some(limit), Some(Trial { left: TRIALS, ..trial }));
            return;
        }
        // Of few answers a share says nothing.
        if let Some(trial) = trial.filter(|trial| trial.quick && trial.left > 1 && share > ACCEPTED)
            && seen.answers() < ANSWERS_MIN
        {
            self.on_trial = Some(Trial { left: trial.left - 1, ..trial });
            return;
        }
        if let Some(trial) = trial
            && share > HELPED * trial.before
        {
            // What the service had saved up for a moment is gone after some of them.
            let left = trial.left - 1;
            if left == 0 {
                (self.limit, self.let_be_until) = (None, now + LET_BE);
            } else {
                (self.limit, self.on_trial) = (Some(taken.min(limit)), Some(Trial { left, ..trial }));
            }
            return;
        }
        let raised = std::mem::take(&mut self.raised);
        if share > ACCEPTED {
            self.held_until = now + HOLD;
        }
        self.limit = match share {
            share if share >= REFUSED => Some(taken.min(limit)),
            // The last step was one too many; what is refused without one is refused by chance.
            share if share > ACCEPTED && raised => Some(limit / RAISE),
            share if share > ACCEPTED => Some(limit),
            _ if f64::from(seen.answers()) / seconds < UNUSED * limit => None,
            _ if now < self.held_until => Some(limit),
            _ => {
                self.raised = true;
                Some(limit * RAISE)
            }
        };
        self.learnt = self.limit;
    }

    /// The same pace with a limit that somebody else sets, and that nothing is learnt of.
    #[must_use]
    pub fn limited(self, a_second: f64) -> Self {
        // One a month is as good as none, and divides by something.
        Self { limit: Some(a_second.max(4e-7)), ..self }
    }

    /// When the next request may go: `None` for now.
    pub fn wait(&mut self, now: Duration) -> Option<Duration> {
        let limit = self.limit?;
        let now = now.as_secs_f64();
        self.credit = (self.credit + (now - self.counted).max(0.0) * limit).min((limit * BURST).max(1.0));
        self.counted = now;
        (self.credit < 1.0).then(|| Duration::from_secs_f64(now + (1.0 - self.credit) / limit))
    }

    /// Notes that a request goes.
    pub fn sent(&mut self) {
        if self.limit.is_some() {
            self.credit -= 1.0;
        }
    }

    /// The requests a second that were found to be taken, if the service refused more.
    pub fn learnt(&self) -> Option<f64> {
        self.learnt
    }
}

/// Retries that may go at once: a job's worth of requests in flight, all failed together.
const RETRIES_AT_ONCE: f64 = 300.0;

/// Retries a second that are always allowed: a service that comes back is noticed.
const RETRIES_A_SECOND: f64 = 20.0;

/// Retries that each success pays for.
const RETRIES_A_SUCCESS: f64 = 0.5;

/// The longest that a retry waits for its turn.
const TURN_MAX: Duration = Duration::from_secs(20);

/// One budget for all retries of a job, so that a service in trouble sees few of them instead of a storm.
#[derive(Debug)]
pub struct RetryBudget {
    credit: f64,
    counted: f64,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self { credit: RETRIES_AT_ONCE, counted: 0.0 }
    }
}

impl RetryBudget {
    /// Notes requests that ended well.
    pub fn succeeded(&mut self, requests: u32) {
        self.credit = (self.credit + RETRIES_A_SUCCESS * f64::from(requests)).min(RETRIES_AT_ONCE);
    }

    /// Takes one retry and says how long it has to wait for its turn.
    pub fn take(&mut self, now: Duration) -> Duration {
        let now = now.as_secs_f64();
        let refill = (now - self.counted).max(0.0) * RETRIES_A_SECOND;
        self.counted = now;
        // However many wait, the longest turn bounds the debt.
        let least = -TURN_MAX.as_secs_f64() * RETRIES_A_SECOND;
        self.credit = ((self.credit + refill).min(RETRIES_AT_ONCE) - 1.0).max(least);
        Duration::from_secs_f64((-self.credit / RETRIES_A_SECOND).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends as fast as the pace allows, at most `eager` a second, to a service that takes `takes` a second, a tenth of that at
    /// once, and refuses by chance a share of the rest. Gives the share refused in the last half, and requests taken a second.
    fn play(takes: f64, by_chance: f64, eager: f64, seconds: u32) -> (f64, f64, Option<f64>) {
        let mut pace = RequestPace::default();
        let mut random = fastrand::Rng::with_seed(7);
        let (mut room, mut taken, mut refused) = (0.0_f64, 0_u32, 0_u32);
        let (mut accepted_now, mut refused_now) = (0, 0);
        let ticks = seconds * 1000;
        for tick in 0..ticks {
            let now = Duration::from_millis(u64::from(tick));
            room = (room + takes / 1000.0).min(takes / 10.0);
            let tries = (eager / 1000.0) as u32 + u32::from(random.f64() < eager / 1000.0 % 1.0);
            for _ in 0..tries {
                if pace.wait(now).is_some() {
                    break;
                }
                pace.sent();
                let ok = room >= 1.0 && random.f64() >= by_chance;
                if ok {
                    room -= 1.0;
                    accepted_now += 1;
                } else {
                    refused_now += 1;
                }
                if tick > ticks / 2 {
                    taken += u32::from(ok);
                    refused += u32::from(!ok);
                }
            }
            if tick % 100 == 0 {
                pace.observe(std::mem::take(&mut accepted_now), std::mem::take(&mut refused_now), now);
            }
        }
        let half = f64::from(seconds) / 2.0;
        (f64::from(refused) / f64::from(refused + taken), f64::from(taken) / half, pace.learnt())
    }

    #[test]
    fn a_rate_that_the_service_bounds_is_found_and_kept() {
        let (refused, taken, learnt) = play(200.0, 0.0, 5000.0, 60);
        assert!(refused < 0.1, "{refused} were refused");
        assert!(taken > 180.0, "{taken} a second");
        assert!((170.0..260.0).contains(&learnt.unwrap()), "{learnt:?}");
    }

    #[test]
    fn a_service_that_bounds_the_rate_is_sent_little_in_vain() {
        // Ten thousand objects; those of a second may come at once.
        for eager in [2_000, 20_000] {
            let mut pace = RequestPace::default();
            let (mut room, mut taken, mut refused, mut at) = (500.0_f64, 0, 0, 0);
            while taken < 10_000 {
                at += 1;
                let now = Duration::from_millis(at);
                room = (room + 0.5).min(500.0);
                for _ in 0..eager / 1000 {
                    if pace.wait(now).is_some() {
                        break;
                    }
                    pace.sent();
                    let ok = room >= 1.0;
                    room -= f64::from(u8::from(ok));
                    taken += u32::from(ok);
                    refused += u32::from(!ok);
                    pace.observe(u32::from(ok), u32::from(!ok), now);
                }
            }
            assert!(refused < 800, "{eager}: {refused} were refused");
            assert!(at < 22_500, "{eager}: it took {at} ms");
        }
    }

    #[test]
    fn refusals_by_chance_slow_nobody_down() {
        let (_, taken, learnt) = play(1e9, 0.3, 1000.0, 60);
        assert!(taken > 650.0, "{taken} a second");
        assert_eq!(learnt, None);
    }

    #[test]
    fn a_service_without_refusals_knows_no_limit() {
        let (refused, taken, learnt) = play(1e9, 0.0, 1000.0, 10);
        assert!(refused.abs() < 1e-9 && taken > 990.0 && learnt.is_none());
    }

    #[test]
    fn a_moment_of_refusals_costs_little_more_than_a_moment() {
        let mut pace = RequestPace::default();
        let (mut taken, mut credit) = (0, 0.0_f64);
        for at in 0..5_000_u64 {
            let now = Duration::from_millis(at);
            let refuses = (2_000..2_050).contains(&at);
            credit = (credit + 2.0).min(4.0);
            while credit >= 1.0 && pace.wait(now).is_none() {
                credit -= 1.0;
                pace.sent();
                pace.observe(u32::from(!refuses), u32::from(refuses), now);
                taken += u32::from(!refuses);
            }
        }
        assert!(taken > 8_000, "{taken} of 9,900 were taken");
    }

    #[test]
    fn a_pause_says_nothing_of_what_the_service_takes() {
        let mut pace = RequestPace::default();
        let hour = Duration::from_secs(3600);
        pace.observe(3, 0, Duration::from_millis(100));
        for tenth in 0..20 {
            pace.observe(80, 20, hour + Duration::from_millis(100 * tenth));
        }
        // Of some 900 a second a fifth was refused.
        assert!(pace.limit.is_some_and(|limit| limit > 500.0), "{:?}", pace.limit);
    }

    #[test]
    fn retries_are_free_at_first_then_paid_by_success_or_time() {
        let mut budget = RetryBudget::default();
        let now = Duration::from_secs(1);
        assert!((0..300).all(|_| budget.take(now).is_zero()));
        let waits: Vec<_> = (0..20).map(|_| budget.take(now)).collect();
        assert!(waits.is_sorted() && waits[19] >= Duration::from_millis(900), "{waits:?}");
        budget.succeeded(100);
        assert!(budget.take(now).is_zero());
        let longest = (0..10_000).map(|_| budget.take(now)).max();
        assert_eq!(longest, Some(TURN_MAX), "nobody waits longer");
        assert!(budget.take(Duration::from_secs(40)).is_zero());
    }
}
