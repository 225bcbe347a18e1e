//! The byte stream beneath hyper: metered, timed and, where asked for, paced.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::meter::WireMeter;
use super::pacer::Pacer;
use super::traffic::Traffic;
use super::wire::Wire;

/// A wire under watch.
#[derive(Debug)]
pub(super) struct MeteredIo {
    wire: Wire,
    traffic: Arc<Traffic>,
    meter: Arc<WireMeter>,
    pacer: Arc<Pacer>,
    read_pause: Pause,
    write_pause: Pause,
}

impl MeteredIo {
    pub(super) fn new(wire: Wire, meter: Arc<WireMeter>, pacer: Arc<Pacer>) -> Self {
        #[cfg(unix)]
        let socket = std::os::fd::AsRawFd::as_raw_fd(wire.tcp());
        #[cfg(not(unix))]
        let socket = -1;
        let remote = wire.tcp().peer_addr().ok().map(|address| address.ip());
        let traffic = Arc::new(Traffic::new(socket, remote, wire.sessions()));
        meter.opened(&traffic);
        Self { wire, traffic, meter, pacer, read_pause: Pause::default(), write_pause: Pause::default() }
    }

    pub(super) fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    pub(super) fn meter(&self) -> &Arc<WireMeter> {
        &self.meter
    }

    fn wrote(&mut self, bytes: usize) {
        let now = Instant::now();
        self.traffic.note_write(bytes, now);
        self.meter.add_sent(bytes as u64);
        if let Some(until) = self.pacer.charge(bytes, now) {
            self.write_pause.set(until, &self.traffic);
        }
    }

    fn got(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let now = Instant::now();
        self.traffic.note_read(bytes, now);
        self.meter.add_received(bytes as u64);
        if let Some(until) = self.pacer.charge(bytes, now) {
            self.read_pause.set(until, &self.traffic);
        }
    }
}

impl Drop for MeteredIo {
    fn drop(&mut self) {
        self.meter.closes(&self.traffic);
        // A request that is given up must not arrive later: the system would go on sending what it has.
        if self.traffic.written_in_exchange() > 0 && !self.traffic.answered() {
            // Where that is refused, it may.
            let _ = self.wire.tcp().set_zero_linger();
        }
    }
}

impl AsyncRead for MeteredIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(this.read_pause.poll(cx));
        let before = buf.filled().len();
        if let Some(quantum) = this.pacer.quantum() {
            // Only a paced connection pays for the zeroes that a bounded read needs in safe code.
            let len = buf.remaining().min(quantum);
            let mut piece = ReadBuf::new(buf.initialize_unfilled_to(len));
            ready!(this.wire.poll_read(cx, &mut piece))?;
            let filled = piece.filled().len();
            buf.advance(filled);
        } else {
            ready!(this.wire.poll_read(cx, buf))?;
        }
        this.got(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MeteredIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        ready!(this.write_pause.poll(cx));
        let bounded;
        let bufs = match (this.pacer.quantum(), bufs.iter().find(|buf| !buf.is_empty())) {
            (Some(quantum), Some(first)) => {
                bounded = [IoSlice::new(&first[..first.len().min(quantum)])];
                &bounded[..]
            }
            _ => bufs,
        };
        let written = ready!(this.wire.poll_write_vectored(cx, bufs))?;
        this.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.wire.wants_write() {
            // The kernel has all that was written.
            return Poll::Ready(Ok(()));
        }
        ready!(this.wire.poll_flush(cx))?;
        this.traffic.note_write(0, Instant::now());
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wire.poll_shutdown(cx)
    }
}

/// A wait that the cap imposes on one direction.
#[derive(Debug, Default)]
struct Pause {
    sleep: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl Pause {
    fn set(&mut self, until: Instant, traffic: &Traffic) {
        // tokio's timer counts whole milliseconds; shorter waits pass and the debt is paid with the next.
        if until.saturating_duration_since(Instant::now()) < Duration::from_millis(1) {
            return;
        }
        traffic.hold_until(until);
        let until = until.into();
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(until),
            None => self.sleep = Some(Box::pin(tokio::time::sleep_until(until))),
        }
        self.waiting = true;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let (true, Some(sleep)) = (self.waiting, &mut self.sleep) {
            ready!(sleep.as_mut().poll(cx));
            self.waiting = false;
        }
        Poll::Ready(())
    }
}
