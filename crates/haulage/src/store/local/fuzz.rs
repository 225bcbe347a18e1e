//! Names as paths and the list of finished ranges, as `fuzz/` sees them.

use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use super::tree::{Follow, Tree};
use super::{check_key, ranges};
use crate::error::Result;
use crate::store::Kept;

/// Whether a name may be a file below a folder.
pub fn is_name(key: &str) -> bool {
    check_key(key).is_ok()
}

/// Where a name is read and written, as the system knows the folder.
pub fn place_of(root: &Path, key: &str) -> Result<PathBuf> {
    check_key(key)?;
    let place = Tree::new(root, Follow::Nothing).place(key, false)?;
    let link = format!("/proc/self/fd/{}", place.folder.fd().as_raw_fd());
    Ok(std::fs::read_link(link).expect("an open folder").join(place.name))
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
