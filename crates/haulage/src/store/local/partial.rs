//! A file that does not have its final name yet.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use rustix::fs::{FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::{Errno, retry_on_intr};

use super::file;
use super::finish::finish;
use super::leftover::{MARK, is_witness, list_of, partial_name, partial_of};
use super::mark;
use super::medium::Medium;
use super::ranges::{RANGE_MIN, RangeList};
use super::tree::{Folder, Place, may_be_replaced, os};
use super::walk::is_any_doubted;
use crate::checksum::{Crc64, Crc64Stream, Md5, Md5Stream};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::store::{Attributes, BlockRange, Kept, Leftover, Precondition, PutResult};

/// Objects up to this size are written in one visit to the blocking pool.
pub(super) const AT_ONCE: u64 = 512 << 10;

/// Tells the name of a file that is written from the beginning from that of one that is gone on with; the digits are `wholwhol`.
const WHOLE: u64 = 0x7768_6f6c_7768_6f6c;

/// Read at once where a file is hashed.
const READ: usize = 512 << 10;

/// A file that does not have its final name yet. Dropped unpublished it is removed, unless a later run can go on from it.
pub(super) struct PartialFile {
    file: File,
    /// Its name for now, in the folder of the destination.
    temporary: String,
    destination: Place,
    /// `None` where it was not known beforehand.
    size: Option<u64>,
    medium: Medium,
    published: AtomicBool,
    /// What is in it, where a later run can find it again.
    ranges: Option<RangeList>,
    /// There is something to go on from.
    worth_keeping: AtomicBool,
}

impl PartialFile {
    /// Creates the temporary file with all its room. It goes by its destination, so that the next copy clears away what a killed one
    /// has left; while somebody else writes that, by a name of its own.
    pub(super) fn create(destination: Place, size: Option<u64>, most: Mode) -> Result<Self> {
        let named = whole_name(&destination);
        let (file, temporary) = match create_free(&destination, &named, most) {
            Some(file) => (file, named),
            None => {
                let temporary = partial_name(fastrand::u64(..));
                let file = create_new(&destination, &temporary, most);
                let file = file.map_err(|e| io("write", &destination, os(e)))?;
                // Held while it is written, so that nobody clears it away; where there are no locks nobody can tell.
                let _ = try_lock(&file);
                (file, temporary)
            }
        };
        let part = Self::over(file, temporary, destination, size, None);
        part.allocate()?;
        Ok(part)
    }

    /// Goes on with what an interrupted run has left of this source, or begins a file that a later run can go on with.
    ///
    /// Such a file has one name for each destination and one owner: while somebody else writes it, where the file
    /// system knows no locks, or where something else has its name, this one has a name of its own and leaves nothing.
    pub(super) fn resume(destination: Place, size: u64, source_etag: &str, most: Mode) -> Result<Self> {
        let temporary = resumable_name(&destination);
        let claimed = claim(&destination, &temporary, most).map_err(|e| io("write", &destination, e))?;
        let Some(file) = claimed else { return Self::create(destination, Some(size), most) };
        let whole = file.metadata().is_ok_and(|found| found.len() == size);
        // From here on it goes with this value, whatever fails.
        let mut part = Self::over(file, temporary, destination, Some(size), None);
        let list = list_of(&part.temporary);
        part.ranges = match RangeList::open(&part.destination, list.clone(), source_etag, size, whole) {
            Ok(ranges) => ranges,
            // One that is there and could not be read now may be read the next time.
            Err(error) if part.destination.folder.stat(&list).is_ok() => {
                part.worth_keeping.store(true, Ordering::Relaxed);
                return Err(error);
            }
            // Without a list, as where something else has its name, the file leaves nothing.
            Err(_) => None,
        };
        let going_on = part.found().next().is_some();
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
        temporary: String,
        destination: Place,
        size: Option<u64>,
        ranges: Option<RangeList>,
    ) -> Self {
        let large = size.is_none_or(|size| size > AT_ONCE);
        Self {
            // Of a small file nobody asks.
            medium: if large { Medium::of_file(&file) } else { Medium::Disk },
            file,
            temporary,
            destination,
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
        self.medium.take_room(&self.file, size).map_err(|e| self.io(e))
    }

    fn set_len(&self, size: u64) -> Result<()> {
        self.file.set_len(size).map_err(|e| self.io(e))
    }

    /// Removes the file, and what tells of it, unless it has its final name.
    pub(super) fn discard(&self) {
        if !self.published.load(Ordering::Acquire) {
            // Nobody is left to tell; a leftover is invisible to listings and named as one.
            let _ = self.destination.folder.remove(&self.temporary);
            self.forget_ranges();
        }
    }

    fn forget_ranges(&self) {
        if let Some(ranges) = &self.ranges {
            let _ = self.destination.folder.remove(ranges.name());
        }
    }

    /// Removes what an interrupted run has left of this destination, where this file was not that one: it was written at once,
    /// or from a source that is read only once. Nobody would come back for it.
    fn forget_former(&self) {
        let may_be_in_ranges = self.size.is_none_or(|size| size > RANGE_MIN);
        if self.ranges.is_none() && may_be_in_ranges {
            let former = resumable_name(&self.destination);
            // The list is written first and removed last.
            if self.destination.folder.stat(&list_of(&former)).is_ok() {
                let place = Place { name: former, ..self.destination.clone() };
                let _ = remove(&place);
            }
        }
    }

    /// The final name.
    pub(super) fn name(&self) -> String {
        self.destination.path().display().to_string()
    }

    fn io(&self, error: io::Error) -> Error {
        io("write", &self.destination, error)
    }

    /// The size, where it was known beforehand.
    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    pub(super) fn write_at(&self, mut offset: u64, pieces: &[Bytes]) -> Result<()> {
        for piece in pieces {
            self.file.write_all_at(piece, offset).map_err(|e| self.io(e))?;
            offset += piece.len() as u64;
        }
        Ok(())
    }

    /// What the file lies on, as far as it is large enough for that to matter.
    pub(super) fn medium(&self) -> Medium {
        self.medium
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

    /// Compares with what the source says, gives the file what else belongs to it and its final name.
    pub(super) fn publish(
        &self,
        crc64: Crc64,
        expected: &Attributes,
        when: &Precondition,
    ) -> Result<PutResult> {
        self.check(crc64, expected)?;
        let io = |e: Errno| self.io(os(e));
        let not_kept = finish(&self.file, expected, may_be_replaced(&self.destination)?).map_err(io)?;
        if self.destination.folder.is_unmarked() && self.medium != Medium::Memory {
            retry_on_intr(|| rustix::fs::fsync(&self.file)).map_err(io)?;
        }
        let Place { folder, name } = &self.destination;
        if let Precondition::IfMatch(etag) = when
            && folder.stat(name).map_err(io).is_ok_and(|found| file::etag(&found) != *etag)
        {
            let cause = "the file there has changed";
            return Err(Error::new(ErrorKind::Exists, "write", self.name(), cause));
        }
        let fd = folder.fd();
        match when {
            Precondition::IfAbsent => rename_new(folder, &self.temporary, &self.destination).map_err(io)?,
            Precondition::None | Precondition::IfMatch(_) => {
                rustix::fs::renameat(fd, &*self.temporary, fd, &**name).map_err(io)?;
            }
        }
        self.published.store(true, Ordering::Release);
        self.forget_ranges();
        self.forget_former();
        let found = rustix::fs::fstat(&self.file).map_err(io)?;
        let etag = file::etag(&found);
        Ok(PutResult { etag, crc64: Some(crc64), md5: None, confirmed: false, not_kept })
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
        let len = self.file.metadata().map_err(|e| io("verify", &self.destination, e))?.len();
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
            let got = retry_on_intr(|| rustix::io::pread(&self.file, &mut buffer[..want], at));
            match got.map_err(|e| io("verify", &self.destination, os(e)))? {
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

/// What a leftover is: whether somebody writes it.
pub(super) fn state(place: &Place) -> Leftover {
    let name = if place.name == MARK { Some(MARK.to_owned()) } else { partial_of(&place.name) };
    let file = name.map(|name| place.folder.open(&name, OFlags::RDONLY | OFlags::NOFOLLOW));
    let in_use = file.is_some_and(|file| file.is_ok_and(|file| try_lock(&file).is_err()));
    if in_use { Leftover::InUse } else { Leftover::Spare }
}

/// Removes a leftover and its list; false where somebody writes it, or it is none.
pub(super) fn remove(place: &Place) -> Result<bool> {
    if place.name == MARK {
        return mark::remove(&place.folder, is_any_doubted);
    }
    if is_witness(&place.name) {
        let removed = place.folder.remove(&place.name);
        return removed.map(|()| true).map_err(|e| io("clean", place, os(e)));
    }
    // A list goes with its partial file.
    let Some(partial) = partial_of(&place.name) else { return Ok(false) };
    let folder = &place.folder;
    let file = match folder.open(&partial, OFlags::RDONLY | OFlags::NOFOLLOW) {
        Err(Errno::NOENT) if folder.stat(&list_of(&partial)).is_err() => return Ok(false),
        // Whoever has the partial file has its list.
        Err(Errno::NOENT) => create_new(place, &partial, Mode::RUSR),
        other => other,
    };
    match file {
        // Held until it is gone. Before it was locked, it may have been removed, or have got its final name.
        Ok(file) if try_lock(&file).is_ok() && folder.still_has(&partial, &file) => {
            remove_both(place, &partial)
        }
        // A link or a socket: not made by us.
        Ok(_) | Err(Errno::EXIST | Errno::LOOP | Errno::NXIO) => Ok(false),
        Err(error) => Err(io("clean", place, os(error))),
    }
}

fn remove_both(place: &Place, partial: &str) -> Result<bool> {
    let mut removed = false;
    for name in [&list_of(partial), partial] {
        match place.folder.stat(name) {
            Ok(found) if file::is_regular(&found) => {
                place.folder.remove(name).map_err(|e| io("clean", place, os(e)))?;
                removed = true;
            }
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(io("clean", place, os(error))),
        }
    }
    Ok(removed)
}

/// The name of the one partial file of a destination that a later run can go on with.
fn resumable_name(destination: &Place) -> String {
    partial_name(Crc64::of(destination.name.as_bytes()).to_u64())
}

/// The name of the partial file of a destination that is written from the beginning.
fn whole_name(destination: &Place) -> String {
    partial_name(Crc64::of(destination.name.as_bytes()).to_u64() ^ WHOLE)
}

/// A new file of this name beside the destination, locked; what nobody writes is cleared away for it. `None` where it cannot be.
fn create_free(destination: &Place, name: &str, most: Mode) -> Option<File> {
    let file = match create_new(destination, name, most) {
        Err(Errno::EXIST) => {
            let former = Place { name: name.to_owned(), ..destination.clone() };
            remove(&former).is_ok_and(|removed| removed).then(|| create_new(destination, name, most).ok())?
        }
        created => created.ok(),
    }?;
    // Held while it is written, so that nobody clears it away; where there are no locks nobody does.
    if try_lock(&file) == Err(Errno::WOULDBLOCK) {
        return None;
    }
    // Before it was locked, somebody may have cleared it away, or written it and given it its final name.
    destination.folder.still_has(name, &file).then_some(file)
}

fn create_new(destination: &Place, name: &str, most: Mode) -> rustix::io::Result<File> {
    // Read again where an MD5 is all there is to compare.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    destination.folder.open_as(name, flags, most)
}

/// Keeps other movers from claiming a file between the look at its version and its removal, and from removing it while it is claimed:
/// a disk has no conditions. `None` where it cannot be locked, as where another program holds a lock of its own.
pub(super) fn alone(place: &Place) -> Option<File> {
    let file = place.folder.open(&place.name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK).ok()?;
    lock_soon(&file).ok().map(|()| file)
}

/// The file of this name beside the destination as one's own, whatever is in it; `None` where it cannot be.
fn claim(destination: &Place, name: &str, most: Mode) -> io::Result<Option<File>> {
    let folder = &destination.folder;
    // Between opening and locking its owner may have given it its final name: then there is another one, or none.
    for _ in 0..3 {
        let file = match folder.open_as(name, OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW, most) {
            Ok(file) => file,
            // A link, a pipe, a folder or somebody else's: not ours to write.
            Err(Errno::LOOP | Errno::ACCESS | Errno::ISDIR | Errno::NXIO) => return Ok(None),
            Err(error) => return Err(os(error)),
        };
        let ours = rustix::fs::fstat(&file).map_err(os)?;
        // With a second name it would be written under both.
        if !file::is_regular(&ours) || ours.st_nlink != 1 {
            return Ok(None);
        }
        match lock_soon(&file) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            // Where there are no locks this name has no owner; what was made just now is nobody's.
            Err(_) => {
                if ours.st_size == 0 {
                    let _ = folder.remove(name);
                }
                return Ok(None);
            }
        }
        if folder.still_has(name, &file) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Takes the lock, and waits a moment for an owner that is about to leave: a job that was just cancelled may still write.
fn lock_soon(file: &File) -> rustix::io::Result<()> {
    for _ in 0..9 {
        match try_lock(file) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(20)),
            ended => return ended,
        }
    }
    try_lock(file)
}

fn try_lock(file: &File) -> rustix::io::Result<()> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Gives a file in a folder this place unless something has it.
pub(super) fn rename_new(from: &Folder, temporary: &str, to: &Place) -> rustix::io::Result<()> {
    let (fd, name) = (to.folder.fd(), &*to.name);
    match rustix::fs::renameat_with(from.fd(), temporary, fd, name, RenameFlags::NOREPLACE) {
        // Not on every file system; a hard link refuses an existing name as well.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(from.fd(), temporary, fd, name, rustix::fs::AtFlags::empty())?;
            from.remove(temporary)
        }
        other => other,
    }
}

fn io(operation: &'static str, place: &Place, error: io::Error) -> Error {
    file::io(operation, &place.path(), error)
}
