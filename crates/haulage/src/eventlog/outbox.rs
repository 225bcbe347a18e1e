//! Lines that are said and may not be sent yet: a file of this machine, and beside it how far it has been sent.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FallocateFlags, FlockOperation, OFlags, fallocate, flock};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What nobody has sent for so long is of no use any more.
const OLD: Duration = Duration::from_secs(30 * 24 * 3600);

/// Outboxes of others that are sent along, at most: the next one goes on with the rest.
const LEFT_MAX: usize = 32;

/// A head is a line.
const HEAD_MAX: u64 = 64 << 10;

/// What an outbox holds, and how far it has been sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The log, as it is called from everywhere, without a signature.
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
    file: File,
    written: u64,
    dropped: u64,
    /// Nothing more is kept.
    closed: bool,
}

impl Outbox {
    /// A new one, and what sends it. It is held as long as one of them lives, so that nobody takes it for one that is left over.
    ///
    /// # Errors
    /// `Io` or `NoSpace` where the folder takes no file, `Permission` where it is somebody else's.
    pub(super) fn create(folder: &Path, head: Head) -> Result<(Self, Waiting)> {
        let path = folder.join(format!("{}.jsonl", head.stream));
        let opened = create(folder, &path, &head).and_then(|file| Ok((file.try_clone()?, file)));
        let (sent, file) = opened.map_err(|error| {
            Error::from_io("keep lines in", path.display().to_string(), error)
                .hint("free some space there, or set XDG_STATE_HOME to another folder")
        })?;
        Ok((Self { file, written: 0, dropped: 0, closed: false }, Waiting { path, file: sent, head }))
    }

    /// Keeps no more lines, if all of them are sent; whether they are.
    pub(super) fn finish(&mut self, sent: u64) -> bool {
        self.closed = sent >= self.written;
        self.closed
    }

    /// Keeps lines; returns how many bytes there are now. Where the disk takes no more, they are counted and dropped.
    pub(super) fn add(&mut self, (lines, count): (Vec<u8>, u64)) -> u64 {
        if self.closed {
            self.dropped += count;
            return self.written;
        }
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
        if self.head.sent > 0 {
            // What is sent is not read again. Where its room cannot be given back now, it is when all is sent.
            let holes = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(&self.file, holes, 0, self.head.sent);
        }
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
    paths.filter_map(|path| taken(path, url)).take(LEFT_MAX).collect()
}

/// An outbox that nobody holds; what is too old is removed.
fn taken(path: PathBuf, url: &str) -> Option<Waiting> {
    let is_outbox = path.extension().is_some_and(|ending| ending == "jsonl");
    let file = open_plain(&path, is_outbox).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let age = SystemTime::now().duration_since(file.metadata().ok()?.modified().ok()?);
    // Of a head that is old the outbox may be new.
    let is_old = age.is_ok_and(|age| age > OLD) && (is_outbox || !path.with_extension("jsonl").exists());
    if is_old {
        let _ = fs::remove_file(&path);
        return None;
    }
    let head = read_head(&path).ok().filter(|_| is_outbox)?;
    (head.url == url).then_some(Waiting { path, file, head })
}

/// Nobody sees it under its name before it is held and has a head.
fn create(folder: &Path, path: &Path, head: &Head) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let there = fs::symlink_metadata(folder)?;
    // In a folder of somebody else our lines are theirs, and theirs would be sent as ours.
    if !there.is_dir() || there.uid() != rustix::process::geteuid().as_raw() || there.mode() & 0o002 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let new = path.with_extension("begun");
    let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&new)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    write_head(path, head)?;
    fs::rename(&new, path)?;
    Ok(file)
}

/// Opens a file of the folder; no link, and nothing that could hold us up.
fn open_plain(path: &Path, append: bool) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).append(append).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn head_of(path: &Path) -> PathBuf {
    path.with_extension("json")
}

fn read_head(path: &Path) -> io::Result<Head> {
    let mut text = Vec::new();
    open_plain(&head_of(path), false)?.take(HEAD_MAX).read_to_end(&mut text)?;
    let head: Head = serde_json::from_slice(&text)?;
    match is_name(&head.stream, 8) && is_name(&head.job, 16) {
        true => Ok(head),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Whether this is a name of so many hexadecimal digits, as we make them.
pub(super) fn is_name(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Replaces it at once, for a process may be killed at any moment.
fn write_head(path: &Path, head: &Head) -> io::Result<()> {
    let new = path.with_extension("new");
    let flags = OFlags::NOFOLLOW.bits() as i32;
    let mut options = OpenOptions::new();
    let mut file =
        options.write(true).create(true).truncate(true).mode(0o600).custom_flags(flags).open(&new)?;
    file.write_all(&serde_json::to_vec(head)?)?;
    fs::rename(&new, head_of(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(stream: &str) -> Head {
        let job = "0123456789abcdef".to_owned();
        Head::new("az://logs/run".to_owned(), job, "node".to_owned(), stream.to_owned())
    }

    #[test]
    fn only_what_nobody_holds_is_left_over() {
        let folder = tempfile::tempdir().unwrap();
        let (mut held, _) = Outbox::create(folder.path(), head("00000001")).unwrap();
        assert_eq!(held.add((b"one\n".to_vec(), 1)), 4);
        let (mut gone, _) = Outbox::create(folder.path(), head("00000002")).unwrap();
        gone.add((b"two\n".to_vec(), 1));
        drop(gone);
        assert!(left_over(folder.path(), "az://logs/other").is_empty());
        let left = left_over(folder.path(), "az://logs/run");
        assert_eq!(left.iter().map(|one| one.head.stream.as_str()).collect::<Vec<_>>(), ["00000002"]);
        assert!(left_over(folder.path(), "az://logs/run").is_empty(), "who has taken it holds it");
        left.into_iter().for_each(Waiting::remove);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "of the one that is held");
    }

    #[test]
    fn what_somebody_else_has_put_there_is_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "secret\n").unwrap();
        let path = folder.path().join("00000003.jsonl");
        std::os::unix::fs::symlink(&secret, &path).unwrap();
        write_head(&path, &head("00000003")).unwrap();
        assert!(left_over(folder.path(), "az://logs/run").is_empty());
        fs::remove_file(&path).unwrap();
        fs::write(&path, "line\n").unwrap();
        write_head(&path, &head("../../../x")).unwrap();
        assert!(left_over(folder.path(), "az://logs/run").is_empty());
        write_head(&path, &head("00000003")).unwrap();
        assert_eq!(left_over(folder.path(), "az://logs/run").len(), 1);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.path(), open).unwrap();
        let refused = Outbox::create(folder.path(), head("00000004")).unwrap_err();
        assert_eq!(refused.kind(), crate::ErrorKind::Permission);
    }

    #[test]
    fn lines_that_come_too_late_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (mut outbox, _) = Outbox::create(folder.path(), head("00000005")).unwrap();
        outbox.add((b"one\n".to_vec(), 1));
        assert!(!outbox.finish(0));
        outbox.add((b"two\n".to_vec(), 1));
        assert!(outbox.finish(8));
        outbox.add((b"three\n".to_vec(), 1));
        assert_eq!((outbox.dropped(), outbox.written), (1, 8));
    }
}
