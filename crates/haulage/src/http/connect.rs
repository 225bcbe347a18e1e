//! A new connection: look the name up, try its addresses, ask a proxy where there is one, agree on TLS.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::Instant;

use super::HttpOptions;
use super::failure::{self, Call};
use super::origin::Origin;
use super::proxy::{Way, open_tunnel};
use super::tls::{Tls, TlsStream};
use super::wire::Wire;
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::trace::Route;
use crate::wait::scaled;

/// From the lookup to the end of TLS. A healthy path needs three round trips, below a second anywhere; a proxy looks up and
/// dials in the same time.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long one address may keep silent before the next is tried beside it (RFC 8305 recommends 250 ms).
const NEXT_ADDRESS: Duration = Duration::from_millis(250);

/// Waits between tries for the first connection: a service that is just starting gets a moment.
const FIRST_CONTACT: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(300), Duration::from_millis(600)];

/// The services that hand out identities on machines of Azure and AWS, in AWS's containers and in its Kubernetes pods. They
/// speak plain http on link-local addresses that no router forwards, so nothing leaves the machine's host.
const METADATA_SERVICES: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
];

/// Refuses to send anything where nothing may be sent, and what nobody should read over a wire that anybody can.
pub(super) fn allow(origin: &Origin, options: &HttpOptions, call: Call<'_>) -> Result<()> {
    permit(origin, options, call)?;
    let metadata = is_metadata(origin);
    let private = origin.is_secure() || origin.is_loopback() || metadata;
    if private || options.insecure_http {
        return Ok(());
    }
    Err(call
        .error(ErrorKind::Usage, format!("{origin} is plain http: anybody on the way can read and change it"))
        .hint("use https, or --insecure-http if you trust the network"))
}

/// Refuses an origin that somebody's list does not allow.
pub(super) fn permit(origin: &Origin, options: &HttpOptions, call: Call<'_>) -> Result<()> {
    // They belong to the machine, and get no data.
    match options.allowed.refused_by(origin).filter(|_| !is_metadata(origin)) {
        None => Ok(()),
        Some(file) => Err(call
            .error(ErrorKind::Permission, format!("{origin} is not among the allowed endpoints of {file}"))
            .hint("haul config show lists them; add the host there if data may go to it")),
    }
}

fn is_metadata(origin: &Origin) -> bool {
    origin.ip().is_some_and(|ip| METADATA_SERVICES.contains(&ip))
}

/// Connects within the time allowed; `dialed` is told what it took until the other side had answered, before TLS with it.
pub(super) async fn connect(
    way: Way<'_>,
    tls: &Tls,
    call: Call<'_>,
    dialed: impl FnOnce(Duration),
) -> Result<(Wire, Route)> {
    let mut opening = Opening { way, tls, call, began: Instant::now(), route: Route::default() };
    match tokio::time::timeout(TIMEOUT, opening.open(dialed)).await {
        Ok(wire) => Ok((wire?, opening.route)),
        Err(_) => Err(failure::too_long(call, way)),
    }
}

/// A connection that is being made.
struct Opening<'a> {
    way: Way<'a>,
    tls: &'a Tls,
    call: Call<'a>,
    began: Instant,
    route: Route,
}

impl Opening<'_> {
    async fn open(&mut self, dialed: impl FnOnce(Duration)) -> Result<Wire> {
        let Self { way, call, .. } = *self;
        let origin = way.origin;
        let (tcp, dns_ns) = dial(way, call).await?;
        // A request goes out in one write; waiting to fill a segment could only delay it.
        tcp.set_nodelay(true).map_err(|error| failure::connect(call, way, error))?;
        self.route =
            Route { remote: tcp.peer_addr().ok(), proxied: way.proxy.is_some(), dns_ns, ..Route::default() };
        if let Some(proxy) = way.proxy.filter(|proxy| proxy.origin().is_secure()) {
            let with_it = Call { proxy: None, ..call };
            let session = self.agree(tcp, proxy.origin(), proxy, with_it).await?;
            let session = self.pass(session).await?;
            dialed(self.began.elapsed());
            if !origin.is_secure() {
                return Ok(Wire::Tls(Box::new(session)));
            }
            return Ok(Wire::Nested(Box::new(self.agree(session, origin, origin, call).await?)));
        }
        let tcp = self.pass(tcp).await?;
        dialed(self.began.elapsed());
        if !origin.is_secure() {
            return Ok(Wire::Plain(tcp));
        }
        Ok(Wire::Tls(Box::new(self.agree(tcp, origin, origin, call).await?)))
    }

    /// Asks the proxy for a tunnel, where one is needed.
    async fn pass<S: AsyncRead + AsyncWrite + Unpin>(&mut self, stream: S) -> Result<S> {
        let Some(proxy) = self.way.tunnels_through() else { return Ok(stream) };
        let began = Instant::now();
        let stream = open_tunnel(stream, proxy, self.way.origin, self.call).await?;
        self.route.proxy_ns = Some(since(began));
        Ok(stream)
    }

    /// Agrees on TLS with `peer`, which errors call by `name`.
    async fn agree<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: S,
        peer: &Origin,
        name: &(dyn fmt::Display + Sync),
        call: Call<'_>,
    ) -> Result<TlsStream<S>> {
        let began = Instant::now();
        let session = self.tls.handshake(stream, peer, name, call).await?;
        self.route.tls_ns = Some(self.route.tls_ns.unwrap_or_default() + since(began));
        Ok(session)
    }
}

/// Tries a few times more for the first connection of all, then calls it a failure that will stay.
pub(super) async fn insist(
    way: Way<'_>,
    tls: &Tls,
    call: Call<'_>,
    mut error: Error,
) -> Result<(Wire, Route)> {
    for wait in FIRST_CONTACT {
        if error.retry_advice() == Retry::Never || error.kind() != ErrorKind::Connection {
            return Err(error);
        }
        tokio::time::sleep(scaled(wait)).await;
        error = match connect(way, tls, call, |_| ()).await {
            Ok(made) => return Ok(made),
            Err(error) => error,
        };
    }
    let error = error.retry(Retry::Never);
    if way.proxy.is_some() {
        // It names the proxy, or what is behind it, and what to do about either.
        return Err(error);
    }
    Err(error.hint(format!("is {} the right address, and is the server running?", way.origin)))
}

fn since(began: Instant) -> u64 {
    began.elapsed().as_nanos() as u64
}

/// Connects to the first address that answers; tells what it took to look the name up, where it is no address itself.
async fn dial(way: Way<'_>, call: Call<'_>) -> Result<(TcpStream, Option<u64>)> {
    let began = Instant::now();
    let addresses = resolve(way, call).await?;
    let dns_ns = way.first().ip().is_none().then(|| since(began));
    let mut attempts = FuturesUnordered::new();
    for (index, address) in addresses.into_iter().enumerate() {
        attempts.push(async move {
            tokio::time::sleep(NEXT_ADDRESS * index as u32).await;
            open(address, way.from).await
        });
    }
    let mut failed = None;
    while let Some(result) = attempts.next().await {
        match result {
            Ok(tcp) => return Ok((tcp, dns_ns)),
            // The first failure is that of the address the system prefers: the one to report.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let error = failed.unwrap_or_else(|| io::ErrorKind::NotFound.into());
    Err(failure::connect(call, way, error))
}

/// Connects from the address that was named, or from the one that the system takes.
async fn open(to: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    let Some(from) = from else { return TcpStream::connect(to).await };
    let socket = if to.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.bind(SocketAddr::new(from, 0))?;
    socket.connect(to).await
}

/// The addresses of the host, families taking turns so that a broken one costs one wait only.
async fn resolve(way: Way<'_>, call: Call<'_>) -> Result<Vec<SocketAddr>> {
    let host = way.first();
    let fits = |ip: IpAddr| way.from.is_none_or(|from| from.is_ipv4() == ip.is_ipv4());
    if let Some(ip) = host.ip() {
        if !fits(ip) {
            return Err(failure::other_family(call, way));
        }
        return Ok(vec![SocketAddr::new(ip, host.port())]);
    }
    let found = lookup_host((host.host(), host.port())).await;
    let found: Vec<SocketAddr> = found.map_err(|error| failure::resolve(call, way, error))?.collect();
    if found.is_empty() {
        return Err(failure::resolve(call, way, io::ErrorKind::NotFound.into()));
    }
    let found: Vec<SocketAddr> = found.into_iter().filter(|address| fits(address.ip())).collect();
    let Some(first) = found.first() else { return Err(failure::other_family(call, way)) };
    let (mut preferred, mut others): (Vec<_>, Vec<_>) =
        found.iter().partition(|address| address.is_ipv4() == first.is_ipv4());
    preferred.reverse();
    others.reverse();
    let mut ordered = Vec::with_capacity(found.len());
    while let Some(address) = preferred.pop() {
        ordered.push(address);
        ordered.extend(others.pop());
    }
    ordered.extend(others.into_iter().rev());
    Ok(ordered)
}
