//! The byte stream beneath hyper: metered, timed and, where asked for, paced.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::meter::WireMeter;
use super::pacer::Pacer;
use super::tls::Session;
use crate::trace::Carrier;

/// What a connection has moved and when, seen from outside hyper. Times are nanoseconds since the
/// connection was made; 0 stands for never.
#[derive(Debug)]
pub(super) struct Traffic {
    began: Instant,
    pub(super) socket: i32,
    written: AtomicU64,
    read: AtomicU64,
    last_write_ns: AtomicU64,
    first_read_ns: AtomicU64,
    last_read_ns: AtomicU64,
    /// Until when the cap holds the connection back, which is no stall.
    paced_until_ns: AtomicU64,
    /// Bytes that must have arrived before the reader is woken.
    pub(super) low_water: AtomicU32,
    /// Bytes a second of the answer that is read, or was read last.
    pub(super) read_rate: AtomicU64,
    /// Whether TLS lies between the kernel and what is counted here.
    pub(super) sealed: bool,
    /// What had been read when the exchange began.
    read_before: AtomicU64,
    /// What had been written.
    written_before: AtomicU64,
}

impl Traffic {
    fn new(socket: i32, sealed: bool) -> Self {
        Self {
            began: Instant::now(),
            socket,
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
            last_write_ns: AtomicU64::new(0),
            first_read_ns: AtomicU64::new(0),
            last_read_ns: AtomicU64::new(0),
            paced_until_ns: AtomicU64::new(0),
            low_water: AtomicU32::new(1),
            read_rate: AtomicU64::new(0),
            sealed,
            read_before: AtomicU64::new(0),
            written_before: AtomicU64::new(0),
        }
    }

    /// Bytes moved in both directions.
    pub(super) fn moved(&self) -> u64 {
        self.written.load(Relaxed) + self.read.load(Relaxed)
    }

    /// Bytes that have arrived, on either side.
    pub(super) fn arrived(&self) -> u64 {
        self.acknowledged() + self.read.load(Relaxed)
    }

    /// Bytes read since the exchange began.
    pub(super) fn read_in_exchange(&self) -> u64 {
        self.read.load(Relaxed) - self.read_before.load(Relaxed)
    }

    /// Bytes written since the exchange began.
    pub(super) fn written_in_exchange(&self) -> u64 {
        self.written.load(Relaxed) - self.written_before.load(Relaxed)
    }

    /// How long ago the answer began; `None` before.
    pub(super) fn answering_for(&self) -> Option<Duration> {
        let first = self.first_read_ns();
        (first > 0).then(|| Duration::from_nanos(self.now_ns().saturating_sub(first)))
    }

    /// How long ago something was read; since the connection was made, where nothing was.
    pub(super) fn since_read(&self) -> Duration {
        Duration::from_nanos(self.now_ns().saturating_sub(self.last_read_ns()))
    }

    /// Bytes that the other side has; all that were written where the system does not say.
    pub(super) fn acknowledged(&self) -> u64 {
        super::kernel::bytes_acked(self.socket).unwrap_or_else(|| self.written.load(Relaxed))
    }

    /// Bytes that the other side has, and how much longer bytes are under way than they were at best: they queue. `None` where
    /// the system does not say, or nothing moved of late.
    pub(super) fn look(&self) -> (u64, Option<Duration>) {
        let Some((acknowledged, seen)) = super::kernel::progress(self.socket) else {
            return (self.written.load(Relaxed), None);
        };
        let queueing = seen.and_then(|seen| {
            let micros = match (seen.sending, seen.receiving) {
                // A download sends little: what it receives shows its way.
                (_, Some(receiving)) if self.read.load(Relaxed) > self.written.load(Relaxed) => receiving,
                (Some(sending), _) => sending,
                (None, receiving) => receiving?,
            };
            Some(Duration::from_micros(u64::from(micros.saturating_sub(seen.least))))
        });
        (acknowledged, queueing)
    }

    /// Whether all that was written has arrived and no answer has begun: it is the server's turn.
    pub(super) fn is_servers_turn(&self) -> bool {
        !self.answered() && self.acknowledged() >= self.written.load(Relaxed)
    }

    /// Forgets the times of the last exchange.
    pub(super) fn begin_exchange(&self) {
        super::gather::reset(self);
        self.first_read_ns.store(0, Relaxed);
        self.last_read_ns.store(0, Relaxed);
        self.last_write_ns.store(0, Relaxed);
        self.read_before.store(self.read.load(Relaxed), Relaxed);
        self.written_before.store(self.written.load(Relaxed), Relaxed);
    }

    /// Whether anything of the answer has arrived.
    pub(super) fn answered(&self) -> bool {
        self.first_read_ns.load(Relaxed) != 0
    }

    pub(super) fn last_write_ns(&self) -> u64 {
        self.last_write_ns.load(Relaxed)
    }

    pub(super) fn first_read_ns(&self) -> u64 {
        self.first_read_ns.load(Relaxed)
    }

    pub(super) fn last_read_ns(&self) -> u64 {
        self.last_read_ns.load(Relaxed)
    }

    /// Whether the cap holds the connection back now.
    pub(super) fn is_paced(&self) -> bool {
        self.paced_until_ns.load(Relaxed) > self.now_ns()
    }

    /// The moment of one of these times.
    pub(super) fn instant(&self, at_ns: u64) -> Instant {
        self.began + Duration::from_nanos(at_ns)
    }

    /// Nanoseconds since the connection was made; never 0.
    pub(super) fn now_ns(&self) -> u64 {
        self.ns_at(Instant::now())
    }

    fn ns_at(&self, now: Instant) -> u64 {
        (now.saturating_duration_since(self.began).as_nanos() as u64).max(1)
    }

    fn note_write(&self, bytes: usize, now: Instant) {
        self.written.fetch_add(bytes as u64, Relaxed);
        self.last_write_ns.store(self.ns_at(now), Relaxed);
    }

    fn note_read(&self, bytes: usize, now: Instant) {
        self.read.fetch_add(bytes as u64, Relaxed);
        let at = self.ns_at(now);
        self.last_read_ns.store(at, Relaxed);
        if self.first_read_ns.load(Relaxed) == 0 {
            self.first_read_ns.store(at, Relaxed);
        }
    }
}

impl Carrier for Traffic {
    fn arrived(&self) -> u64 {
        // All that was written for earlier exchanges had arrived before they were answered.
        let acknowledged = self.acknowledged().saturating_sub(self.written_before.load(Relaxed));
        acknowledged.min(self.written_in_exchange()) + self.read_in_exchange()
    }
}

/// TCP, bare or under TLS.
#[derive(Debug)]
pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<Session>),
}

impl Wire {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0.get_ref(),
        }
    }
}

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
        let traffic = Arc::new(Traffic::new(socket, matches!(wire, Wire::Tls(_))));
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
            ready!(poll_read(&mut this.wire, cx, &mut piece))?;
            let filled = piece.filled().len();
            buf.advance(filled);
        } else {
            ready!(poll_read(&mut this.wire, cx, buf))?;
        }
        this.got(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

fn poll_read(wire: &mut Wire, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    match wire {
        Wire::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
        Wire::Tls(tls) => fill(tls, cx, buf),
    }
}

/// Opens all records that have come, not only one: each piece that is handed on costs a write to the file.
fn fill(tls: &mut Session, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    let before = buf.filled().len();
    loop {
        let filled = buf.filled().len();
        let more = Pin::new(&mut *tls).poll_read(cx, buf);
        if filled > before && !matches!(more, Poll::Ready(Ok(()))) {
            // What there is comes first; a failure is told again when it is asked for.
            return Poll::Ready(Ok(()));
        }
        ready!(more)?;
        if buf.filled().len() == filled || buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
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
        let written = ready!(match &mut this.wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, bufs),
            Wire::Tls(tls) => Pin::new(tls.as_mut()).poll_write_vectored(cx, bufs),
        })?;
        this.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match &mut this.wire {
            // The kernel has all that was written.
            Wire::Plain(_) => Poll::Ready(Ok(())),
            Wire::Tls(tls) => {
                if tls.get_ref().1.wants_write() {
                    ready!(Pin::new(tls.as_mut()).poll_flush(cx))?;
                    this.traffic.note_write(0, Instant::now());
                }
                Poll::Ready(Ok(()))
            }
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Wire::Tls(tls) => Pin::new(tls.as_mut()).poll_shutdown(cx),
        }
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
        traffic.paced_until_ns.fetch_max(traffic.ns_at(until), Relaxed);
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
