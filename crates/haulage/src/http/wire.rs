//! What carries the bytes: TCP, bare or under TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;

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
            Self::Tls(tls) => tls.below(),
            Self::Nested(tls) => tls.below().below(),
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
            Self::Tls(tls) => tls.wants_write(),
            Self::Nested(tls) => tls.wants_write() || tls.below().wants_write(),
        }
    }

    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_read(cx, buf),
            Self::Nested(tls) => Pin::new(tls.as_mut()).poll_read(cx, buf),
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
