//! A place with a name, and how it is reached.

use std::fmt;
use std::sync::{Arc, OnceLock};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Deserialize;

use super::setting::Secret;
use crate::error::{Error, ErrorKind, Result};
use crate::secret;
use crate::store::azure::{AzureAddress, AzureCredentials, AzureSecret};
use crate::store::s3::{S3Access, S3Credentials};
use crate::store::{AccessKeys, Addressing, Credentials, Session, StoreOptions};

/// Schemes: a remote of that name could never be meant.
const SCHEMES: [&str; 10] = ["az", "abfs", "abfss", "az-table", "s3", "http", "https", "file", "mem", "gs"];

/// What a name after `work:` may hold, and a path of a URL may not.
const RESERVED: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'?').add(b'#').add(b'"').add(b'<').add(b'>');

/// What may stand below `[remotes.NAME]`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    url: String,
    endpoint: Option<String>,
    region: Option<String>,
    addressing: Option<String>,
    #[serde(default)]
    unsigned: bool,
    #[serde(default)]
    requester_pays: bool,
    /// Of AWS's own files.
    profile: Option<String>,
    access_key_id: Option<Secret>,
    secret_access_key: Option<Secret>,
    session_token: Option<Secret>,
    account: Option<String>,
    account_key: Option<Secret>,
    sas_token: Option<Secret>,
    connection_string: Option<Secret>,
}

impl Settings {
    /// Whether somebody who reads the file has a secret.
    pub(super) fn holds_secret(&self) -> bool {
        let is_plain = |secret: &Option<Secret>| matches!(secret, Some(Secret::Plain(_)));
        let in_url = self.url.split_once('?').is_some_and(|(_, query)| query.contains("sig="));
        // The id of a key is no secret, and may stand anywhere.
        let secrets = [
            &self.secret_access_key,
            &self.session_token,
            &self.account_key,
            &self.sas_token,
            &self.connection_string,
        ];
        in_url || secrets.into_iter().any(is_plain)
    }
}

/// A place with a name. Shows no secret when printed. Its secrets are read when it is first used, so that one that is missing
/// stops nobody who does without.
#[derive(Clone)]
pub struct Remote {
    name: String,
    settings: Settings,
    addressing: Option<Addressing>,
    /// What it is entered with.
    credential: Option<&'static str>,
    /// What it is entered by, from its first use on.
    session: Arc<OnceLock<Session>>,
}

impl Remote {
    pub(super) fn new(name: &str, settings: Settings) -> Result<Self> {
        let wrong = |cause: &str| Error::new(ErrorKind::Usage, "read the configuration", name, cause);
        if !Self::may_be_called(name) {
            return Err(wrong("this cannot name a remote").hint(
                "use two or more lower-case letters, digits, - and _, beginning with a letter, and no scheme such as az",
            ));
        }
        let scheme = settings.url.split_once("://").map(|(scheme, _)| scheme);
        if !matches!(scheme, Some("az" | "abfs" | "abfss" | "s3" | "http" | "https")) {
            return Err(wrong("its url is not that of a store")
                .hint("write url = \"az://container/path\", \"s3://bucket/path\" or \"https://host/container/path\""));
        }
        settings.check_url(&wrong)?;
        if let Some((_, query)) = settings.url.split_once('?') {
            query.split('&').filter_map(|pair| pair.strip_prefix("sig=")).for_each(secret::remember);
        }
        let is_s3 = scheme == Some("s3");
        let addressing = match settings.addressing.as_deref() {
            None | Some("auto") => None,
            Some("path") => Some(Addressing::Path),
            Some("virtual") => Some(Addressing::Virtual),
            Some(_) => return Err(wrong("no such addressing").hint("write auto, path or virtual")),
        };
        let credential = if is_s3 { settings.s3() } else { settings.azure() }?;
        let name = name.to_owned();
        Ok(Self { name, settings, addressing, credential, session: Arc::default() })
    }

    /// Whether a remote may have this name.
    pub(crate) fn may_be_called(name: &str) -> bool {
        let plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        begins && name.len() > 1 && name.bytes().all(plain) && !SCHEMES.contains(&name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is, without a SAS.
    pub fn shown_url(&self) -> &str {
        self.settings.url.split('?').next().unwrap_or_default()
    }

    /// Where `az://` or `s3://` leads in it.
    pub fn endpoint(&self) -> Option<&str> {
        self.settings.endpoint.as_deref()
    }

    /// What it is entered with, in one word; `None` for what the environment has.
    pub fn credential(&self) -> Option<&'static str> {
        self.credential
    }

    /// The URL of a name below it.
    pub(crate) fn url_of(&self, path: &str) -> String {
        let (base, query) = match self.settings.url.split_once('?') {
            Some((base, query)) => (base, Some(query)),
            None => (self.settings.url.as_str(), None),
        };
        let path = path.trim_start_matches('/');
        // A URL is decoded, and what follows az:// or s3:// stands as it is.
        let path = match base.starts_with("http") {
            true => utf8_percent_encode(path, RESERVED).to_string(),
            false => path.to_owned(),
        };
        let mut url = match path.is_empty() {
            true => base.to_owned(),
            false => format!("{}/{path}", base.trim_end_matches('/')),
        };
        if let Some(query) = query {
            url.push('?');
            url.push_str(query);
        }
        url
    }

    /// How it is reached: as the options say, but where the remote says otherwise.
    ///
    /// # Errors
    /// `Usage` where a secret of it cannot be read, or cannot be one.
    pub(crate) fn options(&self, options: &StoreOptions) -> Result<StoreOptions> {
        let Settings { endpoint, region, unsigned, requester_pays, .. } = &self.settings;
        let mut own = options.clone();
        own.endpoint = endpoint.clone().or(own.endpoint);
        own.region = region.clone().or(own.region);
        own.addressing = self.addressing.or(own.addressing);
        own.unsigned |= unsigned;
        own.requester_pays |= requester_pays;
        if let Some(session) = self.session()? {
            own.keys = None;
            own.session = Some(session.clone());
        }
        Ok(own)
    }

    /// What it is entered by, if it says so.
    fn session(&self) -> Result<Option<&Session>> {
        if self.credential.is_none() {
            return Ok(None);
        }
        if self.session.get().is_none() {
            let given = match self.settings.is_s3() {
                true => Credentials::S3(self.settings.read_s3()?),
                false => Credentials::Azure(self.settings.read_azure()?),
            };
            // Whoever was quicker has read the same.
            let _ = self.session.set(Session::new([given]));
        }
        Ok(self.session.get())
    }
}

impl Settings {
    /// Refuses a URL below which no name could ever be found.
    fn check_url(&self, wrong: &impl Fn(&str) -> Error) -> Result<()> {
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if !place.is_empty() && !place.starts_with('@') {
            return match scheme.starts_with("http") {
                // What else is wrong with it does not depend on the environment.
                true => {
                    AzureAddress::parse(&self.url, &StoreOptions::default()).map(|_| ()).map_err(|error| {
                        match error.hint_text() {
                            Some(hint) => wrong(error.cause()).hint(hint),
                            None => wrong(error.cause()),
                        }
                    })
                }
                false => Ok(()),
            };
        }
        Err(match scheme {
            "s3" => wrong("its url names no bucket").hint("write url = \"s3://bucket\" or \"s3://bucket/path\""),
            "http" | "https" => wrong("its url names no host")
                .hint("write url = \"https://ACCOUNT.blob.core.windows.net/container/path\""),
            _ => wrong("its url names no container").hint(
                "write url = \"az://container\", or \"https://ACCOUNT.blob.core.windows.net\" for a whole account",
            ),
        })
    }

    fn is_s3(&self) -> bool {
        self.url.starts_with("s3://")
    }

    /// What a bucket is entered with.
    fn s3(&self) -> Result<Option<&'static str>> {
        let hint = "use profile, or access_key_id and secret_access_key";
        let unfit = [&self.account_key, &self.sas_token, &self.connection_string];
        if self.account.is_some() || unfit.into_iter().any(Option::is_some) {
            return Err(mismatch("it is of S3, and has a credential of Azure", hint));
        }
        match (&self.access_key_id, &self.secret_access_key, &self.profile, &self.session_token) {
            (Some(_), Some(_), None, _) => Ok(Some("access key")),
            (None, None, Some(_), None) => Ok(Some("profile")),
            (None, None, None, None) => Ok(None),
            _ => Err(mismatch("its credentials are not complete, or more than one", hint)),
        }
    }

    /// What an account is entered with.
    fn azure(&self) -> Result<Option<&'static str>> {
        let unfit = [&self.access_key_id, &self.secret_access_key, &self.session_token];
        if self.profile.is_some() || unfit.into_iter().any(Option::is_some) {
            return Err(mismatch(
                "it is of Azure, and has a credential of S3",
                "use account_key, sas_token or connection_string",
            ));
        }
        let in_url = !self.url.starts_with("az://") && !self.url.starts_with("abfs://");
        let named = self.account.is_some() || self.endpoint.is_some() || in_url;
        match (&self.account_key, &self.sas_token, &self.connection_string) {
            (None, None, None) => Ok(None),
            (None, None, Some(_)) => Ok(Some("connection string")),
            (Some(_), None, None) if named => Ok(Some("account key")),
            (None, Some(_), None) if named => Ok(Some("SAS")),
            (Some(_), None, None) | (None, Some(_), None) => {
                Err(mismatch("nothing says which account its credential is for", "add account = \"NAME\""))
            }
            _ => Err(mismatch("it has more than one credential", "leave one of them")),
        }
    }

    fn read_s3(&self) -> Result<S3Credentials> {
        let id = read(&self.access_key_id, "access_key_id")?;
        let secret = read(&self.secret_access_key, "secret_access_key")?;
        let token = read(&self.session_token, "session_token")?;
        let access = match (id, secret) {
            (Some(id), Some(secret)) => S3Access::Keys(AccessKeys { id, secret, token }),
            _ => S3Access::Profile(self.profile.clone().unwrap_or_default()),
        };
        S3Credentials::new(access, None, None)
    }

    fn read_azure(&self) -> Result<AzureCredentials> {
        if let Some(text) = read(&self.connection_string, "connection_string")? {
            return AzureCredentials::new(AzureSecret::ConnectionString(text), None, None);
        }
        let key = read(&self.account_key, "account_key")?.map(AzureSecret::Key);
        let sas = read(&self.sas_token, "sas_token")?.map(AzureSecret::Sas);
        let Some(secret) = key.or(sas) else {
            return Err(mismatch("it has no credential", "use account_key, sas_token or connection_string"));
        };
        let endpoint = match self.url.starts_with("http") {
            true => Some(AzureAddress::parse(&self.url, &StoreOptions::default())?.endpoint.to_string()),
            false => self.endpoint.clone(),
        };
        AzureCredentials::new(secret, self.account.as_deref(), endpoint.as_deref())
    }
}

fn read(secret: &Option<Secret>, name: &str) -> Result<Option<String>> {
    secret.as_ref().map(|secret| secret.read(name)).transpose()
}

fn mismatch(cause: &str, hint: &'static str) -> Error {
    Error::new(ErrorKind::Usage, "read the configuration", "remote", cause).hint(hint)
}

/// Those that the same lines define; whether their secrets were read yet is no difference.
impl PartialEq for Remote {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.settings) == (&other.name, &other.settings)
    }
}

impl Eq for Remote {}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("url", &self.shown_url())
            .field("endpoint", &self.settings.endpoint)
            .field("credential", &self.credential)
            .finish_non_exhaustive()
    }
}

/// Never shows a secret.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(text: &str) -> Result<Remote> {
        Remote::new("work", toml::from_str(text).unwrap())
    }

    #[test]
    fn a_name_below_a_remote_is_a_name_below_its_url() {
        let url = |base: &str, path: &str| remote(&format!("url = {base:?}")).unwrap().url_of(path);
        assert_eq!(url("az://climate/cmip6/", "a b%20.nc"), "az://climate/cmip6/a b%20.nc");
        assert_eq!(url("s3://b", "/x"), "s3://b/x");
        assert_eq!(url("s3://b/p", ""), "s3://b/p");
        assert_eq!(url("s3://b/p", "d/"), "s3://b/p/d/");
        assert_eq!(
            url("https://a.blob.core.windows.net/c?sig=hush-hush-hush", "a b%?#"),
            "https://a.blob.core.windows.net/c/a%20b%25%3F%23?sig=hush-hush-hush"
        );
    }

    #[test]
    fn what_a_remote_says_goes_before_the_options_and_nothing_else_changes() {
        let given = StoreOptions {
            endpoint: Some("http://127.0.0.1:1".into()),
            requester_pays: true,
            ..StoreOptions::default()
        };
        let quiet = remote("url = \"s3://b\"").unwrap();
        assert_eq!(quiet.options(&given).unwrap(), given);
        let own = remote(
            "url = \"s3://b\"\nendpoint = \"http://127.0.0.1:2\"\nregion = \"x-1\"\naccess_key_id = \"id\"\nsecret_access_key = \"hush-hush-hush\"",
        )
        .unwrap();
        let options = own.options(&given).unwrap();
        assert_eq!(
            (options.endpoint.as_deref(), options.region.as_deref()),
            (Some("http://127.0.0.1:2"), Some("x-1"))
        );
        assert!(options.session.is_some() && options.requester_pays);
        assert!(!format!("{own:?}").contains("hush"), "{own:?}");
    }

    #[test]
    fn credentials_fit_the_store_and_are_complete() {
        for text in [
            "url = \"s3://b\"\naccount_key = \"aGk=\"",
            "url = \"s3://b\"\naccess_key_id = \"id\"",
            "url = \"s3://b\"\nprofile = \"p\"\naccess_key_id = \"i\"\nsecret_access_key = \"s\"",
            "url = \"az://c\"\nprofile = \"p\"",
            "url = \"az://c\"\naccount_key = \"aGk=\"",
            "url = \"https://a.blob.core.windows.net/c\"\naccount_key = \"aGk=\"\nsas_token = \"sig=x\"",
        ] {
            let error = remote(text).unwrap_err();
            assert_eq!(
                (error.kind(), error.hint_text().is_some()),
                (ErrorKind::Usage, true),
                "{text}: {error}"
            );
        }
        for text in [
            "url = \"https://a.blob.core.windows.net/c\"\naccount_key = { env = \"NO_SUCH_VARIABLE\" }",
            "url = \"https://a.blob.core.windows.net/c\"\nsas_token = { file = \"/no/such/file\" }",
        ] {
            // Who does not use it need not have what it needs.
            let error = remote(text).unwrap().options(&StoreOptions::default()).unwrap_err();
            assert_eq!(
                (error.kind(), error.hint_text().is_some()),
                (ErrorKind::Usage, true),
                "{text}: {error}"
            );
        }
        for (url, cause) in [
            ("az://", "names no container"),
            ("az:///path", "names no container"),
            ("abfss://", "names no container"),
            ("abfss://@acc.dfs.core.windows.net/x", "names no container"),
            ("s3://", "names no bucket"),
            ("s3:///key", "names no bucket"),
            ("https://", "names no host"),
            ("https:///c", "names no host"),
            ("https://host.example", "names no account"),
            ("https://b.s3.amazonaws.com/k?X-Amz-Signature=hush", "a presigned URL of S3"),
        ] {
            let error = remote(&format!("url = {url:?}")).unwrap_err();
            assert_eq!(
                (error.kind(), error.hint_text().is_some()),
                (ErrorKind::Usage, true),
                "{url}: {error}"
            );
            assert!(error.cause().contains(cause) && !error.to_string().contains("hush"), "{url}: {error}");
        }
        remote("url = \"https://a.blob.core.windows.net\"").unwrap();
        remote("url = \"az://c\"\naccount = \"acc\"\naccount_key = \"aGk=\"").unwrap();
        remote("url = \"https://a.blob.core.windows.net/c\"\naccount_key = \"aGk=\"").unwrap();
    }
}
