//! Sessions, and the credentials that a program gives them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haulage::store::azure::{AzureCredentials, AzureSecret, GivenToken, TokenSource};
use haulage::store::s3::{S3Access, S3Credentials};
use haulage::store::{AccessKeys, Credentials};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::{Raise, usage};

/// What tokens are for, where somebody else is asked for them.
const SCOPE: &str = "https://storage.azure.com/.default";

/// How long a token is taken to be good that was given without its end: until the service refuses it.
const UNKNOWN_LIFE: Duration = Duration::from_secs(24 * 3600);

/// A secret for an account of Azure. Shows nothing of it.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct AzureCredential(AzureCredentials);

#[pymethods]
impl AzureCredential {
    /// `kind` is `connection_string`, `key`, `sas` or `token`; a token may be a callable.
    #[new]
    #[pyo3(signature = (kind, secret, /, account, endpoint))]
    fn new(
        py: Python<'_>,
        kind: &str,
        secret: Bound<'_, PyAny>,
        account: Option<&str>,
        endpoint: Option<&str>,
    ) -> PyResult<Self> {
        let text = || match secret.cast::<PyString>() {
            Ok(text) => Ok(text.to_str()?.to_owned()),
            // What it is instead is not repeated.
            Err(_) => Err(usage(py, kind, "it is no str", "pass it as a str")),
        };
        let secret = match kind {
            "connection_string" => AzureSecret::ConnectionString(text()?),
            "key" => AzureSecret::Key(text()?),
            "sas" => AzureSecret::Sas(text()?),
            _ => AzureSecret::Token(token_source(&secret)?),
        };
        AzureCredentials::new(secret, account, endpoint).map(Self).or_raise(py)
    }

    /// The account's name; `None` for a token that is for all accounts.
    #[getter]
    fn account(&self) -> Option<&str> {
        self.0.account()
    }
}

/// A secret for a service of S3. Shows nothing of it.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct S3Credential(S3Credentials);

#[pymethods]
impl S3Credential {
    /// Keys, the name of a profile, or neither for what is open to all.
    #[new]
    #[pyo3(signature = (*, keys, profile, endpoint, region))]
    fn new(
        py: Python<'_>,
        keys: Option<(String, String, Option<String>)>,
        profile: Option<String>,
        endpoint: Option<&str>,
        region: Option<&str>,
    ) -> PyResult<Self> {
        let access = match (keys, profile) {
            (Some((id, secret, token)), _) => S3Access::Keys(AccessKeys { id, secret, token }),
            (None, Some(profile)) => S3Access::Profile(profile),
            (None, None) => S3Access::Anonymous,
        };
        S3Credentials::new(access, endpoint, region).map(Self).or_raise(py)
    }
}

/// Connections and credentials that calls share.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct Session(haulage::Session);

/// What a session may be given.
#[derive(FromPyObject)]
enum Given<'py> {
    Azure(Bound<'py, AzureCredential>),
    S3(Bound<'py, S3Credential>),
}

#[pymethods]
impl Session {
    /// A session with these credentials; opens nothing yet.
    #[new]
    #[pyo3(signature = (credentials, /))]
    fn new(credentials: Vec<Given<'_>>) -> Self {
        let credentials = credentials.iter().map(|one| match one {
            Given::Azure(one) => Credentials::Azure(one.get().0.clone()),
            Given::S3(one) => Credentials::S3(one.get().0.clone()),
        });
        Self(haulage::Session::new(credentials))
    }

    /// Lets go of its connections; nothing new begins on it.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// The engine's session inside a `haulage.Session`.
pub(crate) fn session(value: &Bound<'_, PyAny>) -> PyResult<haulage::Session> {
    let engine = value.getattr("_engine").ok();
    match engine.as_ref().and_then(|engine| engine.cast::<Session>().ok()) {
        Some(session) => Ok(session.get().0.clone()),
        None => Err(usage(value.py(), "session", "this is no session", "pass a haulage.Session")),
    }
}

/// A token as it is, or a source that calls `give` from a thread of the engine's.
fn token_source(give: &Bound<'_, PyAny>) -> PyResult<TokenSource> {
    if let Ok(token) = give.cast::<PyString>() {
        let token = token.to_str()?.to_owned();
        let expires = || SystemTime::now() + UNKNOWN_LIFE;
        return Ok(TokenSource::new(move || Ok(GivenToken { token: token.clone(), expires: expires() })));
    }
    let method = give.getattr("get_token").ok();
    if method.is_none() && !give.is_callable() {
        return Err(usage(
            give.py(),
            "token",
            "this is neither a token nor anything that gives one",
            "pass a str, a credential of azure-identity, or a callable that returns a token and its end",
        ));
    }
    let (call, scope) = match method {
        Some(method) => (method.unbind(), Some(SCOPE)),
        None => (give.clone().unbind(), None),
    };
    Ok(TokenSource::new(move || {
        let called = Python::try_attach(|py| {
            let answer = match scope {
                Some(scope) => call.bind(py).call1((scope,)),
                None => call.bind(py).call0(),
            };
            let answer = answer.map_err(|raised| {
                // Its text may hold what nobody should read.
                let kind = raised
                    .get_type(py)
                    .name()
                    .map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
                format!("it raised {kind}")
            })?;
            read_token(&answer).map_err(|_| "it gave no pair of a token and its end".to_owned())
        });
        called.unwrap_or_else(|| Err("the interpreter is shutting down".to_owned()))
    }))
}

/// A pair of the token and its end, or an object that has them as `token` and `expires_on`.
fn read_token(answer: &Bound<'_, PyAny>) -> PyResult<GivenToken> {
    let (token, end): (String, Bound<'_, PyAny>) = match answer.getattr("expires_on") {
        Ok(end) => (answer.getattr("token")?.extract()?, end),
        Err(_) => answer.extract()?,
    };
    Ok(GivenToken { token, expires: moment(&end)? })
}

/// Seconds since 1970, or a datetime with a time zone.
fn moment(end: &Bound<'_, PyAny>) -> PyResult<SystemTime> {
    if let Ok(moment) = end.extract::<SystemTime>() {
        return Ok(moment);
    }
    let seconds = Duration::try_from_secs_f64(end.extract::<f64>()?).ok();
    let moment = seconds.and_then(|seconds| UNIX_EPOCH.checked_add(seconds));
    moment.ok_or_else(|| pyo3::exceptions::PyValueError::new_err("not a time"))
}
