//! The listener, its connections and the handle on both.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use haulage::{Error, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::auth::account_sas;
use crate::config::EmulatorConfig;
use crate::link::{Link, ShapedStream};
use crate::s3::S3Access;
use crate::service::Service;
use crate::stats::EmulatorStats;
use crate::tls;

/// Segments on a shaped link: loopback's own are 64 KiB, more than a slow link's whole buffer.
const SHAPED_SEGMENT: u32 = 8 * 1024;

/// Starts the endpoint on the current tokio runtime. It serves until [`Emulator::shutdown`] or
/// until the handle is dropped.
///
/// Fails where the address is taken, the store's directory cannot be opened, the key is not
/// Base64 or the certificate cannot be read.
pub fn start(config: EmulatorConfig) -> Starting {
    // Boxed, so that all that serves is compiled here and not once more in each crate that starts one.
    Box::pin(async move {
        let link = Link::new(&config.link).map(Arc::new);
        let tls = config.tls.as_ref().map(tls::acceptor).transpose()?;
        let listener =
            listen(config.listen, link.as_deref()).map_err(|error| cannot_listen(config.listen, error))?;
        let address = listener
            .local_addr()
            .map_err(|error| Error::from_io("listen", config.listen.to_string(), error))?;
        let service = Arc::new(Service::open(config, address)?);
        let (stop, stopped) = watch::channel(());
        let accepting = tokio::spawn(accept(listener, Arc::clone(&service), link, tls, stopped));
        Ok(Emulator { address, service, stop, accepting })
    })
}

/// An endpoint that is being started.
pub type Starting = Pin<Box<dyn Future<Output = Result<Emulator>> + Send>>;

fn cannot_listen(address: SocketAddr, error: io::Error) -> Error {
    let in_use = error.kind() == io::ErrorKind::AddrInUse;
    let error = Error::from_io("listen", address.to_string(), error);
    if in_use { error.hint("choose another port with --listen; port 0 takes any free one") } else { error }
}

/// A running endpoint. Stops when dropped.
#[derive(Debug)]
pub struct Emulator {
    address: SocketAddr,
    service: Arc<Service>,
    stop: watch::Sender<()>,
    accepting: JoinHandle<()>,
}

impl Emulator {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the account: `http://127.0.0.1:PORT/devstoreaccount1`, https with a certificate.
    pub fn endpoint(&self) -> String {
        self.service.endpoint().to_owned()
    }

    /// A connection string as every Azure client reads it.
    pub fn connection_string(&self) -> String {
        let config = &self.service.config;
        let endpoint = self.service.endpoint();
        format!(
            "DefaultEndpointsProtocol={};AccountName={};AccountKey={};BlobEndpoint={endpoint};TableEndpoint={endpoint};",
            config.scheme(),
            config.account,
            config.key,
        )
    }

    /// What an S3 client needs to reach the same containers as buckets.
    pub fn s3(&self) -> S3Access {
        self.service.s3.clone()
    }

    /// An account signature as a query string without its `?`. `permissions` are the service's
    /// letters, such as `rwdlacut`.
    pub fn sas(&self, permissions: &str, expiry: SystemTime) -> String {
        account_sas(&self.service.config.account, &self.service.key, permissions, expiry)
    }

    /// What it has seen so far.
    pub fn stats(&self) -> EmulatorStats {
        self.service.counters.read()
    }

    /// Stops listening and drops all connections, whatever they are doing; returns once they are
    /// closed.
    pub async fn shutdown(mut self) {
        let _ = self.stop.send(());
        // A listener that panicked has stopped as well.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.stop.send(());
    }
}

fn listen(address: SocketAddr, link: Option<&Link>) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if let Some(link) = link {
        // Connections inherit these; the receive window is fixed when a connection is set up.
        socket.set_recv_buffer_size(link.socket_buffer())?;
        socket.set_send_buffer_size(link.socket_buffer())?;
        socket.set_tcp_mss(SHAPED_SEGMENT)?;
    }
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(StdListener::from(socket))
}

/// Takes connections until told to stop; then drops them all.
async fn accept(
    listener: TcpListener,
    service: Arc<Service>,
    link: Option<Arc<Link>>,
    tls: Option<TlsAcceptor>,
    mut stopped: watch::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => break,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => {
                service.counters.connections.fetch_add(1, Relaxed);
                connections.spawn(connect(stream, Arc::clone(&service), link.clone(), tls.clone()));
            }
            Err(error) => {
                // Usually too many open files: some will close.
                tracing::warn!(%error, "no connection could be accepted");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

async fn connect(
    stream: TcpStream,
    service: Arc<Service>,
    link: Option<Arc<Link>>,
    tls: Option<TlsAcceptor>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the connection has gone already");
        return;
    }
    // A second handle on the socket, to reset it beneath hyper.
    let socket = match service.faults_possible() {
        true => SockRef::from(&stream).try_clone().ok(),
        false => None,
    };
    let connection = Arc::new(Connection::default());
    match link {
        None => secure(stream, tls, service, &connection).await,
        Some(link) => secure(ShapedStream::new(stream, link), tls, service, &connection).await,
    }
    if connection.is_reset.load(Relaxed)
        && let Some(socket) = socket
    {
        // No lingering: what is queued is thrown away and the peer gets a reset.
        let _ = socket.set_linger(Some(Duration::ZERO));
    }
}

/// Serves over TLS where there is a certificate.
async fn secure<S>(stream: S, tls: Option<TlsAcceptor>, service: Arc<Service>, connection: &Arc<Connection>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(tls) = tls else { return serve(stream, service, connection).await };
    match tls.accept(stream).await {
        Ok(stream) => serve(stream, service, connection).await,
        Err(error) => tracing::debug!(%error, "no TLS session came about"),
    }
}

pub(crate) async fn serve<S>(stream: S, service: Arc<Service>, connection: &Arc<Connection>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let handle = service_fn(|request| {
        let (service, connection) = (Arc::clone(&service), Arc::clone(connection));
        async move { Ok::<_, Infallible>(service.answer(request, &connection).await) }
    });
    let mut http = http1::Builder::new();
    // Clients keep idle connections as long as they like.
    http.header_read_timeout(None);
    let served = http.serve_connection(TokioIo::new(stream), handle);
    tokio::select! {
        served = served => if let Err(error) = served {
            tracing::debug!(%error, "a connection ended early");
        },
        () = connection.reset.notified() => {}
    }
}

/// What a fault may do to the connection that it strikes.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    reset: Notify,
    is_reset: std::sync::atomic::AtomicBool,
}

impl Connection {
    /// Drops the connection without a farewell.
    pub(crate) fn reset(&self) {
        self.is_reset.store(true, Relaxed);
        self.reset.notify_one();
    }

    /// Closes the connection in order, whatever it was doing.
    pub(crate) fn close(&self) {
        self.reset.notify_one();
    }
}
