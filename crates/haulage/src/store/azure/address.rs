//! Where a container is: `az://container/path` and the URLs of the service.
//!
//! After `az://` every character counts as it stands: names with `#?%+` and spaces need no escapes.
//! An `http(s)` URL is a URL: percent-decoded, and what follows the first `?` is its SAS.

use std::fmt;

use http::header::{HeaderMap, HeaderName, USER_AGENT};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::endpoint::{Endpoint, account_of_host, blobs_of, is_account};
use super::service::{AGENT, VERSION};
use super::settings::Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::http::Origin;
use crate::store::StoreOptions;

/// What must be escaped for a URL that people read and that parses back to the same name.
const READABLE: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'?').add(b'#').add(b'"').add(b'<').add(b'>');

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
    if query.is_some_and(is_presigned_s3) {
        return Err(wrong("this is a presigned URL of S3, which Haulage does not read").hint(
            "fetch it with curl -o FILE URL, or write s3://bucket/key and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ));
    }
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

/// Whether a query lets somebody into S3, or a service that signs URLs as S3 does.
fn is_presigned_s3(query: &str) -> bool {
    let names = || query.split('&').filter_map(|pair| pair.split('=').next());
    let has = |wanted: &str| names().any(|name| name.eq_ignore_ascii_case(wanted));
    let old = has("Signature") && (has("AWSAccessKeyId") || has("GoogleAccessId"));
    has("X-Amz-Signature") || has("X-Goog-Signature") || old
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
mod tests;
