//! What the environment says about the account, under the names that Azure's own tools use; and before it what the session was
//! given.

use std::fmt;

use super::credentials::AzureCredentials;
use super::endpoint::Endpoint;
use crate::error::{Error, ErrorKind, Result};
use crate::store::StoreOptions;
use crate::variable::meant;

/// The account and key that every Azure storage emulator knows; published by Microsoft, so no secret.
pub(super) const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
pub(super) const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

pub(super) const CONNECTION: &str = "AZURE_STORAGE_CONNECTION_STRING";

/// Account, endpoint and secrets as arguments and the environment have them.
#[derive(Clone, Default)]
pub(super) struct Settings {
    /// Given as arguments: they go first.
    pub(super) given: Vec<AzureCredentials>,
    pub(super) account: Option<String>,
    pub(super) key: Option<String>,
    pub(super) sas: Option<String>,
    pub(super) endpoint: Option<String>,
    pub(super) connection: Option<ConnectionString>,
    /// Whether they are for tables instead of blobs.
    pub(super) tables: bool,
}

impl Settings {
    /// What the session of these options was given, and the process's environment behind it.
    pub(super) fn of(options: &StoreOptions) -> Result<Self> {
        let given = options.session.as_ref().map(|session| session.azure().to_vec()).unwrap_or_default();
        let environment = match Self::from_env() {
            // Who gives credentials need not have an environment that makes sense.
            Err(_) if !given.is_empty() => Self::default(),
            environment => environment?,
        };
        Ok(Self { given, ..environment })
    }

    /// Reads the process's environment. Empty variables count as unset.
    pub(super) fn from_env() -> Result<Self> {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// Reads any other source of variables.
    pub(super) fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let get = |name: &str| lookup(name).as_deref().and_then(meant);
        let connection = get(CONNECTION);
        Ok(Self {
            given: Vec::new(),
            tables: false,
            account: get("AZURE_STORAGE_ACCOUNT").or_else(|| get("AZURE_STORAGE_ACCOUNT_NAME")),
            key: get("AZURE_STORAGE_KEY").or_else(|| get("AZURE_STORAGE_ACCOUNT_KEY")),
            sas: get("AZURE_STORAGE_SAS_TOKEN"),
            endpoint: get("AZURE_STORAGE_ENDPOINT"),
            connection: connection
                .map(|text| ConnectionString::parse_named(&text, CONNECTION))
                .transpose()?,
        })
    }

    /// The same, for the account's tables: they have hosts of their own where the service has, and the same host elsewhere.
    pub(super) fn for_tables(mut self) -> Result<Self> {
        let given = std::mem::take(&mut self.given);
        self.given = given.into_iter().map(AzureCredentials::for_tables).collect::<Result<_>>()?;
        self.connection = self.connection.map(ConnectionString::for_tables).transpose()?;
        self.endpoint = self.endpoint.map(|url| tables_of(&url));
        self.tables = true;
        Ok(self)
    }

    /// Where `az://` leads when no `--endpoint` says otherwise; `None` where nothing says.
    pub(super) fn endpoint(&self) -> Result<Option<Endpoint>> {
        match self.given.iter().find_map(AzureCredentials::endpoint) {
            Some(endpoint) => endpoint.map(Some),
            None => self.configured(),
        }
    }

    /// Where the environment says that it leads.
    pub(super) fn configured(&self) -> Result<Option<Endpoint>> {
        if let Some(connection) = &self.connection {
            return connection.endpoint().map(Some);
        }
        if let Some(url) = &self.endpoint {
            return Endpoint::parse(url, self.account.as_deref()).map(Some);
        }
        let service = if self.tables { "table" } else { "blob" };
        let public = |account: &str| Endpoint::public(account, &format!("{service}.core.windows.net"));
        self.account.as_deref().map(public).transpose()
    }

    /// The account that is meant where an endpoint names none.
    pub(super) fn account(&self) -> Option<&str> {
        let given = self.given.iter().find_map(AzureCredentials::account);
        let connection = || self.connection.as_ref().and_then(|connection| connection.account.as_deref());
        given.or(self.account.as_deref()).or_else(connection)
    }
}

/// Says which secrets are there, never what they are.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("given", &self.given)
            .field("account", &self.account)
            .field("key", &self.key.is_some())
            .field("sas", &self.sas.is_some())
            .field("connection", &self.connection.is_some())
            .finish_non_exhaustive()
    }
}

/// `Name=value;...` as the portal shows it.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct ConnectionString {
    pub(super) account: Option<String>,
    pub(super) key: Option<String>,
    pub(super) sas: Option<String>,
    blob_endpoint: Option<String>,
    table_endpoint: Option<String>,
    protocol: Option<String>,
    suffix: Option<String>,
}

impl ConnectionString {
    /// Reads one. Errors call it by the name under which it was given.
    pub(super) fn parse_named(text: &str, name: &'static str) -> Result<Self> {
        let wrong = |why: &str| wrong(name, why);
        let mut parsed = Self::default();
        let (mut emulated, mut emulator) = (false, "http://127.0.0.1".to_owned());
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            // Keys end in `=`, so only the first one separates.
            let Some((name, value)) = part.split_once('=') else {
                return Err(wrong("a part of it has no `=`"));
            };
            let value = value.trim().to_owned();
            match name.trim().to_ascii_lowercase().as_str() {
                "accountname" => parsed.account = Some(value),
                "accountkey" => parsed.key = Some(value),
                "sharedaccesssignature" => parsed.sas = Some(value),
                "blobendpoint" => parsed.blob_endpoint = Some(value),
                "tableendpoint" => parsed.table_endpoint = Some(value),
                "defaultendpointsprotocol" => parsed.protocol = Some(value),
                "endpointsuffix" => parsed.suffix = Some(value),
                "usedevelopmentstorage" => emulated = value.eq_ignore_ascii_case("true"),
                "developmentstorageproxyuri" => emulator = value.trim_end_matches('/').to_owned(),
                // Endpoints of the other services, and names yet to come.
                _ => {}
            }
        }
        if emulated {
            // What is named all the same is meant.
            let at = |port: u16| format!("{emulator}:{port}/{DEVELOPMENT_ACCOUNT}");
            parsed.account.get_or_insert_with(|| DEVELOPMENT_ACCOUNT.to_owned());
            parsed.key.get_or_insert_with(|| DEVELOPMENT_KEY.to_owned());
            parsed.blob_endpoint.get_or_insert_with(|| at(10000));
            parsed.table_endpoint.get_or_insert_with(|| at(10002));
        }
        let endpoints = [&parsed.blob_endpoint, &parsed.table_endpoint];
        if parsed.account.is_none() && endpoints.into_iter().all(Option::is_none) {
            return Err(wrong("it names neither AccountName nor BlobEndpoint"));
        }
        Ok(parsed)
    }

    pub(super) fn endpoint(&self) -> Result<Endpoint> {
        self.endpoint_of("blob", self.blob_endpoint.as_deref())
    }

    fn endpoint_of(&self, service: &str, named: Option<&str>) -> Result<Endpoint> {
        if let Some(url) = named {
            return Endpoint::parse(url, self.account.as_deref());
        }
        let account = self.account.as_deref().unwrap_or_default();
        let protocol = self.protocol.as_deref().unwrap_or("https");
        let suffix = self.suffix.as_deref().unwrap_or("core.windows.net");
        Endpoint::parse(&format!("{protocol}://{account}.{service}.{suffix}"), Some(account))
    }

    /// The same, for the account's tables.
    pub(super) fn for_tables(mut self) -> Result<Self> {
        // Who names blobs alone has the tables beside them.
        let beside = || self.blob_endpoint.as_deref().map(tables_of);
        let named = self.table_endpoint.clone().or_else(beside);
        self.blob_endpoint = Some(self.endpoint_of("table", named.as_deref())?.to_string());
        Ok(self)
    }
}

/// Where the tables beside these blobs are.
pub(super) fn tables_of(url: &str) -> String {
    url.replacen(".blob.", ".table.", 1)
}

fn wrong(name: &'static str, why: &str) -> Error {
    // The string itself holds a key and stays out of the message.
    Error::new(ErrorKind::Usage, "open", name, why)
        .hint("copy it again from the portal: Storage account, Access keys")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ConnectionString> {
        ConnectionString::parse_named(text, CONNECTION)
    }

    #[test]
    fn connection_strings_name_account_key_and_endpoint() {
        let text = "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=a2V5PT0=;EndpointSuffix=core.chinacloudapi.cn";
        let parsed = parse(text).unwrap();
        assert_eq!((parsed.account.as_deref(), parsed.key.as_deref()), (Some("acc"), Some("a2V5PT0=")));
        assert_eq!(parsed.endpoint().unwrap().to_string(), "https://acc.blob.core.chinacloudapi.cn");

        let parsed = parse("UseDevelopmentStorage=true").unwrap();
        assert_eq!(parsed.endpoint().unwrap().to_string(), "http://127.0.0.1:10000/devstoreaccount1");

        let parsed =
            parse("UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://10.0.0.7/;").unwrap();
        assert_eq!(parsed.endpoint().unwrap().to_string(), "http://10.0.0.7:10000/devstoreaccount1");

        let parsed = parse("BlobEndpoint=http://127.0.0.1:9/me;UseDevelopmentStorage=true").unwrap();
        assert_eq!(parsed.endpoint().unwrap().to_string(), "http://127.0.0.1:9/me");

        let parsed = parse("BlobEndpoint=https://h.example/acc;SharedAccessSignature=sv=1&sig=x").unwrap();
        assert_eq!(parsed.sas.as_deref(), Some("sv=1&sig=x"));
        assert_eq!(parsed.endpoint().unwrap().account, "acc");
    }

    #[test]
    fn a_broken_connection_string_is_not_repeated() {
        let error = parse("AccountKey=c2VjcmV0;garbage").err().unwrap();
        assert!(!format!("{error:?}").contains("c2VjcmV0"));
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
