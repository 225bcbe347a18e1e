//! Keys as the surroundings give them, in the order in which AWS's tools look for them.
//!
//! The environment, a web identity (Kubernetes, pipelines), the keys of the profile, its single sign-on, its process, the
//! container (ECS, pods), the machine (EC2). Where a program names a profile, only that: its keys, single sign-on and process.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqsign_aws_v4::{
    AssumeRoleWithWebIdentityCredentialProvider, Credential, ECSCredentialProvider, EnvCredentialProvider,
    IMDSv2CredentialProvider, ProcessCredentialProvider, ProfileCredentialProvider, SSOCredentialProvider,
};
use reqsign_core::{Context, ProvideCredentialDyn};

use super::sigv4::Keys;
use crate::error::{Error, ErrorKind, Result};
use crate::http::HttpClient;
use crate::store::renewed::Renewed;
use crate::store::s3::settings::{DEFAULT, PROFILES};
use crate::store::surroundings::{Commands, Files, Requests, Variables, words};
use crate::verbose::verbose;

/// How long keys without an end are taken to be good: files and variables change seldom.
const UNKNOWN_LIFE: Duration = Duration::from_secs(3600);

type Provider = Box<dyn ProvideCredentialDyn<Credential = Credential>>;

/// Gives keys, and fetches new ones in time.
pub(in crate::store::s3) struct Chain {
    context: Context,
    sources: Vec<(&'static str, Provider)>,
    keys: Renewed<Arc<Keys>>,
    /// The profile that a program gave.
    profile: Option<String>,
}

impl Chain {
    pub(in crate::store::s3) fn new(http: HttpClient, profile: Option<&str>) -> Self {
        let context = Context::new()
            .with_env(Variables)
            .with_file_read(Files)
            .with_command_execute(Commands)
            .with_http_send(Requests(http));
        if let Some(profile) = profile {
            let sources = of_profile(profile).into();
            return Self { profile: Some(profile.to_owned()), ..Self::with_sources(context, sources) };
        }
        let named = named_profile(&context);
        let mut sources: Vec<(&'static str, Provider)> = vec![
            ("environment", Box::new(EnvCredentialProvider::new())),
            ("web identity", Box::new(AssumeRoleWithWebIdentityCredentialProvider::new())),
        ];
        sources.extend(of_profile(named.as_ref().map_or(DEFAULT, |(_, profile)| profile)));
        sources.push(("container", Box::new(ECSCredentialProvider::new())));
        sources.push(("machine", Box::new(IMDSv2CredentialProvider::new())));
        Self::with_sources(context, sources)
    }

    fn with_sources(context: Context, sources: Vec<(&'static str, Provider)>) -> Self {
        Self { context, sources, keys: Renewed::default(), profile: None }
    }

    /// The keys that are good now.
    pub(super) async fn keys(&self, operation: &'static str, object: &str) -> Result<Arc<Keys>> {
        self.keys.get(self.fetch(operation, object)).await
    }

    /// New keys, and when they end, where that is known.
    pub(super) async fn keys_until(
        &self,
        operation: &'static str,
        object: &str,
    ) -> Result<(Arc<Keys>, Option<SystemTime>)> {
        let (_, keys, ends) = self.look_around(operation, object).await?;
        Ok((keys, ends))
    }

    /// Forgets the keys: true where there were some.
    pub(super) fn forget(&self) -> bool {
        self.keys.forget()
    }

    /// What gives the keys, and when they end, where that is known.
    pub(in crate::store::s3) async fn source(
        &self,
        operation: &'static str,
        object: &str,
    ) -> Result<(&'static str, Option<SystemTime>)> {
        let (name, _, ends) = self.look_around(operation, object).await?;
        Ok((name, ends))
    }

    async fn fetch(&self, operation: &'static str, object: &str) -> Result<(Arc<Keys>, SystemTime)> {
        let (_, keys, ends) = self.look_around(operation, object).await?;
        Ok((keys, ends.unwrap_or_else(|| SystemTime::now() + UNKNOWN_LIFE)))
    }

    /// The first keys that one of the sources has, its name, and their end.
    async fn look_around(
        &self,
        operation: &'static str,
        object: &str,
    ) -> Result<(&'static str, Arc<Keys>, Option<SystemTime>)> {
        let mut tried = String::new();
        for (name, source) in &self.sources {
            match source.provide_credential_dyn(&self.context).await {
                Ok(Some(Credential {
                    access_key_id, secret_access_key, session_token, expires_in, ..
                })) => {
                    let ends = expires_in.and_then(|ends| u64::try_from(ends.as_second()).ok());
                    let ends = ends.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
                    let token = session_token.filter(|token| !token.is_empty());
                    let keys = Keys::new(&access_key_id, &secret_access_key, token.as_deref())?;
                    verbose!(Info, "credential for {object}: access key {access_key_id}, from: {name}");
                    return Ok((name, Arc::new(keys), ends));
                }
                Ok(None) => verbose!(Debug, "no access key from: {name}"),
                Err(error) => tried.push_str(&format!("; {name}: {}", words(&error))),
            }
        }
        let (cause, hint) = match (&self.profile, named_profile(&self.context)) {
            (Some(profile), _) => (
                format!("the profile {profile} gives no keys{tried}"),
                format!("look for it in ~/.aws/config, or sign in with: aws sso login --profile {profile}"),
            ),
            (None, Some((variable, profile))) => (
                format!("no credential found: the profile {profile} of {variable} gives no keys{tried}"),
                format!(
                    "check {variable}, look for the profile in ~/.aws/config and ~/.aws/credentials, \
                     or sign in with: aws sso login --profile {profile}"
                ),
            ),
            (None, None) => (
                format!("no credential found{tried}"),
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or sign in with: aws sso login; \
                 use --no-sign-request for public buckets"
                    .to_owned(),
            ),
        };
        Err(Error::new(ErrorKind::Permission, operation, object, cause).hint(hint))
    }
}

/// What a profile may give keys by.
fn of_profile(profile: &str) -> [(&'static str, Provider); 3] {
    [
        ("profile", Box::new(ProfileCredentialProvider::new().with_profile(profile))),
        ("single sign-on", Box::new(SSOCredentialProvider::new().with_profile(profile))),
        ("process", Box::new(ProcessCredentialProvider::new().with_profile(profile))),
    ]
}

/// The variable that names a profile, and the profile.
fn named_profile(context: &Context) -> Option<(&'static str, String)> {
    PROFILES.into_iter().find_map(|variable| {
        let profile = context.env_var(variable)?.trim().to_owned();
        (!profile.is_empty()).then_some((variable, profile))
    })
}

/// Says nothing of keys.
impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("signed_in", &self.keys.is_held()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use reqsign_core::ProvideCredential;
    use reqsign_core::time::Timestamp;

    use super::*;

    #[derive(Debug)]
    struct Source {
        calls: Arc<AtomicU64>,
        life: Option<Duration>,
    }

    impl ProvideCredential for Source {
        type Credential = Credential;

        async fn provide_credential(&self, _: &Context) -> reqsign_core::Result<Option<Credential>> {
            let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
            Ok(Some(Credential {
                access_key_id: format!("id{call}"),
                secret_access_key: "secret-of-a-test".to_owned(),
                session_token: Some("token-of-a-test".to_owned()),
                expires_in: self.life.map(|life| Timestamp::now() + life),
            }))
        }
    }

    fn chain(life: Option<Duration>) -> (Chain, Arc<AtomicU64>) {
        let calls = Arc::new(AtomicU64::new(0));
        let source = Source { calls: calls.clone(), life };
        (Chain::with_sources(Context::new(), vec![("test", Box::new(source))]), calls)
    }

    async fn shown(chain: &Chain) -> String {
        format!("{:?}", chain.keys("read", "x").await.unwrap())
    }

    #[tokio::test]
    async fn keys_are_fetched_once_and_again_near_their_end_or_when_refused() {
        let (lasting, calls) = chain(None);
        assert_eq!(shown(&lasting).await, "Keys(id1, secret hidden)");
        assert_eq!(shown(&lasting).await, "Keys(id1, secret hidden)");
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert!(lasting.forget() && !lasting.forget());
        assert_eq!(shown(&lasting).await, "Keys(id2, secret hidden)");
        let (short, _) = chain(Some(Duration::from_secs(60)));
        assert_eq!(shown(&short).await, "Keys(id1, secret hidden)");
        assert_eq!(shown(&short).await, "Keys(id2, secret hidden)");
        assert!(!format!("{short:?}").contains("secret-of-a-test"));
    }

    #[tokio::test]
    async fn without_any_source_the_hint_names_the_variables() {
        let chain = Chain::with_sources(Context::new(), Vec::new());
        let error = chain.keys("read", "x").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert_eq!(
            error.hint_text(),
            Some(
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or sign in with: aws sso login; \
                 use --no-sign-request for public buckets"
            )
        );
        let named =
            Chain { profile: Some("lab".to_owned()), ..Chain::with_sources(Context::new(), Vec::new()) };
        let error = named.keys("read", "x").await.unwrap_err();
        assert_eq!(
            error.hint_text(),
            Some("look for it in ~/.aws/config, or sign in with: aws sso login --profile lab")
        );
    }
}
