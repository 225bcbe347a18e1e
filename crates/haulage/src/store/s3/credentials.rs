//! The way into a service of S3, as a program gives it: what is given so goes before what the surroundings have.

use super::auth::{AccessKeys, Keys};
use super::endpoint::{Addressing, Endpoint};
use super::settings::check_region;
use crate::error::{Error, ErrorKind, Result};
use crate::store::StoreOptions;

/// Who a program asks S3 as. None of its forms shows a secret when printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum S3Access {
    /// These keys.
    Keys(AccessKeys),
    /// Whom this profile of AWS's own files names.
    Profile(String),
    /// Nobody: only what is open to all.
    Anonymous,
}

/// Who asks, and the service that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Credentials {
    access: S3Access,
    /// `None` for the service that a call or the surroundings name.
    endpoint: Option<(Endpoint, String)>,
    region: Option<String>,
}

/// What decides on the service that is asked, and on who asks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    endpoint: Option<String>,
    region: Option<String>,
    addressing: Option<Addressing>,
    keys: Option<AccessKeys>,
    unsigned: bool,
    requester_pays: bool,
    /// The remote of the configuration, which may have credentials of its own.
    remote: Option<String>,
}

impl S3Credentials {
    /// Credentials for the service at `endpoint`, `https://host[:port][/path]`, and for no other; without one, for the service that a call
    /// or the surroundings name. `region` is where its buckets are. Sends nothing.
    ///
    /// # Errors
    /// `Usage` for what cannot be right: an empty or odd key, an empty name of a profile, what is no endpoint or no region. The
    /// error names which, and shows nothing of a secret.
    pub fn new(access: S3Access, endpoint: Option<&str>, region: Option<&str>) -> Result<Self> {
        match &access {
            S3Access::Keys(keys) => check_keys(keys)?,
            S3Access::Profile(name) if name.trim().is_empty() => {
                return Err(wrong("profile", "the name is empty").hint("name a profile of ~/.aws/config"));
            }
            S3Access::Profile(_) | S3Access::Anonymous => {}
        }
        let parsed = |url: &str| Endpoint::parse(url).map(|endpoint| (endpoint, url.to_owned()));
        let endpoint = endpoint.map(parsed).transpose()?;
        region.map(check_region).transpose()?;
        Ok(Self { access, endpoint, region: region.map(str::to_owned) })
    }

    /// Where it is for, as it was given.
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_ref().map(|(_, url)| url.as_str())
    }

    /// Whether it may go to the service that a call names; `None` for a call that leaves that to us.
    fn is_for(&self, asked: Option<&Endpoint>) -> bool {
        let own = self.endpoint.as_ref().map(|(endpoint, _)| endpoint);
        own.is_none() || asked.is_none() || own == asked
    }
}

impl Reach {
    pub(crate) fn of(options: &StoreOptions, remote: Option<&str>) -> Self {
        let StoreOptions { endpoint, region, addressing, keys, unsigned, requester_pays, .. } =
            options.clone();
        let remote = remote.map(str::to_owned);
        Self { endpoint, region, addressing, keys, unsigned, requester_pays, remote }
    }
}

/// What a call with these options does: the options, filled up from the credential of the session that is for its service, and
/// the profile that the credential names.
pub(super) fn filled(options: &StoreOptions) -> Result<(StoreOptions, Option<String>)> {
    let mut filled = options.clone();
    let given = options.session.as_ref().map_or(&[][..], |session| session.s3());
    let asked = options.endpoint.as_deref().map(Endpoint::parse).transpose()?;
    let Some(found) = given.iter().find(|one| one.is_for(asked.as_ref())) else { return Ok((filled, None)) };
    filled.endpoint = options.endpoint.clone().or_else(|| found.endpoint().map(str::to_owned));
    filled.region = options.region.clone().or_else(|| found.region.clone());
    if options.keys.is_some() || options.unsigned {
        return Ok((filled, None));
    }
    let mut profile = None;
    match &found.access {
        S3Access::Keys(keys) => filled.keys = Some(keys.clone()),
        S3Access::Profile(name) => profile = Some(name.clone()),
        S3Access::Anonymous => filled.unsigned = true,
    }
    Ok((filled, profile))
}

fn check_keys(keys: &AccessKeys) -> Result<()> {
    // Remembers the secrets, so that nothing shows them.
    let AccessKeys { id, secret, token } = keys;
    if token.as_deref() == Some("") {
        return Err(wrong("token", "it is empty").hint("leave it out for permanent keys"));
    }
    Keys::new(id, secret, token.as_deref()).map(drop).map_err(|_| {
        wrong("key_id", "id, secret or token is empty, or holds what no access key holds")
            .hint("copy id, secret and token again, each completely")
    })
}

fn wrong(name: &'static str, cause: &str) -> Error {
    Error::new(ErrorKind::Usage, "read the credentials", name, cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Credentials, Session};

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG";

    fn keys(id: &str) -> S3Access {
        S3Access::Keys(AccessKeys { id: id.to_owned(), secret: SECRET.to_owned(), token: None })
    }

    fn options(credentials: &[S3Credentials], endpoint: Option<&str>) -> StoreOptions {
        let session = Session::new(credentials.iter().cloned().map(Credentials::S3));
        let endpoint = endpoint.map(str::to_owned);
        StoreOptions { endpoint, session: Some(session), ..StoreOptions::default() }
    }

    #[test]
    fn what_cannot_be_right_is_refused_by_name_and_shows_nothing() {
        let copied = "copy id, secret and token again, each completely";
        let token = |token: &str| {
            let keys = AccessKeys { id: "id".into(), secret: SECRET.into(), token: Some(token.to_owned()) };
            S3Access::Keys(keys)
        };
        for (access, endpoint, region, name, hint) in [
            (keys(""), None, None, "key_id", copied),
            (keys("a b"), None, None, "key_id", copied),
            (token("a\nb"), None, None, "key_id", copied),
            (token(""), None, None, "token", "leave it out for permanent keys"),
            (S3Access::Profile(" ".into()), None, None, "profile", "name a profile of ~/.aws/config"),
            (keys("id"), Some("host"), None, "host", "write the endpoint as https://host[:port][/path]"),
            (S3Access::Anonymous, None, Some("a/b"), "a/b", "write a region such as eu-west-1"),
        ] {
            let error = S3Credentials::new(access, endpoint, region).unwrap_err();
            assert_eq!((error.kind(), error.object_name()), (ErrorKind::Usage, name), "{error}");
            assert_eq!(error.hint_text(), Some(hint));
            assert!(!format!("{error:?} {error}").contains(SECRET));
        }
    }

    #[test]
    fn keys_go_to_the_service_they_are_for_and_to_no_other() {
        let (here, there) = ("https://here.example", "https://there.example:9000");
        let of_here = S3Credentials::new(keys("here"), Some(here), Some("x-1")).unwrap();
        let of_there = S3Credentials::new(keys("there"), Some(there), None).unwrap();
        let any = S3Credentials::new(keys("any"), None, None).unwrap();
        let used = |credentials: &[S3Credentials], endpoint| {
            let (filled, _) = filled(&options(credentials, endpoint)).unwrap();
            (filled.keys.map(|keys| keys.id), filled.endpoint, filled.region)
        };
        let is = |id: Option<&str>, endpoint: Option<&str>, region: Option<&str>| {
            (id.map(str::to_owned), endpoint.map(str::to_owned), region.map(str::to_owned))
        };
        let both = [of_here.clone(), of_there];
        assert_eq!(used(&both, None), is(Some("here"), Some(here), Some("x-1")));
        assert_eq!(used(&both, Some("https://there.example:9000/")).0.as_deref(), Some("there"));
        assert_eq!(used(&[of_here], Some(there)), is(None, Some(there), None));
        assert_eq!(used(&[any], Some(there)), is(Some("any"), Some(there), None));
        assert_eq!(used(&[], None), is(None, None, None));
    }

    #[test]
    fn a_call_goes_before_the_session() {
        let profile = S3Credentials::new(S3Access::Profile("lab".into()), None, Some("x-1")).unwrap();
        let plain = options(&[profile], None);
        assert_eq!(filled(&plain).unwrap().1.as_deref(), Some("lab"));
        let open = StoreOptions { unsigned: true, region: Some("y-2".into()), ..plain };
        let (filled, profile) = filled(&open).unwrap();
        assert_eq!((filled.region.as_deref(), filled.unsigned, profile), (Some("y-2"), true, None));
        let anonymous = S3Credentials::new(S3Access::Anonymous, None, None).unwrap();
        assert!(super::filled(&options(&[anonymous], None)).unwrap().0.unsigned);
    }

    #[test]
    fn nothing_printed_holds_a_secret() {
        let text = format!("{:?}", S3Credentials::new(keys("id"), None, None).unwrap());
        assert!(text.contains("id") && !text.contains(SECRET), "{text}");
    }
}
