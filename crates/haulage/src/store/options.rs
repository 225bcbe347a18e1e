//! How to reach stores: what holds for a question as for a job.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Session;
use super::s3::{AccessKeys, Addressing};
use crate::config::Config;
use crate::http::ProxyChoice;
use crate::units::ByteRate;

/// How to reach stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Where `az://container` and `s3://bucket` live, if not where the session or the environment says: `https://host[:port]`, for
    /// Azure with `/account`.
    pub endpoint: Option<String>,
    /// Allow plain http beyond this machine.
    pub insecure_http: bool,
    /// Which hosts are reached through which proxy.
    pub proxy: ProxyChoice,
    /// The address of this machine that connections are made from, on machines with several networks; `None` for the one that the
    /// system takes.
    pub bind: Option<IpAddr>,
    /// Certificates of authorities (PEM) to trust besides the system's.
    pub ca: Option<PathBuf>,
    /// A request with no byte of progress for this long is given up and sent again.
    pub stall_timeout: Duration,
    /// Bound on the rate on the wire, both directions together.
    pub cap: Option<ByteRate>,
    /// Where the bucket is, if neither the environment nor the service shall say: `eu-west-1`.
    pub region: Option<String>,
    /// How URLs name a bucket, if not as is usual: in the host at AWS, in the path elsewhere.
    pub addressing: Option<Addressing>,
    /// Who asks S3, if not whom the session or the surroundings name.
    pub keys: Option<AccessKeys>,
    /// Ask S3 without a signature, for what is open to all.
    pub unsigned: bool,
    /// Pay for what is read from buckets whose owners do not.
    pub requester_pays: bool,
    /// Bring files that were written to the disk before a job says that it is done.
    pub flush: bool,
    /// Follow symbolic links below a local folder instead of leaving them out, wherever they lead.
    pub follow_symlinks: bool,
    /// What the machine and its user have written down: remotes, and which hosts may be reached. Nothing, unless it was
    /// [read](Config::current).
    pub config: Arc<Config>,
    /// Where connections, credentials and what is known of services come from; `None` for a session of its own for each
    /// question and each job.
    pub session: Option<Session>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            endpoint: None,
            insecure_http: false,
            proxy: ProxyChoice::default(),
            bind: None,
            ca: None,
            // Longer than any pause seen in a healthy service, shorter than a person's patience.
            stall_timeout: Duration::from_secs(30),
            cap: None,
            region: None,
            addressing: None,
            keys: None,
            unsigned: false,
            requester_pays: false,
            flush: true,
            follow_symlinks: false,
            config: Arc::default(),
            session: None,
        }
    }
}
