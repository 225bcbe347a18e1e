//! Where a table is: `az-table://TABLE` and the URLs of the service.

use std::fmt;

use super::super::address::{AzureAddress, Parts, parts};
use super::super::endpoint::Endpoint;
use super::super::settings::Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::store::StoreOptions;

const SHORT: &str = "az-table://";

/// What a name has to be.
pub(super) const NAMES: &str = "table names have 3 to 63 letters and digits, and begin with a letter";

/// A table, or the account where the name is empty.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TableAddress {
    pub(super) endpoint: Endpoint,
    pub(super) table: String,
    /// Whether the user wrote `az-table://`, and shall read it.
    pub(super) short: bool,
    pub(super) sas: Option<String>,
}

impl TableAddress {
    /// Takes apart `az-table://TABLE` or `http(s)://host[:port]/[account/]TABLE[?SAS]`.
    pub(super) fn parse(text: &str, options: &StoreOptions, settings: &Settings) -> Result<Self> {
        let Some(table) = text.strip_prefix(SHORT) else { return Self::url(text) };
        if table.split_once('?').is_some_and(|(_, query)| query.to_ascii_lowercase().contains("sig=")) {
            let shown = text.split('?').next().unwrap_or_default();
            return Err(Error::new(ErrorKind::Usage, "open", shown, "a SAS cannot follow az-table://").hint(
                "write https://ACCOUNT.table.core.windows.net/TABLE?SAS, or set AZURE_STORAGE_SAS_TOKEN",
            ));
        }
        let endpoint = match &options.endpoint {
            Some(url) => Endpoint::parse(url, settings.account())?,
            None => settings.endpoint()?.ok_or_else(|| {
                Error::new(ErrorKind::Usage, "open", text, "nothing says which storage account this is in")
                    .hint(
                        "set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING, give --endpoint, \
                     or write https://ACCOUNT.table.core.windows.net/TABLE",
                    )
            })?,
        };
        check_table(table, text)?;
        Ok(Self { endpoint, table: table.to_owned(), short: true, sas: None })
    }

    fn url(text: &str) -> Result<Self> {
        if !["http://", "https://"].iter().any(|scheme| text.to_ascii_lowercase().starts_with(scheme)) {
            let shown = text.split('?').next().unwrap_or_default();
            return Err(Error::new(ErrorKind::Usage, "open", shown, "this is no address of a table")
                .hint("write az-table://TABLE, or https://ACCOUNT.table.core.windows.net/TABLE"));
        }
        let Parts { url, endpoint, path, sas } = parts(text, "table")?;
        let table = path.trim_end_matches('/').trim_end_matches("()");
        check_table(table, url)?;
        Ok(Self { endpoint, table: table.to_owned(), short: false, sas })
    }

    /// As whoever looks for credentials knows places.
    pub(super) fn as_container(&self) -> AzureAddress {
        AzureAddress {
            endpoint: self.endpoint.clone(),
            container: self.table.clone(),
            key: String::new(),
            short: self.short,
            sas: self.sas.clone(),
            remote: None,
        }
    }
}

/// As its user would write it, without the SAS.
impl fmt::Display for TableAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.short {
            write!(f, "{SHORT}{}", self.table)
        } else {
            write!(f, "{}/{}", self.endpoint, self.table)
        }
    }
}

impl fmt::Debug for TableAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableAddress({self})")
    }
}

/// The service's own rule: what breaks it would be signed wrongly, and be refused with a misleading answer.
fn check_table(name: &str, text: &str) -> Result<()> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let begins = name.bytes().next().is_none_or(|byte| byte.is_ascii_alphabetic());
    let metrics =
        name.strip_prefix('$').is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    if metrics || (plain && begins && (name.is_empty() || (3..=63).contains(&name.len()))) {
        return Ok(());
    }
    // Before an `@` may stand a password that belongs nowhere.
    let shown = name.rsplit('@').next().unwrap_or_default();
    Err(Error::new(ErrorKind::Usage, "open", text, format!("`{shown}` is no table name")).hint(NAMES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TableAddress> {
        let settings =
            Settings::from_lookup(|name| (name == "AZURE_STORAGE_ACCOUNT").then(|| "acc".to_owned()));
        TableAddress::parse(text, &StoreOptions::default(), &settings?.for_tables()?)
    }

    #[test]
    fn tables_are_found_by_name_and_by_url() {
        let found = parse("az-table://Rows").unwrap();
        assert_eq!(found.endpoint.to_string(), "https://acc.table.core.windows.net");
        assert_eq!((found.table.as_str(), found.to_string().as_str()), ("Rows", "az-table://Rows"));
        for (url, account) in [
            ("https://other.table.core.windows.net/Rows()?sv=1&sig=x", "other"),
            ("http://127.0.0.1:1/devstoreaccount1/Rows/?sig=x", "devstoreaccount1"),
        ] {
            let found = parse(url).unwrap();
            assert_eq!((found.endpoint.account.as_str(), found.table.as_str()), (account, "Rows"));
            assert!(found.sas.is_some() && !found.to_string().contains("sig"));
        }
    }

    #[test]
    fn what_is_no_table_is_refused_with_a_hint() {
        for text in ["az-table://a", "az-table://1rows", "az-table://no_rows", "http://127.0.0.1:1/acc/a/b"] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert_eq!(error.hint_text(), Some(NAMES));
        }
        for text in ["az://rows", "rows.parquet", "s3://b/rows"] {
            assert_eq!(
                parse(text).unwrap_err().hint_text(),
                Some("write az-table://TABLE, or https://ACCOUNT.table.core.windows.net/TABLE")
            );
        }
        let error = parse("az-table://rows?sv=1&sig=secret").unwrap_err();
        assert!(error.to_string().contains("a SAS cannot follow az-table://"));
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn a_connection_string_leads_to_the_tables() {
        let lookup = |text: &'static str| {
            let lookup =
                move |name: &str| (name == "AZURE_STORAGE_CONNECTION_STRING").then(|| text.to_owned());
            let settings = Settings::from_lookup(lookup).unwrap().for_tables().unwrap();
            TableAddress::parse("az-table://rows", &StoreOptions::default(), &settings)
                .unwrap()
                .endpoint
                .to_string()
        };
        assert_eq!(lookup("UseDevelopmentStorage=true"), "http://127.0.0.1:10002/devstoreaccount1");
        assert_eq!(
            lookup("AccountName=a;AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn"),
            "https://a.table.core.chinacloudapi.cn"
        );
        assert_eq!(
            lookup("BlobEndpoint=http://127.0.0.1:7/a;AccountName=a;AccountKey=a2V5"),
            "http://127.0.0.1:7/a"
        );
        assert_eq!(
            lookup(
                "BlobEndpoint=http://h:7/a;TableEndpoint=http://127.0.0.1:8/a;AccountName=a;AccountKey=a2V5"
            ),
            "http://127.0.0.1:8/a"
        );
    }
}
