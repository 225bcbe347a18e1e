//! What the last jobs found of the links to services, kept in a cache that may be deleted at any time.
//!
//! One small file for each service and direction. Nothing that goes wrong here is worth a word: without it a job begins
//! as the first one did.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::Work;
use crate::config::base_folder;
use crate::control::KnownLink;
use crate::store::StoreOptions;

/// Links change: what is older says nothing.
const FRESH: Duration = Duration::from_secs(30 * 24 * 3600);

/// A machine has a handful of services; the oldest file gives way.
const FILES: usize = 64;

/// A file is a line.
const LARGEST: u64 = 4 << 10;

/// The file of one link.
#[derive(Clone, Debug)]
pub(crate) struct LinkFile(PathBuf);

/// `$XDG_CACHE_HOME/haulage/links`, or below `~/.cache`; `None` where there is no home.
pub fn links_folder() -> Option<PathBuf> {
    Some(base_folder("XDG_CACHE_HOME", ".cache")?.join("haulage/links"))
}

impl LinkFile {
    /// The file of what `work` goes over in this direction; `None` where both ends are on this machine.
    pub(crate) fn of(folder: &Path, work: &Work, store: &StoreOptions, upload: bool) -> Option<Self> {
        let name = match work {
            Work::Copy { destination, .. } | Work::Move { destination, .. } if upload => destination,
            Work::Copy { sources, .. } | Work::Move { sources, .. } => sources.first()?,
            Work::Sync { source, destination, .. } => {
                if upload {
                    destination
                } else {
                    source
                }
            }
            Work::CopyPairs(pairs) => pairs.first().map(|(from, to)| if upload { to } else { from })?,
            Work::Verify { destination, .. } => destination,
            Work::Fed(feed) => return Self::of(folder, &feed.like, store, upload),
        };
        let remote = store.config.remote(name).map(|(remote, _)| remote);
        let endpoint = remote.and_then(|remote| remote.endpoint()).or(store.endpoint.as_deref());
        let (scheme, rest) = remote.map_or(name.as_str(), |remote| remote.shown_url()).split_once("://")?;
        let service =
            rest.split(['/', '?']).next().filter(|_| matches!(scheme, "az" | "s3" | "http" | "https"))?;
        // Only a hash: which services somebody uses is nobody's business.
        let way = format!("{upload} {} {scheme}://{service}", endpoint.unwrap_or_default());
        let hash: String = Sha256::digest(way).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Some(Self(folder.join(hash)))
    }

    /// What the last job found, where that was not long ago.
    pub(crate) fn read(&self) -> Option<KnownLink> {
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32;
        let file = File::options().read(true).custom_flags(flags).open(&self.0).ok()?;
        let meta = file.metadata().ok().filter(fs::Metadata::is_file)?;
        // A clock that was wrong then is no reason to trust.
        SystemTime::now().duration_since(meta.modified().ok()?).ok().filter(|age| *age < FRESH)?;
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text).ok()?;
        serde_json::from_str::<KnownLink>(&text).ok().filter(KnownLink::is_plausible)
    }

    /// Keeps what this job found.
    pub(crate) fn write(&self, link: &KnownLink) {
        // Lost is what a full disk or a read-only home cannot take.
        let _ = self.try_write(link);
    }

    fn try_write(&self, link: &KnownLink) -> io::Result<()> {
        let folder = self.0.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        make_room(folder)?;
        let partial = self.0.with_extension(format!("{:08x}", fastrand::u32(..)));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&partial)
            .and_then(|mut file| file.write_all(&serde_json::to_vec(link)?))
            .and_then(|()| fs::rename(&partial, &self.0));
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written
    }
}

/// Removes the oldest files while there are as many as there may be; also those that a kill has left half written.
fn make_room(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(folder)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((meta.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    let many = (files.len() + 1).saturating_sub(FILES);
    for (_, path) in files.into_iter().take(many) {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: KnownLink = KnownLink { trip: Duration::from_millis(80), concurrency: 48 };

    fn work(destination: &str) -> Work {
        Work::Copy { sources: vec!["tree".to_owned()], destination: destination.to_owned() }
    }

    fn file(folder: &Path, destination: &str) -> Option<LinkFile> {
        LinkFile::of(folder, &work(destination), &StoreOptions::default(), true)
    }

    #[test]
    fn what_one_job_found_the_next_one_knows_and_only_of_the_same_service_and_direction() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("haulage/links");
        let link = file(&folder, "az://data/a").unwrap();
        assert_eq!(link.read(), None);
        link.write(&LINK);
        assert_eq!(file(&folder, "az://data/b").unwrap().read(), Some(LINK), "the same service");
        assert_eq!(file(&folder, "az://other/a").unwrap().read(), None);
        assert_eq!(
            LinkFile::of(&folder, &work("az://data/a"), &StoreOptions::default(), false).map(|file| file.0),
            None
        );
        let there = StoreOptions { endpoint: Some("http://127.0.0.1:1".into()), ..StoreOptions::default() };
        let elsewhere = LinkFile::of(&folder, &work("az://data/a"), &there, true).unwrap();
        assert_eq!(elsewhere.read(), None);
        assert!(file(&folder, "folder/a").is_none(), "no link to a folder");
    }

    #[test]
    fn what_is_no_file_of_ours_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let link = file(dir.path(), "s3://data").unwrap();
        for text in ["", "[]", "{\"trip_us\":0,\"concurrency\":3}", &"x".repeat(10_000)] {
            fs::write(&link.0, text).unwrap();
            assert_eq!(link.read(), None, "{text:.40}");
        }
        link.write(&LINK);
        assert_eq!(link.read(), Some(LINK), "and is replaced");
        let old = SystemTime::now() - FRESH - Duration::from_secs(1);
        File::options().write(true).open(&link.0).unwrap().set_modified(old).unwrap();
        assert_eq!(link.read(), None, "too old");
        let target = dir.path().join("target");
        fs::rename(&link.0, &target).unwrap();
        File::options().write(true).open(&target).unwrap().set_modified(SystemTime::now()).unwrap();
        std::os::unix::fs::symlink(&target, &link.0).unwrap();
        assert_eq!(link.read(), None, "links are not followed");
    }

    #[test]
    fn the_oldest_gives_way() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..FILES as u64 + 3 {
            let link = file(dir.path(), &format!("az://c{number}")).unwrap();
            link.write(&LINK);
            let then = SystemTime::now() - Duration::from_secs(1000 - number);
            File::options().write(true).open(&link.0).unwrap().set_modified(then).unwrap();
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), FILES);
        assert_eq!(file(dir.path(), "az://c2").unwrap().read(), None);
        assert_eq!(file(dir.path(), "az://c3").unwrap().read(), Some(LINK));
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("links"), "a file").unwrap();
        let link = file(&dir.path().join("links"), "az://data").unwrap();
        link.write(&LINK);
        assert_eq!(link.read(), None);
    }
}
