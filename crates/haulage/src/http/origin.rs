//! Where a connection leads: scheme, host and port.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use http::HeaderValue;

use crate::error::{Error, ErrorKind, Result};

/// Scheme, host and port of a server: the key of the connection pool. Clones share the text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin(Arc<Parts>);

#[derive(PartialEq, Eq, Hash)]
struct Parts {
    secure: bool,
    /// Lower case, an IPv6 address without its brackets.
    host: String,
    port: u16,
    host_header: HeaderValue,
}

impl Origin {
    /// The origin `scheme://host[:port]`. An IPv6 address stands in brackets.
    pub fn parse(scheme: &str, authority: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::new(ErrorKind::Usage, "open", format!("{scheme}://{authority}"), why)
                .hint("write https://host or http://host:port")
        };
        let secure = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(wrong("only http and https are spoken here")),
        };
        if authority.contains('@') {
            // The text may hold a password, so it stays out of the message.
            return Err(Error::new(
                ErrorKind::Usage,
                "open",
                scheme,
                "a user name in the URL is not understood",
            )
            .hint("use AZURE_STORAGE_KEY, a SAS or Entra"));
        }
        let default_port = if secure { 443 } else { 80 };
        let split = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) =
                    rest.split_once(']').ok_or_else(|| wrong("an open bracket is not closed"))?;
                host.parse::<Ipv6Addr>().map_err(|_| wrong("not an IPv6 address"))?;
                let after = port.strip_prefix(':');
                if after.is_none() && !port.is_empty() {
                    return Err(wrong("more than a port follows the address"));
                }
                (host, after)
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let host = split.0.to_ascii_lowercase();
        let port = match split.1 {
            Some(port) => port.parse().map_err(|_| wrong("not a port number"))?,
            None => default_port,
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if host.is_empty() || !host.chars().all(allowed) {
            return Err(wrong("not a host name"));
        }
        let shown = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let text = if port == default_port { shown } else { format!("{shown}:{port}") };
        let host_header = HeaderValue::from_str(&text).map_err(|_| wrong("not a host name"))?;
        Ok(Self(Arc::new(Parts { secure, host, port, host_header })))
    }

    /// The origin of an absolute URL.
    pub fn of(uri: &http::Uri) -> Result<Self> {
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        Self::parse(uri.scheme_str().unwrap_or(""), authority)
    }

    /// Whether TLS protects the connection.
    pub fn is_secure(&self) -> bool {
        self.0.secure
    }

    /// The host's name or address, an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// The host as an address, where it is written as one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.0.host.parse().ok()
    }

    /// Whether the server is on this machine.
    pub fn is_loopback(&self) -> bool {
        match self.ip() {
            Some(ip) => ip.is_loopback(),
            None => self.0.host == "localhost" || self.0.host.ends_with(".localhost"),
        }
    }

    /// Host and port, also where the port is the usual one.
    pub(super) fn authority(&self) -> String {
        let Parts { host, port, .. } = &*self.0;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// The value of the `Host` header.
    pub(crate) fn host_header(&self) -> HeaderValue {
        self.0.host_header.clone()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.0.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.0.host_header.to_str().unwrap_or_default())
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_print_as_they_are_written() {
        for (scheme, authority, shown) in [
            ("https", "Account.Blob.Core.Windows.Net", "https://account.blob.core.windows.net"),
            ("https", "host:443", "https://host"),
            ("http", "127.0.0.1:10000", "http://127.0.0.1:10000"),
            ("http", "[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(Origin::parse(scheme, authority).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn nonsense_is_refused_and_passwords_are_not_repeated() {
        for (scheme, authority) in [
            ("ftp", "a"),
            ("http", ""),
            ("http", "a:b"),
            ("http", "[::1"),
            ("http", "[::1]a.b"),
            ("http", "a b"),
        ] {
            assert_eq!(Origin::parse(scheme, authority).unwrap_err().kind(), ErrorKind::Usage, "{authority}");
        }
        let error = Origin::parse("https", "me:hunter2@host").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    #[test]
    fn loopback_is_known_by_name_and_address() {
        for (authority, loopback) in [
            ("localhost:1", true),
            ("127.0.0.9", true),
            ("[::1]", true),
            ("10.0.0.1", false),
            ("host", false),
        ] {
            assert_eq!(Origin::parse("http", authority).unwrap().is_loopback(), loopback, "{authority}");
        }
    }
}
