//! Reading files by position.

use std::fs::File;
use std::io::IoSliceMut;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::blocking;
use super::medium::Medium;
use super::tree::{Folder, Place, os};
use crate::buffer::BufferPool;
use crate::checksum::Crc64Stream;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{BlockRange, GetOptions, ObjectMeta, Payload, Posix};

/// Bytes are hashed while they are still in the processor's cache: later they come from memory again.
const HASHED_PIECE: usize = 256 << 10;

/// Pieces of a streamed read.
const STREAM_PIECE: u64 = 1 << 20;

/// A tick of the slowest kernel takes no longer.
const TICK: Duration = Duration::from_millis(10);

/// A file system of which no time changes for so long keeps none.
const TICKS: Duration = Duration::from_secs(1);

/// What the file system says of a file.
pub(super) fn meta(key: String, found: &Stat) -> ObjectMeta {
    let modified_ns = i128::from(found.st_mtime) * 1_000_000_000 + found.st_mtime_nsec as i128;
    ObjectMeta {
        key,
        size: found.st_size as u64,
        etag: etag(found),
        modified_ns,
        source_modified_ns: Some(modified_ns),
        posix: Some(posix(found)),
        ..ObjectMeta::default()
    }
}

fn posix(found: &Stat) -> Posix {
    let atime_ns = i128::from(found.st_atime) * 1_000_000_000 + found.st_atime_nsec as i128;
    let (mode, uid, gid) = (found.st_mode, found.st_uid, found.st_gid);
    Posix { mode: Some(mode), uid: Some(uid), gid: Some(gid), atime_ns: Some(atime_ns) }
}

/// What may be said of a file in this folder: where it is doubted, not that it is what its source was.
pub(super) fn trusted(meta: ObjectMeta, found: &Stat, folder: &Folder) -> ObjectMeta {
    if folder.doubt().is_about(found) { ObjectMeta { source_modified_ns: None, ..meta } } else { meta }
}

/// Changes whenever the content may have: a write moves the change time, a replacement the inode.
pub(super) fn etag(found: &Stat) -> String {
    format!("{:x}.{:x}-{:x}-{:x}", found.st_ctime, found.st_ctime_nsec, found.st_size, found.st_ino)
}

/// Whether this is a file with contents of its own, neither a pipe nor a device.
pub(super) fn is_regular(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
}

/// What is known of the file at a place; what is there by itself, unless the last link is `followed`.
pub(super) fn head(place: &Place, key: String, followed: bool) -> Result<ObjectMeta> {
    let (folder, name) = (&place.folder, place.name.as_str());
    let found = if followed { folder.stat_followed(name) } else { folder.stat(name) };
    let found = found.map_err(|e| io("stat", &place.path(), os(e)))?;
    regular("stat", &place.path(), &found)?;
    Ok(trusted(meta(key, &found), &found, folder))
}

/// Gives a file another time of change, and changes nothing else: its version then. Whoever wrote it may not have waited for the disk,
/// which has it afterwards.
pub(super) fn touch(place: &Place, followed: bool) -> Result<String> {
    let failed = |e| io("claim", &place.path(), os(e));
    let flags = OFlags::RDONLY | if followed { OFlags::empty() } else { OFlags::NOFOLLOW };
    let file = place.folder.open(&place.name, flags).map_err(failed)?;
    let before = rustix::fs::fstat(&file).map_err(failed)?;
    regular("claim", &place.path(), &before)?;
    let mode = Mode::from_raw_mode(before.st_mode & 0o7777);
    retry_on_intr(|| rustix::fs::fsync(&file)).map_err(failed)?;
    if let Ok(folder) = place.folder.readable() {
        retry_on_intr(|| rustix::fs::fsync(&folder)).map_err(failed)?;
    }
    let until = Instant::now() + TICKS;
    loop {
        rustix::fs::fchmod(&file, mode).map_err(failed)?;
        let now = rustix::fs::fstat(&file).map_err(failed)?;
        if etag(&now) != etag(&before) {
            return Ok(etag(&now));
        }
        if Instant::now() > until {
            let cause = "this file system keeps no time of a change, by which another mover would see that its copy is counted on";
            return Err(Error::new(
                ErrorKind::Unsupported,
                "claim",
                place.path().display().to_string(),
                cause,
            )
            .hint("compare both with haul verify, then remove the source"));
        }
        // File systems tell times by the ticks of the kernel.
        std::thread::sleep(TICK);
    }
}

/// The error for what is no regular file.
fn regular(operation: &'static str, path: &Path, found: &Stat) -> Result<()> {
    let error = |kind, cause| Err(Error::new(kind, operation, path.display().to_string(), cause));
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => error(ErrorKind::NotFound, "is a folder"),
        FileType::Symlink => error(ErrorKind::Unsupported, "a symbolic link is there")
            .map_err(|e: Error| e.hint("remove the link, or use the file it points to")),
        _ => error(ErrorKind::Unsupported, "not a regular file").map_err(|e: Error| {
            e.hint("to read or write it as a stream, use it as the only source or as the destination")
        }),
    }
}

/// An open file of which every read is checked for change.
#[derive(Debug)]
pub(super) struct Reader {
    file: File,
    path: Arc<Path>,
    meta: ObjectMeta,
    buffers: BufferPool,
    medium: Medium,
}

impl Reader {
    /// Opens a file; one that the user named through a link where that is `followed`.
    pub(super) fn open(
        place: &Place,
        key: &str,
        followed: bool,
        buffers: &BufferPool,
        medium: Medium,
    ) -> Result<Self> {
        let flags = OFlags::RDONLY | if followed { OFlags::empty() } else { OFlags::NOFOLLOW };
        match place.folder.open(&place.name, flags) {
            Ok(file) => Self::of(file, place.path(), key, buffers, medium),
            // A link, or a socket, which cannot be opened.
            Err(Errno::LOOP | Errno::NXIO) => Err(match head(place, key.to_owned(), followed) {
                Err(error) => error,
                Ok(_) => changed(&place.path()),
            }),
            Err(error) => Err(io("read", &place.path(), os(error))),
        }
    }

    /// Opens a file if that waits for no disk: its inode is in memory. `None` where that is not so or the system cannot
    /// say (Linux before 5.12).
    #[cfg(target_os = "linux")]
    pub(super) fn open_cached(
        place: &Place,
        key: &str,
        buffers: &BufferPool,
        medium: Medium,
    ) -> Option<Self> {
        use rustix::fs::{Mode, ResolveFlags, openat2};
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        let file =
            openat2(place.folder.fd(), &*place.name, flags, Mode::empty(), ResolveFlags::CACHED).ok()?;
        Self::of(File::from(file), place.path(), key, buffers, medium).ok()
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open_cached(_: &Place, _: &str, _: &BufferPool, _: Medium) -> Option<Self> {
        None
    }

    fn of(file: File, path: PathBuf, key: &str, buffers: &BufferPool, medium: Medium) -> Result<Self> {
        let found = rustix::fs::fstat(&file).map_err(|e| io("read", &path, os(e)))?;
        regular("read", &path, &found)?;
        let meta = meta(key.to_owned(), &found);
        Ok(Self { file, path: path.into(), meta, buffers: buffers.clone(), medium })
    }

    pub(super) fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    /// The stretch that is asked for, if the file is still the one that was listed.
    pub(super) fn range(&self, options: &GetOptions) -> Result<BlockRange> {
        let range = options.range_of(self.meta.size).unwrap_or(BlockRange { offset: 0, len: self.meta.size });
        let replaced = options.if_match.as_ref().is_some_and(|version| !version.may_be(&self.meta));
        if replaced || range.end() > self.meta.size {
            return Err(changed(&self.path));
        }
        Ok(range)
    }

    /// Reads what the system has in memory; `None` where it would have to wait for a disk, or cannot say.
    pub(super) fn read_cached(&self, range: BlockRange) -> Result<Option<Payload>> {
        if self.medium.never_waits() {
            return self.read(range).map(Some);
        }
        let mut buffer = self.buffers.take(range.len as usize);
        let mut crc = Crc64Stream::default();
        let mut at = range.offset;
        for piece in buffer.chunks_mut(HASHED_PIECE) {
            let whole = piece.len();
            let read = rustix::io::preadv2(
                &self.file,
                &mut [IoSliceMut::new(piece)],
                at,
                rustix::io::ReadWriteFlags::NOWAIT,
            );
            if read != Ok(whole) {
                return Ok(None);
            }
            crc.update(piece);
            at += whole as u64;
        }
        self.unchanged(range)?;
        Ok(Some(Payload::Hashed(buffer.freeze(), crc.value())))
    }

    /// Reads, and waits for the disk.
    pub(super) fn read(&self, range: BlockRange) -> Result<Payload> {
        let mut buffer = self.buffers.take(range.len as usize);
        let mut crc = Crc64Stream::default();
        let mut at = range.offset;
        for piece in buffer.chunks_mut(HASHED_PIECE) {
            self.file.read_exact_at(piece, at).map_err(|e| match e.kind() {
                std::io::ErrorKind::UnexpectedEof => changed(&self.path),
                _ => io("read", &self.path, e),
            })?;
            crc.update(piece);
            at += piece.len() as u64;
        }
        self.unchanged(range)?;
        Ok(Payload::Hashed(buffer.freeze(), crc.value()))
    }

    /// Whether what was read is of the file that was listed, and, up to its end, all of it.
    fn unchanged(&self, range: BlockRange) -> Result<()> {
        let after = rustix::fs::fstat(&self.file).map_err(|e| io("read", &self.path, os(e)))?;
        if etag(&after) != self.meta.etag {
            return Err(changed(&self.path));
        }
        // A file of the system may say 0 and hold more.
        let past = || {
            let read = retry_on_intr(|| rustix::io::pread(&self.file, &mut [0], self.meta.size));
            read.map_err(|e| io("read", &self.path, os(e)))
        };
        if range.end() == self.meta.size && past()? > 0 {
            let cause = format!("it holds more than the {} bytes that it states", self.meta.size);
            return Err(Error::new(ErrorKind::SourceChanged, "read", self.path.display().to_string(), cause)
                .hint("to read it as a stream, use it as the only source"));
        }
        Ok(())
    }

    /// A long stretch, piece by piece.
    pub(super) fn stream(self: Arc<Self>, range: BlockRange) -> Payload {
        let name = self.path.display().to_string();
        let pieces = futures_util::stream::unfold(range, move |left| {
            let reader = Arc::clone(&self);
            async move {
                if left.len == 0 {
                    return None;
                }
                let piece = BlockRange { offset: left.offset, len: left.len.min(STREAM_PIECE) };
                let rest = BlockRange { offset: piece.end(), len: left.len - piece.len };
                let read = match blocking(move || reader.read(piece)).await {
                    Ok(payload) => payload.collect().await,
                    Err(error) => Err(error),
                };
                Some((read, rest))
            }
        });
        Payload::stream(name, range.len, pieces)
    }
}

fn changed(path: &Path) -> Error {
    Error::new(
        ErrorKind::SourceChanged,
        "read",
        path.display().to_string(),
        "the file changed while it was read",
    )
    .hint("run the same command again when nobody writes to it")
}

pub(super) fn io(operation: &'static str, path: &Path, error: std::io::Error) -> Error {
    Error::from_io(operation, path.display().to_string(), error)
}
