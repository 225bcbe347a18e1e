//! Reading files by position.

use std::fs::{File, Metadata};
use std::io::IoSliceMut;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Arc;

use super::blocking;
use crate::buffer::BufferPool;
use crate::checksum::Crc64Stream;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{BlockRange, GetOptions, ObjectMeta, Payload};

/// Bytes are hashed while they are still in the processor's cache: later they come from memory again.
const HASHED_PIECE: usize = 256 << 10;

/// Pieces of a streamed read.
const STREAM_PIECE: u64 = 1 << 20;

/// What the file system says of a file.
pub(super) fn meta(key: String, metadata: &Metadata) -> ObjectMeta {
    let modified_ns = metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec();
    ObjectMeta {
        key,
        size: metadata.len(),
        etag: etag(metadata),
        modified_ns,
        source_modified_ns: Some(modified_ns),
        ..ObjectMeta::default()
    }
}

/// Changes whenever the content may have: a write moves the change time, a replacement the inode.
pub(super) fn etag(metadata: &Metadata) -> String {
    let (ctime, nsec) = (metadata.ctime(), metadata.ctime_nsec());
    format!("{ctime:x}.{nsec:x}-{:x}-{:x}", metadata.len(), metadata.ino())
}

pub(super) fn head(path: &Path, key: String) -> Result<ObjectMeta> {
    let metadata = std::fs::metadata(path).map_err(|e| io("stat", path, e))?;
    if metadata.is_dir() {
        return Err(Error::new(ErrorKind::NotFound, "stat", path.display().to_string(), "is a folder"));
    }
    Ok(meta(key, &metadata))
}

/// An open file of which every read is checked for change.
#[derive(Debug)]
pub(super) struct Reader {
    file: File,
    path: Arc<Path>,
    meta: ObjectMeta,
    buffers: BufferPool,
    /// Reading is a copy, which no disk holds up.
    in_memory: bool,
}

impl Reader {
    pub(super) fn open(path: &Path, key: &str, buffers: &BufferPool, in_memory: bool) -> Result<Self> {
        let file = File::open(path).map_err(|e| io("read", path, e))?;
        Self::of(file, path, key, buffers, in_memory)
    }

    /// Opens a file if that waits for no disk: its folder and inode are in memory. `None` where that is not so or
    /// the system cannot say (Linux before 5.12).
    #[cfg(target_os = "linux")]
    pub(super) fn open_cached(path: &Path, key: &str, buffers: &BufferPool, in_memory: bool) -> Option<Self> {
        use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED).ok()?;
        Self::of(File::from(file), path, key, buffers, in_memory).ok()
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open_cached(_: &Path, _: &str, _: &BufferPool, _: bool) -> Option<Self> {
        None
    }

    fn of(file: File, path: &Path, key: &str, buffers: &BufferPool, in_memory: bool) -> Result<Self> {
        let metadata = file.metadata().map_err(|e| io("read", path, e))?;
        if metadata.is_dir() {
            return Err(Error::new(ErrorKind::NotFound, "read", path.display().to_string(), "is a folder"));
        }
        let meta = meta(key.to_owned(), &metadata);
        Ok(Self { file, path: path.into(), meta, buffers: buffers.clone(), in_memory })
    }

    pub(super) fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    /// The stretch that is asked for, if the file is still the one that was listed.
    pub(super) fn range(&self, options: &GetOptions) -> Result<BlockRange> {
        let range = options.range.unwrap_or(BlockRange { offset: 0, len: self.meta.size });
        let replaced = options.if_match.as_ref().is_some_and(|etag| *etag != self.meta.etag);
        if replaced || range.end() > self.meta.size {
            return Err(changed(&self.path));
        }
        Ok(range)
    }

    /// Reads what the system has in memory; `None` where it would have to wait for a disk, or cannot say.
    pub(super) fn read_cached(&self, range: BlockRange) -> Result<Option<Payload>> {
        if self.in_memory {
            // tmpfs does not know reads that must not wait, and never waits.
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
        self.unchanged()?;
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
        self.unchanged()?;
        Ok(Payload::Hashed(buffer.freeze(), crc.value()))
    }

    fn unchanged(&self) -> Result<()> {
        let after = self.file.metadata().map_err(|e| io("read", &self.path, e))?;
        if etag(&after) == self.meta.etag { Ok(()) } else { Err(changed(&self.path)) }
    }

    /// A long stretch, piece by piece.
    pub(super) fn stream(self: Arc<Self>, range: BlockRange) -> Payload {
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
        Payload::stream(range.len, pieces)
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
