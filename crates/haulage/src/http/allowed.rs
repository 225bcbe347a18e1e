//! Which hosts may be reached at all, where somebody has said so.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::origin::Origin;
use crate::error::{Error, ErrorKind, Result};

/// Lists of hosts, each of which must allow an origin; no list allows all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts(Arc<Vec<List>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct List {
    patterns: Vec<Pattern>,
    file: String,
}

/// `host`, `host:port`, `*.domain` or `*.domain:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// Whether names below `host` are meant, and not it.
    below: bool,
    host: String,
    port: Option<u16>,
}

impl AllowedHosts {
    /// The hosts of a list in this file.
    ///
    /// # Errors
    /// `Usage` for what is neither a host nor `*.` and a domain.
    pub(crate) fn new(hosts: &[String], file: &Path) -> Result<Self> {
        let file = file.display().to_string();
        let wrong = |host: &String| {
            let place = format!("{file}: allowed_endpoints");
            Error::new(ErrorKind::Usage, "read the configuration", place, format!("`{host}` is not a host"))
                .hint("write \"store.example.org\", \"store.example.org:9000\" or \"*.example.org\", without https://")
        };
        let patterns = hosts.iter().map(|host| Pattern::parse(host).ok_or_else(|| wrong(host)));
        Ok(Self(Arc::new(vec![List { patterns: patterns.collect::<Result<_>>()?, file }])))
    }

    /// What both allow.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(Arc::new(self.0.iter().chain(&*other.0).cloned().collect()))
    }

    /// Whether requests may go there.
    pub fn allows(&self, origin: &Origin) -> bool {
        self.refused_by(origin).is_none()
    }

    /// The file whose list does not allow it.
    pub(super) fn refused_by(&self, origin: &Origin) -> Option<&str> {
        let lists = self.0.iter();
        let mut refusing = lists.filter(|list| !list.patterns.iter().any(|pattern| pattern.matches(origin)));
        refusing.next().map(|list| list.file.as_str())
    }

    /// The lists, each with its file.
    pub fn lists(&self) -> impl Iterator<Item = (Vec<String>, &str)> {
        let texts = |list: &List| list.patterns.iter().map(Pattern::to_string).collect();
        self.0.iter().map(move |list| (texts(list), list.file.as_str()))
    }
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if rest.contains(['*', '/', '@', '?', '#']) || rest.contains("://") {
            return None;
        }
        // The port that https has anyway says nothing about what was written.
        let port = rest.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'));
        let port = port.map(|(_, port)| port.parse().ok());
        let origin = Origin::parse("https", rest).ok()?;
        match port {
            Some(None) => None,
            port => Some(Self { below, host: origin.host().to_ascii_lowercase(), port: port.flatten() }),
        }
    }

    fn matches(&self, origin: &Origin) -> bool {
        let host = origin.host().to_ascii_lowercase();
        let host = host.trim_end_matches('.');
        let is_host = match self.below {
            true => {
                host.strip_suffix(&self.host).is_some_and(|label| label.len() > 1 && label.ends_with('.'))
            }
            false => host == self.host,
        };
        is_host && self.port.is_none_or(|port| port == origin.port())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.below { "*." } else { "" };
        write!(f, "{star}{}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(host: &str, scheme: &str, authority: &str) -> bool {
        let allowed = AllowedHosts::new(&[host.to_owned()], Path::new("config.toml")).unwrap();
        allowed.allows(&Origin::parse(scheme, authority).unwrap())
    }

    #[test]
    fn a_host_is_allowed_by_its_name_its_port_or_the_domain_above_it() {
        assert!(allows("store.example", "https", "STORE.example"));
        assert!(allows("store.example", "https", "store.example:9000"));
        assert!(!allows("store.example", "https", "a.store.example"));
        assert!(!allows("store.example", "https", "store.example.evil.org"));
        assert!(allows("store.example:443", "https", "store.example"));
        assert!(!allows("store.example:443", "http", "store.example"));
        assert!(allows("*.example", "https", "a.b.example"));
        assert!(!allows("*.example", "https", "example"));
        assert!(!allows("*.example", "https", "evil-example"));
        assert!(!allows("*.example", "https", "notexample"));
        assert!(allows("127.0.0.1", "http", "127.0.0.1:10000"));
        assert!(!allows("127.0.0.1:10001", "http", "127.0.0.1:10000"));
        assert!(allows("[::1]:9000", "http", "[::1]:9000"));
    }

    #[test]
    fn all_lists_must_allow_and_none_allows_all() {
        let list = |host: &str| AllowedHosts::new(&[host.to_owned()], Path::new(host)).unwrap();
        let origin = |host: &str| Origin::parse("https", host).unwrap();
        assert!(AllowedHosts::default().allows(&origin("anywhere")));
        let nothing = AllowedHosts::new(&[], Path::new("config.toml")).unwrap();
        assert!(!nothing.allows(&origin("anywhere")));
        let both = list("*.example").and(&list("a.example"));
        assert!(both.allows(&origin("a.example")));
        assert_eq!(both.refused_by(&origin("b.example")), Some("a.example"));
        assert_eq!(both.refused_by(&origin("elsewhere")), Some("*.example"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for host in ["", "*", "https://a", "a/b", "a:b", "*.*.a", "u@h"] {
            let refused = AllowedHosts::new(&[host.to_owned()], Path::new("config.toml"));
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Usage, "{host}");
        }
    }
}
