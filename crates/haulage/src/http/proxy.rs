//! Proxies: which host is reached through which, as the user or the environment says.
//!
//! A request by http is handed to the proxy with its whole URL; for https the proxy is asked for a tunnel (`tunnel`), so that
//! TLS is agreed on with the server itself. What a proxy says no to, and how, is told by `refusal`. Who we are to the proxy
//! stands in its URL, is sent to nobody else, and is never shown.

mod exempt;
mod refusal;
mod tunnel;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{HeaderValue, PROXY_AUTHORIZATION};
use http::uri::Scheme;
use http::{Request, Uri};
use percent_encoding::percent_decode_str;

use self::exempt::Exempt;
pub(crate) use self::refusal::Relayed;
pub(super) use self::refusal::{no_proxy, refused};
pub(super) use self::tunnel::open as open_tunnel;
use super::failure::Call;
use super::origin::Origin;
use crate::error::{Error, ErrorKind, Result};
use crate::secret;

/// What the user calls the option, for messages.
const OPTION: &str = "--proxy";

/// A proxy, who we are to it, and where its address came from. Clones share it.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy(Arc<Parts>);

#[derive(PartialEq, Eq)]
struct Parts {
    origin: Origin,
    /// `Basic ...`; a secret.
    authorization: Option<HeaderValue>,
    /// The option or the variable that named it.
    named_by: &'static str,
}

/// Why a text is no proxy. The text itself may hold a password and is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Scheme,
    Address,
}

impl Wrong {
    fn error(self, call: Call<'_>, named_by: &str) -> Error {
        match self {
            Self::Scheme => call
                .error(ErrorKind::Unsupported, format!("{named_by} names a proxy that is neither http nor https"))
                .hint("use an http or https proxy, or --proxy none"),
            Self::Address => call
                .error(ErrorKind::Usage, format!("{named_by} does not hold the address of a proxy"))
                .hint("write http://HOST:PORT, or none; user and password go before the host, USER:PASSWORD@HOST, with % written as %25"),
        }
    }
}

impl Proxy {
    /// Reads `[http[s]://][USER[:PASSWORD]@]HOST[:PORT]`; what follows the port is ignored. User and password may be
    /// percent-encoded.
    fn parse(text: &str, named_by: &'static str) -> Result<Self, Wrong> {
        let (scheme, rest) = text.trim().split_once("://").unwrap_or(("http", text.trim()));
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https") {
            return Err(Wrong::Scheme);
        }
        // A password may hold a `/` or `@` that should have been encoded; no host does.
        let (user, address) = match rest.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, rest),
        };
        let authorization = user.filter(|user| !user.is_empty()).map(basic).transpose()?;
        let address = address.split(['/', '?', '#']).next().unwrap_or_default();
        let origin = Origin::parse(&scheme, address).map_err(|_| Wrong::Address)?;
        Ok(Self(Arc::new(Parts { origin, authorization, named_by })))
    }

    /// Where it is.
    pub(super) fn origin(&self) -> &Origin {
        &self.0.origin
    }

    /// Who we are to it.
    fn authorization(&self) -> Option<&HeaderValue> {
        self.0.authorization.as_ref()
    }

    /// Makes a request that is handed to the proxy out of one that is meant for `origin`.
    pub(super) fn address(
        &self,
        origin: &Origin,
        request: &mut Request<Bytes>,
        call: Call<'_>,
    ) -> Result<()> {
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = origin.host_header().to_str().ok().and_then(|text| text.parse().ok());
        // The parser's message might repeat the query.
        *request.uri_mut() = Uri::from_parts(parts).map_err(|_| {
            call.error(ErrorKind::Usage, format!("{origin} does not fit into a proxy's request"))
        })?;
        if let Some(value) = self.authorization() {
            request.headers_mut().insert(PROXY_AUTHORIZATION, value.clone());
        }
        Ok(())
    }
}

/// The header that says who we are.
fn basic(user: &str) -> Result<HeaderValue, Wrong> {
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let (user, secret) = (decoded(user), decoded(password));
    let encoded = BASE64_STANDARD.encode([&user[..], b":", &secret].concat());
    secret::remember(password);
    secret::remember(&String::from_utf8_lossy(&secret));
    secret::remember(&encoded);
    let mut value = HeaderValue::try_from(format!("Basic {encoded}")).map_err(|_| Wrong::Address)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Host, port and what named it; never who we are.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { origin, named_by, .. } = &*self.0;
        let scheme = if origin.is_secure() { "https://" } else { "" };
        write!(f, "the proxy {scheme}{} ({named_by})", origin.authority())
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

/// What the user says of proxies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyChoice {
    /// What `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    #[default]
    Environment,
    /// None, whatever the environment says.
    None,
    /// This one, but for the hosts of `NO_PROXY`.
    Through(Proxy),
}

impl FromStr for ProxyChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.trim().eq_ignore_ascii_case("none") {
            return Ok(Self::None);
        }
        let call = Call { operation: "parse", object: OPTION, proxy: None };
        Proxy::parse(text, OPTION).map(Self::Through).map_err(|wrong| wrong.error(call, OPTION))
    }
}

impl ProxyChoice {
    /// As it is written for another machine; `None` for what the environment there says.
    ///
    /// # Errors
    /// `Usage` where the proxy is told who we are: a secret does not travel.
    pub(crate) fn without_secret(&self) -> Result<Option<String>> {
        match self {
            Self::Environment => Ok(None),
            Self::None => Ok(Some("none".to_owned())),
            Self::Through(Proxy(parts)) if parts.authorization.is_some() => {
                let cause = "a password is not sent to other nodes";
                Err(Error::new(ErrorKind::Usage, "run", OPTION, cause)
                    .hint("set HTTPS_PROXY in the environment of each node instead"))
            }
            Self::Through(Proxy(parts)) => {
                let scheme = if parts.origin.is_secure() { "https" } else { "http" };
                Ok(Some(format!("{scheme}://{}", parts.origin.authority())))
            }
        }
    }

    /// The proxies by this choice and the process's environment.
    pub fn proxies(&self) -> Proxies {
        self.proxies_by(|name| std::env::var(name).ok())
    }

    fn proxies_by(&self, lookup: impl Fn(&str) -> Option<String>) -> Proxies {
        match self {
            Self::Environment => Proxies::from_lookup(lookup),
            Self::None => Proxies::default(),
            Self::Through(proxy) => {
                let named = Some(Named::Proxy(proxy.clone()));
                Proxies { http: named.clone(), https: named, direct: Proxies::from_lookup(lookup).direct }
            }
        }
    }
}

/// A proxy as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ProxyUsed {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether it speaks TLS itself.
    pub secure: bool,
    /// The option or the variable that named it.
    pub named_by: &'static str,
    /// Whether it is told who we are.
    pub signed_in: bool,
}

/// Which hosts are reached through which proxy; by default all without.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Named>,
    https: Option<Named>,
    direct: Exempt,
}

/// What a variable names. What makes no sense is told to whoever would need it, and to nobody else.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Proxy(Proxy),
    Wrong(Wrong, &'static str),
}

impl Proxies {
    /// Reads the variables that curl reads. `HTTP_PROXY` counts only outside of CGI, where a client sets it by a header.
    fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let get =
            |name: &str| lookup(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let first = |names: &[&'static str]| {
            names.iter().copied().find_map(|name| {
                let text = get(name)?;
                Some(Proxy::parse(&text, name).map_or_else(|wrong| Named::Wrong(wrong, name), Named::Proxy))
            })
        };
        let is_cgi = get("REQUEST_METHOD").is_some();
        let any = first(&["all_proxy", "ALL_PROXY"]);
        let http = first(if is_cgi { &["http_proxy"] } else { &["http_proxy", "HTTP_PROXY"] });
        let direct = get("no_proxy").or_else(|| get("NO_PROXY")).unwrap_or_default();
        Self {
            http: http.or_else(|| any.clone()),
            https: first(&["https_proxy", "HTTPS_PROXY"]).or(any),
            direct: Exempt::parse(&direct),
        }
    }

    /// The proxy that this origin is reached through, as it may be shown.
    ///
    /// # Errors
    /// `Usage` or `Unsupported` where what is named is no proxy.
    pub(crate) fn used_for(&self, origin: &Origin) -> Result<Option<ProxyUsed>> {
        let call = Call { operation: "open", object: &origin.to_string(), proxy: None };
        Ok(self.way(origin, call)?.proxy.map(|Proxy(parts)| ProxyUsed {
            host: parts.origin.host().to_owned(),
            port: parts.origin.port(),
            secure: parts.origin.is_secure(),
            named_by: parts.named_by,
            signed_in: parts.authorization.is_some(),
        }))
    }

    /// How this origin is reached.
    pub(super) fn way<'a>(&'a self, origin: &'a Origin, call: Call<'_>) -> Result<Way<'a>> {
        let named = if origin.is_secure() { &self.https } else { &self.http };
        let proxy = match named.as_ref().filter(|_| !exempt::is_near(origin) && !self.direct.covers(origin)) {
            None => None,
            Some(Named::Proxy(proxy)) => Some(proxy),
            Some(Named::Wrong(wrong, named_by)) => return Err(wrong.error(call, named_by)),
        };
        Ok(Way { origin, proxy, from: None })
    }
}

/// How a server is reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    pub(super) origin: &'a Origin,
    pub(super) proxy: Option<&'a Proxy>,
    /// The address of this machine that the connection is made from, if one was named.
    pub(super) from: Option<IpAddr>,
}

impl<'a> Way<'a> {
    /// The server at the other end of the connection.
    pub(super) fn first(&self) -> &'a Origin {
        self.proxy.map_or(self.origin, |proxy| proxy.origin())
    }

    /// The proxy that each request is handed to.
    pub(super) fn hands_to(&self) -> Option<&'a Proxy> {
        self.proxy.filter(|_| !self.origin.is_secure())
    }

    /// The proxy that is asked for a tunnel.
    pub(super) fn tunnels_through(&self) -> Option<&'a Proxy> {
        self.proxy.filter(|_| self.origin.is_secure())
    }
}

#[cfg(test)]
mod tests;
