//! Sees that bytes move: no exchange waits for ever, and none goes on for ever.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::gather;
use super::kernel;
use super::meter::WireMeter;
use super::traffic::Traffic;

/// A head, with all answers of status 1xx before it, that is longer than this does not end: hyper takes 256 KiB for one.
pub(super) const HEAD_BYTES_MAX: u64 = 1 << 20;

/// A head is a packet or two: from its first byte to its end it takes no longer than this.
const HEAD_TIME_MAX: Duration = Duration::from_secs(15);

/// Bytes a second below which nothing useful is done, over a window of twice the stall timeout.
const RATE_MIN: u64 = 1 << 10;

/// Others must have moved so much each, ...
const SHARE_MIN: u64 = 512 << 10;

/// ... and for so long, before one that moved nothing has stalled. Bytes come in lumps of a window, 64 KiB and more.
const SILENCE_MIN: Duration = Duration::from_secs(5);

/// What was too slow, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slow {
    /// No byte moved.
    Silent(Duration),
    /// Some did, but so few that it would never end.
    Trickle(Duration),
    /// The head of an answer began and did not end.
    Head(Duration),
}

/// Two deadlines for silence: the user's, whatever the link does; and a shorter one where only this connection is
/// silent, for then it is not the link. For whoever sends a byte now and then, a lowest rate, unless all connections
/// together have so little to share that this one has its part.
///
/// Counters are compared eight times within the deadline, not at every byte; the timer goes on from one exchange to
/// the next, so that a small request never touches it.
pub(super) struct StallWatch {
    timeout: Duration,
    meter: Arc<WireMeter>,
    timer: Option<Pin<Box<Sleep>>>,
    moved: u64,
    acked: Option<u64>,
    since: Instant,
    /// What all connections together had moved at that time.
    all: u64,
    window: Window,
}

/// A stretch of time over which a rate is measured.
#[derive(Clone, Copy)]
struct Window {
    since: Instant,
    /// What this connection and all together had moved: asked for at the first look, for a small request needs none.
    start: Option<(u64, u64)>,
    /// The cap held the connection back, so that the rate says nothing.
    paced: bool,
}

impl Window {
    fn from(since: Instant) -> Self {
        Self { since, start: None, paced: false }
    }
}

impl StallWatch {
    pub(super) fn new(timeout: Duration, meter: Arc<WireMeter>) -> Self {
        let since = Instant::now();
        Self {
            timeout,
            meter,
            timer: None,
            moved: 0,
            acked: None,
            since,
            all: 0,
            window: Window::from(since),
        }
    }

    /// Whether this meter tells it how others fare.
    pub(super) fn is_of(&self, meter: &Arc<WireMeter>) -> bool {
        Arc::ptr_eq(&self.meter, meter)
    }

    /// An exchange begins.
    pub(super) fn begin(&mut self, traffic: &Traffic) {
        self.note_progress(traffic.moved(), self.acked, Instant::now());
        self.window = Window::from(self.since);
    }

    /// It goes on after a pause that the caller made.
    pub(super) fn resume(&mut self, traffic: &Traffic, paused: Duration) {
        self.note_progress(traffic.moved(), self.acked, Instant::now());
        self.window.since += paused;
    }

    /// Ready when nothing has moved for the whole time, or too little. `in_head`: the answer's head is awaited.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, traffic: &Traffic, in_head: bool) -> Poll<Slow> {
        let pause = (self.timeout.min(SILENCE_MIN) / 8).max(Duration::from_millis(5));
        loop {
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
            std::task::ready!(timer.as_mut().poll(cx));
            let now = Instant::now();
            timer.as_mut().reset(now + pause);
            gather::release(traffic);
            if let Some(slow) = self.look(traffic, in_head, now) {
                return Poll::Ready(slow);
            }
        }
    }

    fn look(&mut self, traffic: &Traffic, in_head: bool, now: Instant) -> Option<Slow> {
        let head =
            traffic.answering_for().filter(|lasted| in_head && *lasted >= HEAD_TIME_MAX.min(self.timeout));
        if let Some(slow) = head.map(Slow::Head).or_else(|| self.trickle(traffic, now)) {
            return Some(slow);
        }
        let (moved, acked) = (traffic.moved(), kernel::bytes_acked(traffic.socket));
        if moved != self.moved || acked != self.acked || traffic.is_paced() {
            self.note_progress(moved, acked, now);
            return None;
        }
        let silent = now.duration_since(self.since);
        let (all, connections) = self.meter.moved();
        let share = all.saturating_sub(self.all) / connections.max(1) as u64;
        // A server that has the whole request may think for as long as the user allows.
        let alone = share >= SHARE_MIN && !traffic.is_servers_turn();
        (silent >= self.timeout || (silent >= SILENCE_MIN && alone)).then_some(Slow::Silent(silent))
    }

    fn note_progress(&mut self, moved: u64, acked: Option<u64>, now: Instant) {
        (self.moved, self.acked, self.since) = (moved, acked, now);
        self.all = self.meter.moved().0;
    }

    /// Whether so little moved in a whole window that the exchange would never end.
    fn trickle(&mut self, traffic: &Traffic, now: Instant) -> Option<Slow> {
        let lasted = now.saturating_duration_since(self.window.since);
        self.window.paced |= traffic.is_paced();
        let due = lasted >= self.timeout.saturating_mul(2);
        if self.window.start.is_some() && !due {
            return None;
        }
        let (arrived, (all, connections)) = (traffic.arrived(), self.meter.moved());
        let start = *self.window.start.get_or_insert((arrived, all));
        if !due {
            return None;
        }
        let window =
            std::mem::replace(&mut self.window, Window { start: Some((arrived, all)), ..Window::from(now) });
        let (moved, all) = (arrived.saturating_sub(start.0), all.saturating_sub(start.1));
        let least = (RATE_MIN as f64 * lasted.as_secs_f64()) as u64;
        let robbed = all < least || moved < all / connections.max(1) as u64 / 2;
        (moved < least && robbed && !window.paced).then_some(Slow::Trickle(lasted))
    }
}
