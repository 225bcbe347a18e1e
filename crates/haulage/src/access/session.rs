//! What single calls share: connections, credentials, and what was learnt of the service.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::store::{Address, StoreOpener, StoreOptions};

/// Sets of options in use at once: more than a program has, few enough to look through.
const SESSIONS_MAX: usize = 8;

/// Containers, or signatures for them, that a session remembers before it begins anew.
const CONTAINERS_MAX: usize = 64;

/// The openers of earlier calls, so that the next one finds a connection. One for each way to reach stores: the
/// options, and the variables of the environment that name accounts and hold secrets.
///
/// What is opened belongs to the runtime it was first used on, and to this process: a forked child needs its own.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<Vec<Session>>);

#[derive(Debug)]
struct Session {
    options: StoreOptions,
    environment: u64,
    opener: StoreOpener,
}

impl Sessions {
    /// An opener for `url`. Local paths get one of their own: an open folder is not kept between calls, in which it
    /// may be replaced by another of its name.
    ///
    /// # Errors
    /// `Usage` where the name or the options make no sense.
    pub fn opener(&self, url: &str, options: &StoreOptions) -> Result<StoreOpener> {
        if !matches!(Address::parse(url, options)?, Address::Azure(_) | Address::S3(_)) {
            return StoreOpener::new(options.clone());
        }
        let environment = environment();
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = sessions.iter().position(|one| one.environment == environment && one.options == *options);
        if let Some(at) = known {
            let session = sessions.remove(at);
            if session.opener.containers() < CONTAINERS_MAX {
                let opener = session.opener.clone();
                // The one used last lies last, so that the first is the one to go.
                sessions.push(session);
                return Ok(opener);
            }
        }
        let opener = StoreOpener::new(options.clone())?;
        if sessions.len() == SESSIONS_MAX {
            sessions.remove(0);
        }
        sessions.push(Session { options: options.clone(), environment, opener: opener.clone() });
        Ok(opener)
    }
}

/// Stands for all variables that credentials, trust and proxies may come from: what was found with others is not used again.
fn environment() -> u64 {
    const PREFIXES: [&[u8]; 5] = [b"AWS_", b"AZURE_", b"IDENTITY_", b"MSI_", b"SSL_CERT_"];
    const PROXY: &[u8] = b"_PROXY";
    let counts = |name: &[u8]| {
        PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || name.to_ascii_uppercase().ends_with(PROXY)
    };
    let mut variables: Vec<_> =
        std::env::vars_os().filter(|(name, _)| counts(name.as_encoded_bytes())).collect();
    variables.sort_unstable();
    let mut hasher = DefaultHasher::new();
    variables.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:1/devstoreaccount1/c/a";

    #[test]
    fn calls_with_the_same_options_share_a_session_and_others_do_not() {
        let sessions = Sessions::default();
        let plain = StoreOptions::default();
        let hurried = StoreOptions { stall_timeout: std::time::Duration::from_secs(1), ..plain.clone() };
        let first = sessions.opener(URL, &plain).unwrap();
        let shares = |opener: StoreOpener| std::sync::Arc::ptr_eq(opener.meter(), first.meter());
        assert!(!shares(sessions.opener(URL, &hurried).unwrap()));
        assert!(shares(sessions.opener(URL, &plain).unwrap()));
        assert!(!shares(sessions.opener("/tmp/a", &plain).unwrap()));
    }

    #[test]
    fn no_more_sessions_and_containers_are_kept_than_a_program_uses() {
        let sessions = Sessions::default();
        for seconds in 1..40 {
            let stall_timeout = std::time::Duration::from_secs(seconds);
            sessions.opener(URL, &StoreOptions { stall_timeout, ..StoreOptions::default() }).unwrap();
        }
        assert_eq!(sessions.0.lock().unwrap().len(), SESSIONS_MAX);
        for number in 0..2 * CONTAINERS_MAX {
            let opener = sessions.opener(URL, &StoreOptions::default()).unwrap();
            opener.open(&format!("http://127.0.0.1:1/devstoreaccount1/c{number}/a")).unwrap();
            assert!(opener.containers() <= CONTAINERS_MAX);
        }
    }
}
