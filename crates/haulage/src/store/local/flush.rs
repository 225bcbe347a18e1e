//! What was written is brought to the disk before anybody is told that it is done.
//!
//! One `syncfs` for each file system at the end of a job, not an `fsync` for each file: the bytes of all files, their names
//! and their folders go together, and the disk writes in the order that suits it (docs/concepts/io.md has the figures).
//! Until then the folders are marked ([`super::mark`]).

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::retry_on_intr;

use super::file;
use super::mark::{Mark, is_marked};
use super::tree::{Folder, os};
use crate::error::Result;

/// Folders that a job marks at most: each costs two writes to the disk. Pairs of files may name thousands.
const MARKS: usize = 16;

/// The file systems that were written to. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Written(Option<Arc<Mutex<State>>>);

#[derive(Debug, Default)]
struct State {
    systems: HashMap<u64, FileSystem>,
    /// Marks, each with whether the job writes single files in that folder, so that it can say nothing of others.
    marks: Vec<(Mark, bool)>,
    marked: HashSet<PathBuf>,
}

/// A file system, held open from the first write on, so that no failure since is missed.
#[derive(Debug)]
struct FileSystem {
    /// `None` where the folder may be written and not read.
    fd: Option<OwnedFd>,
    folder: Arc<Folder>,
}

impl State {
    /// Keeps the file system of this folder open.
    fn hold(&mut self, folder: &Arc<Folder>) -> Result<()> {
        let found = rustix::fs::fstat(folder.fd()).map_err(|e| file::io("stat", folder.path(), os(e)))?;
        self.systems
            .entry(found.st_dev)
            .or_insert_with(|| FileSystem { fd: folder.readable().ok(), folder: Arc::clone(folder) });
        Ok(())
    }
}

impl Written {
    pub(super) fn new(flush: bool) -> Self {
        Self(flush.then(Arc::default))
    }

    /// Whether anything was written.
    pub(super) fn is_any(&self) -> bool {
        self.lock().is_some_and(|state| !state.systems.is_empty())
    }

    /// Notes that something is written in this folder, below that `root`, which is none where it lies in memory. `single`: it is
    /// not the folder that is copied to, but a file in it.
    pub(super) fn note(
        &self,
        folder: &Arc<Folder>,
        single: bool,
        root: impl FnOnce() -> Result<Option<Arc<Folder>>>,
    ) -> Result<()> {
        let Some(mut state) = self.lock() else { return Ok(()) };
        state.hold(folder)?;
        if let Some(root) = root()?
            && state.marks.len() < MARKS
            && state.marked.insert(root.path().to_path_buf())
        {
            let mark = Mark::set(&root)?;
            state.marks.extend(mark.map(|mark| (mark, single)));
        }
        Ok(())
    }

    /// Takes over the mark that a killed run has left in this folder, if there is one, though nothing is written there: all was.
    pub(super) fn adopt(&self, folder: &Arc<Folder>, single: bool) -> Result<()> {
        let Some(mut state) = self.lock() else { return Ok(()) };
        if is_marked(folder) && state.marked.insert(folder.path().to_path_buf()) {
            state.hold(folder)?;
            let mark = Mark::set(folder)?;
            state.marks.extend(mark.map(|mark| (mark, single)));
        }
        Ok(())
    }

    /// Waits until all of it is on the disk. Blocks. `whole`: each folder is now as it should be, also where an earlier boot
    /// has left it in doubt.
    ///
    /// # Errors
    /// Whatever the disk could not keep since the first write, by anybody.
    pub(super) fn flush(&self, whole: bool) -> Result<()> {
        let Some(mut state) = self.lock() else { return Ok(()) };
        let State { systems, marks, .. } = std::mem::take(&mut *state);
        for FileSystem { fd, folder } in systems.into_values() {
            match fd {
                Some(fd) => {
                    retry_on_intr(|| rustix::fs::syncfs(&fd))
                        .map_err(|e| file::io("flush", folder.path(), os(e)))?;
                }
                None => rustix::fs::sync(),
            }
        }
        marks.into_iter().try_for_each(|(mark, single)| mark.clear(whole && !single))
    }

    fn lock(&self) -> Option<MutexGuard<'_, State>> {
        self.0.as_ref().map(|state| state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
