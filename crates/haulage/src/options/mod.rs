//! What a job shall do, and everything it can be told: the words that the job, its stages and single questions share.

mod choices;
mod links;
mod select;
mod shard;
mod sync;
mod words;
mod work;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use crate::config::{Profile, StartValues};
pub use choices::{MethodChoice, Overwrite, Portion, ServerSide, Setting, TierChoice};
use links::LinkFile;
pub use links::links_folder;
pub use select::{Bounds, NameList};
pub use shard::Feed;
pub(crate) use shard::{Assigned, Given, Item, Root, Shard};
pub use sync::{Compare, Deleting, MaxDelete};
pub use work::Work;

use crate::checksum::ChecksumMode;
use crate::control::Wishes;
use crate::error::Result;
use crate::report::ReportKind;
use crate::store::{Preserve, StoreOptions};
use crate::units::ByteSize;

/// Everything a copy can be told. `Default` is what the command does with no flags.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// Requests in flight.
    pub concurrency: Setting<usize>,
    /// Size of blocks and ranges.
    pub block_size: Setting<ByteSize>,
    /// Objects up to this size travel in one request.
    pub single_put_max: Setting<ByteSize>,
    /// Whole objects or ranges.
    pub method: MethodChoice,
    /// Within one service, let the service copy.
    pub server_side: ServerSide,
    /// Checksum on the wire.
    pub checksum: ChecksumMode,
    /// Store the MD5 of every object as its Content-MD5, as other tools do and look for. For an object in
    /// blocks it takes another read of the source, in order, and about 1.5 s of a processor for each GiB.
    pub content_md5: bool,
    /// The access tier or storage class of what is written.
    pub tier: TierChoice,
    /// Tags go along from one store of objects to another.
    pub tags: bool,
    /// What of files is kept besides their bytes and the time of their last change.
    pub preserve: Preserve,
    /// Bound on the bytes in flight in this process.
    pub max_memory: ByteSize,
    /// Replace or keep.
    pub overwrite: Overwrite,
    /// How what is at the destination is told to be the same.
    pub compare: Compare,
    /// Only say what would be done: nothing is written, at either end, and no receipt.
    pub dry_run: bool,
    /// Where objects at the destination go before they are replaced or deleted, under the names that they had: a folder or prefix.
    pub backup: Option<String>,
    /// Stage the blocks of all objects first and commit them together at the end, so that readers see all of the new
    /// version or nothing of it. For object stores; each object then takes two requests at least.
    pub atomic: bool,
    /// What of the object this job moves, where it is one of several.
    pub portion: Portion,
    /// Move only this version of the source, by its ETag; another one has changed. For a portion: all of an object are of one version.
    pub source_etag: Option<String>,
    /// What this machine is called in events; its host name where empty.
    pub node: String,
    /// The name of the run, where it is one of several that share it; a random one where empty.
    pub job: String,
    /// What happens is written to this log too: a folder, or a prefix of a store. Samples once a second, every object, and every
    /// attempt that failed.
    pub log: Option<String>,
    /// How the job goes is served here for Prometheus, while it runs: `GET /metrics`.
    pub metrics: Option<SocketAddr>,
    /// Give way to other traffic on the link.
    pub polite: bool,
    /// Where the search for concurrency and block size begins: the name of a profile, or its file. See [`Profile`].
    pub profile: Option<String>,
    /// Where it is kept what jobs found of their links, so that the next one begins with it; nowhere by default, the
    /// command says [`links_folder`].
    pub links: Option<PathBuf>,
    /// A source that nothing has the name of, and that has wildcards, is all that matches it. Programs pass names as they are.
    pub wildcards: bool,
    /// Only names (below the source) that match one of these globs; all where empty.
    pub include: Vec<String>,
    /// No names that match one of these globs.
    pub exclude: Vec<String>,
    /// Only sizes and ages within these.
    pub bounds: Bounds,
    /// Only these names below the one source, a folder or prefix. Each is asked for directly and nothing is listed. One that is not
    /// there fails, and the others go on.
    pub names: Option<NameList>,
    /// Stop after this long, as [`JobHandle::cancel`](crate::JobHandle::cancel) does: what has arrived stays, and the next run goes on.
    pub max_duration: Option<Duration>,
    /// A row for every attempt and object goes into this Parquet file.
    pub record: Option<PathBuf>,
    /// What lies at the destination at the end, and how that was proven, goes into this file: JSON lines, to be checked
    /// later with `verify`.
    pub receipt: Option<PathBuf>,
    /// Names of what a comparison finds go into these files, by kind; each gets its name when all has been compared.
    pub reports: Vec<(ReportKind, PathBuf)>,
    /// How to reach the stores.
    pub store: StoreOptions,
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self {
            concurrency: Setting::Auto,
            block_size: Setting::Auto,
            single_put_max: Setting::Auto,
            method: MethodChoice::Auto,
            server_side: ServerSide::Auto,
            checksum: ChecksumMode::Crc64,
            content_md5: false,
            tier: TierChoice::Auto,
            tags: true,
            preserve: Preserve::default(),
            // Leaves room for code, stacks and socket buffers below 128 MiB in all.
            max_memory: ByteSize::mib(96),
            overwrite: Overwrite::IfDifferent,
            compare: Compare::Auto,
            dry_run: false,
            backup: None,
            atomic: false,
            portion: Portion::All,
            source_etag: None,
            node: String::new(),
            job: String::new(),
            log: None,
            metrics: None,
            polite: false,
            profile: None,
            links: None,
            wildcards: false,
            include: Vec::new(),
            exclude: Vec::new(),
            bounds: Bounds::default(),
            names: None,
            max_duration: None,
            record: None,
            receipt: None,
            reports: Vec::new(),
            store: StoreOptions::default(),
        }
    }
}

impl CopyOptions {
    /// The files that tell of the job, which are no content.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        let reports = self.reports.iter().map(|(_, path)| path);
        self.record.iter().chain(&self.receipt).chain(reports)
    }

    /// What the user wants of the controller.
    ///
    /// # Errors
    /// Where the profile cannot be read.
    pub(crate) fn wishes(&self, upload: bool) -> Result<Wishes> {
        let profile =
            self.profile.as_deref().map(|name| self.named_profile(name)).transpose()?.unwrap_or_default();
        Ok(Wishes {
            start: profile.start(upload),
            concurrency: self.concurrency.fixed(),
            block_size: self.block_size.fixed(),
            single_put_max: self.single_put_max.fixed(),
            cap: self.store.cap,
            side_by_side: self.checksum == ChecksumMode::Md5,
            polite: self.polite,
            known: None,
            streams: false,
        })
    }

    /// The same for a job that may write files as their bytes come.
    ///
    /// # Errors
    /// Where the profile cannot be read.
    pub(crate) fn wishes_for(&self, work: &Work) -> Result<Wishes> {
        let upload = work.is_upload(&self.store);
        let streams = !upload && work.writes_files(&self.store);
        let known = self.link_file(work).and_then(|file| file.read());
        Ok(Wishes { streams, known, ..self.wishes(upload)? })
    }

    /// The profile of this name: that of the configuration, or of a file.
    fn named_profile(&self, name: &str) -> Result<Profile> {
        let configured = self.store.config.profiles.get(name);
        configured.map_or_else(|| Profile::load(name), |profile| Ok(profile.clone()))
    }

    /// Where it is kept what is known of the link that `work` goes over.
    pub(crate) fn link_file(&self, work: &Work) -> Option<LinkFile> {
        let upload = work.is_upload(&self.store);
        LinkFile::of(self.links.as_deref()?, work, &self.store, upload)
    }
}

/// A random name of so many hexadecimal digits, up to 16. Processes that were forked from one draw other names.
pub(crate) fn random_name(digits: usize) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    (fastrand::u64(..), std::process::id(), now).hash(&mut hasher);
    format!("{:016x}", hasher.finish())[16 - digits.min(16)..].to_owned()
}

/// What this machine is called.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A URL without what may be a signature. File names keep their `?`.
pub(crate) fn without_query(name: &str) -> String {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let web = matches!(scheme.as_deref(), Some("http" | "https"));
    match name.split_once('?') {
        Some((plain, _)) if web => plain.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_no_signature() {
        assert_eq!(without_query("https://a.example/c/x?sv=1&sig=secret"), "https://a.example/c/x");
        assert_eq!(without_query("HTTPS://a.example/c/x?sig=secret"), "HTTPS://a.example/c/x");
        assert_eq!(without_query("what?.nc"), "what?.nc");
    }
}
