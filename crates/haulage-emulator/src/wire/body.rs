//! The body of an answer.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::tamper::Tamper;
use crate::stats::Counters;
use crate::store::Chunks;

/// Bytes of known length, with the fault that may befall them.
pub(crate) struct ResponseBody {
    source: Source,
    len: u64,
    sent: u64,
    tamper: Option<Tamper>,
    halting: Option<Pin<Box<dyn Future<Output = Infallible> + Send>>>,
    counters: Option<Arc<Counters>>,
}

enum Source {
    Pieces(vec::IntoIter<Bytes>),
    One(Option<Bytes>),
    Stored(Chunks),
}

impl ResponseBody {
    pub(crate) fn empty() -> Self {
        Self::new(Source::One(None), 0)
    }

    pub(crate) fn full(bytes: Bytes) -> Self {
        let len = bytes.len() as u64;
        Self::new(Source::One(Some(bytes)), len)
    }

    pub(crate) fn pieces(pieces: Vec<Bytes>) -> Self {
        let len = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self::new(Source::Pieces(pieces.into_iter()), len)
    }

    pub(crate) fn stored(chunks: Chunks, len: u64) -> Self {
        Self::new(Source::Stored(chunks), len)
    }

    fn new(source: Source, len: u64) -> Self {
        Self { source, len, sent: 0, tamper: None, halting: None, counters: None }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Keeps only the first bytes.
    pub(crate) fn shorten(&mut self, len: u64) {
        self.len = self.len.min(len);
    }

    pub(crate) fn count_in(&mut self, counters: &Arc<Counters>) {
        self.counters = Some(Arc::clone(counters));
    }

    pub(crate) fn tamper(&mut self, tamper: Option<Tamper>) {
        self.tamper = tamper;
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if let Some(halting) = &mut this.halting {
            match ready!(halting.as_mut().poll(context)) {}
        }
        let next = match &mut this.source {
            Source::One(bytes) => bytes.take(),
            Source::Pieces(pieces) => pieces.next(),
            Source::Stored(chunks) => ready!(chunks.poll_next(context)).transpose()?,
        };
        let Some(mut bytes) = next.filter(|_| this.sent < this.len) else {
            return Poll::Ready(None);
        };
        bytes.truncate((this.len - this.sent).min(bytes.len() as u64) as usize);
        if let Some(tamper) = &this.tamper {
            if tamper.halts(this.sent, bytes.len()) {
                bytes.truncate(tamper.before(this.sent));
                this.halting = this.tamper.take().map(|tamper| Box::pin(tamper.halt()) as _);
            } else {
                bytes = tamper.flipped(this.sent, bytes);
            }
        }
        this.sent += bytes.len() as u64;
        if let Some(counters) = &this.counters {
            counters.bytes_out.fetch_add(bytes.len() as u64, Relaxed);
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.sent == self.len && self.halting.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len - self.sent)
    }
}
