//! Who asks: keys that sign every request, given or found, or nobody.

mod chain;
mod sigv4;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use http::HeaderValue;
use http::header::HeaderMap;

use crate::error::{Error, ErrorKind, Result};
use crate::http::HttpClient;
use crate::store::StoreOptions;

pub(super) use chain::Chain;
pub(super) use sigv4::{Keys, Signer, Unsigned, hash_of};

/// Keys that somebody has given, in place of those that the surroundings hold.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKeys {
    /// The access key's id.
    pub id: String,
    /// What proves that we hold it.
    pub secret: String,
    /// What goes along with keys that are good for a time only.
    pub token: Option<String>,
}

impl fmt::Debug for AccessKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessKeys({}, secret hidden)", self.id)
    }
}

/// What lets us in. None of its forms shows a secret when printed.
#[derive(Clone, Debug)]
pub(super) enum Credential {
    /// Nothing: only what is open to all.
    Unsigned,
    /// The keys that the surroundings give, asked for with the first request.
    Chain(Arc<Chain>),
    /// These keys.
    Keys(Keys),
}

impl Credential {
    /// Finds out who asks: with a `profile` whom that names, and nobody else. Sends nothing.
    pub(super) fn find(options: &StoreOptions, profile: Option<&str>, http: &HttpClient) -> Result<Self> {
        Ok(match &options.keys {
            _ if options.unsigned => Self::Unsigned,
            Some(AccessKeys { id, secret, token }) => Self::Keys(Keys::new(id, secret, token.as_deref())?),
            None => Self::Chain(Arc::new(Chain::new(http.clone(), profile))),
        })
    }

    /// Signs a request, all of whose headers are there.
    pub(super) async fn authorize(
        &self,
        signer: &Signer,
        request: Unsigned<'_>,
        hash: &HeaderValue,
        headers: &mut HeaderMap,
        (operation, object): (&'static str, &str),
    ) -> Result<()> {
        match self {
            Self::Unsigned => {}
            Self::Chain(chain) => {
                let keys = chain.keys(operation, object).await?;
                signer.sign(&keys, request, hash, headers);
            }
            Self::Keys(keys) => signer.sign(keys, request, hash, headers),
        }
        Ok(())
    }

    /// The keys that sign, and when they end, where that is known.
    ///
    /// # Errors
    /// `Usage` where nobody signs.
    pub(super) async fn keys(
        &self,
        (operation, object): (&'static str, &str),
    ) -> Result<(Arc<Keys>, Option<SystemTime>)> {
        match self {
            Self::Unsigned => {
                let cause = "requests are not signed here, so that no URL can be";
                Err(Error::new(ErrorKind::Usage, operation, object, cause)
                    .hint("leave out --no-sign-request; what is open to all needs no signed URL"))
            }
            Self::Chain(chain) => chain.keys_until(operation, object).await,
            Self::Keys(keys) => Ok((Arc::new(keys.clone()), None)),
        }
    }

    /// Forgets keys that the service no longer takes; true where others may be had.
    pub(super) fn forget(&self) -> bool {
        match self {
            Self::Chain(chain) => chain.forget(),
            _ => false,
        }
    }

    /// Whether a program gave the keys.
    pub(super) fn is_given(&self) -> bool {
        matches!(self, Self::Keys(_))
    }

    pub(super) fn is_unsigned(&self) -> bool {
        matches!(self, Self::Unsigned)
    }
}
