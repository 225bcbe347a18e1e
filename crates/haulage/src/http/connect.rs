//! A new connection: look the name up, try its addresses, agree on TLS.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::net::{TcpStream, lookup_host};

use super::failure::{self, Call};
use super::io::Wire;
use super::origin::Origin;
use super::tls::Tls;
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::trace::Route;

/// From the lookup to the end of TLS. A healthy path needs three round trips, below a second anywhere.
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

/// Refuses to send what nobody should read over a wire that anybody can.
pub(super) fn allow(origin: &Origin, insecure_http: bool, call: Call<'_>) -> Result<()> {
    let metadata = origin.ip().is_some_and(|ip| METADATA_SERVICES.contains(&ip));
    let private = origin.is_secure() || origin.is_loopback() || metadata;
    if private || insecure_http {
        return Ok(());
    }
    Err(call
        .error(ErrorKind::Usage, format!("{origin} is plain http: anybody on the way can read and change it"))
        .hint("use https, or --insecure-http if you trust the network"))
}

/// Connects within the time allowed; `dialed` is told what it took until the other side had answered, before TLS.
pub(super) async fn connect(
    origin: &Origin,
    tls: &Tls,
    call: Call<'_>,
    dialed: impl FnOnce(Duration),
) -> Result<(Wire, Route)> {
    let attempt = async {
        let began = Instant::now();
        let (tcp, dns_ns) = dial(origin, call).await?;
        dialed(began.elapsed());
        // A request goes out in one write; waiting to fill a segment could only delay it.
        tcp.set_nodelay(true).map_err(|error| failure::connect(call, origin, error))?;
        let route = Route { remote: tcp.peer_addr().ok(), dns_ns, tls_ns: None };
        if !origin.is_secure() {
            return Ok((Wire::Plain(tcp), route));
        }
        let began = Instant::now();
        let wire = Wire::Tls(Box::new(tls.handshake(tcp, origin, call).await?));
        Ok((wire, Route { tls_ns: Some(since(began)), ..route }))
    };
    match tokio::time::timeout(TIMEOUT, attempt).await {
        Ok(result) => result,
        Err(_) => Err(failure::connect(call, origin, io::ErrorKind::TimedOut.into())),
    }
}

/// Tries a few times more for the first connection of all, then calls it a failure that will stay.
pub(super) async fn insist(
    origin: &Origin,
    tls: &Tls,
    call: Call<'_>,
    mut error: Error,
) -> Result<(Wire, Route)> {
    for wait in FIRST_CONTACT {
        if error.retry_advice() == Retry::Never || error.kind() != ErrorKind::Connection {
            return Err(error);
        }
        tokio::time::sleep(wait).await;
        error = match connect(origin, tls, call, |_| ()).await {
            Ok(made) => return Ok(made),
            Err(error) => error,
        };
    }
    Err(error.retry(Retry::Never).hint(format!("is {origin} the right address, and does it serve?")))
}

fn since(began: Instant) -> u64 {
    began.elapsed().as_nanos() as u64
}

/// Connects to the first address that answers; tells what it took to look the name up, where it is no address itself.
async fn dial(origin: &Origin, call: Call<'_>) -> Result<(TcpStream, Option<u64>)> {
    let began = Instant::now();
    let addresses = resolve(origin, call).await?;
    let dns_ns = origin.ip().is_none().then(|| since(began));
    let mut attempts = FuturesUnordered::new();
    for (index, address) in addresses.into_iter().enumerate() {
        attempts.push(async move {
            tokio::time::sleep(NEXT_ADDRESS * index as u32).await;
            TcpStream::connect(address).await
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
    Err(failure::connect(call, origin, error))
}

/// The addresses of the host, families taking turns so that a broken one costs one wait only.
async fn resolve(origin: &Origin, call: Call<'_>) -> Result<Vec<SocketAddr>> {
    if let Some(ip) = origin.ip() {
        return Ok(vec![SocketAddr::new(ip, origin.port())]);
    }
    let found = lookup_host((origin.host(), origin.port())).await;
    let found: Vec<SocketAddr> = found.map_err(|error| failure::resolve(call, origin, error))?.collect();
    let Some(first) = found.first() else {
        return Err(failure::resolve(call, origin, io::ErrorKind::NotFound.into()));
    };
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
