//! A rate that gives way to other traffic: less as soon as bytes queue on the way, more while they do not. Pure.
//!
//! Other traffic shares the slowest link of the way, and what is in front of that link queues. A queue is seen as round
//! trips that are longer than the shortest. A mover that keeps the queue short leaves the link to whoever fills it, and
//! takes what nobody wants.

use std::time::Duration;

use crate::units::ByteRate;

/// Bytes may queue for so long: what a person on the telephone does not hear.
const QUEUE_MAX: Duration = Duration::from_millis(25);

/// The rate rises this often, ...
const STEP: Duration = Duration::from_millis(200);

/// ... and falls this often: round trips are known as a mean over the last few, which shows a change late.
const STEP_DOWN: Duration = Duration::from_millis(600);

/// With a queue the rate falls to this part, ...
const LESS: f64 = 0.6;

/// ... and without one it rises to this.
const MORE: f64 = 1.08;

/// Never below this, nor below this part of the best rate that was seen: the job goes on, and where hardly a byte is sent no
/// round trip tells that the link is free again.
const LEAST: f64 = 64_000.0;
const LEAST_PART: f64 = 1.0 / 30.0;

/// Chooses the bound on the rate.
#[derive(Debug, Default)]
pub struct Politeness {
    /// Bits a second; `None` while nothing has queued.
    rate: Option<f64>,
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
            self.next = now + if queueing > QUEUE_MAX { STEP_DOWN } else { STEP };
            self.best = self.best.max(moving);
            let least = LEAST.max(LEAST_PART * self.best);
            let most = most.map_or(f64::INFINITY, |most| most.bits() as f64);
            if queueing > QUEUE_MAX {
                // What moves is what the link gives; a bound above it would hold nothing back.
                let from = self.rate.map_or(moving, |rate| rate.min(moving));
                self.rate = Some((LESS * from).max(least).min(most));
            } else if let Some(rate) = self.rate {
                // A bound that is not reached says nothing of the link.
                let used = moving > 0.5 * rate;
                self.rate = Some(if used { (MORE * rate).min(most) } else { rate });
            }
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
    fn the_users_cap_is_kept() {
        let most = Some(ByteRate::bits_per_second(1_000_000));
        let mut politeness = Politeness::default();
        let bound = |queue_ms, at| (Some(Duration::from_millis(queue_ms)), Duration::from_secs(at));
        let (queueing, now) = bound(0, 1);
        assert_eq!(politeness.observe(queueing, 1e6, most, now), most);
        let (queueing, now) = bound(80, 2);
        assert_eq!(politeness.observe(queueing, 1e6, most, now).map(ByteRate::bits), Some(600_000));
    }
}
