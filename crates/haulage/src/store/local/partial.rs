//! A file that does not have its final name yet.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use rustix::fs::{FallocateFlags, FlockOperation, OFlags, RenameFlags};

use super::file;
use super::ranges::RangeList;
use super::walk::{LIST_SUFFIX, PARTIAL_PREFIX, PARTIAL_SUFFIX, is_leftover, partial_of};
use crate::checksum::{Crc64, Crc64Stream, Md5, Md5Stream};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::store::{Attributes, BlockRange, Kept, Precondition, PutResult};

/// Objects up to this size are written in one visit to the blocking pool.
pub(super) const AT_ONCE: u64 = 512 << 10;

/// Read at once where a file is hashed.
const READ: usize = 512 << 10;

/// A file that does not have its final name yet. Dropped unpublished it is removed, unless a later run can go on from it.
pub(super) struct PartialFile {
    file: File,
    temporary: PathBuf,
    destination: PathBuf,
    /// `None` where it was not known beforehand.
    size: Option<u64>,
    in_memory: bool,
    published: AtomicBool,
    /// What is in it, where a later run can find it again.
    ranges: Option<RangeList>,
    /// There is something to go on from.
    worth_keeping: AtomicBool,
}

impl PartialFile {
    /// Creates the temporary file with all its room, and the folders above it.
    pub(super) fn create(destination: &Path, size: Option<u64>) -> Result<Self> {
        let temporary = destination.with_file_name(partial_name(fastrand::u64(..)));
        let file = in_folder(&temporary, || File::create_new(&temporary));
        let file = file.map_err(|e| file::io("write", destination, e))?;
        // Held while it is written, so that nobody clears it away; where there are no locks nobody can tell.
        let _ = try_lock(&file);
        let part = Self::over(file, temporary, destination, size, None);
        part.allocate()?;
        Ok(part)
    }

    /// Goes on with what an interrupted run has left of this source, or begins a file that a later run can go on with.
    ///
    /// Such a file has one name for each destination and one owner: while somebody else writes it, or where the file
    /// system knows no locks, this one has a name of its own and leaves nothing.
    pub(super) fn resume(destination: &Path, size: u64, source_etag: &str) -> Result<Self> {
        let name = destination.file_name().unwrap_or_default().to_string_lossy();
        let number = Crc64::of(name.as_bytes()).to_u64();
        let temporary = destination.with_file_name(partial_name(number));
        let claimed = claim(&temporary).map_err(|e| file::io("write", destination, e))?;
        let Some(file) = claimed else { return Self::create(destination, Some(size)) };
        let list = list_of(&temporary);
        let whole = file.metadata().is_ok_and(|found| found.len() == size);
        let ranges = RangeList::open(list, &name, source_etag, size, whole)?;
        let going_on = !ranges.found().is_empty();
        let part = Self::over(file, temporary, destination, Some(size), Some(ranges));
        if going_on {
            part.worth_keeping.store(true, Ordering::Relaxed);
        } else {
            part.set_len(0)?;
            part.allocate()?;
        }
        Ok(part)
    }

    fn over(
        file: File,
        temporary: PathBuf,
        destination: &Path,
        size: Option<u64>,
        ranges: Option<RangeList>,
    ) -> Self {
        let large = size.is_none_or(|size| size > AT_ONCE);
        Self {
            in_memory: large && is_in_memory(&file),
            file,
            temporary,
            destination: destination.to_path_buf(),
            size,
            published: AtomicBool::new(false),
            ranges,
            worth_keeping: AtomicBool::new(false),
        }
    }

    /// Takes the room now, so that a full disk is noticed before anything moves.
    fn allocate(&self) -> Result<()> {
        let Some(size) = self.size else { return Ok(()) };
        if size <= AT_ONCE {
            // Its length tells a later run that the list is of this file.
            return if self.ranges.is_some() { self.set_len(size) } else { Ok(()) };
        }
        if self.in_memory {
            // Here the room would be filled with zeroes first, for 0.2 s a GiB, and nothing gained.
            return self.has_room_for(size);
        }
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, size) {
            // Some file systems cannot; the length alone will do there.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => self.set_len(size),
            other => other.map_err(|e| file::io("write", &self.destination, e.into())),
        }
    }

    fn has_room_for(&self, size: u64) -> Result<()> {
        let io = |e: rustix::io::Errno| file::io("write", &self.destination, e.into());
        let room = rustix::fs::fstatvfs(&self.file).map_err(io)?;
        // A file system without a bound says 0 blocks in all.
        if room.f_blocks > 0 && room.f_bavail.saturating_mul(room.f_frsize) < size {
            return Err(io(rustix::io::Errno::NOSPC));
        }
        self.set_len(size)
    }

    fn set_len(&self, size: u64) -> Result<()> {
        self.file.set_len(size).map_err(|e| file::io("write", &self.destination, e))
    }

    /// Removes the file, and what tells of it, unless it has its final name.
    pub(super) fn discard(&self) {
        if !self.published.load(Ordering::Acquire) {
            // Nobody is left to tell; a leftover is invisible to listings and named as one.
            let _ = std::fs::remove_file(&self.temporary);
            self.forget_ranges();
        }
    }

    fn forget_ranges(&self) {
        if let Some(ranges) = &self.ranges {
            let _ = std::fs::remove_file(ranges.path());
        }
    }

    /// The final name.
    pub(super) fn name(&self) -> String {
        self.destination.display().to_string()
    }

    /// The size, where it was known beforehand.
    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    pub(super) fn write_at(&self, mut offset: u64, pieces: &[Bytes]) -> Result<()> {
        for piece in pieces {
            self.file.write_all_at(piece, offset).map_err(|e| file::io("write", &self.destination, e))?;
            offset += piece.len() as u64;
        }
        Ok(())
    }

    /// Whether the file lies in memory, where writing is a copy and waits for no disk.
    pub(super) fn is_in_memory(&self) -> bool {
        self.in_memory
    }

    /// What an interrupted run has left, by its own word.
    pub(super) fn found(&self) -> impl Iterator<Item = &Kept> {
        self.ranges.iter().flat_map(|ranges| ranges.found().values())
    }

    /// The range that an interrupted run has left, if its bytes are still what they were.
    pub(super) fn recheck(&self, range: BlockRange) -> Result<Option<Kept>> {
        let Some(kept) = self.ranges.as_ref().and_then(|ranges| ranges.found().get(&range)) else {
            return Ok(None);
        };
        let mut crc64 = Crc64Stream::default();
        self.read(range, |bytes| crc64.update(bytes))?;
        Ok((crc64.value() == kept.id.crc64).then_some(*kept))
    }

    /// Notes a range whose bytes are in the file and right, for a later run. Where that fails, a later run fetches it again.
    pub(super) fn keep(&self, kept: &Kept) {
        if self.ranges.as_ref().is_some_and(|ranges| ranges.add(kept).is_ok()) {
            self.worth_keeping.store(true, Ordering::Relaxed);
        }
    }

    /// Compares with what the source says, gives the file its time and its final name.
    pub(super) fn publish(
        &self,
        crc64: Crc64,
        expected: &Attributes,
        when: &Precondition,
    ) -> Result<PutResult> {
        self.check(crc64, expected)?;
        let io = |e| file::io("write", &self.destination, e);
        if let Some(ns) = expected.source_modified_ns {
            self.file.set_modified(system_time(ns)).map_err(io)?;
        }
        match when {
            Precondition::None => std::fs::rename(&self.temporary, &self.destination).map_err(io)?,
            Precondition::IfAbsent => {
                rename_new(&self.temporary, &self.destination).map_err(|e| io(e.into()))?;
            }
            Precondition::IfMatch(etag) => {
                let found = std::fs::metadata(&self.destination).map_err(io)?;
                if file::etag(&found) != *etag {
                    let name = self.name();
                    return Err(Error::new(ErrorKind::Exists, "write", name, "the file there has changed"));
                }
                std::fs::rename(&self.temporary, &self.destination).map_err(io)?;
            }
        }
        self.published.store(true, Ordering::Release);
        self.forget_ranges();
        let metadata = self.file.metadata().map_err(io)?;
        Ok(PutResult { etag: file::etag(&metadata), crc64: Some(crc64), md5: None })
    }

    fn check(&self, crc64: Crc64, expected: &Attributes) -> Result<()> {
        let cause = match (expected.crc64, expected.md5) {
            (Some(wanted), _) if wanted != crc64 => format!("CRC64 is {crc64}, the source says {wanted}"),
            // MD5 needs the bytes in order, so that it is worth a second read only where it is all there is.
            (None, Some(wanted)) => match self.md5()? {
                found if found == wanted => return Ok(()),
                found => format!("MD5 is {found}, the source says {wanted}"),
            },
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::Integrity, "verify", self.name(), cause).retry(Retry::Backoff))
    }

    fn md5(&self) -> Result<Md5> {
        let len = self.file.metadata().map_err(|e| file::io("verify", &self.destination, e))?.len();
        let mut md5 = Md5Stream::default();
        self.read(BlockRange { offset: 0, len }, |bytes| md5.update(bytes))?;
        Ok(md5.value())
    }

    /// Shows the bytes of a range, in order, as far as there are any.
    fn read(&self, range: BlockRange, mut show: impl FnMut(&[u8])) -> Result<()> {
        let mut buffer = vec![0; READ.min(range.len as usize)];
        let mut at = range.offset;
        while at < range.end() {
            let want = buffer.len().min((range.end() - at) as usize);
            let got = self.file.read_at(&mut buffer[..want], at);
            match got.map_err(|e| file::io("verify", &self.destination, e))? {
                0 => break,
                len => {
                    show(&buffer[..len]);
                    at += len as u64;
                }
            }
        }
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.worth_keeping.load(Ordering::Relaxed) {
            self.discard();
        }
    }
}

/// The list of ranges that lies beside a partial file.
fn list_of(partial: &Path) -> PathBuf {
    let name = partial.file_name().unwrap_or_default().to_string_lossy();
    partial.with_file_name(name.strip_suffix(PARTIAL_SUFFIX).unwrap_or(&name).to_owned() + LIST_SUFFIX)
}

/// Removes a leftover and its list; false where somebody writes it, or it is none.
pub(super) fn remove(path: &Path) -> Result<bool> {
    if !is_leftover(path) {
        return Ok(false);
    }
    // A list goes with its partial file.
    let partial = partial_of(path).unwrap_or_else(|| path.to_path_buf());
    let held = match File::open(&partial) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(file::io("clean", path, error)),
    };
    if held.as_ref().is_some_and(|file| try_lock(file).is_err()) {
        return Ok(false);
    }
    let mut removed = false;
    for leftover in [list_of(&partial), partial] {
        match std::fs::remove_file(&leftover) {
            Ok(()) => removed = true,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(file::io("clean", &leftover, error)),
        }
    }
    Ok(removed)
}

fn partial_name(number: u64) -> String {
    format!("{PARTIAL_PREFIX}{number:016x}{PARTIAL_SUFFIX}")
}

/// Opens a file, and makes the folders above it where that is what is missing.
fn in_folder(path: &Path, open: impl Fn() -> std::io::Result<File>) -> std::io::Result<File> {
    match open() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            open()
        }
        other => other,
    }
}

/// The file at this path as one's own, whatever is in it; `None` where it cannot be.
fn claim(path: &Path) -> std::io::Result<Option<File>> {
    // Between opening and locking its owner may have given it its final name: then there is another one, or none.
    for _ in 0..3 {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let file = match in_folder(path, || options.open(path)) {
            Ok(file) => file,
            // A link, or somebody else's: not ours to write.
            Err(error) if is_foreign(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if !lock_soon(&file) {
            return Ok(None);
        }
        let ours = file.metadata()?;
        if std::fs::symlink_metadata(path)
            .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()))
        {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Takes the lock, and waits a moment for an owner that is about to leave: a job that was just cancelled may still write.
fn lock_soon(file: &File) -> bool {
    for _ in 0..9 {
        match try_lock(file) {
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(20)),
            ended => return ended.is_ok(),
        }
    }
    try_lock(file).is_ok()
}

fn try_lock(file: &File) -> rustix::io::Result<()> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)
}

fn is_foreign(error: &std::io::Error) -> bool {
    let code = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(code, Some(rustix::io::Errno::LOOP | rustix::io::Errno::ACCESS | rustix::io::Errno::ISDIR))
}

const TMPFS_MAGIC: u64 = 0x0102_1994;

/// Whether the file lies in memory (tmpfs).
fn is_in_memory(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|found| found.f_type as u64 == TMPFS_MAGIC)
}

/// Whether a folder lies in memory; one that is not there yet, whether it would.
pub(super) fn folder_in_memory(folder: &Path) -> bool {
    let there = folder.ancestors().find_map(|folder| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        rustix::fs::statfs(folder).ok()
    });
    there.is_some_and(|found| found.f_type as u64 == TMPFS_MAGIC)
}

/// Renames unless the destination is there.
fn rename_new(from: &Path, to: &Path) -> rustix::io::Result<()> {
    use rustix::fs::CWD;
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not on every file system; a hard link refuses an existing name as well.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            rustix::fs::link(from, to)?;
            rustix::fs::unlink(from)
        }
        other => other,
    }
}

fn system_time(ns: i64) -> SystemTime {
    match u64::try_from(ns) {
        Ok(ns) => UNIX_EPOCH + Duration::from_nanos(ns),
        Err(_) => UNIX_EPOCH - Duration::from_nanos(ns.unsigned_abs()),
    }
}
