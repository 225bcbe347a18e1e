//! The body of an answer, as it arrives.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use hyper::body::{Body as _, Incoming};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::connection::{BodyFailure, Connection};
use super::failure::{self, Call};
use super::pool::Pool;
use crate::error::{Error, Result};
use crate::trace::Trace;

/// The body of an answer: a stream of pieces. At its end the connection goes back to the pool;
/// dropped before, it closes the connection. The default is one that has ended.
#[derive(Default)]
pub struct ResponseBody {
    /// `None` once the body has ended, well or badly.
    arriving: Option<Box<Arriving>>,
}

struct Arriving {
    incoming: Incoming,
    connection: Connection,
    pool: Pool,
    trace: Trace,
    operation: &'static str,
    object: String,
    /// Since when the caller has a piece and has not asked for the next.
    paused: Option<Instant>,
}

/// A document that is longer than announced grows by steps: doubled, one just below its limit would need twice that.
const GROWTH: usize = 4 << 20;

/// A document up to this size need not wait for its turn.
const SMALL: usize = 1 << 20;

impl ResponseBody {
    /// Takes over the connection until the body has ended, which may be at once.
    pub(super) fn new(
        incoming: Incoming,
        mut connection: Connection,
        pool: &Pool,
        call: Call<'_>,
        trace: &Trace,
    ) -> Self {
        if incoming.is_end_stream() {
            finish(connection, pool, trace);
            return Self { arriving: None };
        }
        connection.expect(incoming.size_hint().lower());
        let arriving = Arriving {
            incoming,
            connection,
            pool: pool.clone(),
            trace: trace.clone(),
            operation: call.operation,
            object: call.object.to_owned(),
            paused: Some(Instant::now()),
        };
        Self { arriving: Some(Box::new(arriving)) }
    }

    /// The next piece; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes>> {
        std::future::poll_fn(|cx| self.poll_piece(cx)).await
    }

    /// All of a document as one piece: free where it arrives as one.
    ///
    /// # Errors
    /// `Protocol` for one that is larger than `limit` bytes, which no such document is.
    pub async fn collect(self, limit: usize) -> Result<Bytes> {
        self.collect_in_turn(limit, None).await
    }

    /// The same, but of documents that grow beyond 1 MiB only as many at once as there are `turns`: else many of them, each
    /// within its limit, would fill the memory together.
    ///
    /// # Errors
    /// As [`ResponseBody::collect`].
    pub async fn collect_in_turn(mut self, limit: usize, turns: Option<&Semaphore>) -> Result<Bytes> {
        let Some(arriving) = &self.arriving else { return Ok(Bytes::new()) };
        let expected = arriving.incoming.size_hint().lower();
        let (operation, object) = (arriving.operation, arriving.object.clone());
        let too_large = || Err(failure::too_large(Call { operation, object: &object, proxy: None }, limit));
        if expected > limit as u64 {
            return too_large();
        }
        let Some(first) = self.next().await.transpose()? else { return Ok(Bytes::new()) };
        if first.len() as u64 == expected {
            // Ask on, so that the end is seen and the connection kept.
            self.next().await.transpose()?;
            return Ok(first);
        }
        if first.len() > limit {
            return too_large();
        }
        // A length from outside is a hint, not a reason to allocate what may never come.
        let most = if turns.is_some() { SMALL } else { GROWTH };
        let mut whole = BytesMut::with_capacity((expected as usize).min(most).max(first.len() * 2));
        whole.extend_from_slice(&first);
        let mut turn = None;
        while let Some(piece) = self.next().await.transpose()? {
            if whole.len() + piece.len() > limit {
                return too_large();
            }
            if let Some(turns) = turns.filter(|_| turn.is_none() && whole.len() + piece.len() > SMALL) {
                turn = turns.acquire().await.ok();
            }
            if whole.capacity() - whole.len() < piece.len() {
                whole.reserve(GROWTH.max(piece.len()));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    /// The first `limit` bytes of the body, or all of it; the connection of a longer one is closed.
    pub async fn collect_up_to(mut self, limit: usize) -> Result<Bytes> {
        let mut whole = BytesMut::new();
        while let Some(piece) = self.next().await.transpose()? {
            whole.extend_from_slice(&piece[..piece.len().min(limit - whole.len())]);
            if whole.len() == limit {
                break;
            }
        }
        Ok(whole.freeze())
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let Some(arriving) = self.arriving.as_deref_mut() else { return Poll::Ready(None) };
        if let Some(since) = arriving.paused.take() {
            arriving.connection.resume_watch(since.elapsed());
        }
        let piece = std::task::ready!(arriving.connection.poll_body(&mut arriving.incoming, cx));
        if let Ok(Some(bytes)) = piece {
            arriving.paused = Some(Instant::now());
            if arriving.incoming.is_end_stream() {
                self.end();
            }
            return Poll::Ready(Some(Ok(bytes)));
        }
        match piece {
            Ok(_) => {
                self.end();
                Poll::Ready(None)
            }
            Err(failure) => Poll::Ready(self.arriving.take().map(|arriving| {
                arriving.connection.mark_failed(&arriving.trace);
                Err(arriving.error(failure))
            })),
        }
    }

    fn end(&mut self) {
        if let Some(arriving) = self.arriving.take() {
            let Arriving { connection, pool, trace, .. } = *arriving;
            finish(connection, &pool, &trace);
        }
    }
}

impl Arriving {
    fn error(&self, failure: BodyFailure) -> Error {
        let call = Call { operation: self.operation, object: &self.object, proxy: self.connection.proxy() };
        match failure {
            BodyFailure::Lost(error) => failure::exchange(call, error),
            BodyFailure::Slow(slow) => failure::slow(call, slow),
        }
    }
}

/// The exchange is over: notes when, and keeps the connection if it can serve again.
fn finish(mut connection: Connection, pool: &Pool, trace: &Trace) {
    connection.mark_end(trace);
    if connection.is_alive() {
        pool.give_back(connection);
    }
}

impl Stream for ResponseBody {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_piece(cx)
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").field("ended", &self.arriving.is_none()).finish()
    }
}
