//! What the local stores of a job have in common: folders that are open, and what is to be flushed.

use std::path::Path;

use super::flush::Written;
use super::tree::{Folders, Follow, Tree};
use crate::error::Result;

/// What all local stores of a job share. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Shared {
    pub(super) folders: Folders,
    /// To be flushed at the end.
    pub(super) written: Written,
}

impl Shared {
    /// What is written is flushed in the end, and marked until then.
    pub(in crate::store) fn flushing(flush: bool) -> Self {
        Self { folders: Folders::default(), written: Written::new(flush) }
    }

    /// Takes over the mark that a killed run has left in this folder. Blocks.
    pub(in crate::store) fn adopt_mark(&self, folder: &Path) -> Result<()> {
        let folder = folder.parent().filter(|_| !folder.is_dir()).unwrap_or(folder);
        match Tree::new(folder, Follow::Nothing).folder("", false) {
            Ok(folder) => self.written.adopt(&folder),
            // What is not there has no mark.
            Err(_) => Ok(()),
        }
    }

    /// Whether there is anything to flush.
    pub(in crate::store) fn is_any(&self) -> bool {
        self.written.is_any()
    }

    /// Waits until what was written so far is on the disk, in the middle of a job. Blocks.
    pub(in crate::store) fn sync(&self) -> Result<()> {
        self.written.sync()
    }

    /// Waits until all that was written is on the disk. Blocks.
    pub(in crate::store) fn flush(&self) -> Result<()> {
        self.written.flush()
    }
}
