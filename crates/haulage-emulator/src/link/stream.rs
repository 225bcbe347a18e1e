//! A TCP connection that takes its time.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::clock::{Clock, GRACE};
use super::{Direction, Link};

/// Waits shorter than this are not slept but owed: the timer's tick is a millisecond.
const SHORTEST_SLEEP: Duration = Duration::from_micros(500);

/// Later than this, something other than a busy machine is the matter.
const MOST_LATENESS: Duration = Duration::from_millis(500);

/// A connection over the [`Link`].
pub(crate) struct ShapedStream {
    inner: TcpStream,
    link: Arc<Link>,
    reads: Lane,
    writes: Lane,
    /// When the last byte of the request arrived, until the answer begins.
    request_ended: Option<Instant>,
}

/// One direction of one connection.
struct Lane {
    clock: Clock,
    /// Nothing may move before this.
    free_at: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
    /// How much of the past may be made up for, and until when.
    grace: Duration,
    grace_ends: Instant,
}

impl ShapedStream {
    /// Lays the link beneath `inner`. Its set-up costs one round trip, taken before the first read.
    pub(crate) fn new(inner: TcpStream, link: Arc<Link>) -> Self {
        let now = Instant::now();
        link.connected(now);
        let handshake = link.conditions(now).rtt;
        let lane =
            |free_at| Lane { clock: Clock::default(), free_at, sleep: None, grace: GRACE, grace_ends: now };
        Self { inner, link, reads: lane(now + handshake), writes: lane(now), request_ended: None }
    }
}

impl Lane {
    /// Ready once bytes may move again.
    fn poll_free(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                ready!(sleep.as_mut().poll(context));
                self.sleep = None;
                self.note_lateness(Instant::now());
            }
            if self.free_at <= Instant::now() + SHORTEST_SLEEP {
                return Poll::Ready(());
            }
            self.sleep = Some(Box::pin(sleep_until(self.free_at)));
        }
    }

    /// On a busy machine the wake-up comes late through no fault of the client: what it missed
    /// may be made up for, for as long as that takes, without turning idle time into a burst.
    fn note_lateness(&mut self, now: Instant) {
        let late = now.saturating_duration_since(self.free_at).min(MOST_LATENESS);
        if late > GRACE {
            let held = if now < self.grace_ends { self.grace } else { GRACE };
            self.grace = held.max(GRACE + late);
            self.grace_ends = now + late * 4;
        }
    }

    /// Books what has moved.
    fn book(&mut self, link: &Link, direction: Direction, bytes: usize) {
        let now = Instant::now();
        let conditions = link.conditions(now);
        let grace = if now < self.grace_ends { self.grace } else { GRACE };
        let own = conditions.connection.map(|rate| self.clock.book(bytes, rate, now, grace));
        let total = conditions.total.map(|rate| link.book_total(direction, bytes, rate, now, grace));
        self.free_at = own.max(total).unwrap_or(now);
    }
}

impl AsyncRead for ShapedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.reads.poll_free(context));
        let quantum = this.link.conditions(Instant::now()).quantum();
        let room = buffer.remaining().min(quantum);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(room));
        ready!(Pin::new(&mut this.inner).poll_read(context, &mut part))?;
        let read = part.filled().len();
        buffer.advance(read);
        if read > 0 {
            this.reads.book(&this.link, Direction::In, read);
            this.request_ended = Some(this.reads.free_at.max(Instant::now()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ShapedStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if let Some(ended) = this.request_ended.take() {
            let answer_at = ended + this.link.conditions(Instant::now()).rtt;
            this.writes.free_at = this.writes.free_at.max(answer_at);
        }
        ready!(this.writes.poll_free(context));
        let quantum = this.link.conditions(Instant::now()).quantum();
        let part = &buffer[..buffer.len().min(quantum)];
        let written = ready!(Pin::new(&mut this.inner).poll_write(context, part))?;
        this.writes.book(&this.link, Direction::Out, written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}
