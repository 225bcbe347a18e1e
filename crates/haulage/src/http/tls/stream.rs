//! A stream of bytes under TLS.
//!
//! What comes is read into the memory of whoever asks, and opened there, so that the way down costs no copy: only a record that
//! has not come whole, or that asks for more room than there is, waits in memory of the session (`inbox`). What goes is sealed some
//! records at a time (`outbox`) and leaves with one system call.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustls::crypto::cipher::OutboundChunks;
use rustls::{AlertDescription, Error};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::agree::broken;
use super::records::{FRAGMENT_MAX, RECORD_MAX, Records};

/// Bytes that are sealed before they are sent: with 64 KiB a body goes out in four times as many system calls.
const SEALED_MAX: usize = 256 << 10;

/// Who has got so much does well to use it before more is read: what remains of their room may be less than a record.
const ENOUGH: usize = 192 << 10;

/// A session over a stream.
pub(in crate::http) struct TlsStream<S> {
    below: S,
    records: Records,
    inbox: Inbox,
    outbox: Outbox,
    /// Nothing more comes from below.
    ended: bool,
    /// What the session has died of.
    failed: Option<Error>,
    /// Our last word has been said.
    parted: bool,
}

/// What has come and was not asked for yet: first what is open, then what is sealed.
#[derive(Default)]
struct Inbox {
    /// Empty until it is needed.
    bytes: Box<[u8]>,
    open: Range<usize>,
    sealed: Range<usize>,
}

/// Sealed records on their way.
#[derive(Default)]
struct Outbox {
    records: VecDeque<Vec<u8>>,
    /// Bytes of the first that have left.
    left: usize,
}

/// How much came.
enum Came {
    More,
    End,
}

impl<S> TlsStream<S> {
    /// Goes on where the handshake has ended; `came` is what followed it.
    pub(super) fn new(below: S, records: Records, came: &[u8]) -> Self {
        let mut inbox = Inbox::default();
        inbox.keep(came);
        Self { below, records, inbox, outbox: Outbox::default(), ended: false, failed: None, parted: false }
    }

    /// What carries the session.
    pub(in crate::http) fn below(&self) -> &S {
        &self.below
    }

    /// Whether the session holds what it has not been able to send.
    pub(in crate::http) fn wants_write(&self) -> bool {
        !self.outbox.records.is_empty() || self.records.has_answers()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream<S> {
    /// Reads into `buf` and opens there what has come whole.
    fn read_in_place(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<Came>> {
        let begin = buf.filled().len();
        buf.put_slice(self.inbox.sealed());
        let carried = buf.filled().len();
        let read = Pin::new(&mut self.below).poll_read(cx, buf);
        if !matches!(read, Poll::Ready(Ok(()))) || buf.filled().len() == carried {
            buf.set_filled(begin);
            return read.map_ok(|()| Came::End);
        }
        let bytes = &mut buf.filled_mut()[begin..];
        let (mut used, mut open) = (0, 0);
        while !self.records.is_closed() {
            match self.records.open(&mut bytes[used..]) {
                Ok(Some(opened)) => {
                    let data = used + opened.data.start..used + opened.data.end;
                    used += opened.used;
                    open += data.len();
                    bytes.copy_within(data.clone(), open - data.len());
                }
                Ok(None) => break,
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        self.inbox.keep(&bytes[used..]);
        buf.set_filled(begin + open);
        Poll::Ready(Ok(Came::More))
    }

    /// Reads into the inbox.
    fn read_aside(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Came>> {
        let mut room = ReadBuf::new(self.inbox.room());
        ready!(Pin::new(&mut self.below).poll_read(cx, &mut room))?;
        let came = room.filled().len();
        self.inbox.sealed.end += came;
        Poll::Ready(Ok(if came == 0 { Came::End } else { Came::More }))
    }

    /// Opens the first record of the inbox; false where it has not come whole.
    fn open_aside(&mut self) -> Result<bool, Error> {
        let at = self.inbox.sealed.start;
        let Some(opened) = self.records.open(&mut self.inbox.bytes[self.inbox.sealed.clone()])? else {
            return Ok(false);
        };
        self.inbox.sealed.start = at + opened.used;
        self.inbox.open = at + opened.data.start..at + opened.data.end;
        Ok(true)
    }

    /// Tells the other side what was wrong, if it can be told at once.
    fn complain(&mut self, cx: &mut Context<'_>, error: &Error) {
        let alert = match error {
            // It was said by the other side.
            Error::AlertReceived(_) => return,
            Error::DecryptError => AlertDescription::BadRecordMac,
            Error::PeerSentOversizedRecord => AlertDescription::RecordOverflow,
            Error::InvalidMessage(_) => AlertDescription::DecodeError,
            _ => AlertDescription::UnexpectedMessage,
        };
        if let Ok(sealed) = self.records.seal_alert(alert) {
            self.outbox.records.push_back(sealed);
            let _ = self.send(cx);
        }
    }

    /// Sends what is sealed.
    fn send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outbox.records.extend(self.records.take_answers());
        while !self.outbox.records.is_empty() {
            let sent = ready!(self.outbox.send(&mut self.below, cx))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(()))
    }

    fn check(&self) -> io::Result<()> {
        self.failed.clone().map_or(Ok(()), |error| Err(broken(error)))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<S> {
    /// Gives all that has come, not one record only: each piece that is handed on costs a write to the file.
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let begin = buf.filled().len();
        let read = loop {
            this.inbox.give(buf);
            if buf.remaining() == 0 || this.failed.is_some() || this.records.is_closed() {
                break Poll::Ready(Ok(()));
            }
            match this.open_aside() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    this.failed = Some(error);
                    break Poll::Ready(Ok(()));
                }
            }
            if this.ended || buf.filled().len() - begin >= ENOUGH {
                break Poll::Ready(Ok(()));
            }
            let came =
                if buf.remaining() > RECORD_MAX { this.read_in_place(cx, buf) } else { this.read_aside(cx) };
            match came {
                Poll::Ready(Ok(Came::More)) => {}
                Poll::Ready(Ok(Came::End)) => this.ended = true,
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        if this.records.has_answers() && this.outbox.records.is_empty() {
            // Where that fails, so will the next write.
            let _ = this.send(cx);
        }
        if buf.filled().len() > begin || buf.capacity() == begin {
            // What there is comes first; a failure is told again when it is asked for.
            return Poll::Ready(Ok(()));
        }
        ready!(read)?;
        if let Some(error) = this.failed.clone() {
            if !std::mem::replace(&mut this.parted, true) {
                this.complain(cx, &error);
            }
            return Poll::Ready(Err(broken(error)));
        }
        if this.records.is_closed() {
            return Poll::Ready(Ok(()));
        }
        // Somebody on the way may have cut it short.
        let cause = "peer closed connection without sending TLS close_notify";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::UnexpectedEof, cause)))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    /// Takes at most what is sealed at once, when all before it has left.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check()?;
        if this.parted {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        ready!(this.send(cx))?;
        let slices: Vec<&[u8]> = bufs.iter().map(|buf| &**buf).collect();
        let (taken, _) = OutboundChunks::new(&slices).split_at(SEALED_MAX);
        let len = taken.len();
        let records = &mut this.outbox.records;
        this.records.seal(taken, |record| records.push_back(record)).map_err(broken)?;
        match this.send(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            // What has not left is ours to send.
            _ => Poll::Ready(Ok(len)),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.send(cx))?;
        Pin::new(&mut this.below).poll_flush(cx)
    }

    /// Says goodbye, so that the other side knows that nothing is missing.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !std::mem::replace(&mut this.parted, true) && this.failed.is_none() {
            this.outbox.records.extend(this.records.take_answers());
            let goodbye = this.records.seal_alert(AlertDescription::CloseNotify).map_err(broken)?;
            this.outbox.records.push_back(goodbye);
        }
        ready!(this.send(cx))?;
        match ready!(Pin::new(&mut this.below).poll_shutdown(cx)) {
            // The other side has gone before us.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            other => Poll::Ready(other),
        }
    }
}

impl Inbox {
    /// Room for the largest record, and for some of the next with it.
    const LEN: usize = 2 * RECORD_MAX;

    fn sealed(&self) -> &[u8] {
        &self.bytes[self.sealed.clone()]
    }

    /// Keeps what has not come whole, in place of what was there.
    fn keep(&mut self, bytes: &[u8]) {
        (self.open, self.sealed) = (0..0, 0..bytes.len());
        if bytes.is_empty() {
            return;
        }
        if self.bytes.len() < bytes.len() {
            self.bytes = vec![0; bytes.len().max(Self::LEN)].into_boxed_slice();
        }
        self.bytes[..bytes.len()].copy_from_slice(bytes);
    }

    /// Where more can be read to; nothing is open, and no record has come whole.
    fn room(&mut self) -> &mut [u8] {
        if self.bytes.len() < Self::LEN {
            let kept = std::mem::take(&mut self.bytes);
            self.bytes = vec![0; Self::LEN].into_boxed_slice();
            self.bytes[..kept.len()].copy_from_slice(&kept);
        }
        self.bytes.copy_within(self.sealed.clone(), 0);
        self.sealed = 0..self.sealed.len();
        &mut self.bytes[self.sealed.end..]
    }

    /// Hands on what is open, as far as it finds room.
    fn give(&mut self, buf: &mut ReadBuf<'_>) {
        let len = self.open.len().min(buf.remaining());
        buf.put_slice(&self.bytes[self.open.start..self.open.start + len]);
        self.open.start += len;
    }
}

impl Outbox {
    /// Records that go out with one system call: those that are sealed at once, and a head.
    const AT_ONCE: usize = SEALED_MAX / FRAGMENT_MAX + 2;

    fn send<S: AsyncWrite + Unpin>(
        &mut self,
        below: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut slices = [IoSlice::new(&[]); Self::AT_ONCE];
        let mut from = self.left;
        let mut count = 0;
        for (slice, record) in slices.iter_mut().zip(&self.records) {
            *slice = IoSlice::new(&record[std::mem::take(&mut from)..]);
            count += 1;
        }
        let sent = ready!(Pin::new(below).poll_write_vectored(cx, &slices[..count]))?;
        self.left += sent;
        while let Some(first) = self.records.front()
            && self.left >= first.len()
        {
            self.left -= first.len();
            self.records.pop_front();
        }
        Poll::Ready(Ok(sent))
    }
}

impl<S> fmt::Debug for TlsStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsStream")
            .field("ended", &self.ended)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
