//! Reading files by position.

use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Arc;

use super::{ONE_READ_MAX, blocking};
use crate::buffer::BufferPool;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{BlockRange, GetOptions, GetResult, ObjectMeta, Payload};

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

/// Opens a file and reads what is asked: at once where it is short, as a stream where it is long.
pub(super) fn open(
    path: &Path,
    key: String,
    options: &GetOptions,
    buffers: &BufferPool,
) -> Result<GetResult> {
    let file = File::open(path).map_err(|e| io("read", path, e))?;
    let metadata = file.metadata().map_err(|e| io("read", path, e))?;
    if metadata.is_dir() {
        return Err(Error::new(ErrorKind::NotFound, "read", path.display().to_string(), "is a folder"));
    }
    let meta = meta(key, &metadata);
    if options.if_match.as_ref().is_some_and(|etag| *etag != meta.etag) {
        return Err(changed(path));
    }
    let range = options.range.unwrap_or(BlockRange { offset: 0, len: meta.size });
    if range.end() > meta.size {
        return Err(changed(path));
    }
    let reader = Reader { file, path: path.into(), etag: meta.etag.clone(), buffers: buffers.clone() };
    let payload =
        if range.len <= ONE_READ_MAX { Payload::Bytes(reader.read(range)?) } else { reader.stream(range) };
    Ok(GetResult { meta, payload, crc64: None, md5: None })
}

/// An open file of which every read is checked for change.
struct Reader {
    file: File,
    path: Arc<Path>,
    etag: String,
    buffers: BufferPool,
}

impl Reader {
    fn read(&self, range: BlockRange) -> Result<bytes::Bytes> {
        if range.len == 0 {
            return Ok(bytes::Bytes::new());
        }
        let mut buffer = self.buffers.take(range.len as usize);
        self.file.read_exact_at(&mut buffer, range.offset).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => changed(&self.path),
            _ => io("read", &self.path, e),
        })?;
        let after = self.file.metadata().map_err(|e| io("read", &self.path, e))?;
        if etag(&after) != self.etag {
            return Err(changed(&self.path));
        }
        Ok(buffer.freeze())
    }

    fn stream(self, range: BlockRange) -> Payload {
        let reader = Arc::new(self);
        let pieces = futures_util::stream::unfold(range, move |left| {
            let reader = Arc::clone(&reader);
            async move {
                if left.len == 0 {
                    return None;
                }
                let piece = BlockRange { offset: left.offset, len: left.len.min(STREAM_PIECE) };
                let rest = BlockRange { offset: piece.end(), len: left.len - piece.len };
                Some((blocking(move || reader.read(piece)).await, rest))
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
