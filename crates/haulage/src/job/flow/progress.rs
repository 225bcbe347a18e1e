//! How far the job has come and how fast it goes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::objects::{Active, Objects};
use crate::event::{Clock, Progress, SlowObject, Summary};
use crate::http::{WireLook, WireMeter};
use crate::secret::redact;

/// The rate is taken over this long: steady enough to read, quick enough to show a change.
const WINDOW_NS: u64 = 6_000_000_000;

/// At first buffers fill, faster than the link: what the wire took says nothing of it for so long.
const SETTLED_NS: u64 = 2_000_000_000;

/// So much of the wire is a rate.
const ENOUGH_NS: u64 = 500_000_000;

/// The time left is told from this long, lest it jump with each stall; none is told of a job that is over before it is known.
const ETA_WINDOW_NS: u64 = 30_000_000_000;

/// A polite job looks back this long: it must see what its last step has done.
const POLITE_WINDOW_NS: u64 = 500_000_000;

/// The way is full where so much of the best rate is moved; each look forgets this part of the difference.
const FULL: f64 = 0.6;
const FORGOTTEN: f64 = 0.02;

/// Looks over which the rate of late is taken.
const LATE_LOOKS: usize = 3;

/// An object below this takes about as long as an empty one.
const SMALL: u64 = 64 << 10;

/// Names of slow objects given.
const SLOWEST: usize = 3;

/// Bytes that arrived at the other side, and here.
#[derive(Clone, Copy, Default)]
struct Arrived {
    there: u64,
    here: u64,
}

impl Arrived {
    /// Bytes since `then`. Between two services every byte comes and goes, and is counted once.
    fn since(self, then: Self) -> u64 {
        self.there.saturating_sub(then.there).max(self.here.saturating_sub(then.here))
    }
}

/// What was seen at a time.
#[derive(Clone, Copy, Default)]
struct Look {
    at_ns: u64,
    arrived: Arrived,
    /// Bytes of objects that this job has moved.
    payload: u64,
    objects: u64,
}

impl Look {
    /// Bytes that moved: over the wire, or of the payload where nothing crosses a wire.
    fn bytes_since(self, then: Self) -> f64 {
        self.arrived.since(then.arrived).max(self.payload.saturating_sub(then.payload)) as f64
    }

    fn seconds_since(self, then: Self) -> f64 {
        self.at_ns.saturating_sub(then.at_ns) as f64 / 1e9
    }
}

/// Watches the wire and the objects.
pub(super) struct ProgressMeter {
    clock: Clock,
    wire: Arc<WireMeter>,
    shared: Arc<Mutex<Progress>>,
    /// What was seen at each look, newest last.
    looks: VecDeque<Look>,
    last_arrived: Arrived,
    /// Objects that ended in a second where it was quickest.
    most_objects: f64,
    /// Bytes a second of late, and the best of that, slowly forgotten.
    late: f64,
    best: f64,
}

impl ProgressMeter {
    pub(super) fn new(clock: Clock, wire: Arc<WireMeter>, shared: Arc<Mutex<Progress>>) -> Self {
        Self {
            clock,
            wire,
            shared,
            looks: VecDeque::from([Look::default()]),
            last_arrived: Arrived::default(),
            most_objects: 0.0,
            late: 0.0,
            best: 0.0,
        }
    }

    /// Whether about as much arrives as ever did of late: then the way has no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.late > FULL * self.best
    }

    /// Bytes on the wire, both directions.
    pub(super) fn wire(&self) -> u64 {
        self.wire.total()
    }

    /// Bytes that arrived, here or on the other side, since this was last asked, and how long bytes queue. Asks the kernel about
    /// every connection, so the samples use what it found.
    pub(super) fn arrived_since_last(&mut self) -> (u64, WireLook) {
        let look = self.wire.look();
        let arrived = Arrived { there: look.acknowledged, here: self.wire.received() };
        (arrived.since(std::mem::replace(&mut self.last_arrived, arrived)), look)
    }

    /// The rate on the wire over the last second or so.
    pub(super) fn bits_per_second(&self) -> f64 {
        let Some(now) = self.looks.back() else { return 0.0 };
        let since = self.looks.iter().rev().find(|then| then.at_ns + POLITE_WINDOW_NS <= now.at_ns);
        let Some(then) = since.or(self.looks.front()) else { return 0.0 };
        let seconds = now.seconds_since(*then);
        if seconds > 0.0 { now.arrived.since(then.arrived) as f64 * 8.0 / seconds } else { 0.0 }
    }

    /// Takes a sample, and leaves it where the handle finds it.
    pub(super) fn sample(
        &mut self,
        objects: &Objects,
        counts: &Summary,
        retries: u64,
        listed: bool,
        in_flight: u32,
    ) -> Progress {
        let now = self.clock.now_ns();
        let (bytes_total, bytes_done) = objects.bytes();
        let left = bytes_total.saturating_sub(bytes_done);
        let different = counts.objects_differ + counts.objects_missing;
        let twice = objects.counted_twice();
        let deleted = counts.objects_deleted.saturating_sub(twice);
        let different = different + deleted + counts.objects_backed_up;
        let objects_total = objects.total() - twice;
        let objects_done = counts.objects_done + counts.objects_skipped + counts.objects_failed + different;
        let objects_done = objects_done.min(objects_total);
        let rate = self.rate(now, bytes_done.saturating_sub(objects.bytes_resumed()), objects_done);
        let objects_left = objects_total.saturating_sub(objects_done);
        let progress = Progress {
            elapsed_ns: now,
            listed,
            objects_total,
            objects_done,
            objects_failed: counts.objects_failed,
            objects_skipped: counts.objects_skipped,
            bytes_total,
            bytes_done,
            rate_bits_per_second: (rate * 8.0) as u64,
            eta_ns: self.eta(now, left, objects_left).filter(|_| listed),
            in_flight,
            retries,
            flushing: false,
            slowest: slowest(objects.active(), now),
        };
        progress.clone_into(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner));
        progress
    }

    /// Says that only the disk is waited for.
    pub(super) fn flushing(&mut self) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).flushing = true;
    }

    /// Bytes per second: of the wire, or of the payload where nothing crosses a wire.
    fn rate(&mut self, at_ns: u64, payload: u64, objects: u64) -> f64 {
        let now = Look { at_ns, arrived: self.last_arrived, payload, objects };
        self.looks.push_back(now);
        while self.looks.len() > 2 && self.looks[0].at_ns + ETA_WINDOW_NS < at_ns {
            self.looks.pop_front();
        }
        let late = self.looks[self.looks.len().saturating_sub(LATE_LOOKS + 1)];
        if at_ns > late.at_ns {
            self.late = now.arrived.since(late.arrived) as f64 / now.seconds_since(late);
            self.best = (self.best - FORGOTTEN * (self.best - self.late)).max(self.late);
        }
        let then = self.seen_since(at_ns.saturating_sub(WINDOW_NS));
        if at_ns > then.at_ns {
            let ended = objects.saturating_sub(then.objects) as f64 / now.seconds_since(then);
            self.most_objects = self.most_objects.max(ended);
        }
        self.moved(now, WINDOW_NS).unwrap_or(payload as f64 / now.seconds_since(Look::default()).max(1e-3))
    }

    /// Bytes per second over the last so many nanoseconds; `None` before they tell of the link.
    fn moved(&self, now: Look, window_ns: u64) -> Option<f64> {
        let then = self.seen_since(SETTLED_NS.max(now.at_ns.saturating_sub(window_ns)));
        (now.at_ns >= then.at_ns + ENOUGH_NS).then(|| now.bytes_since(then) / now.seconds_since(then))
    }

    /// The first look at this time or later.
    fn seen_since(&self, at_ns: u64) -> Look {
        let since = self.looks.partition_point(|look| look.at_ns < at_ns);
        self.looks.get(since).or(self.looks.back()).copied().unwrap_or_default()
    }

    /// Time left, once the job goes as it will go on.
    fn eta(&self, now_ns: u64, left: u64, objects_left: u64) -> Option<u64> {
        let now = self.looks.back().copied().unwrap_or_default();
        let then = self.seen_since(now_ns.saturating_sub(ETA_WINDOW_NS));
        let wire = self.moved(now, ETA_WINDOW_NS)?;
        // The wire also carries what is sent again, and the payload counts whole blocks, late: the truth is between them.
        let payload = now.payload.saturating_sub(then.payload) as f64 / now.seconds_since(then).max(1e-3);
        let rate = if payload > 0.0 { (wire * payload).sqrt() } else { wire };
        eta(rate, left, objects_left, self.most_objects)
    }
}

/// Time left: by bytes, or by objects where these are small and even the quickest so far would take longer. While large ones fill the
/// link hardly any end, and how many do says nothing of the others.
fn eta(rate: f64, left: u64, objects_left: u64, most_objects: f64) -> Option<u64> {
    let by_bytes = if left == 0 { 0.0 } else { left as f64 / rate };
    let is_small = left < SMALL * objects_left && most_objects > 0.0;
    let by_objects = if is_small { objects_left as f64 / most_objects } else { 0.0 };
    let seconds = by_bytes.max(by_objects);
    (seconds.is_finite() && (rate > 0.0 || left == 0)).then_some((seconds * 1e9) as u64)
}

fn slowest<'a>(objects: impl Iterator<Item = &'a Active>, now: u64) -> Vec<SlowObject> {
    let mut oldest: Vec<(&Active, u64)> =
        objects.filter_map(|it| it.first_ns.map(|first| (it, now.saturating_sub(first)))).collect();
    let keep = SLOWEST.min(oldest.len());
    if keep < oldest.len() {
        oldest.select_nth_unstable_by_key(keep, |(_, age)| std::cmp::Reverse(*age));
        oldest.truncate(keep);
    }
    oldest.sort_unstable_by_key(|(_, age)| std::cmp::Reverse(*age));
    let named = oldest.into_iter().map(|(it, age_ns)| SlowObject {
        object: redact(&it.object.subject.pair.source.name()).into(),
        age_ns,
        bytes_done: it.object.subject.bytes_done,
        size_bytes: it.object.subject.pair.meta.size,
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_what_is_scarce() {
        let second = 1_000_000_000;
        assert_eq!(eta(100.0, 500, 1, 100.0), Some(5 * second), "bytes");
        assert_eq!(eta(100.0, 0, 1000, 100.0), Some(10 * second), "objects");
        assert_eq!(eta(1e6, 1_000_000, 1000, 100.0), Some(10 * second), "small objects");
        assert_eq!(eta(1e6, 10_000_000, 1000, 500.0), Some(10 * second), "bytes of small objects");
        assert_eq!(eta(1e6, 1_000_000_000, 1000, 0.1), Some(1000 * second), "large ones, of which few end");
        assert_eq!(eta(0.0, 500, 1, 100.0), None, "nothing moves");
    }
}
