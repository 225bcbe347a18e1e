//! What carries the bytes: TCP, bare or under TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::tls::{Nested, Session};

/// TCP, bare or under TLS; to a server behind a proxy of https, under both sessions.
#[derive(Debug)]
pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<Session>),
    Nested(Box<Nested>),
}

impl Wire {
    pub(super) fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0.get_ref(),
            Self::Nested(tls) => tls.get_ref().0.get_ref().0.get_ref(),
        }
    }

    /// Sessions of TLS in it.
    pub(super) fn sessions(&self) -> u64 {
        match self {
            Self::Plain(_) => 0,
            Self::Tls(_) => 1,
            Self::Nested(_) => 2,
        }
    }

    /// Whether a session holds what the kernel has not got yet.
    pub(super) fn wants_write(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.get_ref().1.wants_write(),
            Self::Nested(tls) => {
                let (below, session) = tls.get_ref();
                session.wants_write() || below.get_ref().1.wants_write()
            }
        }
    }

    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Self::Tls(tls) => fill(tls.as_mut(), cx, buf),
            Self::Nested(tls) => fill(tls.as_mut(), cx, buf),
        }
    }

    pub(super) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, bufs),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_write_vectored(cx, bufs),
            Self::Nested(tls) => Pin::new(tls.as_mut()).poll_write_vectored(cx, bufs),
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
            Self::Nested(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
        }
    }

    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_shutdown(cx),
            Self::Nested(tls) => Pin::new(tls.as_mut()).poll_shutdown(cx),
        }
    }
}

/// Opens all records that have come, not only one: each piece that is handed on costs a write to the file.
fn fill<S: AsyncRead + AsyncWrite + Unpin>(
    tls: &mut TlsStream<S>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
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
