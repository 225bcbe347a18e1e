//! Tokens of Microsoft Entra: who this machine or person is, as far as the surroundings tell.
//!
//! Asked in this order: a token in the environment, a service principal (secret, then certificate), workload
//! identity (Kubernetes, pipelines), managed identity (Azure machines), the `az` command line. A program may
//! give a source of tokens in place of all these.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use reqsign_azure_storage::{
    AzureCliCredentialProvider, AzurePipelinesCredentialProvider, ClientCertificateCredentialProvider,
    ClientSecretCredentialProvider, Credential, EnvCredentialProvider, ImdsCredentialProvider,
    WorkloadIdentityCredentialProvider,
};
use reqsign_core::{Context, ProvideCredentialDyn};

use super::token::TokenSource;
use crate::error::{Error, ErrorKind, Result};
use crate::http::HttpClient;
use crate::secret;
use crate::store::renewed::Renewed;
use crate::store::surroundings::{Commands, Files, Requests, Variables, words};
use crate::verbose::verbose;

/// How long a token of unknown end is taken to be good.
const UNKNOWN_LIFE: Duration = Duration::from_secs(600);

type Provider = Box<dyn ProvideCredentialDyn<Credential = Credential>>;

/// Where tokens come from.
enum Sources {
    Surroundings(Context, Vec<(&'static str, Provider)>),
    Given(TokenSource),
}

/// Gives tokens, and fetches a new one in time.
pub(crate) struct Entra {
    sources: Sources,
    /// The value of the header.
    token: Renewed<HeaderValue>,
}

impl Entra {
    pub(crate) fn new(http: HttpClient) -> Self {
        let context = Context::new()
            .with_env(Variables)
            .with_file_read(Files)
            .with_command_execute(Commands)
            .with_http_send(Requests(http));
        let sources: Vec<(&'static str, Provider)> = vec![
            ("environment", Box::new(EnvCredentialProvider::new())),
            ("service principal", Box::new(ClientSecretCredentialProvider::new())),
            ("certificate", Box::new(ClientCertificateCredentialProvider::new())),
            ("workload identity", Box::new(WorkloadIdentityCredentialProvider::new())),
            ("pipeline identity", Box::new(AzurePipelinesCredentialProvider::new())),
            ("managed identity", Box::new(ImdsCredentialProvider::new())),
            ("az command line", Box::new(AzureCliCredentialProvider::new())),
        ];
        Self::with_sources(Sources::Surroundings(context, sources))
    }

    /// With tokens that the program gives, and no others.
    pub(crate) fn given(source: TokenSource) -> Self {
        Self::with_sources(Sources::Given(source))
    }

    /// Whether the program gives the tokens.
    pub(crate) fn is_given(&self) -> bool {
        matches!(self.sources, Sources::Given(_))
    }

    fn with_sources(sources: Sources) -> Self {
        Self { sources, token: Renewed::default() }
    }

    /// The value of the `Authorization` header.
    pub(crate) async fn authorization(&self, operation: &'static str, object: &str) -> Result<HeaderValue> {
        self.token.get(self.fetch(operation, object)).await
    }

    /// What gives the token, and when that ends.
    pub(crate) async fn source(
        &self,
        operation: &'static str,
        object: &str,
    ) -> Result<(&'static str, SystemTime)> {
        match &self.sources {
            Sources::Surroundings(context, sources) => {
                let (name, _, ends) = look_around(context, sources, operation, object).await?;
                Ok((name, ends))
            }
            Sources::Given(_) => Ok(("the session", self.fetch(operation, object).await?.1)),
        }
    }

    async fn fetch(&self, operation: &'static str, object: &str) -> Result<(HeaderValue, SystemTime)> {
        match &self.sources {
            Sources::Surroundings(context, sources) => {
                let (_, header, ends) = look_around(context, sources, operation, object).await?;
                Ok((header, ends))
            }
            Sources::Given(source) => {
                let given = source.ask(operation, object).await?;
                let header = header(&given.token).ok_or_else(|| {
                    Error::new(ErrorKind::Permission, operation, object, "the token that was given is none")
                        .hint("give the token alone, without `Bearer` before it")
                })?;
                Ok((header, given.expires))
            }
        }
    }
}

/// The header that carries a token; `None` for what none can.
fn header(token: &str) -> Option<HeaderValue> {
    secret::remember(token);
    let is_one = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok().filter(|_| is_one)?;
    header.set_sensitive(true);
    Some(header)
}

/// The first token that one of the sources has.
async fn look_around(
    context: &Context,
    sources: &[(&'static str, Provider)],
    operation: &'static str,
    object: &str,
) -> Result<(&'static str, HeaderValue, SystemTime)> {
    let mut tried = String::new();
    for (name, source) in sources {
        match source.provide_credential_dyn(context).await {
            Ok(Some(Credential::BearerToken { token, expires_in })) => {
                let ends = expires_in.and_then(|ends| u64::try_from(ends.as_second()).ok()).map_or_else(
                    || SystemTime::now() + UNKNOWN_LIFE,
                    |s| UNIX_EPOCH + Duration::from_secs(s),
                );
                if let Some(header) = header(&token) {
                    verbose!(Info, "signed in with Microsoft Entra; the token is from: {name}");
                    return Ok((name, header, ends));
                }
                tried.push_str(&format!("; {name}: not a token"));
            }
            // Keys and SAS tokens of the environment were looked for before, under more names.
            Ok(_) => verbose!(Debug, "no token from: {name}"),
            Err(error) => tried.push_str(&format!("; {name}: {}", words(&error))),
        }
    }
    Err(Error::new(ErrorKind::Permission, operation, object, format!("no credential found{tried}")).hint(
        "set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING, \
         add a SAS to the URL, or sign in with: az login",
    ))
}

/// Says nothing of tokens.
impl fmt::Debug for Entra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entra").field("signed_in", &self.token.is_held()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use reqsign_core::ProvideCredential;
    use reqsign_core::time::Timestamp;

    use super::*;

    #[derive(Debug)]
    struct Source {
        calls: Arc<AtomicU64>,
        life: Duration,
    }

    impl ProvideCredential for Source {
        type Credential = Credential;

        async fn provide_credential(&self, _: &Context) -> reqsign_core::Result<Option<Credential>> {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
            let ends = Timestamp::now() + self.life;
            Ok(Some(Credential::with_bearer_token(&format!("secret{call}"), Some(ends))))
        }
    }

    fn entra(life: Duration) -> (Arc<Entra>, Arc<AtomicU64>) {
        let calls = Arc::new(AtomicU64::new(0));
        let source = Source { calls: calls.clone(), life };
        (
            Arc::new(Entra::with_sources(Sources::Surroundings(
                Context::new(),
                vec![("test", Box::new(source))],
            ))),
            calls,
        )
    }

    #[tokio::test]
    async fn many_callers_fetch_one_token() {
        let (entra, calls) = entra(Duration::from_secs(3600));
        let asking = (0..50).map(|_| {
            let entra = entra.clone();
            tokio::spawn(async move { entra.authorization("read", "x").await.unwrap() })
        });
        for asked in asking.collect::<Vec<_>>() {
            assert_eq!(asked.await.unwrap(), "Bearer secret1");
        }
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert!(!format!("{entra:?}").contains("secret"));
    }

    #[tokio::test]
    async fn a_token_near_its_end_is_replaced() {
        let (entra, calls) = entra(Duration::from_secs(60));
        entra.authorization("read", "x").await.unwrap();
        assert_eq!(entra.authorization("read", "x").await.unwrap(), "Bearer secret2");
        assert_eq!(calls.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn without_any_source_the_hint_names_the_variables() {
        let entra = Entra::with_sources(Sources::Surroundings(Context::new(), Vec::new()));
        let error = entra.authorization("read", "x").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert!(error.hint_text().unwrap().contains("AZURE_STORAGE_KEY"));
    }
}
