//! A link with a rate, a round trip and changes over time, laid beneath HTTP.
//!
//! What is modelled: a rate for each connection and one for all together, in each direction, the
//! total shared fairly in small quanta; setting up a connection costs one round trip; the first
//! byte of an answer waits one round trip after the last byte of its request. What is not: slow
//! start, loss, queues and the bandwidth-delay product of a real path. A client that the model
//! favours may still do worse on a real link; one that it punishes will not do better.

mod clock;
mod spec;
mod stream;

pub use spec::{LinkChange, LinkSpec};
pub(crate) use spec::{milliseconds, print_duration, print_rate, rate};

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use clock::Clock;
pub(crate) use stream::ShapedStream;
use tokio::time::Instant;

/// The link as all connections share it.
#[derive(Debug)]
pub(crate) struct Link {
    spec: LinkSpec,
    /// The times of `at=` count from the first connection, so that a slow start of the client
    /// does not shift the experiment.
    began: OnceLock<Instant>,
    total: [Mutex<Clock>; 2],
}

/// Which way bytes go, seen from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    In = 0,
    Out = 1,
}

/// What holds at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Conditions {
    pub(crate) rtt: Duration,
    /// Bytes a second; `None` without a limit.
    pub(crate) connection: Option<f64>,
    /// Bytes a second; `None` without a limit.
    pub(crate) total: Option<f64>,
}

impl Conditions {
    /// How much moves at a time: 5 ms worth, so that the rate is smooth at 2 Mbit/s, within
    /// bounds that keep a segment whole below and a wake-up worth its cost above.
    fn quantum(&self) -> usize {
        let rate = [self.connection, self.total].into_iter().flatten().fold(f64::INFINITY, f64::min);
        (rate * 5e-3).clamp(1500.0, 64.0 * 1024.0) as usize
    }
}

impl Link {
    /// The link of `spec`; `None` where it shapes nothing, so that it costs nothing.
    pub(crate) fn new(spec: &LinkSpec) -> Option<Self> {
        let total = [Mutex::default(), Mutex::default()];
        (!spec.is_none()).then(|| Self { spec: spec.clone(), began: OnceLock::new(), total })
    }

    /// Notes the first connection.
    pub(crate) fn connected(&self, now: Instant) {
        self.began.get_or_init(|| now);
    }

    /// What holds at `now`.
    pub(crate) fn conditions(&self, now: Instant) -> Conditions {
        let elapsed = self.began.get().map_or(Duration::ZERO, |began| now.saturating_duration_since(*began));
        self.spec.conditions(elapsed)
    }

    /// Books `bytes` on the shared part; the moment when they have passed.
    fn book_total(
        &self,
        direction: Direction,
        bytes: usize,
        rate: f64,
        now: Instant,
        grace: Duration,
    ) -> Instant {
        let mut clock = self.total[direction as usize].lock().unwrap_or_else(PoisonError::into_inner);
        clock.book(bytes, rate, now, grace)
    }

    /// What the kernel may hold for one connection, so that it does not swallow megabytes that
    /// the client then counts as sent.
    pub(crate) fn socket_buffer(&self) -> usize {
        let Conditions { rtt, connection, total } = self.spec.conditions(Duration::ZERO);
        let rate = [connection, total].into_iter().flatten().fold(f64::INFINITY, f64::min);
        if rate.is_infinite() {
            return 4 << 20;
        }
        // Never below 10 ms worth: a wake-up may come that late on a busy machine.
        (rate * rtt.as_secs_f64().max(0.01)).clamp(65_536.0, 4_194_304.0) as usize
    }
}
