//! Files that are being read in stretches stay open between them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::file::Reader;

/// Files kept open: more than are read in stretches at once.
const KEPT: usize = 32;

/// The files read last, newest first. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Readers(Arc<Mutex<VecDeque<Arc<Reader>>>>);

impl Readers {
    /// The open file of this key.
    pub(super) fn find(&self, key: &str) -> Option<Arc<Reader>> {
        self.lock().iter().find(|reader| reader.meta().key == key).cloned()
    }

    /// Keeps a file open, and lets go of the one that has been kept longest. A file that has changed since
    /// takes the place of its former self.
    pub(super) fn keep(&self, key: &str, reader: &Arc<Reader>) {
        let mut readers = self.lock();
        readers.retain(|kept| kept.meta().key != key);
        readers.push_front(Arc::clone(reader));
        readers.truncate(KEPT);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Reader>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
