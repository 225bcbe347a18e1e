//! Lines that are said and may not be sent yet: a file of this machine, and beside it how far it has been sent.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What nobody has sent for so long is of no use any more.
const OLD: Duration = Duration::from_secs(30 * 24 * 3600);

/// What an outbox holds, and how far it has been sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The log, without a signature.
    pub(super) url: String,
    pub(super) job: String,
    pub(super) node: String,
    pub(super) stream: String,
    /// Bytes that are in the log.
    pub(super) sent: u64,
    /// The file of the log that is written, and which byte of the outbox it begins with.
    pub(super) number: u32,
    pub(super) begins: u64,
    /// Pieces in that file.
    pub(super) pieces: u32,
    /// Whether files of the log grow there; else each piece is a file.
    pub(super) grows: bool,
}

impl Head {
    pub(super) fn new(url: String, job: String, node: String, stream: String) -> Self {
        Self { url, job, node, stream, sent: 0, number: 0, begins: 0, pieces: 0, grows: true }
    }
}

/// The end of an outbox that is written to.
#[derive(Debug)]
pub(super) struct Outbox {
    path: PathBuf,
    url: String,
    file: File,
    written: u64,
    dropped: u64,
}

impl Outbox {
    /// A new one. It is held as long as this lives, so that nobody takes it for one that is left over.
    ///
    /// # Errors
    /// `Io` or `NoSpace` where the folder takes no file.
    pub(super) fn create(folder: &Path, head: Head) -> Result<Self> {
        let path = folder.join(format!("{}.jsonl", head.stream));
        let opened = DirBuilder::new().recursive(true).mode(0o700).create(folder).and_then(|()| {
            OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&path)
        });
        let failed = |error: io::Error| {
            Error::from_io("keep lines in", path.display().to_string(), error)
                .hint("make room there, or name another folder in XDG_STATE_HOME")
        };
        let file = opened.map_err(failed)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| failed(error.into()))?;
        write_head(&path, &head).map_err(failed)?;
        Ok(Self { path, url: head.url, file, written: 0, dropped: 0 })
    }

    /// Keeps lines; returns how many bytes there are now. Where the disk takes no more, they are counted and dropped.
    pub(super) fn add(&mut self, (lines, count): (Vec<u8>, u64)) -> u64 {
        match self.file.write_all(&lines) {
            Ok(()) => self.written += lines.len() as u64,
            Err(_) => {
                self.dropped += count;
                // No part of a line may stay, for the next one would become a part of it.
                let _ = self.file.set_len(self.written);
            }
        }
        self.written
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// What sends it.
    ///
    /// # Errors
    /// `Io` where the process may open no more files.
    pub(super) fn reader(&self) -> Result<Waiting> {
        let open = || Ok((self.file.try_clone()?, read_head(&self.path)?));
        let opened: io::Result<_> = open();
        let (file, head) =
            opened.map_err(|error| Error::from_io("open", self.path.display().to_string(), error))?;
        Ok(Waiting { path: self.path.clone(), file, head })
    }
}

/// Lines that wait to be sent.
#[derive(Debug)]
pub(super) struct Waiting {
    path: PathBuf,
    pub(super) file: File,
    pub(super) head: Head,
}

impl Waiting {
    /// Keeps how far it has been sent.
    pub(super) fn keep(&self) {
        // Where the disk takes it not, some lines are sent again, and readers know them by their numbers.
        let _ = write_head(&self.path, &self.head);
    }

    /// All is sent.
    pub(super) fn remove(self) {
        let _ = fs::remove_file(head_of(&self.path));
        let _ = fs::remove_file(&self.path);
    }
}

/// What processes have left that wrote to this log and are gone.
pub(super) fn left_over(folder: &Path, url: &str) -> Vec<Waiting> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let paths = paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    paths.filter_map(|path| taken(path, url)).collect()
}

/// An outbox that nobody holds; one that is too old is removed.
fn taken(path: PathBuf, url: &str) -> Option<Waiting> {
    let file = OpenOptions::new().read(true).append(true).open(&path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let waiting = Waiting { head: read_head(&path).ok()?, file, path };
    let age = SystemTime::now().duration_since(waiting.file.metadata().ok()?.modified().ok()?);
    if age.is_ok_and(|age| age > OLD) {
        waiting.remove();
        return None;
    }
    (waiting.head.url == url).then_some(waiting)
}

fn head_of(path: &Path) -> PathBuf {
    path.with_extension("json")
}

fn read_head(path: &Path) -> io::Result<Head> {
    Ok(serde_json::from_slice(&fs::read(head_of(path))?)?)
}

/// Replaces it at once, for a process may be killed at any moment.
fn write_head(path: &Path, head: &Head) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&serde_json::to_vec(head)?)?;
    fs::rename(&new, head_of(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(stream: &str) -> Head {
        Head::new("az://logs/run".to_owned(), "job".to_owned(), "node".to_owned(), stream.to_owned())
    }

    #[test]
    fn only_what_nobody_holds_is_left_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut held = Outbox::create(folder.path(), head("held")).unwrap();
        assert_eq!(held.add((b"one\n".to_vec(), 1)), 4);
        let mut gone = Outbox::create(folder.path(), head("gone")).unwrap();
        gone.add((b"two\n".to_vec(), 1));
        drop(gone);
        assert!(left_over(folder.path(), "az://logs/other").is_empty());
        let left = left_over(folder.path(), "az://logs/run");
        assert_eq!(left.iter().map(|one| one.head.stream.as_str()).collect::<Vec<_>>(), ["gone"]);
        assert!(left_over(folder.path(), "az://logs/run").is_empty(), "who has taken it holds it");
        left.into_iter().for_each(Waiting::remove);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "of the one that is held");
    }
}
