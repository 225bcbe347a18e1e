//! The byte stream beneath hyper: metered, timed and, where asked for, paced.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::owner::Owner;
use super::pause::Pause;
use super::traffic::Traffic;
use super::wire::Wire;

/// A wire under watch.
#[derive(Debug)]
pub(super) struct MeteredIo {
    wire: Wire,
    traffic: Arc<Traffic>,
    owner: Owner,
    read_pause: Pause,
    write_pause: Pause,
}

impl MeteredIo {
    pub(super) fn new(wire: Wire, owner: Owner) -> Self {
        #[cfg(unix)]
        let socket = std::os::fd::AsRawFd::as_raw_fd(wire.tcp());
        #[cfg(not(unix))]
        let socket = -1;
        let remote = wire.tcp().peer_addr().ok().map(|address| address.ip());
        let traffic = Arc::new(Traffic::new(socket, remote, wire.sessions()));
        owner.meter.opened(&traffic, 0);
        Self { wire, traffic, owner, read_pause: Pause::default(), write_pause: Pause::default() }
    }

    pub(super) fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Goes over to the next owner, where there is one.
    fn change_owner(&mut self) {
        if let Some(next) = self.traffic.hand_over.take() {
            self.owner.meter.closes(&self.traffic);
            next.meter.opened(&self.traffic, self.traffic.acknowledged());
            self.owner = next;
            // What the last one owes to its cap is its own.
            (self.read_pause, self.write_pause) = (Pause::default(), Pause::default());
            self.traffic.change_owner();
        }
    }

    /// `handed`: before the kernel was given them. Between a write and a look at the clock others may have the processor for as
    /// long as the answer takes, which would then seem to have come at once.
    fn wrote(&mut self, bytes: usize, handed: Instant) {
        self.traffic.note_write(bytes, handed);
        self.owner.meter.add_sent(bytes as u64);
        if let Some(until) = self.owner.pacer.charge(bytes, handed) {
            self.write_pause.set(until, &self.traffic);
        }
    }

    fn got(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let now = Instant::now();
        self.traffic.note_read(bytes, now);
        self.owner.meter.add_received(bytes as u64);
        if let Some(until) = self.owner.pacer.charge(bytes, now) {
            self.read_pause.set(until, &self.traffic);
        }
    }
}

impl Drop for MeteredIo {
    fn drop(&mut self) {
        self.change_owner();
        self.owner.meter.closes(&self.traffic);
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
        this.change_owner();
        ready!(this.read_pause.poll(cx));
        let before = buf.filled().len();
        if let Some(quantum) = this.owner.pacer.quantum() {
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
        this.change_owner();
        ready!(this.write_pause.poll(cx));
        let bounded;
        let bufs = match (this.owner.pacer.quantum(), bufs.iter().find(|buf| !buf.is_empty())) {
            (Some(quantum), Some(first)) => {
                bounded = [IoSlice::new(&first[..first.len().min(quantum)])];
                &bounded[..]
            }
            _ => bufs,
        };
        let handed = Instant::now();
        let written = ready!(this.wire.poll_write_vectored(cx, bufs))?;
        this.wrote(written, handed);
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
        let handed = Instant::now();
        ready!(this.wire.poll_flush(cx))?;
        this.traffic.note_write(0, handed);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wire.poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::http::pacer::Pacer;

    /// Named for what was wrong: "quickest answer 3 us".
    #[tokio::test]
    async fn a_write_is_dated_before_the_kernel_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (mut theirs, _) = theirs.unwrap();
        let owner = Owner { meter: Arc::default(), pacer: Arc::new(Pacer::new(None)) };
        let mut io = MeteredIo::new(Wire::Plain(ours.unwrap()), owner);
        // As if others had the processor after the write: what was handed over 20 ms ago is dated so.
        let handed = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
        io.wrote(1, handed);
        assert_eq!(io.traffic.last_write_ns(), io.traffic.ns_at(handed));
        let before = io.traffic.now_ns();
        io.write_all(b"GET").await.unwrap();
        io.flush().await.unwrap();
        let mut got = [0; 3];
        tokio::io::AsyncReadExt::read_exact(&mut theirs, &mut got).await.unwrap();
        assert!((before..io.traffic.now_ns()).contains(&io.traffic.last_write_ns()));
        assert_eq!((io.traffic.written_in_exchange(), &got), (4, b"GET"));
    }
}
