//! The controller that follows the link.

use std::time::Duration;

use super::capped::Capped;
use super::pieces::{Pieces, SMALLEST};
use super::search::{OPEN_MOST, OPEN_MOST_SMALL, Search, Why};
use super::{Controller, KnownLink, Limits, Observation, Wishes};
use crate::units::{ByteRate, ByteSize, format_duration};

/// An answer within this comes from the same machine or rack. The services of a cloud take longer.
pub(super) const NEAR: Duration = Duration::from_millis(2);

/// A near connection gives all that the machine can take; more of them only push the bytes out of the
/// processor's cache between reading and sending: 0.65 CPU-s for 1 GiB up, and 0.73 with 8.
const NEAR_START: (usize, ByteSize) = (4, ByteSize::mib(4));

/// Small objects are bound by the time an answer takes, not by bytes: 0.90 s for 10,000 of 4 KiB down, and 1.05 s with 4.
const NEAR_START_SMALL: usize = 16;

/// Where blocks are hashed 16 at once, a pass costs the same however many there are: twice 16, so that while some are
/// hashed others are sent. Measured on 1 GiB up with MD5: 1.14 CPU-s against 1.33.
const NEAR_START_SIDE_BY_SIDE: (usize, ByteSize) = (32, ByteSize::mib(2));

/// A far job begins with so many requests at least, so many at most for its bytes, and so many at most for its objects, of
/// which each waits for an answer of its own. They double with each round trip while the link feeds them: see `opening`.
const FAR_START: (u64, u64, u64) = (3, 64, 64);

/// Requests before anything is known.
const FIRST: usize = 16;

/// Each request of the beginning shall have so many bytes, or so many objects, to go on with: a short job ends before it
/// is known how narrow the link is.
const START_BYTES: u64 = 2 << 20;
const START_OBJECTS: u64 = 2;

/// A job that moved for so many seconds has seen what the link gives.
const LEARNT_SECONDS: f64 = 3.0;

/// All together they shall send no more at once, in their first windows, than this part of the job: on a narrow link that is
/// a queue, or lost, and by then the job has hardly begun.
const START_BURST: u64 = 64;

/// With so many objects, and more to come, nobody knows how large the job is: not small.
const MANY: u64 = 50;

/// What TCP sends before the first acknowledgement.
const WINDOW: u64 = 14_600;

/// Round trips from which on the most objects are begun with, in seconds, and how many are with short ones.
const START_TRIP: f64 = 0.12;
const START_NEAR: u64 = 4;

/// Below this a connection that is lost, or slow, would be felt.
const LEAST: usize = 3;

/// Enough for 1 Gbit/s where each connection gives 4 Mbit/s. Services and firewalls begin to mind more.
pub(super) const MOST: usize = 256;

/// A link is shared by connections: many would take most of it before they have seen that it is full.
const MOST_POLITE: usize = 8;

/// Requests below this wait a good part of their time for their answer.
const SMALL_MAX: u64 = 256 << 10;

/// An object travels whole up to this part of what is left.
const EVEN_SHARES: u64 = 96;

/// Bytes come in lumps: windows are announced when a good part of a buffer is free.
const LUMP: f64 = 64.0 * 1024.0;

/// With a cap: what it lets pass in this time, in seconds, in the smallest pieces, bounds the requests.
const CAP_SECONDS: f64 = 1.0;

/// Bytes a second below which the link says nothing.
const RATE_MIN: f64 = 1024.0;

/// Looks that follow each other sooner, in seconds, are taken together: rates of moments are noise.
const LOOK_MIN: f64 = 0.05;

/// Seconds within which each connection shall pass a lump: a link of 2 Mbit/s feeds five.
const LUMP_SECONDS: f64 = 1.5;

fn near_start(wishes: &Wishes) -> (usize, ByteSize) {
    if wishes.side_by_side { NEAR_START_SIDE_BY_SIDE } else { NEAR_START }
}

/// Requests that may be in flight at all.
fn most(wishes: &Wishes) -> usize {
    if wishes.polite {
        return MOST_POLITE;
    }
    let Some(cap) = wishes.cap else { return MOST };
    let pieces = cap.bits() as f64 / 8.0 * CAP_SECONDS / SMALLEST as f64;
    (pieces as usize).clamp(LEAST, MOST)
}

/// Requests with which a far job begins, for all that is listed so far.
fn start(seen: &Observation) -> usize {
    let (least, most, most_objects) = FAR_START;
    // Where answers come soon they double soon, and need not begin as many.
    let trips = seen.quickest_answer.map_or(1.0, |answer| answer.as_secs_f64() / START_TRIP);
    let of_distance = ((most_objects as f64 * trips) as u64).clamp(START_NEAR, most_objects);
    let first_window = (seen.left_bytes / seen.left_objects.max(1)).clamp(1, WINDOW);
    let of_bytes = (seen.left_bytes / START_BYTES).min(most).min(of_distance);
    let of_burst = match seen.listing && seen.left_objects >= MANY {
        true => u64::MAX,
        false => seen.left_bytes / START_BURST / first_window,
    };
    let of_objects = (seen.left_objects / START_OBJECTS).min(of_distance).min(of_burst);
    of_bytes.max(of_objects).max(least) as usize
}

/// Chooses from what the link shows, all through the job.
#[derive(Debug)]
pub struct AdaptiveController {
    wishes: Wishes,
    /// Requests that may be in flight at all.
    most: usize,
    search: Search,
    pieces: Pieces,
    capped: Capped,
    quickest_answer: Option<Duration>,
    /// What was seen since `looked`, in seconds since the job began.
    pending: Observation,
    looked: f64,
    /// What the link gives, in bytes a second, followed over a second or two.
    rate: f64,
    /// Seconds for which something has been in flight.
    busy_seconds: f64,
    /// The start was chosen by what was in flight.
    weighed: bool,
    /// Requests that fill the link, for the next job.
    found: Option<usize>,
    /// Bytes of the job that are not on their way yet, as far as they are listed.
    left_bytes: u64,
}

impl AdaptiveController {
    /// Keeps to what is wished and chooses the rest; `memory` bounds the bytes in flight.
    pub fn new(wishes: Wishes, memory: ByteSize) -> Self {
        let most = most(&wishes);
        let mut capped = Capped::default();
        capped.set(wishes.cap.map(ByteRate::bytes_per_second));
        Self {
            capped,
            wishes,
            most,
            search: match wishes.start.concurrency {
                Some(told) => Search::settled(told, LEAST, most),
                None => Search::new(FIRST, LEAST, most),
            },
            pieces: Pieces::new(memory, near_start(&wishes).1, wishes.start.block_size, wishes.streams),
            quickest_answer: None,
            pending: Observation::default(),
            looked: 0.0,
            rate: 0.0,
            busy_seconds: 0.0,
            weighed: false,
            found: None,
            left_bytes: u64::MAX,
        }
    }

    fn is_near(&self) -> bool {
        self.quickest_answer.is_some_and(|answer| answer < NEAR)
    }

    fn locate(&mut self, answer: Duration) {
        let was_near = self.is_near();
        let told = self.wishes.start.concurrency.is_some();
        self.quickest_answer = Some(answer);
        if self.is_near() && !was_near && !told {
            self.search = Search::settled(near_start(&self.wishes).0, LEAST, self.most);
        }
        self.search.set_round_trip(answer.as_secs_f64());
        self.pieces.locate(self.is_near(), answer);
        self.capped.set_round_trip(answer.as_secs_f64());
    }

    /// Requests to begin with: never fewer for what was found before, since what is not fed is soon left out.
    fn start(&self, seen: &Observation) -> usize {
        let known = self.wishes.known.zip(seen.quickest_answer);
        let found = known.and_then(|(link, answer)| link.start(answer, seen.left_bytes));
        start(seen).max(found.unwrap_or(0)).min(self.most)
    }

    fn concurrency(&self) -> usize {
        self.wishes.concurrency.unwrap_or_else(|| self.search.concurrency()).max(1)
    }

    /// Learns what one connection gives, and how many the link can feed at all.
    fn weigh(&mut self, seen: &Observation, seconds: f64) {
        if seen.in_flight == 0 {
            return;
        }
        // Small requests wait more than they move: they say nothing of what a connection could give.
        let heavy = seen.in_flight_bytes / u64::from(seen.in_flight) >= 64 << 10;
        if !self.weighed && self.is_near() {
            self.weighed = true;
            if !heavy && self.wishes.start.concurrency.is_none() {
                self.search = Search::settled(NEAR_START_SMALL, LEAST, self.most);
            }
        }
        let small = seen.in_flight_bytes / u64::from(seen.in_flight) < SMALL_MAX
            && seen.left_objects > 2 * u64::from(seen.in_flight);
        self.search.set_open_most(if small { OPEN_MOST_SMALL } else { OPEN_MOST });
        self.busy_seconds += seconds;
        let rate = seen.wire_bytes as f64 / seconds;
        let weight = (seconds / 1.5).min(1.0);
        self.rate += weight * (rate - self.rate);
        self.capped.observe(self.rate, seconds);
        // Where hardly a byte moves, something else than the link holds the job up: a disk that is read, another side that
        // is away.
        if !heavy || self.rate < RATE_MIN {
            return;
        }
        if self.busy_seconds >= 0.2 {
            self.pieces.learn(rate / f64::from(seen.in_flight), seconds);
        }
        // Admission: with more connections than this, each would starve.
        if self.busy_seconds >= LEARNT_SECONDS {
            let fed = (self.rate * LUMP_SECONDS / LUMP) as usize;
            self.search.set_most(fed.clamp(2, self.most));
            self.found = Some(self.search.concurrency());
        }
    }
}

impl Controller for AdaptiveController {
    fn limits(&self) -> Limits {
        let concurrency = self.concurrency();
        let block = self.capped.block(self.pieces.block(concurrency), concurrency);
        let (few, many) = self.pieces.whole_max(block);
        let (few, many) = (self.capped.whole(few), self.capped.whole(many));
        // In a short job none shall be at work on a large object when all others have ended.
        let many = many.min(few.max(self.left_bytes / EVEN_SHARES));
        let Wishes { block_size, single_put_max, start, .. } = self.wishes;
        let wished = single_put_max.or(block_size).or(start.single_put_max);
        let single = |chosen| wished.unwrap_or(ByteSize::new(chosen));
        Limits {
            concurrency,
            block_size: block_size.unwrap_or(ByteSize::new(block)),
            block_min: block_size.unwrap_or(ByteSize::new(self.pieces.block_min())),
            single_put_max: single(few),
            crowd_put_max: single(many),
            // So many at once are what the user wants.
            in_flight_max: self
                .capped
                .most()
                .filter(|_| self.wishes.concurrency.is_none())
                .map(ByteSize::new),
        }
    }

    fn observe(&mut self, seen: &Observation, now: Duration) {
        self.left_bytes = seen.left_bytes;
        self.capped.set(seen.cap.map(ByteRate::bytes_per_second));
        if !self.search.has_begun() {
            self.search.begin_with(self.start(seen));
            self.pieces.begin_with(seen.left_bytes);
        }
        if let Some(answer) = seen.quickest_answer.filter(|answer| Some(*answer) != self.quickest_answer) {
            self.locate(answer);
        }
        let now = now.as_secs_f64();
        let seen = Observation {
            wire_bytes: self.pending.wire_bytes + seen.wire_bytes,
            succeeded: self.pending.succeeded + seen.succeeded,
            busy: self.pending.busy + seen.busy,
            stalled: self.pending.stalled + seen.stalled,
            ..*seen
        };
        let seconds = now - self.looked;
        if seconds < LOOK_MIN {
            self.pending = seen;
            return;
        }
        (self.pending, self.looked) = (Observation::default(), now);
        self.weigh(&seen, seconds);
        self.search.look(&seen, now);
    }

    fn explain(&self) -> String {
        let Limits { concurrency, block_size, .. } = self.limits();
        let plural = if concurrency == 1 { "" } else { "s" };
        let mut text = format!("{concurrency} request{plural} in flight, blocks of {block_size}");
        let Some(answer) = self.quickest_answer else { return text };
        let place = if self.is_near() { "near" } else { "far" };
        text += &format!(": the service is {place} (quickest answer {})", format_duration(answer));
        if let Some(rate) = self.pieces.connection() {
            text += &format!(", a connection gives {}", ByteRate::bits_per_second((rate * 8.0) as u64));
        }
        match (self.wishes.concurrency, self.search.why()) {
            (Some(_), _) | (None, Why::Start) => {}
            (None, Why::Knee) => text += ", and more of them give no more",
            (None, Why::Refused) => text += ", and the service refused more of them",
            (None, Why::Bound) => text += ", and no more can be fed",
        }
        text
    }

    fn learnt(&self) -> Option<KnownLink> {
        let free = self.wishes.concurrency.is_none() && self.wishes.cap.is_none() && !self.wishes.polite;
        let trip = self.quickest_answer.filter(|_| free && !self.is_near())?;
        Some(KnownLink { trip, concurrency: self.found? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUND: KnownLink = KnownLink { trip: Duration::from_millis(80), concurrency: 48 };

    /// Requests with which a job of so many bytes begins where the first answer took so many milliseconds.
    fn begins_with(known: Option<KnownLink>, answer_ms: u64, left_bytes: u64) -> usize {
        let wishes = Wishes { known, ..Wishes::default() };
        let mut controller = AdaptiveController::new(wishes, ByteSize::mib(96));
        let quickest_answer = Some(Duration::from_millis(answer_ms));
        controller.observe(
            &Observation { quickest_answer, left_bytes, left_objects: 1, ..Observation::default() },
            Duration::ZERO,
        );
        controller.limits().concurrency
    }

    #[test]
    fn a_short_job_begins_with_what_filled_the_link_the_last_time() {
        let mib = |count: u64| count << 20;
        assert_eq!(begins_with(None, 80, mib(16)), 8);
        assert_eq!(begins_with(Some(FOUND), 80, mib(16)), 48);
        assert_eq!(begins_with(Some(FOUND), 80, mib(4)), 16, "each has something to go on with");
        for answer_ms in [45, 150] {
            assert_eq!(begins_with(Some(FOUND), answer_ms, mib(16)), 48, "the same link on another day");
        }
        assert_eq!(begins_with(Some(FOUND), 20, mib(16)), 8, "another link");
        assert_eq!(begins_with(Some(FOUND), 200, mib(16)), 8, "another link");
        let few = KnownLink { concurrency: 4, ..FOUND };
        assert_eq!(begins_with(Some(few), 80, mib(256)), begins_with(None, 80, mib(256)), "never fewer");
    }

    #[test]
    fn only_a_job_that_has_moved_for_seconds_over_a_far_link_leaves_what_it_found() {
        let learnt = |wishes: Wishes, answer: Duration, seconds: u64| {
            let mut controller = AdaptiveController::new(wishes, ByteSize::mib(96));
            for tick in 0..seconds * 10 {
                let seen = Observation {
                    wire_bytes: 1 << 20,
                    in_flight: 16,
                    in_flight_bytes: 16 << 20,
                    left_bytes: 1 << 30,
                    hungry: true,
                    quickest_answer: Some(answer),
                    ..Observation::default()
                };
                controller.observe(&seen, Duration::from_millis(100 * tick));
            }
            controller.learnt()
        };
        let far = Duration::from_millis(80);
        let found = learnt(Wishes::default(), far, 6).unwrap();
        assert_eq!(found.trip, far);
        assert!(found.concurrency >= LEAST, "{found:?}");
        assert_eq!(learnt(Wishes::default(), far, 2), None, "too short");
        assert_eq!(learnt(Wishes::default(), Duration::from_micros(300), 6), None, "near");
        assert_eq!(learnt(Wishes { polite: true, ..Wishes::default() }, far, 6), None);
        assert_eq!(learnt(Wishes { concurrency: Some(8), ..Wishes::default() }, far, 6), None);
        assert_eq!(
            learnt(Wishes { cap: Some(ByteRate::bits_per_second(1)), ..Wishes::default() }, far, 6),
            None
        );
    }
}
