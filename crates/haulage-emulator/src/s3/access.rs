//! What an S3 client needs to know.

use std::fmt;
use std::net::SocketAddr;

use crate::config::EmulatorConfig;

/// The only region that there is.
pub(crate) const REGION: &str = "us-east-1";

/// What an S3 client needs to talk to the endpoint.
#[derive(Clone, PartialEq, Eq, serde::Serialize)]
pub struct S3Access {
    /// The URL before the bucket: `http://127.0.0.1:PORT`.
    pub endpoint_url: String,
    /// The access key id: the name of Azure's account.
    pub access_key_id: String,
    /// The secret access key: the account's key, as the text that it is.
    pub secret_access_key: String,
    /// The region that signatures must name: `us-east-1`.
    pub region: String,
}

impl S3Access {
    pub(crate) fn new(config: &EmulatorConfig, address: SocketAddr) -> Self {
        Self {
            endpoint_url: format!("{}://{address}", config.scheme()),
            access_key_id: config.account.clone(),
            secret_access_key: config.key.clone(),
            region: REGION.to_owned(),
        }
    }

    /// The names of the endpoint that may stand behind that of a bucket.
    pub(super) fn own_names(&self) -> [&str; 2] {
        let host = self.endpoint_url.split_once("://").map_or("", |(_, host)| host);
        ["localhost", host.rsplit_once(':').map_or(host, |(name, _)| name)]
    }
}

/// Leaves the secret out.
impl fmt::Debug for S3Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Access")
            .field("endpoint_url", &self.endpoint_url)
            .field("access_key_id", &self.access_key_id)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
impl S3Access {
    /// As Amazon's documentation has it in its examples.
    pub(super) fn example() -> Self {
        Self {
            endpoint_url: "http://127.0.0.1:10000".to_owned(),
            access_key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            region: REGION.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_not_printed() {
        assert!(!format!("{:?}", S3Access::example()).contains("wJalr"));
    }
}
