//! How a URL would be reached, as whom, and what answers there to somebody without a name: what a diagnosis asks.
//!
//! The answers come from the code that jobs run: the same rules for proxies and credentials, the same connections, the same
//! roots. None of them holds a secret.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::HeaderMap;
use http::{Request, Uri};
use serde::Serialize;

use super::answer::told;
use super::azure::{AzureAddress, AzureStore};
use super::s3::S3Store;
use super::session::http_options;
use super::{Address, StoreOptions, Trace};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Clock;
use crate::http::{HttpClient, Origin, ProxyUsed};
use crate::secret::redacted;

/// More of an answer to a stranger is not read.
const ANSWER_MAX: usize = 64 << 10;

/// Headers that may be shown as they are: they tell who answered and when.
const SHOWN: [&str; 10] = [
    "date",
    "server",
    "via",
    "content-type",
    "location",
    "x-ms-version",
    "x-ms-error-code",
    "x-ms-request-id",
    "x-amz-request-id",
    "x-amz-bucket-region",
];

/// Where a URL leads, and through what.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Way {
    /// `azure`, `s3`, `local`, `memory` or `stdio`.
    pub service: &'static str,
    /// Scheme, host and port.
    pub origin: Option<String>,
    /// The host alone.
    pub host: Option<String>,
    /// The port.
    pub port: Option<u16>,
    /// Whether TLS protects what is sent.
    pub secure: bool,
    /// Whether it is this machine.
    pub loopback: bool,
    /// The account, at Azure.
    pub account: Option<String>,
    /// The container or bucket; empty for the account.
    pub container: Option<String>,
    /// Object or prefix in it; the path of what is local.
    pub key: String,
    /// The region that requests are signed for, at S3.
    pub region: Option<String>,
    /// The proxy between.
    pub proxy: Option<ProxyUsed>,
}

/// Who asks.
#[derive(Clone, Debug, Serialize)]
pub struct Identity {
    /// `shared key`, `SAS`, `Microsoft Entra`, `access key` or `nobody`.
    pub kind: &'static str,
    /// What gave it: a variable, the URL, or a source such as `managed identity`.
    pub source: &'static str,
    /// When it ends, in seconds since 1970, where that is known.
    pub ends_s: Option<u64>,
}

/// One request that named nobody, and its answer.
#[derive(Clone, Debug, Serialize)]
pub struct Knock {
    /// HTTP status.
    pub status: u16,
    /// The headers that tell who answered.
    pub headers: Vec<(String, String)>,
    /// The code in the answer, where it is a refusal in XML.
    pub code: Option<String>,
    /// When the answer began, by this machine's clock, in nanoseconds since 1970.
    pub at_ns: u64,
    /// From the end of the request to the first byte of the answer.
    pub answer_ns: Option<u64>,
    /// What it took to look the name up; only for the request that made the connection.
    pub dns_ns: Option<u64>,
    /// What it took a proxy to open a tunnel; the same.
    pub proxy_ns: Option<u64>,
    /// What it took to agree on TLS; the same.
    pub tls_ns: Option<u64>,
    /// Round trip as the kernel sees it, to the next hop that ends TCP.
    pub rtt_ns: Option<u64>,
    /// The other end of the connection.
    pub remote: Option<SocketAddr>,
}

/// Says where `url` leads. Sends nothing.
///
/// # Errors
/// `Usage` where it leads nowhere.
pub fn way(url: &str, options: &StoreOptions) -> Result<Way> {
    let seen = |origin: &Origin, way: Way| -> Result<Way> {
        Ok(Way {
            origin: Some(origin.to_string()),
            host: Some(origin.host().to_owned()),
            port: Some(origin.port()),
            secure: origin.is_secure(),
            loopback: origin.is_loopback(),
            proxy: options.proxy.proxies().used_for(origin)?,
            ..way
        })
    };
    match Address::parse(url, options)? {
        Address::Azure(address) => {
            let AzureAddress { endpoint, container, key, .. } = address;
            let (account, container) = (Some(endpoint.account.clone()), Some(container));
            seen(&endpoint.origin, Way { service: "azure", account, container, key, ..Way::default() })
        }
        Address::S3(address) => {
            let store = S3Store::open(&address.bucket, options, client(options)?)?;
            let (origin, _) = store.doorstep();
            let (region, named) = store.region();
            let way = Way {
                service: "s3",
                container: Some(address.bucket),
                key: address.key,
                region: named.then_some(region),
                ..Way::default()
            };
            seen(&origin, way)
        }
        Address::Local(path) => {
            Ok(Way { service: "local", key: path.to_string_lossy().into_owned(), ..Way::default() })
        }
        Address::Memory { key, .. } => Ok(Way { service: "memory", key, ..Way::default() }),
        Address::Stdio => Ok(Way { service: "stdio", ..Way::default() }),
    }
}

/// Says who would ask. Keys and SAS are only looked for; a token, or keys of a role, are asked for.
///
/// # Errors
/// `Permission` where there is no credential, `Usage` where one is malformed or the URL names no service.
pub fn identity<'a>(url: &'a str, options: &'a StoreOptions) -> BoxFuture<'a, Result<Identity>> {
    Box::pin(async move {
        let (kind, source, ends) = match Address::parse(url, options)? {
            Address::Azure(address) => AzureStore::identity(&address, options, &client(options)?).await?,
            Address::S3(address) => {
                S3Store::open(&address.bucket, options, client(options)?)?.identity().await?
            }
            _ => return Err(no_service(url)),
        };
        let seconds = |ends: SystemTime| ends.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
        Ok(Identity { kind, source, ends_s: ends.and_then(seconds) })
    })
}

/// Asks what `url` is in, without a credential, so many times over one connection; with `crc64` as if a body came with one: a
/// server that does not know that header says so to anybody.
///
/// # Errors
/// Those of the wire; any answer is `Ok`.
pub fn knock<'a>(
    url: &'a str,
    options: &'a StoreOptions,
    times: usize,
    crc64: bool,
) -> BoxFuture<'a, Result<Vec<Knock>>> {
    Box::pin(async move {
        let mut http = client(options)?;
        let (origin, path, mut headers) = match Address::parse(url, options)? {
            Address::Azure(address) => {
                let (path, headers) = address.doorstep();
                (address.endpoint.origin.clone(), path, headers)
            }
            Address::S3(address) => {
                let store = S3Store::open(&address.bucket, options, http)?;
                let (origin, path) = store.doorstep();
                // It may trust others.
                http = store.client().clone();
                (origin, path, HeaderMap::new())
            }
            _ => return Err(no_service(url)),
        };
        if crc64 {
            // That of no byte.
            headers.insert("x-ms-content-crc64", http::HeaderValue::from_static("AAAAAAAAAAA="));
        }
        let mut knocks = Vec::with_capacity(times);
        for _ in 0..times {
            knocks.push(ask(&http, &origin, &path, headers.clone()).await?);
        }
        Ok(knocks)
    })
}

async fn ask(http: &HttpClient, origin: &Origin, path: &str, headers: HeaderMap) -> Result<Knock> {
    let (operation, object) = ("connect", origin.to_string());
    let uri = path.parse::<Uri>();
    let uri = uri.map_err(|_| Error::new(ErrorKind::Usage, operation, &*object, "no request can name it"))?;
    let mut request = Request::get(uri).body(Bytes::new()).unwrap_or_default();
    *request.headers_mut() = headers;
    let trace = Trace::new(Clock::start()).asking_kernel(true);
    let (head, body) = http.send(origin, request, operation, &object, &trace).await?.into_parts();
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let body = body.collect_up_to(ANSWER_MAX).await.unwrap_or_default();
    let shown = |name: &str| {
        let value = head.headers.get(name)?.to_str().ok()?;
        // A signature may stand in what a service sends elsewhere.
        let value = value.split('?').next().unwrap_or_default();
        Some((name.to_owned(), redacted(value.chars().take(200).collect::<String>())))
    };
    let seen = trace.take();
    let answer_ns = seen.phases.first_byte_ns.zip(seen.phases.sent_ns);
    Ok(Knock {
        status: head.status.as_u16(),
        headers: SHOWN.into_iter().filter_map(shown).collect(),
        code: told(&body).code.map(redacted),
        at_ns: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
        answer_ns: answer_ns.map(|(first, sent)| first.saturating_sub(sent)),
        dns_ns: seen.route.dns_ns,
        proxy_ns: seen.route.proxy_ns,
        tls_ns: seen.route.tls_ns,
        rtt_ns: seen.tcp.map(|tcp| tcp.rtt_ns),
        remote: seen.route.remote,
    })
}

/// A client that goes the way of jobs with these options, over connections of its own: it is to be seen what opening them takes.
fn client(options: &StoreOptions) -> Result<HttpClient> {
    HttpClient::new(http_options(options))
}

fn no_service(url: &str) -> Error {
    let shown = url.split('?').next().unwrap_or_default();
    Error::new(ErrorKind::Usage, "open", shown, "this is not in an object store")
        .hint("write az://container, s3://bucket or the URL of a container")
}
