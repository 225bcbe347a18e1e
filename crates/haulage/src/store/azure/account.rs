//! An account: the way in, and what was learnt of the service behind it. All that is opened in a session shares it.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use super::address::AzureAddress;
use super::auth::Credential;
use super::endpoint::Endpoint;
use super::settings::Settings;
use crate::error::Result;
use crate::gate::Manners;
use crate::http::HttpClient;
use crate::store::StoreOptions;
use crate::verbose::verbose;

/// An account that was reached in one way.
pub(crate) struct Account {
    endpoint: Endpoint,
    short: bool,
    /// The query of the URL, and whether the caller has said where `az://` leads: either decides on the credential.
    sas: Option<String>,
    /// Its own credentials, if it has any, are those of this account.
    remote: Option<String>,
    endpoint_given: bool,
    pub(super) credential: Credential,
    pub(super) learnt: Learnt,
    manners: Manners,
}

/// What the service was found to do. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Learnt {
    /// Whether it gives checksums of ranges; found out with the first one.
    pub(super) range_checksum: Arc<AtomicBool>,
    /// Whether it checks the CRC64 of a body; found out with the first one.
    pub(super) body_crc64: Arc<OnceLock<bool>>,
}

impl Default for Learnt {
    fn default() -> Self {
        Self { range_checksum: Arc::new(AtomicBool::new(true)), body_crc64: Arc::default() }
    }
}

impl Account {
    /// Finds the credential; sends nothing. Tokens are asked for by `http`.
    ///
    /// # Errors
    /// `Permission` where no credential is found, `Usage` where one is malformed.
    pub(crate) fn open(address: &AzureAddress, options: &StoreOptions, http: &HttpClient) -> Result<Self> {
        let endpoint_given = options.endpoint.is_some();
        let (credential, source) =
            Credential::find_named(address, endpoint_given, &Settings::of(options)?, http)?;
        let kind = credential.kind();
        verbose!(
            Info,
            "the account {} is at {}; credential: {kind}, from {source}",
            address.endpoint.account,
            address.endpoint
        );
        let AzureAddress { endpoint, short, sas, remote, .. } = address.clone();
        let (learnt, manners) = (Learnt::default(), Manners::default());
        Ok(Self { endpoint, short, sas, remote, endpoint_given, credential, learnt, manners })
    }

    /// Whether an address is in this account and reached in the same way.
    pub(crate) fn holds(&self, address: &AzureAddress, options: &StoreOptions) -> bool {
        (&self.endpoint, self.short, &self.sas, &self.remote)
            == (&address.endpoint, address.short, &address.sas, &address.remote)
            && self.endpoint_given == options.endpoint.is_some()
    }

    /// The pace that the service allows, and the budget for retries.
    pub(crate) fn manners(&self) -> &Manners {
        &self.manners
    }
}

/// Says how it is reached, without the SAS.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("endpoint", &self.endpoint)
            .field("credential", &self.credential)
            .finish_non_exhaustive()
    }
}
