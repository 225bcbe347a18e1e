//! Names as paths and the list of finished ranges, as `fuzz/` sees them.

use std::path::{Path, PathBuf};

use super::{LocalStore, ranges};
use crate::buffer::BufferPool;
use crate::error::Result;
use crate::store::Kept;

/// Where a name is read.
pub fn path_of(root: &Path, key: &str) -> Result<PathBuf> {
    LocalStore::new(root.to_owned(), BufferPool::default()).path_of(key)
}

/// Where a name is written.
pub fn place_of(root: &Path, key: &str) -> Result<PathBuf> {
    LocalStore::new(root.to_owned(), BufferPool::default()).place_of(key)
}

/// A list of ranges as it is written.
pub fn list(name: &str, etag: &str, size: u64, kept: &[Kept]) -> String {
    kept.iter().fold(ranges::head(name, etag, size), |text, kept| text + &ranges::line(kept))
}

/// The ranges that a list tells of.
pub fn ranges(text: &str, name: &str, etag: &str, size: u64) -> Option<Vec<Kept>> {
    let found = ranges::parse(text, &ranges::head(name, etag, size), size)?;
    Some(found.into_values().collect())
}
