//! What was written is brought to the disk before anybody is told that it is done.
//!
//! One `syncfs` for each file system at the end of a job, not an `fsync` for each file: the bytes of all files, their names
//! and their folders go together, and the disk writes in the order that suits it (docs/concepts/io.md has the figures).
//! Until then the folders are marked ([`super::mark`]). A file in one that is not is flushed before it has its name.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::retry_on_intr;

use super::file;
use super::mark::{Mark, end_earlier, is_marked};
use super::tree::{Folder, os};
use super::walk::is_any_doubted;
use crate::error::Result;

/// Folders that a job marks at most: each costs two writes to the disk. Pairs of files may name thousands.
const MARKS: usize = 16;

/// The file systems that were written to. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Written(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Begins anew with each flush: what is written after it is to be flushed again.
    phase: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    systems: HashMap<u64, FileSystem>,
    marks: Vec<Mark>,
    marked: HashSet<PathBuf>,
}

/// A file system, held open from the first write on, so that no failure since is missed.
#[derive(Clone, Debug)]
struct FileSystem {
    /// `None` where the folder may be written and not read.
    fd: Option<Arc<OwnedFd>>,
    folder: Arc<Folder>,
}

impl State {
    /// Keeps the file system of this folder open.
    fn hold(&mut self, folder: &Arc<Folder>) -> Result<()> {
        let found = rustix::fs::fstat(folder.fd()).map_err(|e| file::io("stat", folder.path(), os(e)))?;
        self.systems.entry(found.st_dev).or_insert_with(|| FileSystem {
            fd: folder.readable().ok().map(Arc::new),
            folder: Arc::clone(folder),
        });
        Ok(())
    }
}

impl Written {
    pub(super) fn new(flush: bool) -> Self {
        let shared = || Arc::new(Shared { state: Mutex::default(), phase: AtomicU32::new(1) });
        Self(flush.then(shared))
    }

    /// Which phase this is, from 1.
    pub(super) fn phase(&self) -> u32 {
        self.0.as_ref().map_or(1, |shared| shared.phase.load(Ordering::Relaxed))
    }

    /// Whether anything was written.
    pub(super) fn is_any(&self) -> bool {
        self.lock().is_some_and(|state| !state.systems.is_empty())
    }

    /// Notes that something is written in this folder, below that `root`, which is none where it lies in memory. False where
    /// nothing would tell after a power failure.
    pub(super) fn note(
        &self,
        folder: &Arc<Folder>,
        root: impl FnOnce() -> Result<Option<Arc<Folder>>>,
    ) -> Result<bool> {
        let Some(mut state) = self.lock() else { return Ok(true) };
        state.hold(folder)?;
        if folder.doubt().is_any() {
            end_earlier(folder);
        }
        let Some(root) = root()? else { return Ok(true) };
        if state.marked.contains(root.path()) {
            return Ok(true);
        }
        if state.marks.len() == MARKS {
            return Ok(false);
        }
        let Some(mark) = Mark::set(&root)? else { return Ok(false) };
        state.marked.insert(root.path().to_path_buf());
        state.marks.push(mark);
        Ok(true)
    }

    /// Takes over the mark that a killed run has left in this folder, if there is one, though nothing is written there: all was.
    pub(super) fn adopt(&self, folder: &Arc<Folder>) -> Result<()> {
        let Some(mut state) = self.lock() else { return Ok(()) };
        if is_marked(folder) && state.marked.insert(folder.path().to_path_buf()) {
            state.hold(folder)?;
            state.marks.extend(Mark::set(folder)?);
        }
        Ok(())
    }

    /// Waits until all of it is on the disk. Blocks.
    ///
    /// # Errors
    /// Whatever the disk could not keep since the first write, by anybody.
    pub(super) fn flush(&self) -> Result<()> {
        let Some(shared) = &self.0 else { return Ok(()) };
        shared.phase.fetch_add(1, Ordering::Relaxed);
        let State { systems, marks, .. } = std::mem::take(&mut *shared.lock());
        systems.values().try_for_each(FileSystem::sync)?;
        marks.into_iter().try_for_each(|mark| mark.clear(is_any_doubted))
    }

    /// The same in the middle of a job, for what depends on what was written so far: more will be. Blocks.
    ///
    /// # Errors
    /// As for [`Self::flush`].
    pub(super) fn sync(&self) -> Result<()> {
        let systems = self.lock().map(|state| state.systems.values().cloned().collect::<Vec<_>>());
        systems.into_iter().flatten().try_for_each(|system| system.sync())
    }

    fn lock(&self) -> Option<MutexGuard<'_, State>> {
        self.0.as_ref().map(|shared| shared.lock())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileSystem {
    fn sync(&self) -> Result<()> {
        match &self.fd {
            Some(fd) => retry_on_intr(|| rustix::fs::syncfs(fd))
                .map_err(|e| file::io("flush", self.folder.path(), os(e))),
            None => {
                rustix::fs::sync();
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Follow, Tree};
    use super::*;

    #[test]
    fn what_is_written_after_a_flush_is_flushed_again() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Tree::new(dir.path(), Follow::Nothing).folder("", false).unwrap();
        let written = Written::new(true);
        for _ in 0..2 {
            assert!(folder.is_first_written(written.phase()) && !folder.is_first_written(written.phase()));
            written.note(&folder, || Ok(None)).unwrap();
            assert!(written.is_any());
            written.flush().unwrap();
            assert!(!written.is_any());
        }
    }

    #[test]
    fn a_folder_that_is_not_marked_is_known_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let written = Written::new(true);
        let marked = (0..MARKS + 2).map(|number| {
            let folder = Tree::new(&dir.path().join(number.to_string()), Follow::Nothing).folder("", true);
            let folder = folder.unwrap();
            written.note(&folder, || Ok(Some(Arc::clone(&folder)))).unwrap()
        });
        assert_eq!(marked.filter(|marked| *marked).count(), MARKS);
    }
}
