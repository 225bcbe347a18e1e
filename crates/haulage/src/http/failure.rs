//! Failures of the wire, in words that a person can act on.

use std::error::Error as _;
use std::fmt;
use std::io;

use super::proxy::{Proxy, Way, no_proxy};
use super::stall::Slow;
use super::tls::{self, Distrust};
use crate::error::{Error, ErrorKind, Retry};
use crate::units::{ByteSize, format_duration};

/// What to do where `--bind` cannot be used.
const BIND: &str =
    "ip address shows the addresses of this machine; leave out --bind to let the system choose";

/// What to do where a proxy is not to be reached, or does not do what it is there for.
pub(super) const NO_SUCH_PROXY: &str =
    "check the proxy's address and that it is running; --proxy none bypasses it";

/// What is being done to what, for errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) operation: &'static str,
    pub(super) object: &'a str,
    /// What the bytes pass on their way, and may fail at.
    pub(super) proxy: Option<&'a Proxy>,
}

impl Call<'_> {
    pub(super) fn error(self, kind: ErrorKind, cause: impl Into<String>) -> Error {
        Error::new(kind, self.operation, self.object, cause)
    }

    /// A failure on the way, which may be one of the proxy.
    fn on_the_way(self, kind: ErrorKind, mut cause: String) -> Error {
        if let Some(proxy) = self.proxy {
            cause.push_str(&format!(", through {proxy}"));
        }
        self.error(kind, cause)
    }

    fn lost(self, cause: String) -> Error {
        self.on_the_way(ErrorKind::Connection, cause).retry(Retry::Backoff)
    }
}

/// Too little moved for too long.
pub(super) fn slow(call: Call<'_>, slow: Slow) -> Error {
    match slow {
        Slow::Silent(lasted) => call
            .on_the_way(ErrorKind::Stalled, format!("no byte moved for {}", format_duration(lasted)))
            .retry(Retry::Backoff),
        Slow::Trickle(lasted) => {
            let cause = format!("less than 1 KiB/s moved for {}", format_duration(lasted));
            call.on_the_way(ErrorKind::Stalled, cause).retry(Retry::Few)
        }
        Slow::Head(lasted) => {
            let cause = format!("the answer's headers did not end within {}", format_duration(lasted));
            call.on_the_way(ErrorKind::Protocol, cause).retry(Retry::Few)
        }
    }
}

/// Headers, or answers that only announce another one, without end.
pub(super) fn endless_head(call: Call<'_>) -> Error {
    call.error(ErrorKind::Protocol, "the answer's headers do not end").retry(Retry::Few)
}

/// Success, before the request was there to succeed.
pub(super) fn too_early(call: Call<'_>) -> Error {
    let cause = "the answer claims success, but it came before all of the request was sent";
    call.error(ErrorKind::Protocol, cause).retry(Retry::Few)
}

/// A document that is larger than any such document can be.
pub(super) fn too_large(call: Call<'_>, limit: usize) -> Error {
    let limit = ByteSize::new(limit as u64);
    call.error(ErrorKind::Protocol, format!("the answer is larger than {limit}")).retry(Retry::Few)
}

/// A host that has no address.
pub(super) fn resolve(call: Call<'_>, way: Way<'_>, source: io::Error) -> Error {
    let error = |cause| call.error(ErrorKind::Connection, cause).retry(Retry::Backoff);
    match way.proxy {
        Some(proxy) => error(format!("host not found: {proxy}")).hint(NO_SUCH_PROXY),
        None => error(format!("host not found: {}", way.origin.host()))
            .hint("check the account name, the endpoint and the network"),
    }
    .source(source)
}

/// A host whose addresses are of another family than the one that connections are made from.
pub(super) fn other_family(call: Call<'_>, way: Way<'_>) -> Error {
    let family = if way.from.is_some_and(|from| from.is_ipv4()) { "IPv4" } else { "IPv6" };
    let cause = format!("{} has no {family} address, and --bind is one", way.first().host());
    call.error(ErrorKind::Usage, cause).hint(BIND)
}

/// No connection to any address.
pub(super) fn connect(call: Call<'_>, way: Way<'_>, source: io::Error) -> Error {
    if let Some(from) = way.from.filter(|_| source.kind() == io::ErrorKind::AddrNotAvailable) {
        let cause = format!("this machine does not have the address {from}");
        return call.error(ErrorKind::Usage, cause).hint(BIND).source(source);
    }
    let error = |cause| call.error(ErrorKind::Connection, cause).retry(Retry::Backoff);
    if let Some(proxy) = way.proxy {
        return error(format!("{}: {proxy}", words(&source))).hint(NO_SUCH_PROXY).source(source);
    }
    let error = error(format!("{}: {}", words(&source), way.origin));
    match source.kind() {
        io::ErrorKind::ConnectionRefused => {
            error.hint("check that the server is running and the port is right").source(source)
        }
        _ => error.source(source),
    }
}

/// A connection was not there in time.
pub(super) fn too_long(call: Call<'_>, way: Way<'_>) -> Error {
    let error = call.lost(format!("connection timed out: {}", way.origin));
    if way.proxy.is_some() { error.hint(NO_SUCH_PROXY) } else { error }
}

/// TLS could not be agreed on with `peer`: a server, or a proxy.
pub(super) fn handshake(call: Call<'_>, peer: &dyn fmt::Display, source: io::Error) -> Error {
    if let Some(distrust) = tls::distrust(&source) {
        let why = match distrust {
            Distrust::Authority => "is a CA certificate, which a server must not use".to_owned(),
            _ => format!("is not valid: {source}"),
        };
        return call
            .on_the_way(ErrorKind::Connection, format!("the certificate of {peer} {why}"))
            .hint(match distrust {
                Distrust::Name => "check the address: the certificate is for other names",
                Distrust::Time => "check the clock of this machine; if it is right, the server needs a new certificate",
                Distrust::Authority => {
                    "give the server a certificate with basicConstraints CA:FALSE; your CA can sign it"
                }
                Distrust::Purpose => "give the server a certificate with extendedKeyUsage serverAuth",
                Distrust::Origin => {
                    "if you trust the server or the proxy, pass its root certificate (PEM) with --ca or SSL_CERT_FILE"
                }
            })
            .source(source);
    }
    if source.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        return call
            .on_the_way(ErrorKind::Connection, format!("TLS with {peer} failed: {source}"))
            .hint("check that the server speaks https at this port")
            .source(source);
    }
    call.lost(format!("{} while TLS was agreed on: {peer}", words(&source))).source(source)
}

/// No answer came to CONNECT, or one that is none.
pub(super) fn tunnel(call: Call<'_>, proxy: &Proxy, source: hyper::Error) -> Error {
    if source.is_parse() {
        return no_proxy(call, proxy, &source.to_string()).source(source);
    }
    let cause = format!("{}: {proxy}", ending(&source));
    call.error(ErrorKind::Connection, cause).retry(Retry::Backoff).hint(NO_SUCH_PROXY).source(source)
}

/// The connection failed within an exchange.
pub(super) fn exchange(call: Call<'_>, source: hyper::Error) -> Error {
    if find_io(&source).is_none() && source.is_parse() {
        return call
            .on_the_way(ErrorKind::Protocol, format!("not an HTTP answer: {source}"))
            .retry(Retry::Few)
            .hint("check the endpoint and its port: an object store answers in HTTP")
            .source(source);
    }
    call.lost(ending(&source)).source(source)
}

/// How an exchange broke off.
fn ending(source: &hyper::Error) -> String {
    match find_io(source) {
        Some(io) => words(io),
        None if source.is_incomplete_message() => {
            "connection closed before the answer was complete".to_owned()
        }
        None if source.is_canceled() || source.is_closed() => "connection closed by peer".to_owned(),
        None => source.to_string(),
    }
}

fn find_io(error: &hyper::Error) -> Option<&io::Error> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io);
        }
        source = error.source();
    }
    None
}

/// The system's reason without its number.
fn words(error: &io::Error) -> String {
    use io::ErrorKind as Io;
    match error.kind() {
        Io::ConnectionReset => "connection reset by peer".to_owned(),
        Io::ConnectionRefused => "connection refused".to_owned(),
        Io::ConnectionAborted => "connection aborted".to_owned(),
        Io::BrokenPipe => "connection closed by peer while sending".to_owned(),
        Io::UnexpectedEof => "connection closed before the answer was complete".to_owned(),
        Io::TimedOut => "connection timed out".to_owned(),
        Io::HostUnreachable => "host unreachable".to_owned(),
        Io::NetworkUnreachable => "network unreachable".to_owned(),
        _ => {
            let text = error.to_string();
            text.find(" (os error ").map_or(text.clone(), |end| text[..end].to_lowercase())
        }
    }
}
