//! A mark in a folder that is being written to.
//!
//! Between the moment in which a file gets its name and the flush at the end of the job a power failure may empty it, and
//! leave its size and its time as they should be: a later run would take it for unchanged. So a folder is marked before
//! the first file in it gets its name, and the mark goes when all of it is on the disk. Who finds the mark of another
//! boot trusts no file that was written in that boot ([`super::doubt`]), and copies it again; that mark goes when no such
//! file is left. A mover that was only killed leaves a mark of this boot, which says nothing against anybody: the system
//! still has every byte.
//!
//! The mark has the name of a leftover, so that nobody takes it for content. A cleaning removes one that casts no doubt, and
//! reports one that does: only a copy can make right what it tells of.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::doubt::{earlier, lines, text, this_boot};
use super::file;
use super::leftover::MARK;
use super::tree::{Folder, os};
use crate::error::{Error, ErrorKind, Result};

/// A mark that this job has set.
#[derive(Debug)]
pub(super) struct Mark {
    folder: Arc<Folder>,
    /// Holds a lock that is shared with whoever else writes here.
    file: File,
}

impl Mark {
    /// Marks the folder, on the disk. `None` where that makes no sense: the system does not tell its boots, or something
    /// else has the name.
    pub(super) fn set(folder: &Arc<Folder>) -> Result<Option<Self>> {
        let Some(boot) = this_boot() else { return Ok(None) };
        let Some(file) = claim(folder) else { return Ok(None) };
        let failed = |e| file::io("mark", folder.path(), e);
        let told = text(&file);
        if !lines(&told).iter().any(|line| line.boot == boot && line.until_ns.is_none()) {
            let line = moment(&file).and_then(|now| add(&file, &told, &format!("{boot} {now}\n")));
            line.and_then(|()| file.sync_all()).map_err(failed)?;
            if let Ok(folder) = folder.readable() {
                retry_on_intr(|| rustix::fs::fsync(&folder)).map_err(|e| failed(os(e)))?;
            }
        }
        Ok(Some(Self { folder: Arc::clone(folder), file }))
    }

    /// All that this job wrote here is on the disk. `is_doubted`: whether a file is left that an earlier boot may have emptied.
    pub(super) fn clear(self, is_doubted: impl FnOnce(&Folder) -> bool) -> Result<()> {
        let Self { folder, file } = self;
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            // Somebody else still writes here, and clears it in the end.
            return Ok(());
        }
        let failed = |e| file::io("mark", folder.path(), e);
        let told = text(&file);
        if earlier(&lines(&told)).is_empty() || !is_doubted(&folder) {
            return folder.remove(MARK).map_err(|e| failed(os(e)));
        }
        // Where another machine has written behind it, it stays, and casts more doubt than need be.
        let last = told.trim_end().rfind('\n').map_or(0, |end| end + 1);
        let ours = lines(&told[last..]).first().is_some_and(|line| Some(&*line.boot) == this_boot());
        if ours { file.set_len(last as u64).map_err(failed) } else { Ok(()) }
    }
}

/// Notes in the marks in this folder and above it that what earlier boots wrote was written before now. Where that fails, what
/// is written later is doubted as well.
pub(super) fn end_earlier(folder: &Folder) {
    folder.above().for_each(|folder| end_here(&folder));
}

fn end_here(folder: &Folder) {
    let Ok(file) = folder.open(MARK, OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW) else { return };
    // On a file system of several machines, that of another may be writing.
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    let told = text(&file);
    let Ok(now) = moment(&file) else { return };
    let open = earlier(&lines(&told)).into_iter().filter(|line| line.until_ns.is_none());
    let ends: String = open.map(|line| format!("{} {} {now}\n", line.boot, line.since_ns)).collect();
    if !ends.is_empty() {
        let _ = add(&file, &told, &ends).and_then(|()| file.sync_all());
    }
}

/// Adds lines to what a mark says, which may have been cut off by a power failure.
fn add(mut file: &File, told: &str, lines: &str) -> std::io::Result<()> {
    let cut = !told.is_empty() && !told.ends_with('\n');
    file.write_all(format!("{}{lines}", if cut { "\n" } else { "" }).as_bytes())
}

/// Now, by the clock of the file system, in nanoseconds since 1970.
fn moment(file: &File) -> std::io::Result<i128> {
    file.set_modified(SystemTime::now())?;
    let found = file.metadata()?;
    Ok(i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec()))
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

/// Whether the mark tells of an earlier boot.
pub(super) fn is_of_earlier(folder: &Folder) -> bool {
    folder.open(MARK, OFlags::RDONLY | OFlags::NOFOLLOW).is_ok_and(|file| tells_of_earlier(&file))
}

fn tells_of_earlier(mark: &File) -> bool {
    !earlier(&lines(&text(mark))).is_empty()
}

/// Removes a mark that nobody holds and that casts no doubt: what this boot has written is brought to the disk first. False
/// where it stays. `is_doubted` as for [`Mark::clear`].
pub(super) fn remove(folder: &Folder, is_doubted: impl FnOnce(&Folder) -> bool) -> Result<bool> {
    let failed = |e| file::io("clean", &folder.path_of(MARK), os(e));
    let file = match folder.open(MARK, OFlags::RDONLY | OFlags::NOFOLLOW) {
        Ok(file) if is_marked(folder) => file,
        Ok(_) | Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
        || (tells_of_earlier(&file) && is_doubted(folder))
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
        .hint("run the copy to this folder again, which ends this; or check files that others wrote, and remove this one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::local::doubt::Line;
    use crate::store::local::tree::{Follow, Tree};

    fn folder(dir: &tempfile::TempDir) -> Arc<Folder> {
        Tree::new(dir.path(), Follow::Nothing).folder("", false).unwrap()
    }

    #[test]
    fn a_mark_goes_with_the_last_who_writes_and_no_file_in_doubt() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, path) = (folder(&dir), dir.path().join(MARK));
        let told = || std::fs::read_to_string(&path).unwrap();
        let (one, other) = (Mark::set(&folder).unwrap().unwrap(), Mark::set(&folder).unwrap().unwrap());
        one.clear(|_| false).unwrap();
        assert_eq!(told().lines().count(), 1, "the other is not done");
        other.clear(|_| panic!("nothing tells of another boot")).unwrap();
        assert!(!path.exists());

        // The second line was cut off by a power failure.
        std::fs::write(&path, "another-boot 100\nand-one-mo").unwrap();
        end_earlier(&folder);
        let mark = Mark::set(&folder).unwrap().unwrap();
        let (line, until) = (lines(&told()), |line: &Line| line.until_ns);
        assert_eq!((line[0].since_ns, until(&line[0]).is_some(), until(&line[1])), (100, true, None));
        mark.clear(|_| true).unwrap();
        let ended = told();
        assert_eq!(lines(&ended), line[..1], "a copy of a part leaves the doubt about the rest");
        // What is written now is not taken for what that boot wrote, by whomever.
        end_earlier(&folder);
        Mark::set(&folder).unwrap().unwrap().clear(|_| true).unwrap();
        assert_eq!(told(), ended);
        assert!(!remove(&folder, |_| true).unwrap(), "a cleaning makes nothing right");
        assert!(remove(&folder, |_| false).unwrap() && !path.exists());
    }

    #[test]
    fn a_mark_that_somebody_else_made_up_casts_doubt_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(MARK), format!("another-boot {}\n", i128::MIN)).unwrap();
        assert!(folder(&dir).doubt().is_any());
    }

    #[test]
    fn a_cleaning_removes_a_mark_of_this_boot_that_nobody_holds() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(&dir);
        let clean = || remove(&folder, |_| true).unwrap();
        assert!(!is_marked(&folder) && !clean());
        let held = Mark::set(&folder).unwrap().unwrap();
        assert!(!clean() && is_marked(&folder), "somebody writes here");
        assert!(is_held(&folder));
        // As after a kill.
        drop(held);
        assert!(!is_held(&folder));
        assert!(clean() && !is_marked(&folder));
        std::os::unix::fs::symlink("elsewhere", dir.path().join(MARK)).unwrap();
        assert!(!clean() && !is_marked(&folder), "no mark");
    }
}
