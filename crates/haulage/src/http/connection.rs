//! One connection and the exchange on it.
//!
//! hyper's connection is polled by whoever waits for the answer, not by a task of its own: no
//! wake-up across threads, no spawn, and dropping the caller's future closes the connection, as HTTP/1 needs.

use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;

use super::failure::{self, Call};
use super::gather;
use super::io::MeteredIo;
use super::origin::Origin;
use super::owner::Owner;
use super::proxy::{Proxy, Way};
use super::stall::{HEAD_BYTES_MAX, Slow, StallWatch};
use super::traffic::Traffic;
use crate::error::{Error, Result};
use crate::trace::{Phase, Route, TcpHistory, Trace};

/// Largest read. Measured on GETs of 8 MiB: 128 to 512 KiB cost the same CPU within noise (0.12 to 0.17 s for each GiB),
/// 1 MiB a third more, as every piece is then fresh memory from the system.
const READ_MAX: usize = 256 << 10;

/// An open connection that serves one exchange at a time.
pub(super) struct Connection {
    origin: Origin,
    proxy: Option<Proxy>,
    /// Numbered from 1 among all that share the pool.
    pub(super) number: u64,
    sender: SendRequest<Full<Bytes>>,
    driver: http1::Connection<TokioIo<MeteredIo>, Full<Bytes>>,
    /// The driver has ended and must not be polled again.
    closed: bool,
    /// A request has gone out on it.
    served: bool,
    /// Bytes of the body that is being read, at least.
    body_bytes: u64,
    pub(super) traffic: Arc<Traffic>,
    watch: StallWatch,
    /// Where it leads, and what it took to make it, which only the first request on it tells.
    route: Route,
    /// What the kernel has said of it, and when it was asked.
    history: (u64, Option<TcpHistory>),
}

/// The kernel is not asked again this soon: a system call for each of thousands of small objects a second costs
/// more than it tells.
const ASKED_AGAIN_NS: u64 = 5_000_000;

impl Connection {
    /// Speaks HTTP/1.1 over `io`. Sends nothing.
    pub(super) async fn begin(
        way: Way<'_>,
        number: u64,
        (io, route): (MeteredIo, Route),
        stall_timeout: Duration,
        call: Call<'_>,
    ) -> Result<Self> {
        let (traffic, meter) = (io.traffic().clone(), io.owner().meter.clone());
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(READ_MAX)
            .handshake(TokioIo::new(io))
            .await
            .map_err(|error| failure::exchange(call, error))?;
        let watch = StallWatch::new(stall_timeout, meter);
        let (closed, served, history) = (false, false, (0, None));
        Ok(Self {
            origin: way.origin.clone(),
            proxy: way.proxy.cloned(),
            number,
            sender,
            driver,
            closed,
            served,
            body_bytes: 0,
            traffic,
            watch,
            route,
            history,
        })
    }

    /// From now on it counts for this owner, keeps to its cap and to its deadline for silence.
    pub(super) fn serve(&mut self, owner: &Owner, stall_timeout: Duration) {
        if !self.watch.is_of(&owner.meter) {
            self.traffic.hand_over.to(owner.clone());
            self.watch = StallWatch::new(stall_timeout, owner.meter.clone());
        }
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What lies between it and its origin.
    pub(super) fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Whether the connection can take a request: looks at the socket, so it costs a system call
    /// only where something has arrived.
    pub(super) fn is_alive(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        !self.closed && self.sender.is_ready()
    }

    /// Moves bytes as far as they go now.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if !self.closed && Pin::new(&mut self.driver).poll(cx).is_ready() {
            // A failure is handed to the exchange that suffers from it.
            self.closed = true;
        }
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        call: Call<'_>,
    ) -> Result<Response<Incoming>, Error> {
        self.traffic.begin_exchange();
        self.watch.begin(&self.traffic);
        let whole = length(&request);
        let mut answer = std::pin::pin!(self.sender.send_request(request));
        let answer = std::future::poll_fn(|cx| {
            if !self.closed && Pin::new(&mut self.driver).poll(cx).is_ready() {
                self.closed = true;
            }
            // Only the driver can bring the answer and we poll it ourselves: no waker needed.
            match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(result) => Poll::Ready(result.map_err(|error| failure::exchange(call, error))),
                Poll::Pending if self.traffic.read_in_exchange() > HEAD_BYTES_MAX => {
                    Poll::Ready(Err(failure::endless_head(call)))
                }
                Poll::Pending => {
                    self.watch.poll(cx, &self.traffic, true).map(|trouble| Err(failure::slow(call, trouble)))
                }
            }
        })
        .await?;
        // A refusal may come as early as it likes.
        if answer.status().is_success() && self.traffic.written_in_exchange() < whole {
            return Err(failure::too_early(call));
        }
        Ok(answer)
    }

    /// The answer's body has at least so many bytes.
    pub(super) fn expect(&mut self, bytes: u64) {
        self.body_bytes = bytes;
    }

    /// The next frame of the answer's body.
    pub(super) fn poll_body(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, BodyFailure>> {
        if let Poll::Ready(ended) = poll_incoming(body) {
            return Poll::Ready(ended);
        }
        self.drive(cx);
        if let Poll::Ready(ended) = poll_incoming(body) {
            return Poll::Ready(ended);
        }
        gather::choose(&self.traffic, self.body_bytes.saturating_sub(self.traffic.read_in_exchange()));
        self.watch.poll(cx, &self.traffic, false).map(|trouble| Err(BodyFailure::Slow(trouble)))
    }

    /// The caller waits again after a pause of its own, which is neither a stall nor a trickle.
    pub(super) fn resume_watch(&mut self, paused: Duration) {
        self.watch.resume(&self.traffic, paused);
    }

    /// Marks when the request had left and the answer began.
    pub(super) fn mark_head(&self, trace: &Trace) {
        if self.traffic.last_write_ns() != 0 {
            self.mark(trace, Phase::Sent, self.traffic.last_write_ns());
        }
        self.mark(trace, Phase::FirstByte, self.traffic.first_read_ns());
    }

    /// Time from the last byte sent to the first byte of the answer.
    pub(super) fn answer_ns(&self) -> Option<u64> {
        let (sent, first) = (self.traffic.last_write_ns(), self.traffic.first_read_ns());
        (sent > 0 && first > sent).then(|| first - sent)
    }

    /// Marks when the answer ended.
    pub(super) fn mark_end(&mut self, trace: &Trace) {
        let now_ns = self.traffic.last_read_ns();
        self.mark(trace, Phase::LastByte, now_ns);
        if trace.asks_kernel() {
            if self.history.1.is_none() || now_ns.saturating_sub(self.history.0) > ASKED_AGAIN_NS {
                self.history = (now_ns, super::kernel::history(self.traffic.socket));
            }
            trace.tcp(self.history.1);
        }
    }

    /// Notes what the connection has gone through when an attempt fails on it.
    pub(super) fn mark_failed(&self, trace: &Trace) {
        if trace.asks_kernel() {
            trace.tcp(super::kernel::history(self.traffic.socket));
        }
    }

    /// It was opened before any request wanted it: none waited, so none tells what it took.
    pub(super) fn mark_opened_ahead(&mut self) {
        self.route = self.route.known();
    }

    /// The request that is about to be sent notes that it uses this connection.
    pub(super) fn mark_taken(&mut self, trace: &Trace) {
        let reused = std::mem::replace(&mut self.served, true);
        let known = self.route.known();
        let route = std::mem::replace(&mut self.route, known);
        trace.connection(self.number, reused, route, self.traffic.clone());
        trace.mark(Phase::Connected);
    }

    /// Marks a time of the connection's clock on the trace's.
    fn mark(&self, trace: &Trace, phase: Phase, at_ns: u64) {
        trace.mark_at(phase, trace.clock().ns_at(self.traffic.instant(at_ns)));
    }
}

/// Bytes that a request takes on the connection at least, before TLS.
fn length(request: &Request<Full<Bytes>>) -> u64 {
    use hyper::body::Body as _;
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let line = request.method().as_str().len() + target + "  HTTP/1.1\r\n\r\n".len();
    let header = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
    let head = line + request.headers().iter().map(header).sum::<usize>();
    head as u64 + request.body().size_hint().lower()
}

/// Why a body ended early.
#[derive(Debug)]
pub(super) enum BodyFailure {
    Lost(hyper::Error),
    Slow(Slow),
}

fn poll_incoming(body: &mut Incoming) -> Poll<Result<Option<Bytes>, BodyFailure>> {
    use hyper::body::Body as _;
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match Pin::new(&mut *body).poll_frame(&mut cx) {
            Poll::Ready(Some(Ok(frame))) => {
                // Trailers say nothing that we use.
                if let Ok(bytes) = frame.into_data() {
                    return Poll::Ready(Ok(Some(bytes)));
                }
            }
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(BodyFailure::Lost(error))),
            Poll::Ready(None) => return Poll::Ready(Ok(None)),
            Poll::Pending => return Poll::Pending,
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("origin", &self.origin)
            .field("number", &self.number)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::error::ErrorKind;
    use crate::http::{HttpClient, HttpOptions};

    /// More than the buffers of both ends hold.
    const BODY: usize = 48 << 20;

    /// Sends a body to a server that answers `status` when it has read `missing` bytes less than all.
    async fn answered(status: u16, missing: usize) -> Result<StatusCode> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let origin = Origin::of(&format!("http://{address}/").parse().unwrap()).unwrap();
        let serve = async {
            let (mut peer, _) = listener.accept().await.unwrap();
            let mut piece = vec![0; 1 << 16];
            let mut seen = peer.read(&mut piece).await.unwrap();
            let head = piece.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
            while seen < head + BODY - missing {
                seen += peer.read(&mut piece).await.unwrap();
            }
            let answer = format!("HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n\r\n");
            peer.write_all(answer.as_bytes()).await.unwrap();
            peer
        };
        let client = HttpClient::new(HttpOptions::default()).unwrap();
        let request = Request::put("/c/key").header("content-length", BODY).body(Bytes::from(vec![7; BODY]));
        let trace = Trace::detached();
        let send = client.send(&origin, request.unwrap(), "write", "key", &trace);
        let (answer, _peer) = tokio::join!(send, serve);
        answer.map(|answer| answer.status())
    }

    #[tokio::test]
    async fn success_before_all_was_sent_is_not_believed() {
        assert_eq!(answered(201, 0).await.unwrap(), StatusCode::CREATED);
        assert_eq!(answered(201, BODY - 1).await.unwrap_err().kind(), ErrorKind::Protocol);
        assert_eq!(answered(409, BODY - 1).await.unwrap(), StatusCode::CONFLICT);
    }
}
