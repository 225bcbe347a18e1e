//! A mark in a folder that is being written to.
//!
//! Between the moment in which a file gets its name and the flush at the end of the job a power failure may empty it, and
//! leave its size and its time as they should be: a later run would take it for unchanged. So a folder is marked before
//! the first file in it gets its name, and the mark goes when all of it is on the disk. Who finds the mark of another
//! boot trusts no file that was written since, and copies it again. A mover that was only killed leaves a mark of this
//! boot, which says nothing against anybody: the system still has every byte.
//!
//! The mark has the name of a leftover, so that nobody takes it for content. A line of it is a boot and a time. A cleaning
//! removes one that casts no doubt, and reports one that does: only a copy can make right what it tells of.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::file;
use super::leftover::MARK;
use super::tree::{Folder, os};
use crate::error::{Error, ErrorKind, Result};

/// A file may be older by the clock than the mark that was set before it: clocks are corrected.
const SLACK_NS: i128 = 60_000_000_000;

/// Lines of more boots than anybody has without a copy that ends well.
const LARGEST: u64 = 64 << 10;

/// A mark that this job has set.
#[derive(Debug)]
pub(super) struct Mark {
    folder: Arc<Folder>,
    /// Holds a lock that is shared with whoever else writes here.
    file: File,
}

/// What is told of a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    boot: String,
    since_ns: i128,
}

impl Mark {
    /// Marks the folder, on the disk. `None` where that makes no sense: the system does not tell its boots, or something
    /// else has the name.
    pub(super) fn set(folder: &Arc<Folder>) -> Result<Option<Self>> {
        let Some(boot) = this_boot() else { return Ok(None) };
        let Some(file) = claim(folder) else { return Ok(None) };
        let failed = |e| file::io("mark", folder.path(), e);
        if !read(&file).iter().any(|line| line.boot == boot) {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let line = format!("{boot} {}\n", since.as_nanos());
            (&file).write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
            if let Ok(folder) = folder.readable() {
                retry_on_intr(|| rustix::fs::fsync(&folder)).map_err(|e| failed(os(e)))?;
            }
        }
        Ok(Some(Self { folder: Arc::clone(folder), file }))
    }

    /// All that this job wrote here is on the disk. `whole`: and whatever an earlier boot has left was copied again.
    pub(super) fn clear(self, whole: bool) -> Result<()> {
        let Self { folder, file } = self;
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            // Somebody else still writes here, and clears it in the end.
            return Ok(());
        }
        let boot = this_boot();
        let left: Vec<Line> =
            read(&file).into_iter().filter(|line| !whole && Some(&line.boot) != boot.as_ref()).collect();
        let failed = |e| file::io("mark", folder.path(), e);
        if left.is_empty() {
            return folder.remove(MARK).map_err(|e| failed(os(e)));
        }
        let text: String = left.iter().map(|line| format!("{} {}\n", line.boot, line.since_ns)).collect();
        file.set_len(0).and_then(|()| (&file).write_all(text.as_bytes())).map_err(failed)
    }
}

/// The file of the mark, with a lock that others who write here share.
fn claim(folder: &Folder) -> Option<File> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
    // Between opening and locking somebody may have removed it: then there is another one, or none.
    (0..3).find_map(|_| {
        let file = folder.open(MARK, flags).ok()?;
        let ours = rustix::fs::fstat(&file).ok()?;
        if !file::is_regular(&ours) || ours.st_nlink != 1 {
            return None;
        }
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).ok()?;
        folder.still_has(MARK, &file).then_some(file)
    })
}

/// Whether the folder has a mark.
pub(super) fn is_marked(folder: &Folder) -> bool {
    folder.stat(MARK).is_ok_and(|found| file::is_regular(&found))
}

/// Whether somebody writes in the folder now, or it cannot be told.
pub(super) fn is_held(folder: &Folder) -> bool {
    let file = folder.open(MARK, OFlags::RDONLY | OFlags::NOFOLLOW);
    file.is_ok_and(|file| rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
}

/// Removes a mark that nobody holds and that casts no doubt: what this boot has written is brought to the disk first. False
/// where it stays.
pub(super) fn remove(folder: &Folder) -> Result<bool> {
    let failed = |e| file::io("clean", &folder.path_of(MARK), os(e));
    let file = match folder.open(MARK, OFlags::RDONLY | OFlags::NOFOLLOW) {
        Ok(file) if is_marked(folder) => file,
        Ok(_) | Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
        || doubted_since(folder).is_some()
    {
        return Ok(false);
    }
    match folder.readable() {
        Ok(fd) => retry_on_intr(|| rustix::fs::syncfs(&fd)).map_err(failed)?,
        Err(_) => rustix::fs::sync(),
    }
    folder.remove(MARK).map_err(failed)?;
    Ok(true)
}

/// What a cleaning says of a mark that stays.
pub(super) fn in_doubt(folder: &Folder) -> Error {
    let cause = "the machine restarted while files were written here, so files may have lost their contents";
    Error::new(ErrorKind::Io, "clean", folder.path_of(MARK).display().to_string(), cause)
        .hint("run the copy to this folder again: it checks them, and removes this file")
}

/// Since when files below this folder may have lost what was written to them: in nanoseconds since 1970, by the time of
/// their last change. `None` where all is well.
pub(super) fn doubted_since(folder: &Folder) -> Option<i128> {
    let file = folder.open(MARK, OFlags::RDONLY | OFlags::NOFOLLOW).ok()?;
    if !rustix::fs::fstat(&file).is_ok_and(|found| file::is_regular(&found)) {
        return None;
    }
    let boot = this_boot()?;
    let others = read(&file).into_iter().filter(|line| line.boot != boot);
    others.map(|line| line.since_ns - SLACK_NS).min()
}

fn read(mut file: &File) -> Vec<Line> {
    let mut text = String::new();
    // One that cannot be read tells of nothing.
    let _ = std::io::Seek::rewind(&mut file).and_then(|()| file.take(LARGEST).read_to_string(&mut text));
    let line = |line: &str| {
        let (boot, since) = line.split_once(' ')?;
        Some(Line { boot: boot.to_owned(), since_ns: since.parse().ok()? })
    };
    text.lines().filter_map(line).collect()
}

/// The name that the system gives to the time since it was started.
fn this_boot() -> Option<String> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    BOOT.get_or_init(|| read().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())).clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::local::tree::{Follow, Tree};

    #[test]
    fn a_mark_of_another_boot_casts_doubt_and_one_of_this_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Tree::new(dir.path(), Follow::Nothing).folder("", false).unwrap();
        assert_eq!(doubted_since(&folder), None);
        let (one, other) = (Mark::set(&folder).unwrap().unwrap(), Mark::set(&folder).unwrap().unwrap());
        assert_eq!(doubted_since(&folder), None);
        one.clear(true).unwrap();
        let path = dir.path().join(MARK);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1, "the other is not done");
        other.clear(true).unwrap();
        assert!(!path.exists());

        std::fs::write(&path, "another-boot 100000000000\nand-one-more 99000000000\n").unwrap();
        assert_eq!(doubted_since(&folder), Some(39_000_000_000));
        // A copy of a part of it leaves the doubt about the rest.
        Mark::set(&folder).unwrap().unwrap().clear(false).unwrap();
        assert_eq!(doubted_since(&folder), Some(39_000_000_000));
        assert!(!remove(&folder).unwrap(), "a cleaning makes nothing right");
        Mark::set(&folder).unwrap().unwrap().clear(true).unwrap();
        assert_eq!(doubted_since(&folder), None);
    }

    #[test]
    fn a_cleaning_removes_a_mark_of_this_boot_that_nobody_holds() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Tree::new(dir.path(), Follow::Nothing).folder("", false).unwrap();
        assert!(!is_marked(&folder) && !remove(&folder).unwrap());
        let held = Mark::set(&folder).unwrap().unwrap();
        assert!(!remove(&folder).unwrap() && is_marked(&folder), "somebody writes here");
        assert!(is_held(&folder));
        // As after a kill.
        drop(held);
        assert!(!is_held(&folder));
        assert!(remove(&folder).unwrap() && !is_marked(&folder));
        std::os::unix::fs::symlink("elsewhere", dir.path().join(MARK)).unwrap();
        assert!(!remove(&folder).unwrap() && !is_marked(&folder), "no mark");
    }
}
