//! Which account, at which host.

use std::fmt;

use super::settings::DEVELOPMENT_ACCOUNT;
use crate::error::{Error, ErrorKind, Result};
use crate::http::Origin;

/// Hosts of this form belong to the service: the first label is the account.
const BLOB_SUFFIXES: [&str; 6] = [
    ".blob.core.windows.net",
    ".blob.core.chinacloudapi.cn",
    ".blob.core.usgovcloudapi.net",
    ".blob.core.cloudapi.de",
    ".blob.storage.azure.net",
    ".blob.fabric.microsoft.com",
];

/// A blob service: an account and where it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Scheme, host and port.
    pub origin: Origin,
    /// The account's name.
    pub account: String,
    /// Whether the account is the first segment of every path rather than part of the host.
    pub path_style: bool,
}

impl Endpoint {
    /// Reads `https://host[:port][/account]`. Where the URL does not name the account, `account` does.
    pub(super) fn parse(url: &str, account: Option<&str>) -> Result<Self> {
        let wrong = |why: &str| {
            let shown = url.split('?').next().unwrap_or_default();
            // Before the host may stand a password.
            let shown =
                if shown.contains("://") { shown } else { shown.rsplit('@').next().unwrap_or_default() };
            Error::new(ErrorKind::Usage, "open", shown, why)
                .hint("write the endpoint as https://host[:port][/account]")
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("the endpoint has no scheme"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let origin = blobs_of(Origin::parse(scheme, authority)?)?;
        let path = path.trim_end_matches('/');
        if path.contains(['/', '?', '#']) {
            return Err(wrong("more than an account follows the host"));
        }
        if ![path, account.unwrap_or_default()].into_iter().all(is_account) {
            return Err(wrong("not an account's name"));
        }
        if !path.is_empty() {
            return Ok(Self { origin, account: path.to_owned(), path_style: true });
        }
        if let Some(name) = account_of_host(&origin) {
            let account = name.to_owned();
            return Ok(Self { origin, account, path_style: false });
        }
        let local = origin.ip().is_some() || origin.is_loopback();
        match account {
            Some(account) => Ok(Self { origin, account: account.to_owned(), path_style: local }),
            None if origin.is_loopback() => {
                Ok(Self { origin, account: DEVELOPMENT_ACCOUNT.to_owned(), path_style: true })
            }
            None => Err(wrong("the endpoint names no account")
                .hint("add it: https://host/account, or set AZURE_STORAGE_ACCOUNT")),
        }
    }

    /// An account of a public cloud.
    pub(super) fn public(account: &str, suffix: &str) -> Result<Self> {
        Ok(Self {
            origin: Origin::parse("https", &format!("{account}.{suffix}"))?,
            account: account.to_owned(),
            path_style: false,
        })
    }

    /// Whether the host belongs to the service itself, so that a token meant for it may go there.
    pub(super) fn is_azure(&self) -> bool {
        account_of_host(&self.origin).is_some()
    }

    /// Whether both are of one service, so that what lets somebody read the one may be told to the other.
    pub(super) fn same_service(&self, other: &Self) -> bool {
        let cloud = |origin: &Origin| {
            BLOB_SUFFIXES
                .iter()
                .find(|suffix| origin.host().ends_with(**suffix))
                .filter(|_| origin.is_secure())
                .copied()
        };
        self.origin == other.origin
            || cloud(&self.origin).is_some_and(|one| cloud(&other.origin) == Some(one))
    }
}

/// The endpoint as a URL.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if self.path_style { write!(f, "/{}", self.account) } else { Ok(()) }
    }
}

/// Whether this can stand in a URL and in what is signed as it is. Empty counts: it is looked for elsewhere.
pub(super) fn is_account(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    name.bytes().all(plain) && !matches!(name, "." | "..")
}

/// Whether the host is of the same cloud's tables: they lie beside its blobs.
fn is_twin(host: &str, blobs: &str) -> bool {
    let cloud = blobs.strip_prefix(".blob");
    cloud.and_then(|cloud| host.strip_suffix(cloud)).is_some_and(|rest| rest.ends_with(".table"))
}

/// The same account's blobs, where the host is that of its data lake: both are doors to the same objects.
pub(super) fn blobs_of(origin: Origin) -> Result<Origin> {
    let host = origin.host();
    let lake = |suffix: &&&str| {
        let cloud = suffix.strip_prefix(".blob").unwrap_or_default();
        host.strip_suffix(cloud)?.strip_suffix(".dfs").map(|account| format!("{account}{suffix}"))
    };
    let Some(blobs) = BLOB_SUFFIXES.iter().find_map(|suffix| lake(&suffix)) else { return Ok(origin) };
    let shown = origin.to_string();
    let (scheme, authority) = shown.split_once("://").unwrap_or_default();
    Origin::parse(scheme, &authority.replacen(host, &blobs, 1))
}

pub(super) fn account_of_host(origin: &Origin) -> Option<&str> {
    let host = origin.host();
    let label = host.split('.').next()?;
    // A private link puts one more label after the account: `account.privatelink.blob...`, `account.z1.blob...`.
    let is_ours = |suffix: &&str| host.ends_with(*suffix) || is_twin(host, suffix);
    (label.len() < host.len() && BLOB_SUFFIXES.iter().any(is_ours)).then_some(label)
}
