//! HTTP/1.1 on hyper with our own connection pool: every phase timed, every byte metered.
//!
//! [`HttpClient::send`] takes the idle connection used last, or makes one (`connect`, `tls`), through a proxy where one is
//! named (`proxy`), runs the exchange on it (`connection`) and hands back the head of the answer with a [`ResponseBody`],
//! which gives the connection back to the pool at its end. Beneath hyper lies an I/O layer (`io`, `wire`) that meters,
//! times and paces. Redirects are not followed and no answer of a server is judged here: that is the store's business.
//! Failures of the wire carry a cause in words and whether to try again (`failure`).

mod ahead;
mod allowed;
mod body;
mod connect;
mod connection;
mod connections;
mod failure;
mod gather;
mod io;
mod kernel;
mod meter;
mod origin;
mod owner;
mod pacer;
mod pause;
mod pool;
mod proxy;
mod stall;
mod tls;
mod traffic;
mod wire;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tokio::sync::oneshot;
use tokio::time::timeout;

pub use allowed::AllowedHosts;
pub use body::ResponseBody;
pub use connections::Connections;
pub use meter::{WireLook, WireMeter};
pub use origin::Origin;
pub(crate) use proxy::Relayed;
pub use proxy::{Proxies, Proxy, ProxyChoice, ProxyUsed};

use crate::error::{ErrorKind, Result, Retry};
use crate::trace::{Route, Trace};
use crate::units::ByteRate;
use crate::verbose::verbose;
use ahead::Ahead;
use connection::Connection;
use failure::Call;
use owner::Owner;
use pacer::Pacer;
use proxy::Way;
use wire::Wire;

/// To a service nearer than this, opening a connection takes no time worth saving.
const NEAR: Duration = Duration::from_millis(2);

/// A service that has not answered after this long is far.
const FAR: Duration = Duration::from_millis(5);

/// How long a request waits for a connection that is being opened: so many times what the quickest took to reach the service, as
/// TLS takes as long again or twice, or this where nobody knows; but not less than the last.
const TRIPS: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_MIN: Duration = Duration::from_millis(50);

/// No server closes a connection for being idle that was used more recently.
const IDLE_MIN: Duration = Duration::from_secs(1);

const PREPARE: Call<'static> = Call { operation: "connect", object: "", proxy: None };

/// How the client behaves.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Allow plain http beyond loopback.
    pub insecure_http: bool,
    /// Give up a request after this long with no byte of progress.
    pub stall_timeout: Duration,
    /// Bound on the rate on the wire.
    pub cap: Option<ByteRate>,
    /// Root certificates (PEM) to trust besides the system's.
    pub extra_roots: Option<PathBuf>,
    /// Which hosts are reached through which proxy.
    pub proxies: Proxies,
    /// Which hosts may be reached at all.
    pub allowed: AllowedHosts,
    /// The address of this machine that connections are made from.
    pub bind: Option<IpAddr>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            insecure_http: false,
            stall_timeout: Duration::from_secs(30),
            cap: None,
            extra_roots: None,
            proxies: Proxies::default(),
            allowed: AllowedHosts::default(),
            bind: None,
        }
    }
}

/// The bound on the rate on the wire. Clones are the same bound.
#[derive(Clone, Debug)]
pub struct Cap(Arc<Pacer>);

impl Cap {
    /// What it is now; `None` for no bound.
    pub fn get(&self) -> Option<ByteRate> {
        self.0.cap()
    }

    /// No more than this either, as somebody says who shares out what several have together.
    pub(crate) fn lease(&self, most: Option<ByteRate>) {
        self.0.lease(most);
    }

    /// What it shall be from now on, within some 20 ms.
    pub fn set(&self, cap: Option<ByteRate>) {
        self.0.set(cap);
    }
}

/// The client. Clones are the same client; others may share its [`Connections`].
#[derive(Clone, Debug)]
pub struct HttpClient(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: HttpOptions,
    owner: Owner,
    connections: Connections,
    /// Connections that were asked for beforehand, and who waits for one.
    ahead: Ahead,
}

impl HttpClient {
    /// A client with connections of its own.
    ///
    /// # Errors
    /// `Usage` where the file of certificates is none.
    pub fn new(options: HttpOptions) -> Result<Self> {
        let connections = Connections::trusting(options.extra_roots.as_deref())?;
        Ok(Self::over(connections, options))
    }

    /// A client that shares these connections with others: it counts the bytes of its own requests, and has its own cap
    /// and deadline for silence. Which roots are trusted is a matter of the connections; all clients over them must go by the
    /// same proxies.
    pub fn over(connections: Connections, options: HttpOptions) -> Self {
        let owner = Owner { meter: Arc::default(), pacer: Arc::new(Pacer::new(options.cap)) };
        Self(Arc::new(Shared { options, owner, connections, ahead: Ahead::default() }))
    }

    /// The same client over other connections, with the same meter and bound on the rate.
    #[must_use]
    pub fn by(&self, connections: Connections) -> Self {
        let (options, owner) = (self.0.options.clone(), self.0.owner.clone());
        Self(Arc::new(Shared { options, owner, connections, ahead: Ahead::default() }))
    }

    /// The same client over the connections of another.
    #[must_use]
    pub fn by_those_of(&self, other: &Self) -> Self {
        self.by(other.0.connections.clone())
    }

    /// Bytes on the wire of all requests of this client.
    pub fn meter(&self) -> &Arc<WireMeter> {
        &self.0.owner.meter
    }

    /// The bound on the rate, to be looked at and changed while requests run.
    pub fn cap(&self) -> Cap {
        Cap(Arc::clone(&self.0.owner.pacer))
    }

    /// Connections made so far, by all that share them.
    pub fn connections(&self) -> u64 {
        self.0.connections.made()
    }

    /// Sends `request`, whose URI is the path and query, to `origin` and waits for the head of the answer.
    ///
    /// Errors name `operation` and `object`; `trace` is marked Connected, Sent and FirstByte here and
    /// LastByte when the body has ended. Dropping the future, or the body before its end, closes the connection.
    ///
    /// # Errors
    /// `Connection` where none can be made or it breaks, `Stalled` where no byte moves for the stall
    /// timeout, `Usage` for plain http beyond this machine, `Permission` where a proxy does not let us through. Any answer
    /// of a server, also a 500, is `Ok`.
    pub async fn send(
        &self,
        origin: &Origin,
        mut request: Request<Bytes>,
        operation: &'static str,
        object: &str,
        trace: &Trace,
    ) -> Result<Response<ResponseBody>> {
        let call = Call { operation, object, proxy: None };
        let way = self.way(origin, call)?;
        let call = Call { proxy: way.proxy, ..call };
        request.headers_mut().insert(HOST, origin.host_header());
        if let Some(proxy) = way.hands_to() {
            proxy.address(origin, &mut request, call)?;
        }
        connect::allow(origin, &self.0.options, call)?;
        // Never the query: it may be a signature.
        verbose!(Debug, "{} {origin}{} to {operation} {object}", request.method(), request.uri().path());
        if let Some(mut connection) = self.opened(origin).await {
            connection.serve(&self.0.owner, self.0.options.stall_timeout);
            connection.mark_taken(trace);
            let was_idle = connection.traffic.since_read() >= IDLE_MIN;
            match connection.exchange(copy(&request), call).await {
                Ok(answer) => return self.answer(answer, way, connection, call, trace),
                // The server closed an idle connection just as we took it: it saw no request, or none of
                // its answer reached us. All our requests may be sent twice. One that breaks in use is an attempt that failed.
                Err(error)
                    if was_idle
                        && !connection.traffic.answered()
                        && error.kind() == ErrorKind::Connection =>
                {
                    trace.mark_resent();
                }
                Err(error) => {
                    connection.mark_failed(trace);
                    return Err(error);
                }
            }
        }
        let mut connection = self.connect(way, call).await?;
        connection.mark_taken(trace);
        let exchanged = connection.exchange(request.map(Full::new), call).await;
        match exchanged.inspect_err(|_| connection.mark_failed(trace)) {
            Ok(answer) => self.answer(answer, way, connection, call, trace),
            // Where nobody has ever answered, nobody is likely to.
            Err(error)
                if error.kind() == ErrorKind::Stalled
                    && !self.0.connections.answered().load(Ordering::Relaxed) =>
            {
                Err(error.retry(Retry::Few))
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses an origin that the configuration does not allow: before anybody looks for credentials to enter it with.
    ///
    /// # Errors
    /// `Permission`, with the file that holds the list.
    pub(crate) fn permit(&self, origin: &Origin, operation: &'static str, object: &str) -> Result<()> {
        connect::permit(origin, &self.0.options, Call { operation, object, ..PREPARE })
    }

    /// Opens connections beforehand, so that requests which come a few round trips later find them ready: so many to this origin since the
    /// client was made, those included that it found idle, but only one where the service is so near that opening them takes no
    /// time. Returns at once. What fails is left for a request to meet, which says it better.
    pub fn prepare(&self, origin: &Origin, connections: usize) {
        let (ahead, shared) = (&self.0.ahead, &self.0.connections);
        let before = ahead.ask(origin, connections, shared.pool().idle(origin));
        let allowed = connect::allow(origin, &self.0.options, PREPARE).is_ok();
        let reached = shared.reached(origin);
        let is_near = reached.is_some_and(|took| took < NEAR);
        let wanted = if is_near { connections.min(1) } else { connections }.saturating_sub(before);
        if !allowed || wanted == 0 {
            return;
        }
        if reached.is_some() {
            return self.open_several(origin, wanted);
        }
        let (client, origin) = (self.clone(), origin.clone());
        ahead.set_out(&origin, 1);
        tokio::spawn(async move { client.open_ahead(&origin, wanted).await });
    }

    /// Opens so many at once.
    fn open_several(&self, origin: &Origin, connections: usize) {
        self.0.ahead.set_out(origin, connections);
        for _ in 0..connections {
            let (client, origin) = (self.clone(), origin.clone());
            tokio::spawn(async move { client.open_one(&origin, |_| ()).await });
        }
    }

    async fn open_ahead(&self, origin: &Origin, connections: usize) {
        let (send, reached) = oneshot::channel();
        let dialed = move |took: Duration| {
            self.0.connections.note_reached(origin, took);
            let _ = send.send(took);
        };
        // Who has not answered by now is far, and the others need not wait for the answer.
        let others = async {
            let near = timeout(FAR, reached).await.is_ok_and(|took| took.is_ok_and(|took| took < NEAR));
            self.open_several(origin, if near { 0 } else { connections - 1 });
        };
        tokio::join!(self.open_one(origin, dialed), others);
    }

    async fn open_one(&self, origin: &Origin, dialed: impl FnOnce(Duration)) {
        let opened = self.try_open(origin, dialed).await.ok();
        if let Some(connection) = self.0.ahead.arrived(origin, opened) {
            self.0.connections.pool().give_back(connection);
        }
    }

    async fn try_open(&self, origin: &Origin, dialed: impl FnOnce(Duration)) -> Result<Connection> {
        let way = self.way(origin, PREPARE)?;
        self.tell_connecting(way);
        let wire = connect::connect(way, self.0.connections.tls(), PREPARE, dialed).await?;
        let mut connection = self.begin(way, wire, PREPARE).await?;
        connection.mark_opened_ahead();
        Ok(connection)
    }

    /// A connection that is there, or will be sooner than one that is opened now.
    async fn opened(&self, origin: &Origin) -> Option<Connection> {
        let pool = self.0.connections.pool();
        if let Some(connection) = pool.take(origin) {
            return Some(connection);
        }
        let coming = self.0.ahead.claim(origin)?;
        let patience = self.0.connections.reached(origin).map_or(PATIENCE, |took| took * TRIPS);
        match timeout(patience.max(PATIENCE_MIN), coming).await {
            Ok(Ok(connection)) => Some(connection),
            // It is lost, or takes too long; another may have come back meanwhile.
            _ => pool.take(origin),
        }
    }

    /// How the origin is reached.
    fn way<'a>(&'a self, origin: &'a Origin, call: Call<'_>) -> Result<Way<'a>> {
        let way = self.0.options.proxies.way(origin, call)?;
        Ok(Way { from: self.0.options.bind, ..way })
    }

    fn tell_connecting(&self, way: Way<'_>) {
        let by_proxy = way.proxy.map(|proxy| format!(" through {proxy}")).unwrap_or_default();
        match self.0.ahead.is_first(way.origin) {
            true => verbose!(Info, "connecting to {}{by_proxy}", way.origin),
            false => verbose!(Debug, "one more connection to {}{by_proxy}", way.origin),
        }
    }

    async fn connect(&self, way: Way<'_>, call: Call<'_>) -> Result<Connection> {
        self.tell_connecting(way);
        let tls = self.0.connections.tls();
        let reached = |took| self.0.connections.note_reached(way.origin, took);
        let wire = match connect::connect(way, tls, call, reached).await {
            // Nothing has ever answered: more likely a wrong address than a passing fault.
            Err(error) if self.connections() == 0 => connect::insist(way, tls, call, error).await?,
            other => other?,
        };
        self.begin(way, wire, call).await
    }

    async fn begin(&self, way: Way<'_>, (wire, route): (Wire, Route), call: Call<'_>) -> Result<Connection> {
        let shared = &self.0;
        let io = io::MeteredIo::new(wire, shared.owner.clone());
        let number = shared.connections.count();
        Connection::begin(way, number, (io, route), shared.options.stall_timeout, call).await
    }

    fn answer(
        &self,
        mut answer: Response<hyper::body::Incoming>,
        way: Way<'_>,
        connection: Connection,
        call: Call<'_>,
        trace: &Trace,
    ) -> Result<Response<ResponseBody>> {
        connection.mark_head(trace);
        self.0.connections.answered().store(true, Ordering::Relaxed);
        // A refusal may come before the request has left; "not there" is an answer.
        let status = answer.status();
        verbose!(Debug, "HTTP {} to {} {}", status.as_u16(), call.operation, call.object);
        let answered = status.is_success() || status == StatusCode::NOT_FOUND;
        if let Some(ns) = connection.answer_ns().filter(|_| answered) {
            self.0.owner.meter.note_answer(ns);
        }
        if let Some(proxy) = way.hands_to() {
            if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
                connection.mark_failed(trace);
                trace.answer(status.as_u16(), None);
                return Err(proxy::refused(call, proxy, way.origin, status, answer.headers()));
            }
            Relayed::note(&mut answer, proxy, way.origin);
        }
        let pool = self.0.connections.pool();
        Ok(answer.map(|incoming| ResponseBody::new(incoming, connection, pool, call, trace)))
    }
}

/// A copy that shares the body.
fn copy(request: &Request<Bytes>) -> Request<Full<Bytes>> {
    let mut copy = Request::new(Full::new(request.body().clone()));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}
