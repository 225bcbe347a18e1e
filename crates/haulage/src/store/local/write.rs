//! Writing files: to a temporary name in the destination folder, renamed when verified.

use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use rustix::fs::OFlags;

use super::partial::PartialFile;
use super::queue::WriteQueue;
use super::tree::Place;
use super::{blocking, file};
use crate::checksum::Crc64;
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::store::{
    Attributes, BlockId, BlockRange, BlockWriter, Kept, Part, Payload, Phase, Precondition, PutOptions,
    PutResult, StagedPart, Stored, Trace, join,
};

/// A small object in one visit to the blocking pool.
pub(super) fn put_at_once(place: Place, bytes: &Bytes, options: &PutOptions) -> Result<PutResult> {
    let part = PartialFile::create(place, Some(bytes.len() as u64), options.attributes.at_first())?;
    part.write_at(0, std::slice::from_ref(bytes))?;
    part.publish(Crc64::of(bytes), &options.attributes, &options.precondition)
}

/// Adds bytes to a file that readers may follow, so that it has its name from the beginning.
pub(super) fn append(place: &Place, at: u64, bytes: &Bytes) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let written = place.folder.open(&place.name, flags).map_err(std::io::Error::from).and_then(|file| {
        // Another kind of thing would take the bytes and keep none.
        let there = file.metadata()?;
        if !there.is_file() {
            return Err(std::io::ErrorKind::AlreadyExists.into());
        }
        // Somebody has shortened it, or put another one in its place.
        if there.len() < at {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        file.write_all_at(bytes, at)
    });
    written.map_err(|error| file::io("append to", &place.path(), error))
}

/// A file being written block by block.
pub(super) struct LocalWriter {
    part: Arc<PartialFile>,
    queue: WriteQueue,
    precondition: Precondition,
}

impl LocalWriter {
    pub(super) fn new(part: PartialFile, precondition: Precondition) -> Self {
        let part = Arc::new(part);
        Self { queue: WriteQueue::new(&part), part, precondition }
    }
}

#[async_trait]
impl BlockWriter for LocalWriter {
    async fn put_block(&self, range: BlockRange, payload: Payload, trace: &Trace) -> Result<Stored> {
        let crc64 = self.queue.write(range.offset, payload).await?;
        trace.mark(Phase::Committed);
        Ok(Stored { part: BlockId { range, crc64 }.into(), confirmed: false })
    }

    async fn staged(&self, _trace: &Trace) -> Result<Vec<StagedPart>> {
        Ok(self.part.found().map(|kept| kept.id.into()).collect())
    }

    async fn recheck(&self, range: BlockRange) -> Result<Option<Kept>> {
        let part = Arc::clone(&self.part);
        blocking(move || part.recheck(range)).await
    }

    async fn keep(&self, kept: Kept) {
        let part = Arc::clone(&self.part);
        // If the attempt is given up before there is a thread for it, a later run fetches this range again.
        let kept = self.part.medium().run(move || {
            part.keep(&kept);
            Ok(())
        });
        let _ = kept.await;
    }

    async fn commit(&self, parts: &[Part], attributes: &Attributes, trace: &Trace) -> Result<PutResult> {
        let joined = join(parts.iter().map(|part| &part.id))
            .ok()
            .filter(|(_, end)| self.part.size().is_none_or(|size| size == *end));
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
    use rustix::fs::Mode;

    use super::*;
    use crate::store::local::LocalStore;
    use crate::store::local::leftover::{list_of, partial_name};
    use crate::store::local::medium::Medium;
    use crate::store::local::tree::{Follow, Tree};
    use crate::store::{GetOptions, Precondition, Store as _};

    /// A folder in memory; `None` on systems without `/dev/shm`.
    fn folder_in_shm() -> Option<tempfile::TempDir> {
        let folder = tempfile::tempdir_in("/dev/shm").ok()?;
        (Medium::of_folder(folder.path()).0 == Medium::Memory).then_some(folder)
    }

    fn block(offset: u64, len: u64) -> BlockRange {
        BlockRange { offset, len }
    }

    #[tokio::test]
    async fn a_file_in_memory_is_written_by_whoever_receives() {
        let Some(folder) = folder_in_shm() else { return };
        let store = LocalStore::new(&folder.path().join("new"), crate::buffer::BufferPool::default());
        let trace = Trace::detached();
        let content: Vec<u8> = (0..3_u32 << 20).map(|at| (at % 251) as u8).collect();
        let content = Bytes::from(content);
        let size = content.len() as u64;
        let writer =
            store.begin("a/b", Some(size), &PutOptions::default(), &Trace::detached()).await.unwrap();
        // A block of which an earlier try has left something else there.
        let half = size / 2;
        let wrong = Payload::Bytes(Bytes::from(vec![0xff; half as usize]));
        writer.put_block(block(half, half), wrong, &trace).await.unwrap();
        let (first, second) = tokio::join!(
            writer.put_block(block(0, half), content.slice(..half as usize).into(), &trace),
            writer.put_block(block(half, half), content.slice(half as usize..).into(), &trace),
        );
        let blocks = [first.unwrap().part, second.unwrap().part];
        assert!(!folder.path().join("new/a/b").exists(), "no final name before the end");
        let put = writer.commit(&blocks, &Attributes::default(), &trace).await.unwrap();
        assert_eq!(put.crc64, Some(Crc64::of(&content)));
        let got = store.get("a/b", &GetOptions::default(), &trace).await.unwrap();
        assert_eq!(got.payload.collect().await.unwrap(), content);
    }

    #[tokio::test]
    async fn a_short_block_and_a_full_memory_are_errors_with_a_name() {
        let Some(folder) = folder_in_shm() else { return };
        let tree = Tree::new(folder.path(), Follow::Nothing);
        let place = |name| tree.place(name, false).unwrap();
        let part = PartialFile::create(place("file"), Some(1 << 20), Mode::RWXU).unwrap();
        assert_eq!(part.medium(), Medium::Memory);
        let part = Arc::new(part);
        let piece = futures_util::stream::iter([Ok(Bytes::from_static(b"short"))]);
        let error = WriteQueue::new(&part).write(0, Payload::stream("file", 10, piece)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Integrity);
        let full = PartialFile::create(place("huge"), Some(1 << 60), Mode::RWXU);
        assert_eq!(full.err().map(|error| error.kind()), Some(ErrorKind::NoSpace));
        // Beyond what a file may hold: the kernel's refusal arrives as an error too.
        assert!(part.write_at(i64::MAX as u64 - 2, &[Bytes::from_static(b"12345")]).is_err());
    }

    #[test]
    fn the_next_writer_clears_away_what_a_killed_one_has_left() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::new(dir.path(), Follow::Nothing);
        let create = || PartialFile::create(tree.place("file", false).unwrap(), Some(3), Mode::RWXU).unwrap();
        let names = || -> Vec<_> {
            std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        let first = create();
        let left = dir.path().join(&names()[0]);
        let second = create();
        assert_eq!(names().len(), 2, "each has its own while both write");
        drop((first, second));
        assert_eq!(names().len(), 0);
        // As after a kill, with permissions that the file was to have.
        std::fs::write(&left, "left over").unwrap();
        std::fs::set_permissions(&left, std::os::unix::fs::PermissionsExt::from_mode(0o400)).unwrap();
        let part = create();
        assert_eq!(names().len(), 1);
        assert_eq!(std::fs::metadata(&left).unwrap().len(), 0);
        part.write_at(0, &[Bytes::from_static(b"new")]).unwrap();
        part.publish(Crc64::of(b"new"), &Attributes::default(), &Precondition::None).unwrap();
        assert_eq!(names(), ["file"]);
    }

    /// A file of ten ranges of which an earlier writer, now gone, has left three.
    async fn interrupted(
        folder: &std::path::Path,
        etag: &str,
    ) -> (LocalStore, Arc<dyn BlockWriter>, Vec<u8>) {
        let store = LocalStore::new(folder, crate::buffer::BufferPool::default());
        let options = PutOptions { source_etag: Some("one".into()), ..PutOptions::default() };
        let content: Vec<u8> = (0..10_u32 << 16).map(|at| (at % 251) as u8).collect();
        let writer =
            store.begin("file", Some(content.len() as u64), &options, &Trace::detached()).await.unwrap();
        for number in [0, 3, 4] {
            let range = block(number << 16, 1 << 16);
            let bytes = Bytes::copy_from_slice(&content[range.offset as usize..range.end() as usize]);
            let id = writer.put_block(range, bytes.into(), &Trace::detached()).await.unwrap().part.id;
            writer.keep(Kept { id, vouched: number == 3 }).await;
        }
        drop(writer);
        let options = PutOptions { source_etag: Some(etag.into()), ..PutOptions::default() };
        let writer =
            store.begin("file", Some(content.len() as u64), &options, &Trace::detached()).await.unwrap();
        (store, writer, content)
    }

    #[tokio::test]
    async fn a_later_writer_finds_the_ranges_of_the_same_source() {
        let dir = tempfile::tempdir().unwrap();
        let (_store, writer, content) = interrupted(dir.path(), "one").await;
        let trace = Trace::detached();
        assert_eq!(writer.staged(&trace).await.unwrap().len(), 3);
        for number in 0..10_u64 {
            let range = block(number << 16, 1 << 16);
            let kept = writer.recheck(range).await.unwrap();
            let crc64 = Crc64::of(&content[range.offset as usize..range.end() as usize]);
            let expected = Kept { id: BlockId { range, crc64 }, vouched: number == 3 };
            assert_eq!(kept, [0, 3, 4].contains(&number).then_some(expected), "{number}");
        }
        writer.abandon().await;
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left of what was given up");
    }

    #[tokio::test]
    async fn a_file_of_a_few_small_ranges_is_gone_on_with_too() {
        let dir = tempfile::tempdir().unwrap();
        let store = LocalStore::new(dir.path(), crate::buffer::BufferPool::default());
        let options = PutOptions { source_etag: Some("one".into()), ..PutOptions::default() };
        let writer = store.begin("file", Some(300), &options, &Trace::detached()).await.unwrap();
        let bytes = Bytes::from_static(&[7; 200]);
        let id = writer.put_block(block(0, 200), bytes.into(), &Trace::detached()).await.unwrap().part.id;
        writer.keep(Kept { id, vouched: true }).await;
        drop(writer);
        let writer = store.begin("file", Some(300), &options, &Trace::detached()).await.unwrap();
        assert_eq!(writer.recheck(block(0, 200)).await.unwrap(), Some(Kept { id, vouched: true }));
    }

    #[tokio::test]
    async fn a_later_writer_of_another_source_finds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (_store, writer, _) = interrupted(dir.path(), "two").await;
        assert!(writer.staged(&Trace::detached()).await.unwrap().is_empty());
        drop(writer);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "there is nothing to go on from");
    }

    #[tokio::test]
    async fn a_second_writer_of_the_same_file_keeps_to_itself() {
        let dir = tempfile::tempdir().unwrap();
        let (store, first, content) = interrupted(dir.path(), "one").await;
        let options = PutOptions { source_etag: Some("one".into()), ..PutOptions::default() };
        let size = content.len() as u64;
        let second = store.begin("file", Some(size), &options, &Trace::detached()).await.unwrap();
        let trace = Trace::detached();
        assert!(second.staged(&trace).await.unwrap().is_empty());
        let put =
            second.put_block(block(0, size), Bytes::from(content.clone()).into(), &trace).await.unwrap();
        second.commit(&[put.part], &Attributes::default(), &trace).await.unwrap();
        drop(second);
        assert_eq!(first.staged(&trace).await.unwrap().len(), 3);
        assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), content);
    }

    #[tokio::test]
    async fn a_file_whose_list_cannot_be_made_is_written_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = LocalStore::new(dir.path(), crate::buffer::BufferPool::default());
        let temporary = partial_name(Crc64::of(b"file").to_u64());
        std::fs::create_dir(dir.path().join(list_of(&temporary))).unwrap();
        let options = PutOptions { source_etag: Some("one".into()), ..PutOptions::default() };
        let given_up = store.begin("file", Some(3), &options, &Trace::detached()).await.unwrap();
        drop(given_up);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "what was there, and nothing of ours");
        let writer = store.begin("file", Some(3), &options, &Trace::detached()).await.unwrap();
        let put = writer.put_block(block(0, 3), Bytes::from_static(b"abc").into(), &Trace::detached()).await;
        writer.commit(&[put.unwrap().part], &Attributes::default(), &Trace::detached()).await.unwrap();
        drop(writer);
        assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), b"abc");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[tokio::test]
    async fn a_file_written_in_another_way_takes_away_what_was_left_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = LocalStore::new(dir.path(), crate::buffer::BufferPool::default());
        let trace = Trace::detached();
        let size = 100_000_u64;
        let content = Bytes::from(vec![7; size as usize]);
        let options = PutOptions { source_etag: Some("one".into()), ..PutOptions::default() };
        let leave = async || {
            let writer = store.begin("file", Some(size), &options, &trace).await.unwrap();
            let put = writer.put_block(block(0, 50_000), content.slice(..50_000).into(), &trace).await;
            writer.keep(Kept { id: put.unwrap().part.id, vouched: true }).await;
        };
        leave().await;
        assert!(std::fs::read_dir(dir.path()).unwrap().count() > 1, "a later run could go on");
        let names = || std::fs::read_dir(dir.path()).unwrap().map(|one| one.unwrap().file_name());
        // A process that another test starts holds the lock too, from its fork until it runs its program.
        for _ in 0..100 {
            store.put("file", content.clone().into(), &PutOptions::default(), &trace).await.unwrap();
            if names().count() == 1 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(names().collect::<Vec<_>>(), ["file"]);

        // What somebody else is writing stays.
        let other = store.begin("file", Some(size), &options, &trace).await.unwrap();
        store.put("file", content.clone().into(), &PutOptions::default(), &trace).await.unwrap();
        assert_eq!(names().count(), 3);
        drop(other);
        assert_eq!(names().collect::<Vec<_>>(), ["file"]);
    }
}
