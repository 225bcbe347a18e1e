//! Writing files: to a temporary name in the destination folder, renamed when verified.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use rustix::fs::{FallocateFlags, RenameFlags};

use super::pen::Pen;
use super::walk::{PARTIAL_PREFIX, PARTIAL_SUFFIX};
use super::{blocking, file};
use crate::checksum::{Crc64, Md5Stream};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::store::{
    Attributes, BlockId, BlockRange, BlockWriter, Payload, Phase, Precondition, PutOptions, PutResult, Trace,
    join,
};

/// Objects up to this size are written in one visit to the blocking pool.
pub(super) const AT_ONCE: u64 = 512 << 10;

/// A file that does not have its final name yet. Dropped unpublished, it is removed.
pub(super) struct PartialFile {
    file: File,
    temporary: PathBuf,
    destination: PathBuf,
    /// `None` where it was not known beforehand.
    size: Option<u64>,
    in_memory: bool,
    published: AtomicBool,
}

impl PartialFile {
    /// Creates the temporary file with all its room, and the folders above it.
    pub(super) fn create(destination: &Path, size: Option<u64>) -> Result<Self> {
        let name = format!("{PARTIAL_PREFIX}{:016x}{PARTIAL_SUFFIX}", fastrand::u64(..));
        let temporary = destination.with_file_name(name);
        let file = match File::create_new(&temporary) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let folder = temporary.parent().unwrap_or(Path::new("."));
                std::fs::create_dir_all(folder).map_err(|e| file::io("create", folder, e))?;
                File::create_new(&temporary)
            }
            other => other,
        };
        let file = file.map_err(|e| file::io("write", destination, e))?;
        let large = size.is_none_or(|size| size > AT_ONCE);
        let part = Self {
            in_memory: large && is_in_memory(&file),
            file,
            temporary,
            destination: destination.to_path_buf(),
            size,
            published: AtomicBool::new(false),
        };
        part.allocate()?;
        Ok(part)
    }

    /// Takes the room now, so that a full disk is noticed before anything moves.
    fn allocate(&self) -> Result<()> {
        let Some(size) = self.size.filter(|size| *size > AT_ONCE) else { return Ok(()) };
        if self.in_memory {
            // Here the room would be filled with zeroes first, for 0.2 s a GiB, and nothing gained.
            return self.has_room_for(size);
        }
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, size) {
            // Some file systems cannot; the length alone will do there.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                self.file.set_len(size).map_err(|e| file::io("write", &self.destination, e))
            }
            other => other.map_err(|e| file::io("write", &self.destination, e.into())),
        }
    }

    /// Removes the file unless it has its final name.
    pub(super) fn discard(&self) {
        if !self.published.load(Ordering::Acquire) {
            // Nobody is left to tell; a leftover is invisible to listings and named as one.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }

    /// The final name.
    pub(super) fn name(&self) -> String {
        self.destination.display().to_string()
    }

    fn has_room_for(&self, size: u64) -> Result<()> {
        let io = |e: rustix::io::Errno| file::io("write", &self.destination, e.into());
        let room = rustix::fs::fstatvfs(&self.file).map_err(io)?;
        // A file system without a bound says 0 blocks in all.
        if room.f_blocks > 0 && room.f_bavail.saturating_mul(room.f_frsize) < size {
            return Err(io(rustix::io::Errno::NOSPC));
        }
        self.file.set_len(size).map_err(|e| file::io("write", &self.destination, e))
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

    fn md5(&self) -> Result<crate::checksum::Md5> {
        let mut file = File::open(&self.temporary).map_err(|e| file::io("verify", &self.destination, e))?;
        let mut md5 = Md5Stream::default();
        let mut buffer = vec![0; AT_ONCE as usize];
        loop {
            match file.read(&mut buffer).map_err(|e| file::io("verify", &self.destination, e))? {
                0 => return Ok(md5.value()),
                len => md5.update(&buffer[..len]),
            }
        }
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        self.discard();
    }
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

/// A small object in one visit to the blocking pool.
pub(super) fn put_at_once(path: &Path, bytes: &Bytes, options: &PutOptions) -> Result<PutResult> {
    let part = PartialFile::create(path, Some(bytes.len() as u64))?;
    part.write_at(0, std::slice::from_ref(bytes))?;
    part.publish(Crc64::of(bytes), &options.attributes, &options.precondition)
}

/// A file being written block by block.
pub(super) struct LocalWriter {
    part: Arc<PartialFile>,
    pen: Pen,
    precondition: Precondition,
}

impl LocalWriter {
    pub(super) fn new(part: PartialFile, precondition: Precondition) -> Self {
        let part = Arc::new(part);
        Self { pen: Pen::new(&part), part, precondition }
    }
}

#[async_trait]
impl BlockWriter for LocalWriter {
    async fn put_block(&self, range: BlockRange, payload: Payload, trace: &Trace) -> Result<BlockId> {
        let crc64 = self.pen.write(range.offset, payload).await?;
        trace.mark(Phase::Committed);
        Ok(BlockId { range, crc64 })
    }

    async fn staged(&self, _trace: &Trace) -> Result<Vec<BlockId>> {
        // The temporary file is new with every writer.
        Ok(Vec::new())
    }

    async fn commit(&self, blocks: &[BlockId], attributes: &Attributes, trace: &Trace) -> Result<PutResult> {
        let joined = join(blocks).ok().filter(|(_, end)| self.part.size.is_none_or(|size| size == *end));
        let Some((whole, _)) = joined else {
            let (name, cause) = (self.part.name(), "the blocks do not make up the file");
            return Err(Error::new(ErrorKind::Integrity, "write", name, cause));
        };
        let (part, attributes, when) =
            (Arc::clone(&self.part), attributes.clone(), self.precondition.clone());
        // The same file would come to the same sum again.
        let published = blocking(move || part.publish(whole, &attributes, &when)).await;
        let result = published.map_err(|error| match error.kind() {
            ErrorKind::Integrity => error.retry(Retry::Never),
            _ => error,
        })?;
        trace.mark(Phase::Committed);
        Ok(result)
    }

    async fn abandon(&self) {
        // What is still being written goes with the file.
        self.part.discard();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::local::LocalStore;
    use crate::store::{GetOptions, Store as _};

    /// A folder in memory; `None` on systems without `/dev/shm`.
    fn folder_in_shm() -> Option<tempfile::TempDir> {
        let folder = tempfile::tempdir_in("/dev/shm").ok()?;
        folder_in_memory(folder.path()).then_some(folder)
    }

    fn block(offset: u64, len: u64) -> BlockRange {
        BlockRange { offset, len }
    }

    #[tokio::test]
    async fn a_file_in_memory_is_written_by_whoever_receives() {
        let Some(folder) = folder_in_shm() else { return };
        let store = LocalStore::new(folder.path().join("new"), crate::buffer::BufferPool::default());
        let trace = Trace::detached();
        let content: Vec<u8> = (0..3_u32 << 20).map(|at| (at % 251) as u8).collect();
        let content = Bytes::from(content);
        let size = content.len() as u64;
        let writer = store.begin("a/b", Some(size), &PutOptions::default()).await.unwrap();
        // A block of which an earlier try has left something else there.
        let half = size / 2;
        let wrong = Payload::Bytes(Bytes::from(vec![0xff; half as usize]));
        writer.put_block(block(half, half), wrong, &trace).await.unwrap();
        let (first, second) = tokio::join!(
            writer.put_block(block(0, half), content.slice(..half as usize).into(), &trace),
            writer.put_block(block(half, half), content.slice(half as usize..).into(), &trace),
        );
        let blocks = [first.unwrap(), second.unwrap()];
        assert!(!folder.path().join("new/a/b").exists(), "no final name before the end");
        let put = writer.commit(&blocks, &Attributes::default(), &trace).await.unwrap();
        assert_eq!(put.crc64, Some(Crc64::of(&content)));
        let got = store.get("a/b", &GetOptions::default(), &trace).await.unwrap();
        assert_eq!(got.payload.collect().await.unwrap(), content);
    }

    #[tokio::test]
    async fn a_short_block_and_a_full_memory_are_errors_with_a_name() {
        let Some(folder) = folder_in_shm() else { return };
        let part = PartialFile::create(&folder.path().join("file"), Some(1 << 20)).unwrap();
        assert!(part.is_in_memory());
        let part = Arc::new(part);
        let piece = futures_util::stream::iter([Ok(Bytes::from_static(b"short"))]);
        let error = Pen::new(&part).write(0, Payload::stream(10, piece)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Integrity);
        let full = PartialFile::create(&folder.path().join("huge"), Some(1 << 60));
        assert_eq!(full.err().map(|error| error.kind()), Some(ErrorKind::NoSpace));
        // Beyond what a file may hold: the kernel's refusal arrives as an error too.
        assert!(part.write_at(i64::MAX as u64 - 2, &[Bytes::from_static(b"12345")]).is_err());
    }
}
