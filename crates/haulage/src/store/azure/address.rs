//! Where a container is: `az://container/path` and the URLs of the service.
//!
//! After `az://` every character counts as it stands: names with `#?%+` and spaces need no escapes.
//! An `http(s)` URL is a URL: percent-decoded, and what follows the first `?` is its SAS.

use std::fmt;

use http::header::{HeaderMap, HeaderName, USER_AGENT};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::service::{AGENT, VERSION};
use super::settings::{DEVELOPMENT_ACCOUNT, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::http::Origin;
use crate::store::StoreOptions;

/// Hosts of this form belong to the service: the first label is the account.
const BLOB_SUFFIXES: [&str; 6] = [
    ".blob.core.windows.net",
    ".blob.core.chinacloudapi.cn",
    ".blob.core.usgovcloudapi.net",
    ".blob.core.cloudapi.de",
    ".blob.storage.azure.net",
    ".blob.fabric.microsoft.com",
];

/// What must be escaped for a URL that people read and that parses back to the same name.
const READABLE: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'?').add(b'#').add(b'"').add(b'<').add(b'>');

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
fn blobs_of(origin: Origin) -> Result<Origin> {
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

fn account_of_host(origin: &Origin) -> Option<&str> {
    let host = origin.host();
    let label = host.split('.').next()?;
    // A private link puts one more label after the account: `account.privatelink.blob...`, `account.z1.blob...`.
    let is_ours = |suffix: &&str| host.ends_with(*suffix) || is_twin(host, suffix);
    (label.len() < host.len() && BLOB_SUFFIXES.iter().any(is_ours)).then_some(label)
}

/// Where a blob, prefix or container is.
#[derive(Clone, PartialEq, Eq)]
pub struct AzureAddress {
    /// The account.
    pub endpoint: Endpoint,
    /// The container; empty for the whole account.
    pub container: String,
    /// Blob or prefix; empty for the container itself.
    pub key: String,
    /// Whether the user wrote `az://`, and shall read it.
    pub(super) short: bool,
    /// The query of the URL: a secret.
    pub(super) sas: Option<String>,
    /// The remote of the configuration that it was named by, and which says how it is reached.
    pub(in crate::store) remote: Option<String>,
}

impl AzureAddress {
    /// What somebody without a name may ask of the container, and whose answer tells who serves it: a path with its query, and
    /// the version that we speak.
    pub(crate) fn doorstep(&self) -> (String, HeaderMap) {
        let account =
            if self.endpoint.path_style { format!("/{}", self.endpoint.account) } else { String::new() };
        let path = match self.container.as_str() {
            "" => format!("{account}/?comp=list&maxresults=1"),
            name => format!("{account}/{name}?restype=container&comp=list&maxresults=1"),
        };
        let headers = [(USER_AGENT, AGENT), (HeaderName::from_static("x-ms-version"), VERSION)];
        (path, headers.into_iter().collect())
    }

    /// Whether both are in one container and reached with the same secret.
    pub(crate) fn same_container(&self, other: &Self) -> bool {
        (&self.endpoint, &self.container, self.short, &self.sas, &self.remote)
            == (&other.endpoint, &other.container, other.short, &other.sas, &other.remote)
    }

    /// Takes apart `az://container/path` or `http(s)://host[:port]/[account/]container/path[?SAS]`.
    ///
    /// Where an `az://` address leads is told by, in this order, `options.endpoint`, the session, `AZURE_STORAGE_CONNECTION_STRING`,
    /// `AZURE_STORAGE_ENDPOINT` and `AZURE_STORAGE_ACCOUNT`.
    pub fn parse(text: &str, options: &StoreOptions) -> Result<Self> {
        if text.starts_with("az://") {
            Self::parse_with(text, options, &Settings::of(options)?)
        } else {
            Self::url(text)
        }
    }

    pub(super) fn parse_with(text: &str, options: &StoreOptions, settings: &Settings) -> Result<Self> {
        let Some(rest) = text.strip_prefix("az://") else { return Self::url(text) };
        let endpoint = match &options.endpoint {
            Some(url) => Endpoint::parse(url, settings.account())?,
            None => settings.endpoint()?.ok_or_else(|| {
                Error::new(ErrorKind::Usage, "open", text, "nothing says which storage account this is in")
                    .hint(
                        "set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING, give --endpoint, \
                     or write https://ACCOUNT.blob.core.windows.net/container/path",
                    )
            })?,
        };
        if rest.split_once('?').is_some_and(|(_, query)| query.to_ascii_lowercase().contains("sig=")) {
            // Taken literally it would become part of a name, and be listed for all to see.
            let shown = text.split('?').next().unwrap_or_default();
            return Err(Error::new(ErrorKind::Usage, "open", shown, "a SAS cannot follow az://")
                .hint("write https://ACCOUNT.blob.core.windows.net/container/path?SAS, or set AZURE_STORAGE_SAS_TOKEN"));
        }
        let (container, key) = rest.split_once('/').unwrap_or((rest, ""));
        check_container(container, text)?;
        check_key(container, key, text)?;
        Ok(Self {
            endpoint,
            container: container.to_owned(),
            key: key.to_owned(),
            short: true,
            sas: None,
            remote: None,
        })
    }

    /// Takes apart what follows `abfs://`: `container@account.dfs.core.windows.net/path`, or `container/path`, which is as after
    /// `az://`. As there, every character of the path stands for itself.
    pub(in crate::store) fn lake(rest: &str, options: &StoreOptions) -> Result<Self> {
        let (place, key) = rest.split_once('/').unwrap_or((rest, ""));
        let Some((container, host)) = place.split_once('@') else {
            return Self::parse(&format!("az://{rest}"), options);
        };
        let text = format!("abfss://{container}@{host}/{key}");
        let shown = text.split('?').next().unwrap_or_default().to_owned();
        let wrong = |cause: &str| {
            Error::new(ErrorKind::Usage, "open", &*shown, cause)
                .hint("write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/path")
        };
        if key.split_once('?').is_some_and(|(_, query)| query.to_ascii_lowercase().contains("sig=")) {
            return Err(wrong("a SAS cannot follow abfss://")
                .hint("write https://ACCOUNT.blob.core.windows.net/container/path?SAS, or set AZURE_STORAGE_SAS_TOKEN"));
        }
        let origin = blobs_of(Origin::parse("https", host)?)?;
        let account =
            account_of_host(&origin).ok_or_else(|| wrong("the host names no storage account"))?.to_owned();
        check_container(container, &shown)?;
        check_key(container, key, &shown)?;
        let endpoint = Endpoint { origin, account, path_style: false };
        Ok(Self {
            endpoint,
            container: container.to_owned(),
            key: key.to_owned(),
            short: false,
            sas: None,
            remote: None,
        })
    }

    fn url(text: &str) -> Result<Self> {
        let Parts { url, endpoint, path, sas } = parts(text, "container")?;
        let (container, key) = path.split_once('/').unwrap_or((&path, ""));
        check_container(container, url)?;
        check_key(container, key, url)?;
        let (container, key) = (container.to_owned(), key.to_owned());
        Ok(Self { endpoint, container, key, short: false, sas, remote: None })
    }

    /// A name in this container as its user would write it, without the SAS.
    pub(super) fn name(&self, key: &str) -> String {
        let slash = if key.is_empty() { "" } else { "/" };
        if self.short {
            return format!("az://{}{slash}{key}", self.container);
        }
        format!("{}/{}{slash}{}", self.endpoint, self.container, utf8_percent_encode(key, READABLE))
    }
}

/// A URL of the service, taken apart.
pub(super) struct Parts<'a> {
    /// Without its query: fit to be shown.
    pub(super) url: &'a str,
    pub(super) endpoint: Endpoint,
    /// What follows the account, decoded.
    pub(super) path: String,
    /// The query: a secret.
    pub(super) sas: Option<String>,
}

/// Takes apart `http(s)://host[:port]/[account/]path[?SAS]`; `place` is what comes first in the path.
pub(super) fn parts<'a>(text: &'a str, place: &str) -> Result<Parts<'a>> {
    let (url, query) = text.split_once('?').map_or((text, None), |(url, query)| (url, Some(query)));
    // A fragment never reaches a server; a name with `#` in it is written `%23`.
    let url = url.split('#').next().unwrap_or_default();
    let (service, below) = if place == "table" { ("table", "TABLE") } else { ("blob", "container/path") };
    let wrong = |why: &str| {
        Error::new(ErrorKind::Usage, "open", url, why)
            .hint(format!("write https://ACCOUNT.{service}.core.windows.net/{below}"))
    };
    let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("not a URL"))?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let origin = blobs_of(Origin::parse(&scheme.to_ascii_lowercase(), authority)?)?;
    let path = percent_decode_str(path).decode_utf8().map_err(|_| wrong("the path is not UTF-8"))?;
    let host_account = account_of_host(&origin).map(str::to_owned);
    let path_style = host_account.is_none();
    let (account, path) = match host_account {
        Some(account) => (account, &*path),
        None => {
            let (account, path) = path.split_once('/').unwrap_or((&path, ""));
            if account.is_empty() {
                return Err(wrong("the URL names no account").hint(format!(
                    "hosts other than ACCOUNT.{service}.core.windows.net take the account first: https://host/account/{place}",
                )));
            }
            if !is_account(account) {
                return Err(wrong("not an account's name"));
            }
            (account.to_owned(), path)
        }
    };
    let query = query.map(|query| query.split('#').next().unwrap_or_default());
    let sas = query.filter(|query| !query.is_empty()).map(str::to_owned);
    Ok(Parts { url, endpoint: Endpoint { origin, account, path_style }, path: path.to_owned(), sas })
}

/// Shows the address without its SAS.
impl fmt::Debug for AzureAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureAddress")
            .field("url", &self.name(&self.key))
            .field("endpoint", &self.endpoint)
            .field("sas", &self.sas.is_some())
            .finish()
    }
}

/// The service's own rule, checked here because a path with a stray character would be signed wrongly
/// and refused with a misleading answer.
pub(super) fn is_container(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let special = matches!(name, "" | "$root" | "$web" | "$logs" | "$blobchangefeed");
    special || (name.len() <= 63 && name.bytes().all(plain))
}

fn check_container(name: &str, text: &str) -> Result<()> {
    if is_container(name) {
        return Ok(());
    }
    // Before an `@` may stand a password that belongs nowhere.
    let shown = name.rsplit('@').next().unwrap_or_default();
    Err(Error::new(ErrorKind::Usage, "open", text, format!("`{shown}` is no container name"))
        .hint("container names have 3 to 63 lower-case letters, digits and hyphens"))
}

/// Whether a server may take another object or container for the one of this name: it walks along `.` and `..`.
pub(super) fn walks(key: &str) -> bool {
    key.split('/').any(|segment| matches!(segment, "." | ".."))
}

fn check_key(container: &str, key: &str, text: &str) -> Result<()> {
    let cause = match key {
        "" => return Ok(()),
        _ if container.is_empty() => "a path without a container",
        _ if walks(key) => "a name with a `.` or `..` segment cannot be addressed safely",
        _ if key.contains('\0') => "the name holds a zero byte",
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::Usage, "open", text, cause).hint("write az://container/path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(endpoint: Option<&str>) -> StoreOptions {
        StoreOptions { endpoint: endpoint.map(str::to_owned), ..StoreOptions::default() }
    }

    fn settings(account: Option<&str>) -> Settings {
        Settings { account: account.map(str::to_owned), ..Settings::default() }
    }

    #[test]
    fn only_accounts_of_one_cloud_hand_over_to_each_other() {
        let endpoint = |url: &str| Endpoint::parse(url, Some("acc")).unwrap();
        let same = |one: &str, other: &str| endpoint(one).same_service(&endpoint(other));
        let public = "https://one.blob.core.windows.net";
        assert!(same(public, "https://two.blob.core.windows.net"));
        assert!(same("http://127.0.0.1:1/one", "http://127.0.0.1:1/two"));
        for other in [
            "https://two.blob.core.chinacloudapi.cn",
            "http://two.blob.core.windows.net",
            "https://evil.example/one",
            "http://127.0.0.1:1/one",
        ] {
            assert!(!same(public, other), "{other}");
        }
        assert!(!same("http://127.0.0.1:1/one", "http://127.0.0.1:2/one"));
    }

    #[test]
    fn a_sas_does_not_become_a_name() {
        for text in ["az://c?sv=1&sig=secret", "az://c/a.nc?sv=1&SIG=secret"] {
            let error = AzureAddress::parse_with(text, &options(None), &settings(Some("acc"))).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn short_addresses_are_literal() {
        let parsed =
            AzureAddress::parse_with("az://c/a #b?c%41+ü.nc", &options(None), &settings(Some("acc")))
                .unwrap();
        assert_eq!((parsed.container.as_str(), parsed.key.as_str()), ("c", "a #b?c%41+ü.nc"));
        assert_eq!(parsed.endpoint.to_string(), "https://acc.blob.core.windows.net");
        assert_eq!(parsed.name(&parsed.key), "az://c/a #b?c%41+ü.nc");
        let account = AzureAddress::parse_with("az://", &options(None), &settings(Some("acc"))).unwrap();
        assert_eq!((account.container.as_str(), account.key.as_str()), ("", ""));
    }

    #[test]
    fn urls_name_the_account_by_host_or_path() {
        for (url, endpoint, account, container, key) in [
            (
                "https://acc.blob.core.windows.net/c/a/b.nc",
                "https://acc.blob.core.windows.net",
                "acc",
                "c",
                "a/b.nc",
            ),
            (
                "https://acc.blob.core.usgovcloudapi.net/c",
                "https://acc.blob.core.usgovcloudapi.net",
                "acc",
                "c",
                "",
            ),
            ("http://127.0.0.1:1/acc/c/k", "http://127.0.0.1:1/acc", "acc", "c", "k"),
            ("http://localhost:1/acc/c/", "http://localhost:1/acc", "acc", "c", ""),
            (
                "https://storage.example.org/acc/c/k%20%23",
                "https://storage.example.org/acc",
                "acc",
                "c",
                "k #",
            ),
            ("http://[::1]:10000/acc", "http://[::1]:10000/acc", "acc", "", ""),
        ] {
            let parsed = AzureAddress::parse(url, &options(None)).unwrap();
            assert_eq!(parsed.endpoint.to_string(), endpoint, "{url}");
            assert_eq!(
                (parsed.endpoint.account.as_str(), parsed.container.as_str()),
                (account, container),
                "{url}"
            );
            assert_eq!(parsed.key, key, "{url}");
        }
    }

    #[test]
    fn a_data_lake_is_reached_by_the_door_of_its_blobs() {
        for (text, endpoint, container, key) in [
            (
                "abfss://c@acc.dfs.core.windows.net/a b%20?#.nc",
                "https://acc.blob.core.windows.net",
                "c",
                "a b%20?#.nc",
            ),
            ("abfs://c@acc.dfs.core.windows.net", "https://acc.blob.core.windows.net", "c", ""),
            ("abfss://c@acc.blob.core.windows.net/a/", "https://acc.blob.core.windows.net", "c", "a/"),
            ("abfss://c@acc.dfs.core.chinacloudapi.cn/a", "https://acc.blob.core.chinacloudapi.cn", "c", "a"),
            ("abfss://c@acc.z1.dfs.storage.azure.net/a", "https://acc.z1.blob.storage.azure.net", "c", "a"),
            ("https://acc.dfs.core.windows.net/c/a%20b", "https://acc.blob.core.windows.net", "c", "a b"),
            ("https://acc.dfs.core.usgovcloudapi.net/c", "https://acc.blob.core.usgovcloudapi.net", "c", ""),
            (
                "https://acc.privatelink.dfs.core.windows.net/c/a",
                "https://acc.privatelink.blob.core.windows.net",
                "c",
                "a",
            ),
        ] {
            let Ok(crate::store::Address::Azure(parsed)) = crate::store::Address::parse(text, &options(None))
            else {
                panic!("{text}")
            };
            assert_eq!(parsed.endpoint.to_string(), endpoint, "{text}");
            assert_eq!(
                (&*parsed.endpoint.account, &*parsed.container, &*parsed.key),
                ("acc", container, key),
                "{text}"
            );
        }
        let given = Endpoint::parse("https://acc.dfs.core.windows.net", None).unwrap();
        assert_eq!(given.to_string(), "https://acc.blob.core.windows.net");
        let short =
            crate::store::Address::parse("abfs://c/a", &options(Some("http://127.0.0.1:1/acc"))).unwrap();
        let same =
            crate::store::Address::parse("az://c/a", &options(Some("http://127.0.0.1:1/acc"))).unwrap();
        assert_eq!(short, same);
        // The names of other hosts stay: they are no data lake of ours.
        let other = AzureAddress::parse("https://a.dfs.example.org/acc/c", &options(None)).unwrap();
        assert_eq!(other.endpoint.to_string(), "https://a.dfs.example.org/acc");
        for text in [
            "abfss://c@storage.example.org/a",
            "abfss://c@acc.dfs.core.windows.net/../a",
            "abfss://Bad_Name@acc.dfs.core.windows.net/a",
            "abfss://@acc.dfs.core.windows.net/a",
            "abfss://c@acc.dfs.core.windows.net/a?sv=1&sig=secret",
        ] {
            let error = crate::store::Address::parse(text, &options(None)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_sas_is_kept_apart_and_never_shown() {
        let parsed =
            AzureAddress::parse("https://acc.blob.core.windows.net/c/a%3Fb%25?sv=1&sig=s%3D", &options(None))
                .unwrap();
        assert_eq!(parsed.key, "a?b%");
        assert_eq!(parsed.sas.as_deref(), Some("sv=1&sig=s%3D"));
        assert_eq!(parsed.name(&parsed.key), "https://acc.blob.core.windows.net/c/a%3Fb%25");
        assert!(!format!("{parsed:?}").contains("sig"));
        let back = AzureAddress::parse(&parsed.name(&parsed.key), &options(None)).unwrap();
        assert_eq!(back.key, parsed.key);
    }

    #[test]
    fn endpoints_come_with_or_without_the_account() {
        for (url, account, shown) in [
            ("http://127.0.0.1:10000", None, "http://127.0.0.1:10000/devstoreaccount1"),
            ("http://127.0.0.1:10000/", Some("acc"), "http://127.0.0.1:10000/acc"),
            ("http://127.0.0.1:10000/other", Some("acc"), "http://127.0.0.1:10000/other"),
            ("https://acc.blob.core.windows.net/", None, "https://acc.blob.core.windows.net"),
            ("https://cdn.example.org", Some("acc"), "https://cdn.example.org"),
        ] {
            assert_eq!(Endpoint::parse(url, account).unwrap().to_string(), shown, "{url}");
        }
        assert_eq!(Endpoint::parse("https://cdn.example.org", None).unwrap_err().kind(), ErrorKind::Usage);
    }

    #[test]
    fn what_is_missing_is_said_with_a_hint() {
        let error = AzureAddress::parse_with("az://c/k", &options(None), &settings(None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.hint_text().unwrap().contains("AZURE_STORAGE_ACCOUNT"));
        for url in ["https://host", "http://127.0.0.1:1/", "https://acc.blob.core.windows.net/Bad_Name/k"] {
            assert_eq!(
                AzureAddress::parse(url, &options(None)).unwrap_err().kind(),
                ErrorKind::Usage,
                "{url}"
            );
        }
    }

    #[test]
    fn an_account_that_needs_escapes_is_refused() {
        for url in ["http://127.0.0.1:1/a%3Fb/c", "http://127.0.0.1:1/../c/k", "https://host/a%20b/c"] {
            assert!(AzureAddress::parse(url, &options(None)).is_err(), "{url}");
        }
        for (url, account) in [("http://127.0.0.1:1/a%b", None), ("http://127.0.0.1:1", Some("a b"))] {
            assert_eq!(Endpoint::parse(url, account).unwrap_err().kind(), ErrorKind::Usage, "{url}");
        }
    }

    #[test]
    fn a_password_before_an_endpoint_is_not_told() {
        for url in ["me:hunter2@host/acc", "ftp://me:hunter2@host/acc", "https://me:hunter2@host"] {
            let error = Endpoint::parse(url, None).unwrap_err();
            assert!(!format!("{error:?}").contains("hunter2"), "{error}");
        }
        let short = AzureAddress::parse_with("az://me:hunter2@c/k", &options(None), &settings(Some("acc")));
        assert!(!format!("{short:?}").contains("hunter2"));
    }
}
