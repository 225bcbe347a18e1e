//! A rate that gives way to other traffic: less as soon as bytes queue on the way, more while they do not. Pure.
//!
//! Other traffic shares the slowest link of the way, and what is in front of that link queues. A queue is seen as round
//! trips that are longer than the shortest. A mover that keeps the queue short leaves the link to whoever fills it, and
//! takes what nobody wants.

use std::time::Duration;

use crate::units::ByteRate;

/// So much longer than without us the queue may be, and so long at most in all, in seconds: where BBR fills a link hardly
/// anything stands, and 5 to 15 ms when we come.
const QUEUE: f64 = 0.003;
const QUEUE_MAX: f64 = 0.010;

/// What one window of a connection holds, in bits, stands before a narrow link by itself: so much more time is granted.
const WINDOW: f64 = 128_000.0;

/// Below this part of the best rate what queues is not our work.
const QUIET: f64 = 0.3;

/// The rate rises this often, ...
const STEP: Duration = Duration::from_millis(200);

/// ... and falls this often: round trips are known as a mean over the last few, which shows a change late.
const STEP_DOWN: Duration = Duration::from_millis(600);

/// The rate with which a job begins, in bits a second. While nothing has queued it rises each second step by this part at most:
/// not so quickly that a queue is full before it is seen.
const FIRST: f64 = 2e6;
const GROWS: f64 = 1.0;

/// With twice the queue that is aimed at, and more, the rate falls to this part, ...
const LESS: f64 = 0.6;

/// ... and with none it rises by this part; in between it does so by less.
const MORE: f64 = 0.08;

/// Never below this, nor below this part of the best rate that was seen: the job goes on, and where hardly a byte is sent no
/// round trip tells that the link is free again.
const LEAST: f64 = 250_000.0;
const LEAST_PART: f64 = 1.0 / 30.0;

/// Chooses the bound on the rate.
#[derive(Debug, Default)]
pub struct Politeness {
    /// Bits a second; `None` while nobody knows what queues.
    rate: Option<f64>,
    /// For how many seconds bytes queue while we move little.
    quiet: f64,
    /// Something has queued.
    queued: bool,
    /// The best that was seen.
    best: f64,
    next: Duration,
}

impl Politeness {
    /// Takes in how long bytes queue and at which rate they move, in bits a second; gives the bound from now on.
    /// `most` is what the user allows.
    pub fn observe(
        &mut self,
        queueing: Option<Duration>,
        moving: f64,
        most: Option<ByteRate>,
        now: Duration,
    ) -> Option<ByteRate> {
        if let Some(queueing) = queueing.filter(|_| now >= self.next) {
            let queueing = queueing.as_secs_f64();
            if moving < QUIET * self.best {
                self.quiet += 0.2 * (queueing - self.quiet);
            }
            let window = WINDOW / self.best.max(FIRST);
            let excess = queueing / ((self.quiet + QUEUE).min(QUEUE_MAX) + window) - 1.0;
            self.next = now
                + if excess > 0.0 {
                    STEP_DOWN
                } else if self.queued {
                    STEP
                } else {
                    2 * STEP
                };
            self.best = self.best.max(moving);
            let least = LEAST.max(LEAST_PART * self.best);
            let most = most.map_or(f64::INFINITY, |most| most.bits() as f64);
            let rate = self.rate.unwrap_or(FIRST);
            self.rate = Some(if excess > 0.0 {
                self.queued = true;
                let part = 1.0 - (1.0 - LESS) * excess.min(1.0);
                // What moves is what the link gives; a bound above it would hold nothing back. But a job that has just begun
                // moves nothing yet.
                (part * moving.clamp(0.5 * rate, rate)).max(least).min(most)
            } else if moving > 0.5 * rate {
                let part = if self.queued { MORE } else { GROWS };
                ((1.0 - part * excess) * rate).min(most)
            } else {
                // A bound that is not reached says nothing of the link.
                rate
            });
        }
        let chosen = self.rate.map(|rate| ByteRate::bits_per_second(rate as u64));
        match (chosen, most) {
            (Some(chosen), Some(most)) => Some(ByteRate::bits_per_second(chosen.bits().min(most.bits()))),
            (chosen, most) => chosen.or(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: f64 = 100e6;

    /// A link with a queue before it; `others` want this much, and all get their share of what they send. Gives our mean
    /// rate and the longest queue, over the second half.
    fn play(others: impl Fn(f64) -> f64, seconds: f64) -> (f64, f64) {
        let (mut politeness, mut cap) = (Politeness::default(), None::<ByteRate>);
        let (mut queue, mut moved, mut longest) = (0.0_f64, 0.0, 0.0_f64);
        let tick = 0.02;
        let ticks = (seconds / tick) as u32;
        for number in 0..ticks {
            let at = f64::from(number) * tick;
            let ours = cap.map_or(2.0 * LINK, |cap| cap.bits() as f64);
            let theirs = others(at);
            let sent = ours + theirs;
            queue = (queue + (sent - LINK) * tick).clamp(0.0, LINK);
            let through = if queue > 0.0 { ours * (LINK / sent).min(1.0) } else { ours };
            let delay = Duration::from_secs_f64(queue / LINK);
            cap = politeness.observe(Some(delay), through, None, Duration::from_secs_f64(at));
            if number > ticks / 2 {
                moved += through * tick;
                longest = longest.max(queue / LINK);
            }
        }
        (moved / (seconds / 2.0), longest)
    }

    #[test]
    fn alone_it_takes_most_of_the_link_and_keeps_the_queue_short() {
        let (rate, queue) = play(|_| 0.0, 60.0);
        assert!(rate > 0.75 * LINK, "{rate}");
        assert!(queue < 0.1, "{queue}");
    }

    #[test]
    fn it_takes_what_others_leave() {
        let (rate, _) = play(|_| 0.6 * LINK, 60.0);
        assert!((0.25 * LINK..0.42 * LINK).contains(&rate), "{rate}");
        let (rate, _) = play(|_| 1.0 * LINK, 60.0);
        assert!(rate < 0.05 * LINK, "{rate}");
    }

    #[test]
    fn it_comes_back_when_the_others_have_gone() {
        let (rate, _) = play(|at| if at < 20.0 { LINK } else { 0.0 }, 80.0);
        assert!(rate > 0.7 * LINK, "{rate}");
    }

    #[test]
    fn before_a_narrow_link_a_window_stands_by_itself() {
        let mut politeness = Politeness::default();
        let ten = |at: u64| politeness_step(&mut politeness, 8, 8e6, at);
        let rates: Vec<f64> = (1..40).map(ten).collect();
        assert!(rates[38] > 7e6, "{rates:?}");
    }

    #[test]
    fn a_short_queue_that_is_there_without_us_is_not_ours() {
        let mut politeness = Politeness { best: 100e6, rate: Some(10e6), ..Politeness::default() };
        let quiet = |at: u64| politeness_step(&mut politeness, 6, 10e6, at);
        let rates: Vec<f64> = (1..40).map(quiet).collect();
        assert!(rates[38] > 10e6, "{rates:?}");
    }

    /// One look a second with so many milliseconds of queue and this much moving, or what is allowed if that is less.
    fn politeness_step(politeness: &mut Politeness, queue_ms: u64, moving: f64, at: u64) -> f64 {
        let moving = politeness.rate.map_or(moving, |rate| rate.min(moving));
        let (queueing, now) = (Some(Duration::from_millis(queue_ms)), Duration::from_secs(at));
        politeness.observe(queueing, moving, None, now).map_or(0.0, |rate| rate.bits() as f64)
    }

    #[test]
    fn the_users_cap_is_kept() {
        let most = Some(ByteRate::bits_per_second(3_000_000));
        let mut politeness = Politeness::default();
        let mut rate = None;
        for second in 1..10 {
            let moving = rate.map_or(0.0, |rate: ByteRate| rate.bits() as f64);
            rate = politeness.observe(Some(Duration::ZERO), moving, most, Duration::from_secs(second));
        }
        assert_eq!(rate, most);
        let rate = politeness.observe(Some(Duration::from_millis(300)), 3e6, most, Duration::from_secs(20));
        assert_eq!(rate.map(ByteRate::bits), Some(1_800_000));
    }

    #[test]
    fn where_nobody_knows_what_queues_nothing_is_held_back() {
        assert_eq!(Politeness::default().observe(None, 1e6, None, Duration::from_secs(1)), None);
    }
}
