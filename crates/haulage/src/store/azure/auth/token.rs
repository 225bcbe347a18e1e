//! Bearer tokens that the program gives.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::error::{Error, ErrorKind, Result};

/// Whoever signs in may have to ask a person, but nobody waits for ever.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A bearer token of Microsoft Entra for `https://storage.azure.com/`, and its end.
#[derive(Clone)]
pub struct GivenToken {
    /// The token, without `Bearer`.
    pub token: String,
    /// When it ends.
    pub expires: SystemTime,
}

/// Gives tokens. It is asked with the first request, and again from five minutes before the end of the last token on, by one
/// caller at a time; it may block, for two minutes at most.
#[derive(Clone)]
pub struct TokenSource(Arc<dyn Fn() -> std::result::Result<GivenToken, String> + Send + Sync>);

impl TokenSource {
    /// A source that calls `give`, on a thread that may block. A failure is a cause in words, which may be shown.
    pub fn new(give: impl Fn() -> std::result::Result<GivenToken, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(give))
    }

    /// A token that is still good.
    pub(super) async fn ask(&self, operation: &'static str, object: &str) -> Result<GivenToken> {
        let error = |cause: String| Error::new(ErrorKind::Permission, operation, object, cause);
        let give = Arc::clone(&self.0);
        let asked = tokio::task::spawn_blocking(move || give());
        let given = match tokio::time::timeout(TIMEOUT, asked).await {
            Ok(Ok(given)) => given,
            Ok(Err(_)) => Err("it broke off".to_owned()),
            Err(_) => Err("it did not answer within two minutes".to_owned()),
        };
        let given = given.map_err(|cause| {
            error(format!("the source of tokens that was given as an argument failed: {cause}"))
                .hint("call it yourself to see why; it must return the token and its expiry")
        })?;
        if given.expires <= SystemTime::now() {
            return Err(error("the token that was given as an argument has expired".to_owned()).hint(
                "give a valid token, with its expiry in seconds since 1970 or as a datetime with a time zone",
            ));
        }
        Ok(given)
    }
}

/// Says nothing of what it gives.
impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSource")
    }
}

/// Says when it ends, not what it is.
impl fmt::Debug for GivenToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenToken").field("expires", &self.expires).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::entra::Entra;
    use super::*;

    /// Gives `token1`, `token2` and so on, each good for as long.
    fn lasting(life: Duration) -> Entra {
        let calls = AtomicU64::new(0);
        Entra::given(TokenSource::new(move || {
            let token = format!("token{}", calls.fetch_add(1, Ordering::SeqCst) + 1);
            Ok(GivenToken { token, expires: SystemTime::now() + life })
        }))
    }

    #[tokio::test]
    async fn a_token_is_asked_for_once_and_again_when_its_end_is_near() {
        let (long, short) = (lasting(Duration::from_secs(3600)), lasting(Duration::from_secs(60)));
        for (hour, minute) in [("Bearer token1", "Bearer token1"), ("Bearer token1", "Bearer token2")] {
            assert_eq!(long.authorization("read", "x").await.unwrap(), hour);
            assert_eq!(short.authorization("read", "x").await.unwrap(), minute);
        }
    }

    #[tokio::test]
    async fn what_is_no_token_is_refused_with_a_hint() {
        let refused = async |give: std::result::Result<(&'static str, u64), &'static str>| {
            let give = move || match give {
                Ok((token, life)) => {
                    let expires = SystemTime::now() + Duration::from_secs(life);
                    Ok(GivenToken { token: token.to_owned(), expires })
                }
                Err(cause) => Err(cause.to_owned()),
            };
            let error = Entra::given(TokenSource::new(give)).authorization("read", "x").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Permission);
            error.hint_text().unwrap().to_owned()
        };
        assert_eq!(
            refused(Err("no network")).await,
            "call it yourself to see why; it must return the token and its expiry"
        );
        assert_eq!(
            refused(Ok(("token", 0))).await,
            "give a valid token, with its expiry in seconds since 1970 or as a datetime with a time zone"
        );
        assert_eq!(
            refused(Ok(("Bearer token", 60))).await,
            "give the token alone, without `Bearer` before it"
        );
    }
}
