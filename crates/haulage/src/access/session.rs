//! The sessions of calls that name none.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use crate::store::Session;

/// Environments in use at once: more than a program has, few enough to look through.
const SESSIONS_MAX: usize = 8;

/// A session for each environment that calls were made in: by its variables accounts, secrets and proxies are found.
///
/// What is opened belongs to the runtime it was first used on, and to this process: a forked child needs its own.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<Vec<(u64, Session)>>);

impl Sessions {
    /// The session for the environment as it is now.
    pub fn current(&self) -> Session {
        let environment = environment();
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = sessions.iter().position(|(known, _)| *known == environment);
        if known.is_none() && sessions.len() == SESSIONS_MAX {
            sessions.remove(0);
        }
        // The one used last lies last, so that the first is the one to go.
        let one = known.map_or_else(|| (environment, Session::default()), |at| sessions.remove(at));
        sessions.push(one.clone());
        one.1
    }
}

/// Stands for all variables that credentials, trust and proxies may come from: what was found with others is not used again.
fn environment() -> u64 {
    const PREFIXES: [&[u8]; 5] = [b"AWS_", b"AZURE_", b"IDENTITY_", b"MSI_", b"SSL_CERT_"];
    const SUFFIXES: [&[u8]; 2] = [b"_PROXY", b"_CA_BUNDLE"];
    let counts = |name: &[u8]| {
        let upper = name.to_ascii_uppercase();
        PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || SUFFIXES.iter().any(|suffix| upper.ends_with(suffix))
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

    #[test]
    fn calls_in_the_same_environment_share_a_session_and_few_are_kept() {
        let sessions = Sessions::default();
        let first = sessions.current();
        assert_eq!(sessions.current(), first);
        for other in 0..2 * SESSIONS_MAX as u64 {
            sessions.0.lock().unwrap().insert(0, (other, Session::default()));
        }
        assert_eq!(sessions.current(), first);
        let mut full: Vec<_> = (0..SESSIONS_MAX as u64).map(|other| (other, Session::default())).collect();
        full[0].0 = u64::MAX;
        *sessions.0.lock().unwrap() = full;
        assert_ne!(sessions.current(), first);
        assert_eq!(sessions.0.lock().unwrap().len(), SESSIONS_MAX);
    }
}
