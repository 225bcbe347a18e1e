//! Who asks: a key that signs, a SAS that grants, or a token that names.

mod entra;
mod sas;
mod shared_key;
mod token;

use std::sync::Arc;

use std::time::Duration;

use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderMap};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::address::AzureAddress;
use super::credentials;
use super::settings::{CONNECTION, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::http::HttpClient;

pub(super) use entra::Entra;
pub(super) use sas::Sas;
pub(super) use shared_key::{CONTENT_MD5, Grant, SharedKey};
pub use token::{GivenToken, TokenSource};

/// How long the service may take to copy a block, clocks that differ included.
const COPY_SAS_LIFE: Duration = Duration::from_secs(3_600);

/// What lets us in. None of its forms shows a secret when printed.
#[derive(Clone, Debug)]
pub(super) enum Credential {
    /// The account's key signs every request.
    SharedKey(SharedKey),
    /// A signature made before goes along with every request.
    Sas(Sas),
    /// A token of Microsoft Entra.
    Entra(Arc<Entra>),
}

impl Credential {
    /// Finds the credential for `address`. Sends nothing: Entra is asked with the first request.
    pub(super) fn find(
        address: &AzureAddress,
        endpoint_given: bool,
        settings: &Settings,
        http: &HttpClient,
    ) -> Result<Self> {
        Self::find_named(address, endpoint_given, settings, http).map(|(credential, _)| credential)
    }

    /// The same, with what gave it.
    ///
    /// A SAS in the URL comes first; then what the session was given for this account; then, if they belong to this account,
    /// the connection string, the key and the SAS of the environment; the published key for an emulator on this machine; Entra last.
    pub(super) fn find_named(
        address: &AzureAddress,
        endpoint_given: bool,
        settings: &Settings,
        http: &HttpClient,
    ) -> Result<(Self, &'static str)> {
        let endpoint = &address.endpoint;
        http.permit(&endpoint.origin, "open", &address.name(&address.key))?;
        let account = endpoint.account.as_str();
        if let Some(sas) = &address.sas {
            return Ok((Self::Sas(Sas::new(sas)), "the URL"));
        }
        // A key only signs, but a SAS or a token is itself what a thief wants. It goes to the service, to the
        // endpoint the user named, and to no other host that happens to carry the account in its path.
        let asked = endpoint.is_azure() || (address.short && endpoint_given);
        if let Some(given) = credentials::find(&settings.given, address, asked)? {
            return Ok((given, "the session"));
        }
        let configured = settings.configured().ok().flatten();
        let trusted = asked || configured.is_some_and(|configured| configured.origin == endpoint.origin);
        if let Some(connection) = &settings.connection {
            let same = connection.account.as_deref().is_none_or(|name| name == account);
            match (&connection.key, &connection.sas) {
                (Some(key), _) if same => return signed_by(account, key, CONNECTION),
                (None, Some(sas)) if same && trusted => return Ok((Self::Sas(Sas::new(sas)), CONNECTION)),
                _ => {}
            }
        }
        let named = settings.account.as_deref();
        if let Some(key) = settings.key.as_ref().filter(|_| named.is_none_or(|name| name == account)) {
            return signed_by(account, key, "AZURE_STORAGE_KEY");
        }
        let own = address.short || named == Some(account);
        if let Some(sas) = settings.sas.as_ref().filter(|_| own && trusted) {
            return Ok((Self::Sas(Sas::new(sas)), "AZURE_STORAGE_SAS_TOKEN"));
        }
        if account == DEVELOPMENT_ACCOUNT && endpoint.origin.is_loopback() {
            return signed_by(account, DEVELOPMENT_KEY, "the key of every emulator");
        }
        if endpoint.origin.is_secure() && trusted {
            return Ok((Self::Entra(Arc::new(Entra::new(http.clone()))), "Microsoft Entra"));
        }
        Err(Error::new(
            ErrorKind::Permission,
            "open",
            address.name(&address.key),
            "no credential found for this account",
        )
        .hint(
            "set AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY (or AZURE_STORAGE_CONNECTION_STRING, \
                 AZURE_STORAGE_SAS_TOKEN), or add a SAS to the URL",
        ))
    }

    /// What it is, in a word or two.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::SharedKey(_) => "shared key",
            Self::Sas(_) => "SAS",
            Self::Entra(_) => "token",
        }
    }

    /// What goes behind the query of every URL; a secret.
    pub(super) fn query(&self) -> Option<&str> {
        match self {
            Self::Sas(sas) => Some(sas.query()),
            _ => None,
        }
    }

    /// What lets the service itself read one blob of this account, so that it can copy it: a query for its URL, and the header of a
    /// token. Nobody learns more from it than what is in this blob, unless the user gave a SAS or signed in.
    pub(super) async fn for_copies(
        &self,
        container: &str,
        key: &str,
        (operation, object): (&'static str, &str),
    ) -> Result<(Option<String>, Option<HeaderValue>)> {
        Ok(match self {
            Self::Sas(sas) => (Some(sas.query().to_owned()), None),
            Self::SharedKey(shared) => {
                let ends = OffsetDateTime::now_utc() + COPY_SAS_LIFE;
                let ends = ends.replace_nanosecond(0).ok().and_then(|ends| ends.format(&Rfc3339).ok());
                let grant = Grant {
                    account: shared.account(),
                    container,
                    key,
                    permissions: "r",
                    expires: &ends.unwrap_or_default(),
                    https_only: false,
                };
                (Some(shared.sas(&grant)), None)
            }
            Self::Entra(entra) => (None, Some(entra.authorization(operation, object).await?)),
        })
    }

    /// Adds the `Authorization` header where there is one. `path` as sent, `query` unescaped.
    pub(super) async fn authorize(
        &self,
        request: Unsigned<'_>,
        headers: &mut HeaderMap,
        operation: &'static str,
        object: &str,
    ) -> Result<()> {
        let value = match self {
            Self::Sas(_) => return Ok(()),
            Self::SharedKey(key) => {
                let Unsigned { method, path, query, tables } = request;
                let text = match tables {
                    true => key.authorize_table(method, path, query, headers),
                    false => key.authorize(method, path, query, headers),
                };
                HeaderValue::try_from(text).map(|mut value| {
                    value.set_sensitive(true);
                    value
                })
            }
            Self::Entra(entra) => Ok(entra.authorization(operation, object).await?),
        };
        let value = value
            .map_err(|_| Error::new(ErrorKind::Usage, operation, object, "the account's name is odd"))?;
        headers.insert(AUTHORIZATION, value);
        Ok(())
    }
}

fn signed_by(account: &str, key: &str, source: &'static str) -> Result<(Credential, &'static str)> {
    Ok((Credential::SharedKey(SharedKey::new(account, key)?), source))
}

/// What is signed besides the headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsigned<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a [(&'a str, &'a str)],
    /// Tables are asked, which sign in a way of their own.
    pub(super) tables: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpOptions;
    use crate::store::StoreOptions;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        Settings::from_lookup(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
        .unwrap()
    }

    fn find(url: &str, variables: &[(&str, &str)]) -> Result<&'static str> {
        let (options, settings) = (StoreOptions::default(), settings(variables));
        let address = AzureAddress::parse_with(url, &options, &settings)?;
        let http = HttpClient::new(HttpOptions::default())?;
        Ok(match Credential::find(&address, false, &settings, &http)? {
            Credential::SharedKey(_) => "key",
            Credential::Sas(_) => "sas",
            Credential::Entra(_) => "entra",
        })
    }

    const ACCOUNT: (&str, &str) = ("AZURE_STORAGE_ACCOUNT", "acc");
    const KEY: (&str, &str) = ("AZURE_STORAGE_KEY", "a2V5");
    const SAS: (&str, &str) = ("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=x");

    #[test]
    fn credentials_are_found_in_order() {
        let blob = "https://acc.blob.core.windows.net/c/k";
        assert_eq!(find("az://c/k", &[ACCOUNT, KEY, SAS]).unwrap(), "key");
        assert_eq!(find("az://c/k", &[ACCOUNT, SAS]).unwrap(), "sas");
        assert_eq!(find("az://c/k", &[ACCOUNT]).unwrap(), "entra");
        assert_eq!(find(&format!("{blob}?sig=x"), &[ACCOUNT, KEY]).unwrap(), "sas");
        assert_eq!(find(blob, &[ACCOUNT, KEY]).unwrap(), "key");
        assert_eq!(find("https://other.blob.core.windows.net/c", &[ACCOUNT, KEY, SAS]).unwrap(), "entra");
        assert_eq!(find("http://127.0.0.1:1/devstoreaccount1/c", &[]).unwrap(), "key");
        let connection = ("AZURE_STORAGE_CONNECTION_STRING", "AccountName=acc;SharedAccessSignature=sig=x");
        assert_eq!(find("az://c/k", &[connection, KEY]).unwrap(), "sas");
    }

    #[test]
    fn secrets_do_not_go_to_hosts_that_nobody_named() {
        let error = find("http://127.0.0.1:1/acc/c", &[ACCOUNT, SAS]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert!(find("https://evil.example/acc/c", &[ACCOUNT, SAS]).is_err());
        // Nor does what the environment has go where a session has named a host for something else.
        let given = crate::store::azure::AzureSecret::Key("a2V5".to_owned());
        let given =
            credentials::AzureCredentials::new(given, None, Some("https://here.example/other")).unwrap();
        let settings = Settings { given: vec![given], ..settings(&[ACCOUNT, SAS]) };
        let address = AzureAddress::parse("https://here.example/acc/c", &StoreOptions::default()).unwrap();
        let http = HttpClient::new(HttpOptions::default()).unwrap();
        assert!(Credential::find(&address, false, &settings, &http).is_err());
        let endpoint = ("AZURE_STORAGE_ENDPOINT", "https://store.example/acc");
        assert_eq!(find("https://store.example/acc/c", &[ACCOUNT, SAS, endpoint]).unwrap(), "sas");
    }
}
