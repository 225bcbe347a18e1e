//! Where files lie, and what that means for work on them: a disk makes whoever reads or writes wait, memory does not.
//!
//! In memory a read or a write is a copy, cheapest by whoever has the bytes at hand: for a small file the way to another thread
//! and back costs more than the copy. All that depends on it is here.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FallocateFlags, StatFs};
use rustix::io::{Errno, retry_on_intr};

use super::blocking;
use super::tree::{Folder, Place, Tree, os};
use crate::error::Result;

const TMPFS_MAGIC: u64 = 0x0102_1994;

/// What files lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    Disk,
    /// tmpfs.
    Memory,
}

/// The step in which a file system keeps times, in nanoseconds.
fn time_step_ns(found: StatFs) -> u64 {
    const STEPS: [(u64, u64); 8] = [
        (0x4d44, 2_000_000_000),   // FAT
        (0x4244, 1_000_000_000),   // HFS
        (0x482b, 1_000_000_000),   // HFS+
        (0x2011_bab0, 10_000_000), // exFAT
        (0x7366_746e, 100),        // NTFS
        (0xff53_4d42, 100),        // CIFS
        (0xfe53_4d42, 100),        // SMB 2
        (0x6573_5546, 100),        // FUSE, which NTFS and shares may be behind
    ];
    let step = STEPS.into_iter().find(|(magic, _)| *magic == found.f_type as u64);
    step.map_or(1, |(_, step)| step)
}

impl From<StatFs> for Medium {
    fn from(found: StatFs) -> Self {
        if found.f_type as u64 == TMPFS_MAGIC { Self::Memory } else { Self::Disk }
    }
}

impl Medium {
    /// What a file lies on.
    pub(super) fn of_file(file: &File) -> Self {
        rustix::fs::fstatfs(file).map_or(Self::Disk, Self::from)
    }

    /// What a folder lies on, and the step of times there, in nanoseconds; for one that is not there yet, what it would.
    pub(super) fn of_folder(folder: &Path) -> (Self, u64) {
        let there = folder.ancestors().find_map(|folder| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            rustix::fs::statfs(folder).ok()
        });
        there.map_or((Self::Disk, 1), |found| (Self::from(found), time_step_ns(found)))
    }

    /// Runs file work where it may wait as long as the medium makes it.
    pub(super) async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self {
            Self::Disk => blocking(work).await,
            Self::Memory => work(),
        }
    }

    /// The same for work whose end nobody waits for.
    pub(super) fn begin(self, work: impl FnOnce() + Send + 'static) {
        match self {
            Self::Disk => drop(tokio::task::spawn_blocking(work)),
            Self::Memory => work(),
        }
    }

    /// Whether reads never wait. tmpfs does not know reads that must not.
    pub(super) fn never_waits(self) -> bool {
        self == Self::Memory
    }

    /// Where the file of this key is, if finding it waits for nothing.
    pub(super) fn place_at_hand(self, tree: &Tree, key: &str) -> Option<Place> {
        match self {
            Self::Disk => tree.known(key),
            Self::Memory => tree.place(key, false).ok(),
        }
    }

    /// The folder to mark while it is being written to, where what is written outlives this machine's power.
    pub(super) fn marked(self, tree: &Tree, folder: &str) -> Result<Option<std::sync::Arc<Folder>>> {
        match self {
            Self::Disk => tree.folder(folder, true).map(Some),
            Self::Memory => Ok(None),
        }
    }

    /// Takes the room for `size` bytes, so that a full medium is noticed before anything moves.
    pub(super) fn take_room(self, file: &File, size: u64) -> std::io::Result<()> {
        match self {
            Self::Disk => {
                match retry_on_intr(|| rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size)) {
                    // Some file systems cannot; the length alone will do there.
                    Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(size),
                    other => other.map_err(os),
                }
            }
            // Here the room would be filled with zeroes first, for 0.2 s a GiB, and nothing gained.
            Self::Memory => {
                let room = rustix::fs::fstatvfs(file).map_err(os)?;
                // A file system without a bound says 0 blocks in all.
                if room.f_blocks > 0 && room.f_bavail.saturating_mul(room.f_frsize) < size {
                    return Err(os(Errno::NOSPC));
                }
                file.set_len(size)
            }
        }
    }
}
