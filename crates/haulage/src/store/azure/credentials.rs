//! The way into an account, as a program gives it: what is given so goes before what the environment has.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::address::AzureAddress;
use super::auth::{Credential, Entra, Sas, SharedKey, TokenSource};
use super::endpoint::{Endpoint, is_account};
use super::settings::{ConnectionString, tables_of};
use crate::error::{Error, ErrorKind, Result};
use crate::secret;

/// What a program may have of an account.
#[derive(Clone)]
pub enum AzureSecret {
    /// `Name=value;...` as the portal shows it, with a key or a SAS.
    ConnectionString(String),
    /// The account's key, in Base64.
    Key(String),
    /// A shared access signature, with or without its `?`.
    Sas(String),
    /// Gives bearer tokens of Microsoft Entra.
    Token(TokenSource),
}

/// A secret, and the account that it is for. Printed, it shows no secret.
#[derive(Clone)]
pub struct AzureCredentials {
    /// `None` for a token that is for all accounts.
    account: Option<String>,
    endpoint: Option<Endpoint>,
    secret: AzureSecret,
    connection: Option<ConnectionString>,
}

impl AzureCredentials {
    /// Credentials for an account. `endpoint` is where it lives, `https://host[:port][/account]`, if not at
    /// `https://ACCOUNT.blob.core.windows.net`; a connection string says both by itself. Sends nothing.
    ///
    /// # Errors
    /// `Usage` for what cannot be right: an empty secret, a key that is not Base64, a SAS without a signature, a key or SAS
    /// without an account. The error names which, and shows nothing of it.
    pub fn new(secret: AzureSecret, account: Option<&str>, endpoint: Option<&str>) -> Result<Self> {
        let account = account.map(|name| checked(name).map(str::to_owned)).transpose()?;
        let mut connection = None;
        match &secret {
            AzureSecret::ConnectionString(text) => {
                if account.is_some() || endpoint.is_some() {
                    return Err(wrong("connection_string", "it names account and endpoint by itself")
                        .hint("leave out account and endpoint beside a connection string"));
                }
                connection = Some(read_connection(text)?);
            }
            AzureSecret::Key(key) => check_key("key", key)?,
            AzureSecret::Sas(sas) => check_sas("sas", sas)?,
            AzureSecret::Token(_) => {}
        }
        let endpoint = match &connection {
            Some(connection) => Some(connection.endpoint()?),
            None => endpoint.map(|url| Endpoint::parse(url, account.as_deref())).transpose()?,
        };
        let account = account.or_else(|| endpoint.as_ref().map(|endpoint| endpoint.account.clone()));
        let named = matches!(secret, AzureSecret::Token(_)) || account.is_some();
        if !named {
            return Err(wrong(word(&secret), "nothing says which account it is for")
                .hint("give account, or endpoint, with it"));
        }
        Ok(Self { account, endpoint, secret, connection })
    }

    /// The same, for the account's tables.
    pub(super) fn for_tables(self) -> Result<Self> {
        let connection = self.connection.map(ConnectionString::for_tables).transpose()?;
        let beside = |endpoint: &Endpoint| tables_of(&endpoint.to_string());
        let endpoint = match (&connection, &self.endpoint) {
            (Some(connection), _) => Some(connection.endpoint()?),
            (None, Some(endpoint)) => Some(Endpoint::parse(&beside(endpoint), Some(&endpoint.account))?),
            (None, None) => match &self.account {
                Some(account) => Some(Endpoint::public(account, "table.core.windows.net")?),
                None => None,
            },
        };
        Ok(Self { connection, endpoint, ..self })
    }

    /// The account's name, where it is for one.
    pub fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// Where the account lives; `None` for a token that is for all.
    pub(super) fn endpoint(&self) -> Option<Result<Endpoint>> {
        let public = |account: &String| Endpoint::public(account, "blob.core.windows.net");
        self.endpoint.clone().map(Ok).or_else(|| self.account.as_ref().map(public))
    }

    /// Whether it may be used at the host of an address: at its own endpoint and no other; without one, where the call says, or at
    /// the service itself. Even a key that only signs goes nowhere else: a signed request can be sent on by whoever gets it.
    fn may_go_to(&self, address: &AzureAddress, asked: bool) -> bool {
        self.endpoint.as_ref().map_or(asked, |own| own.origin == address.endpoint.origin)
    }

    /// The credential for an address in this account.
    fn credential(&self, address: &AzureAddress) -> Result<Credential> {
        let endpoint = &address.endpoint;
        let key = |key: &str| {
            SharedKey::new(&endpoint.account, key).map(SharedKey::given).map(Credential::SharedKey)
        };
        let sas = match (&self.secret, &self.connection) {
            (AzureSecret::Key(text), _) => return key(text),
            (_, Some(ConnectionString { key: Some(text), .. })) => return key(text),
            (AzureSecret::Sas(sas), _) | (_, Some(ConnectionString { sas: Some(sas), .. })) => Some(sas),
            _ => None,
        };
        match (sas, &self.secret) {
            (Some(sas), _) => Ok(Credential::Sas(Sas::new(sas))),
            (None, AzureSecret::Token(_))
                if !endpoint.origin.is_secure() && !endpoint.origin.is_loopback() =>
            {
                Err(refusal(address, "token", "is not sent over plain http")
                    .hint("write the endpoint with https"))
            }
            (None, AzureSecret::Token(source)) => Ok(Credential::Entra(Entra::given(source.clone()).into())),
            // A connection string was read, and has either.
            (None, _) => Err(refusal(address, word(&self.secret), "holds no secret")),
        }
    }
}

/// The credential among those given that is for this address, one for its account first; `None` where none is. `asked`: the host
/// is the service's own, or the call has named it.
///
/// # Errors
/// `Permission` where one is for the account, but at another host.
pub(super) fn find(
    given: &[AzureCredentials],
    address: &AzureAddress,
    asked: bool,
) -> Result<Option<Credential>> {
    let account = Some(address.endpoint.account.as_str());
    let mut for_it = given.iter().filter(|one| one.account() == account);
    let mut for_all = given.iter().filter(|one| one.account.is_none());
    let fits = |one: &&AzureCredentials| one.may_go_to(address, asked);
    if let Some(one) = for_it.clone().find(fits).or_else(|| for_all.clone().find(fits)) {
        return one.credential(address).map(Some);
    }
    match for_it.next().or_else(|| for_all.next()) {
        None => Ok(None),
        Some(one) => Err(refusal(address, word(&one.secret), "is for another host than this one")
            .hint("give the endpoint together with the credential: https://host[:port]/account")),
    }
}

fn read_connection(text: &str) -> Result<ConnectionString> {
    let connection = ConnectionString::parse_named(text, "connection_string")?;
    match (&connection.key, &connection.sas) {
        (Some(key), _) => check_key("connection_string", key)?,
        (None, Some(sas)) => check_sas("connection_string", sas)?,
        (None, None) => {
            return Err(wrong("connection_string", "it holds neither AccountKey nor SharedAccessSignature")
                .hint("copy it again from the portal: Storage account, Access keys"));
        }
    }
    Ok(connection)
}

fn checked(account: &str) -> Result<&str> {
    if account.is_empty() || !is_account(account) {
        return Err(wrong("account", "not an account's name").hint("write the name alone, as in the portal"));
    }
    Ok(account)
}

fn check_key(name: &'static str, key: &str) -> Result<()> {
    secret::remember(key);
    let decoded = BASE64_STANDARD.decode(key.trim());
    if decoded.is_ok_and(|key| !key.is_empty()) {
        return Ok(());
    }
    Err(wrong(name, "the account key is not Base64")
        .hint("copy it again from the portal: Storage account, Access keys"))
}

fn check_sas(name: &'static str, sas: &str) -> Result<()> {
    // Remembers the signature, so that nothing shows it.
    let sas = Sas::new(sas);
    let signed = |pair: &str| pair.strip_prefix("sig=").is_some_and(|signature| !signature.is_empty());
    if sas.query().split('&').any(signed) {
        return Ok(());
    }
    Err(wrong(name, "the SAS has no signature (sig=)")
        .hint("copy it again, completely: everything after the ? of the URL"))
}

fn wrong(name: &'static str, cause: &str) -> Error {
    Error::new(ErrorKind::Usage, "read the credentials", name, cause)
}

fn refusal(address: &AzureAddress, name: &str, why: &str) -> Error {
    let cause = format!("the {name} that was given as an argument {why} ({})", address.endpoint.origin);
    Error::new(ErrorKind::Permission, "open", address.name(&address.key), cause)
}

fn word(secret: &AzureSecret) -> &'static str {
    match secret {
        AzureSecret::ConnectionString(_) => "connection_string",
        AzureSecret::Key(_) => "key",
        AzureSecret::Sas(_) => "sas",
        AzureSecret::Token(_) => "token",
    }
}

/// Says which secret it is, never what it is.
impl fmt::Debug for AzureSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AzureSecret({})", word(self))
    }
}

/// Says whose it is and of which kind, never what it is.
impl fmt::Debug for AzureCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureCredentials")
            .field("account", &self.account)
            .field("endpoint", &self.endpoint)
            .field("secret", &self.secret)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "c2VjcmV0LXNlY3JldC1zZWNyZXQ=";
    const SAS: &str = "?sv=2021-12-02&sig=c2VjcmV0c2VjcmV0";

    fn new(secret: AzureSecret, account: Option<&str>, endpoint: Option<&str>) -> Result<AzureCredentials> {
        AzureCredentials::new(secret, account, endpoint)
    }

    #[test]
    fn what_cannot_be_right_is_refused_by_name_and_shows_nothing() {
        let key = |text: &str| AzureSecret::Key(text.to_owned());
        let sas = |text: &str| AzureSecret::Sas(text.to_owned());
        let string = |text: &str| AzureSecret::ConnectionString(text.to_owned());
        let whole = format!("AccountName=acc;AccountKey={KEY}");
        for (secret, account, name, hint) in [
            (
                key("secret!"),
                Some("acc"),
                "key",
                "copy it again from the portal: Storage account, Access keys",
            ),
            (key(""), Some("acc"), "key", "copy it again from the portal: Storage account, Access keys"),
            (key(KEY), None, "key", "give account, or endpoint, with it"),
            (key(KEY), Some("a/b"), "account", "write the name alone, as in the portal"),
            (
                sas("sv=secret"),
                Some("acc"),
                "sas",
                "copy it again, completely: everything after the ? of the URL",
            ),
            (sas(SAS), None, "sas", "give account, or endpoint, with it"),
            (
                string("AccountName=acc"),
                None,
                "connection_string",
                "copy it again from the portal: Storage account, Access keys",
            ),
            (
                string("AccountKey=secret;garbage"),
                None,
                "connection_string",
                "copy it again from the portal: Storage account, Access keys",
            ),
            (
                string(&whole),
                Some("acc"),
                "connection_string",
                "leave out account and endpoint beside a connection string",
            ),
        ] {
            let error = new(secret, account, None).unwrap_err();
            assert_eq!((error.kind(), error.object_name()), (ErrorKind::Usage, name), "{error}");
            assert_eq!(error.hint_text(), Some(hint));
            assert!(!format!("{error:?} {error}").contains("secret;"), "{error:?}");
        }
    }

    #[test]
    fn a_secret_goes_to_no_host_that_nobody_named_for_it() {
        let token = TokenSource::new(|| Err("never asked".to_owned()));
        let sas = new(AzureSecret::Sas(SAS.to_owned()), Some("acc"), None).unwrap();
        let token = new(AzureSecret::Token(token), None, None).unwrap();
        let at = |url: &str| AzureAddress::parse(url, &crate::store::StoreOptions::default()).unwrap();
        let refused = |given: &AzureCredentials, url: &str| {
            find(std::slice::from_ref(given), &at(url), false).unwrap_err().hint_text().map(str::to_owned)
        };
        let name_it = "give the endpoint together with the credential: https://host[:port]/account";
        assert_eq!(refused(&sas, "https://evil.example/acc/c").as_deref(), Some(name_it));
        assert_eq!(refused(&token, "https://evil.example/acc/c").as_deref(), Some(name_it));
        assert!(
            find(std::slice::from_ref(&sas), &at("https://evil.example/other/c"), false).unwrap().is_none()
        );
        let key = new(AzureSecret::Key(KEY.to_owned()), Some("acc"), None).unwrap();
        let here =
            new(AzureSecret::Key(KEY.to_owned()), Some("acc"), Some("https://here.example/acc")).unwrap();
        assert_eq!(refused(&key, "https://evil.example/acc/c").as_deref(), Some(name_it));
        let elsewhere = find(std::slice::from_ref(&here), &at("https://acc.blob.core.windows.net/c"), true);
        assert_eq!(elsewhere.unwrap_err().hint_text(), Some(name_it));
        assert!(find(&[key, here], &at("https://here.example/acc/c"), false).unwrap().is_some());
        assert!(find(&[sas], &at("https://acc.blob.core.windows.net/c"), true).unwrap().is_some());
        let plain = find(&[token], &at("http://192.0.2.1/acc/c"), true).unwrap_err();
        assert_eq!(plain.hint_text(), Some("write the endpoint with https"));
    }

    #[test]
    fn nothing_printed_holds_a_secret() {
        let key = new(AzureSecret::Key(KEY.to_owned()), Some("acc"), None).unwrap();
        let text = format!("{key:?}");
        assert!(text.contains("acc") && text.contains("AzureSecret(key)") && !text.contains(KEY), "{text}");
    }
}
