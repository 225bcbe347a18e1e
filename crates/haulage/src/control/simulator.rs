//! A link and a mover in a few lines, to see what a controller makes of them. Time is simulated.

use std::fmt;
use std::time::Duration;

use super::{AdaptiveController, Controller as _, Observation, Wishes};
use crate::units::ByteSize;

/// Seconds of one step.
const STEP: f64 = 0.005;
const LOOK: f64 = 0.1;
const MEMORY: u64 = 96 << 20;

/// A link: rates in bytes a second.
struct Link {
    round_trip: f64,
    connection: f64,
    total: fn(f64) -> f64,
    /// Requests in flight above which the service refuses, and the share that it refuses anyway.
    capacity: usize,
    refuses: f64,
    /// Seconds before the first request, for listing and the like.
    delay: f64,
    /// How far the rate strays from one look to the next: 0.2 for a fifth.
    noise: f64,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            round_trip: 0.06,
            connection: 2.5e6,
            total: |_| 125e6,
            capacity: usize::MAX,
            refuses: 0.0,
            delay: 0.0,
            noise: 0.0,
        }
    }
}

struct Request {
    size: u64,
    left: f64,
    /// Waits for the connection, or for the answer, until then.
    until: f64,
    refused: bool,
    /// No two connections are alike; without this all would wait for their answers at the same time.
    pace: f64,
}

/// What came of it.
struct Run {
    seconds: f64,
    requests: u64,
    refused: u64,
    /// Time, requests allowed and block size at each look.
    looks: Vec<(f64, usize, u64)>,
}

impl fmt::Debug for Run {
    /// Only the looks at which something changed: time, requests allowed, block size in KiB.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s, {} of {} refused:", self.seconds, self.refused, self.requests)?;
        let mut last = None;
        for (at, concurrency, block) in &self.looks {
            if last.replace((*concurrency, *block)) != Some((*concurrency, *block)) {
                write!(f, " {at:.1}:{concurrency}x{}", block >> 10)?;
            }
        }
        Ok(())
    }
}

impl Run {
    fn concurrency_at(&self, seconds: f64) -> usize {
        self.looks.iter().rev().find(|look| look.0 <= seconds).map_or(0, |look| look.1)
    }

    fn highest_after(&self, seconds: f64) -> usize {
        self.looks.iter().filter(|look| look.0 >= seconds).map(|look| look.1).max().unwrap_or(0)
    }
}

/// Moves `objects` of `size` bytes each.
fn run(link: &Link, objects: u64, size: u64) -> Run {
    let mut random = fastrand::Rng::with_seed(7);
    let mut controller = AdaptiveController::new(Wishes::default(), ByteSize::new(MEMORY));
    let (mut now, mut looked, mut left, mut opened, mut noise) = (0.0, 0.0, objects * size, 0, 1.0);
    let mut flights: Vec<Request> = Vec::new();
    let mut seen = Observation {
        quickest_answer: Some(Duration::from_secs_f64(link.round_trip)),
        left_bytes: left,
        left_objects: objects,
        ..Observation::default()
    };
    controller.observe(&seen, Duration::ZERO);
    let mut run = Run { seconds: 0.0, requests: 0, refused: 0, looks: Vec::new() };
    let mut moved = 0.0;
    while left > 0 || !flights.is_empty() {
        let limits = controller.limits();
        seen.hungry = false;
        while left > 0 && now >= link.delay {
            let block =
                if size <= limits.single_put_max.bytes() { size } else { limits.block_for(left) }.min(left);
            let memory: u64 = flights.iter().map(|flight| flight.size).sum();
            if memory + block > MEMORY {
                break;
            }
            if flights.len() >= limits.concurrency {
                seen.hungry = true;
                break;
            }
            let refused = flights.len() >= link.capacity || random.f64() < link.refuses;
            let connect = if flights.len() >= opened { link.round_trip } else { 0.0 };
            opened = opened.max(flights.len() + 1);
            left -= if refused { 0 } else { block };
            let pace = 0.9 + 0.2 * random.f64();
            flights.push(Request { size: block, left: block as f64, until: now + connect, refused, pace });
            run.requests += 1;
        }
        let active = flights.iter().filter(|flight| flight.until <= now && flight.left > 0.0).count();
        let share = (link.total)(now) / active.max(1) as f64;
        // What a full link cannot take waits in front of it.
        seen.queueing = Some(Duration::from_millis(if share < link.connection { 50 } else { 0 }));
        let each = share.min(link.connection) * noise * STEP;
        now += STEP;
        for flight in flights.iter_mut().filter(|flight| flight.until < now && flight.left > 0.0) {
            moved += flight.left.min(each * flight.pace);
            flight.left -= each * flight.pace;
            if flight.left <= 0.0 || flight.refused {
                (flight.left, flight.until) = (0.0, now + link.round_trip * flight.pace);
            }
        }
        flights.retain(|flight| {
            let ended = flight.left <= 0.0 && flight.until <= now;
            seen.succeeded += u32::from(ended && !flight.refused);
            seen.busy += u32::from(ended && flight.refused);
            run.refused += u64::from(ended && flight.refused);
            !ended
        });
        if now - looked >= LOOK {
            looked = now;
            noise = 1.0 + link.noise * (2.0 * random.f64() - 1.0);
            seen.wire_bytes = moved as u64;
            moved = 0.0;
            seen.in_flight = flights.len() as u32;
            (seen.left_bytes, seen.left_objects) = (left, left.div_ceil(size));
            seen.in_flight_bytes = flights.iter().map(|flight| flight.size).sum();
            controller.observe(&seen, Duration::from_secs_f64(now));
            seen = Observation { quickest_answer: seen.quickest_answer, ..Observation::default() };
            let limits = controller.limits();
            run.looks.push((now, limits.concurrency, limits.block_size.bytes()));
        }
        assert!(now < 10_000.0, "it never ends: {:?}", controller.explain());
    }
    run.seconds = now;
    run
}

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// The share of what the link could have carried.
fn share(link: &Link, bytes: u64, seconds: f64) -> f64 {
    let mut carried = 0.0;
    let mut at = 0.0;
    while at < seconds {
        carried += (link.total)(at) * STEP;
        at += STEP;
    }
    bytes as f64 / carried
}

#[test]
fn a_gibibyte_over_a_wide_link_does_not_spend_its_life_climbing() {
    let seen = run(&Link::default(), 1, GIB);
    assert!(seen.seconds < 9.6, "{seen:?}");
    assert!((50..=90).contains(&seen.concurrency_at(5.0)), "{seen:?}");
}

#[test]
fn a_link_of_slow_connections_gets_many() {
    let link = Link { round_trip: 0.2, connection: 625e3, total: |_| 25e6, ..Link::default() };
    let seen = run(&link, 1, 256 * MIB);
    assert!(share(&link, 256 * MIB, seen.seconds) > 0.78, "{seen:?}");
}

#[test]
fn a_slow_link_gets_few_requests_and_small_blocks() {
    let link = Link { round_trip: 0.1, connection: f64::INFINITY, total: |_| 250e3, ..Link::default() };
    let seen = run(&link, 1, 40 * MIB);
    assert!(share(&link, 40 * MIB, seen.seconds) > 0.95, "{seen:?}");
    assert!(seen.highest_after(60.0) <= 16, "{seen:?}");
}

#[test]
fn a_link_that_collapses_and_comes_back_is_followed() {
    let total = |at: f64| if (5.0..60.0).contains(&at) { 287.5e3 } else { 5e6 };
    let link = Link { connection: f64::INFINITY, total, ..Link::default() };
    let seen = run(&link, 1, 60 * MIB);
    assert!(share(&link, 60 * MIB, seen.seconds) > 0.93, "{seen:?}");
    let blocks: Vec<u64> = seen.looks.iter().map(|look| look.2).collect();
    assert!(blocks.iter().any(|block| *block >= MIB / 2) && blocks.contains(&(64 << 10)), "{seen:?}");
}

#[test]
fn noise_does_not_make_it_collapse() {
    let link = Link { noise: 0.3, ..Link::default() };
    let seen = run(&link, 1, 8 * GIB);
    assert!(share(&link, 8 * GIB, seen.seconds) > 0.85, "{seen:?}");
    assert!((40..=160).contains(&seen.concurrency_at(60.0)), "{seen:?}");
}

#[test]
fn a_link_that_gets_wider_is_filled() {
    let total = |at: f64| if at < 20.0 { 12.5e6 } else { 125e6 };
    let link = Link { total, ..Link::default() };
    let seen = run(&link, 1, 4 * GIB);
    assert!(share(&link, 4 * GIB, seen.seconds) > 0.85, "{seen:?}");
    assert!(seen.concurrency_at(18.0) <= 30 && seen.highest_after(30.0) >= 50, "{seen:?}");
}

#[test]
fn a_service_that_refuses_too_many_gets_fewer() {
    let link = Link { capacity: 24, ..Link::default() };
    let seen = run(&link, 1, 2 * GIB);
    assert!((12..=26).contains(&seen.concurrency_at(10.0)), "{seen:?}");
    // Here what was refused is tried again at once; the mover waits.
    assert!(seen.refused * 3 < seen.requests, "{seen:?}");
}

#[test]
fn refusals_that_have_nothing_to_do_with_us_do_not_slow_us() {
    let link = Link { refuses: 0.3, ..Link::default() };
    let seen = run(&link, 1, 2 * GIB);
    assert!(seen.concurrency_at(10.0) >= 40, "{seen:?}");
    assert!(
        seen.requests < 16 * (seen.requests - seen.refused) / 10,
        "{} of {}",
        seen.refused,
        seen.requests
    );
}

#[test]
fn small_objects_are_bound_by_round_trips_so_they_get_many() {
    let seen = run(&Link::default(), 50_000, 4096);
    assert!(seen.highest_after(2.0) >= 128, "{seen:?}");
    // 256 in flight, 60 ms each, would take 11.7 s.
    assert!(seen.seconds < 16.0, "{seen:?}");
}

#[test]
fn a_link_that_stands_still_for_seconds_is_soon_full_again() {
    // Lost packets make a link of real ones stand still for some seconds; whatever is in flight then waits.
    let standing: [fn(f64) -> f64; 3] = [
        |at| if (2.0..3.5).contains(&at) { 0.0 } else { 25e6 },
        |at| if (4.0..7.0).contains(&at) { 1e3 } else { 25e6 },
        |at| if (6.0..12.0).contains(&at) { 1e5 } else { 25e6 },
    ];
    for (lasts, total) in [1.5, 3.0, 6.0].into_iter().zip(standing) {
        for size in [64 << 10, MIB] {
            let link = Link { round_trip: 0.12, connection: 600e3, total, ..Link::default() };
            let seen = run(&link, 512 * MIB / size, size);
            let without = run(&Link { total: |_| 25e6, ..link }, 512 * MIB / size, size);
            let lost = seen.seconds - lasts - without.seconds;
            assert!(lost < 4.0, "{lost:.1} s more than it stood still, {size} bytes each: {seen:?}");
        }
    }
}

#[test]
fn links_as_slow_as_can_be_are_used_whatever_came_before() {
    let totals: [fn(f64) -> f64; 4] = [|_| 12.5e3, |_| 60e3, |_| 100e3, |_| 140e3];
    for total in totals {
        for delay in [0.0, 0.15, 0.5, 1.0, 1.2, 2.5] {
            let link = Link { connection: f64::INFINITY, total, delay, ..Link::default() };
            let seen = run(&link, 1, 4 * MIB);
            assert!(share(&link, 4 * MIB, seen.seconds - delay) > 0.9, "{seen:?}");
        }
    }
}

#[test]
fn where_nothing_crosses_a_wire_nothing_is_held_back() {
    let mut controller = AdaptiveController::new(Wishes::default(), ByteSize::new(MEMORY));
    for look in 1..300 {
        let succeeded = 3 * controller.limits().concurrency.min(64) as u32;
        let (in_flight, in_flight_bytes) = (16, 8 * MIB);
        let seen =
            Observation { succeeded, in_flight, in_flight_bytes, hungry: true, ..Observation::default() };
        controller.observe(&seen, Duration::from_millis(100 * look));
    }
    assert!((40..=100).contains(&controller.limits().concurrency), "{:?}", controller.limits());
}
