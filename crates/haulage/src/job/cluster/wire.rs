//! What travels between the coordinator and its nodes. Never a secret but what stands in a URL.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checksum::ChecksumMode;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{ObjectRecord, Progress, Summary};
use crate::http::AllowedHosts;
use crate::options::{
    Compare, CopyOptions, MethodChoice, Overwrite, ServerSide, Setting, TierChoice, Work, links_folder,
};
use crate::store::{Addressing, Preserve, StoreOptions};
use crate::units::{ByteRate, ByteSize};

/// What a node must know of a job before it gets the first shard.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Spec {
    /// Work of the same kind: its first source, and its destination.
    source: String,
    destination: String,
    /// Rows for every attempt are wanted.
    pub(super) record: bool,
    /// All nodes together are bounded, so that none begins before it has a share.
    pub(super) cap_bits: Option<u64>,
    /// What was written since then may be the work of a node that is lost, in nanoseconds since 1970.
    pub(super) since_ns: i128,
    options: NodeOptions,
}

/// Those of the options that hold on every node.
#[derive(Debug, Serialize, Deserialize)]
struct NodeOptions {
    concurrency: Option<usize>,
    block_size: Option<u64>,
    single_put_max: Option<u64>,
    method: MethodChoice,
    server_side: ServerSide,
    checksum: ChecksumMode,
    content_md5: bool,
    tier: TierChoice,
    tags: bool,
    preserve: Preserve,
    max_memory: u64,
    overwrite: Overwrite,
    compare: Compare,
    polite: bool,
    endpoint: Option<String>,
    insecure_http: bool,
    proxy: Option<String>,
    ca: Option<PathBuf>,
    stall_timeout: Duration,
    region: Option<String>,
    addressing: Option<Addressing>,
    unsigned: bool,
    requester_pays: bool,
    flush: bool,
    follow_symlinks: bool,
    remember_link: bool,
    /// The lists of hosts to which alone data may go where the job was started, each with its file.
    allowed: Vec<(Vec<String>, String)>,
    /// The name of the run that all share, and where they write what happens.
    job: String,
    log: Option<String>,
}

impl Spec {
    pub(super) fn new(work: &Work, options: &CopyOptions, began_unix_ns: u64) -> Result<Self> {
        let (source, destination) = match work {
            Work::Copy { sources, destination } => {
                (sources.first().cloned().unwrap_or_default(), destination.clone())
            }
            Work::CopyPairs(pairs) => pairs.first().cloned().unwrap_or_default(),
            Work::Sync { source, destination, .. } => (source.clone(), destination.clone()),
            Work::Verify { .. } | Work::Fed(_) | Work::Move { .. } => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "run",
                    "nodes",
                    "only copies and syncs can be divided among nodes",
                ));
            }
        };
        let (store, record) = (&options.store, options.record.is_some());
        let bytes = |size: Setting<ByteSize>| size.fixed().map(ByteSize::bytes);
        let options = NodeOptions {
            concurrency: options.concurrency.fixed(),
            block_size: bytes(options.block_size),
            single_put_max: bytes(options.single_put_max),
            method: options.method,
            server_side: options.server_side,
            checksum: options.checksum,
            content_md5: options.content_md5,
            tier: options.tier.clone(),
            tags: options.tags,
            preserve: options.preserve,
            max_memory: options.max_memory.bytes(),
            overwrite: options.overwrite,
            // Where the receipt vouches for an object no node hears of it.
            compare: if options.compare == Compare::Receipt { Compare::Auto } else { options.compare },
            polite: options.polite,
            endpoint: store.endpoint.clone(),
            insecure_http: store.insecure_http,
            proxy: store.proxy.without_secret()?,
            ca: store
                .ca
                .as_deref()
                .map(std::path::absolute)
                .transpose()
                .map_err(|e| Error::from_io("open", "--ca", e))?,
            stall_timeout: store.stall_timeout,
            region: store.region.clone(),
            addressing: store.addressing,
            unsigned: store.unsigned,
            requester_pays: store.requester_pays,
            flush: store.flush,
            follow_symlinks: store.follow_symlinks,
            remember_link: options.links.is_some(),
            allowed: store.config.allowed.lists().map(|(hosts, file)| (hosts, file.to_owned())).collect(),
            job: options.job.clone(),
            log: options.log.clone(),
        };
        Ok(Self {
            source,
            destination,
            record,
            cap_bits: store.cap.map(ByteRate::bits),
            since_ns: since_ns(began_unix_ns),
            options,
        })
    }

    /// Work of the kind that is fed.
    pub(super) fn like(&self) -> Work {
        Work::CopyPairs(vec![(self.source.clone(), self.destination.clone())])
    }

    /// What is configured on this node, which may have bounds of its own; those of the job hold too.
    fn config(&self) -> Result<Arc<Config>> {
        let mut config = Config::current()?;
        for (hosts, file) in &self.options.allowed {
            let sent = AllowedHosts::new(hosts, Path::new(file))?;
            let config = Arc::make_mut(&mut config);
            config.allowed = config.allowed.and(&sent);
        }
        Ok(config)
    }

    /// The options of the job on a node.
    pub(super) fn options(&self) -> Result<CopyOptions> {
        fn setting<T>(value: Option<T>) -> Setting<T> {
            value.map_or(Setting::Auto, Setting::Fixed)
        }
        let it = &self.options;
        let proxy = it.proxy.as_deref().map(str::parse).transpose()?.unwrap_or_default();
        Ok(CopyOptions {
            concurrency: setting(it.concurrency),
            block_size: setting(it.block_size.map(ByteSize::new)),
            single_put_max: setting(it.single_put_max.map(ByteSize::new)),
            method: it.method,
            server_side: it.server_side,
            checksum: it.checksum,
            content_md5: it.content_md5,
            tier: it.tier.clone(),
            tags: it.tags,
            preserve: it.preserve,
            max_memory: ByteSize::new(it.max_memory),
            overwrite: it.overwrite,
            compare: it.compare,
            polite: it.polite,
            links: links_folder().filter(|_| it.remember_link),
            job: it.job.clone(),
            log: it.log.clone(),
            store: StoreOptions {
                endpoint: it.endpoint.clone(),
                insecure_http: it.insecure_http,
                proxy,
                ca: it.ca.clone(),
                stall_timeout: it.stall_timeout,
                region: it.region.clone(),
                addressing: it.addressing,
                unsigned: it.unsigned,
                requester_pays: it.requester_pays,
                flush: it.flush,
                follow_symlinks: it.follow_symlinks,
                config: self.config()?,
                ..StoreOptions::default()
            },
            ..CopyOptions::default()
        })
    }
}

/// What became of a shard.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ShardResult {
    pub(super) shard: u64,
    pub(super) node: String,
    /// Start of the clock of the job on that node, in nanoseconds since 1970.
    pub(super) began_unix_ns: u64,
    /// How its objects ended; those that are missing have not been moved.
    pub(super) objects: Vec<ObjectRecord>,
}

/// How far a node has come.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Beat {
    pub(super) node: String,
    pub(super) began_unix_ns: u64,
    pub(super) progress: Progress,
    /// Shards that it has and has not ended.
    pub(super) shards: usize,
    /// The requests a second that it was found the service takes.
    pub(super) learnt: Option<f64>,
}

/// How a node ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NodeEnd {
    pub(super) node: String,
    pub(super) began_unix_ns: u64,
    pub(super) summary: Summary,
    /// Why it could not be told what was done, where it could not.
    pub(super) failure: Option<crate::event::Failure>,
}

/// Services tell times in whole seconds, and by clocks of their own.
const CLOCKS_DIFFER_NS: i128 = 2_000_000_000;

/// Since when what lies at the destination may be of this job.
pub(super) fn since_ns(began_unix_ns: u64) -> i128 {
    i128::from(began_unix_ns) - CLOCKS_DIFFER_NS
}

/// As it travels.
pub(super) fn packed(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| garbled(&error))
}

/// What arrived.
pub(super) fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| garbled(&error))
}

fn garbled(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Protocol, "run", "a message between nodes", error.to_string())
        .hint("install the same version of haulage on all of them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Origin;

    #[test]
    fn where_data_may_go_holds_on_every_node() {
        let hosts = ["store.example".to_owned()];
        let allowed = AllowedHosts::new(&hosts, Path::new("config.toml")).unwrap();
        let config = Arc::new(Config { allowed, ..Config::default() });
        let store = StoreOptions { config, ..StoreOptions::default() };
        let options = CopyOptions { store, ..CopyOptions::default() };
        let work = Work::CopyPairs(vec![("a".to_owned(), "az://b/c".to_owned())]);
        let sent = packed(&Spec::new(&work, &options, 1).unwrap()).unwrap();
        let on_a_node = unpacked::<Spec>(&sent).unwrap().options().unwrap();
        let allows = |host| on_a_node.store.config.allowed.allows(&Origin::parse("https", host).unwrap());
        assert!(allows("store.example") && !allows("elsewhere.example"));
    }
}
