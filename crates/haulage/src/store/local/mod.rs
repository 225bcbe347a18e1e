//! A folder of files.
//!
//! Files are read by position into pooled buffers, and written to a temporary name in the destination
//! folder, preallocated, in parallel, and renamed when verified. A file's ETag is made of its change time, size and
//! inode, compared before and after every read, so that a file that changes under the mover is noticed.

mod doubt;
mod file;
mod finish;
mod flush;
#[cfg(fuzzing)]
pub mod fuzz;
mod leftover;
mod mark;
mod medium;
mod partial;
mod queue;
mod ranges;
mod readers;
mod shared;
pub(super) mod special;
mod tree;
mod walk;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;

use self::file::Reader;
use self::flush::Written;
pub(crate) use self::leftover::{is_witness, witness_name};
use self::medium::Medium;
use self::partial::PartialFile;
use self::queue::WriteQueue;
use self::readers::Readers;
pub(super) use self::shared::Shared;
use self::tree::{FILE_IN_THE_WAY, Follow, Make, Place, Tree, may_be_replaced};
use self::walk::Walker;
use self::write::LocalWriter;
use super::*;
use crate::buffer::BufferPool;
use crate::error::ErrorKind;
use crate::task::off_thread;

/// Reads up to this size come as one piece; longer ones are streamed. Blocks are below it.
const ONE_READ_MAX: u64 = 64 << 20;

/// A folder of files.
#[derive(Clone, Debug)]
pub struct LocalStore {
    tree: Tree,
    buffers: BufferPool,
    readers: Readers,
    written: Written,
    /// What the root lies on, and the step of times there: asked once, at the first use.
    medium: Arc<OnceLock<(Medium, u64)>>,
    /// The key that the user named, which a folder may have by the next run.
    named: Arc<str>,
}

impl LocalStore {
    /// A store over the folder `root`, which is made by the first write if it is not there.
    pub fn new(root: &Path, buffers: BufferPool) -> Self {
        let tree = Tree::new(root, Follow::Nothing);
        let (readers, written) = (Readers::default(), Written::default());
        Self { tree, buffers, readers, written, medium: Arc::default(), named: Arc::default() }
    }

    /// Shares what others share.
    #[must_use]
    pub(super) fn sharing(self, shared: &Shared) -> Self {
        let tree = self.tree.sharing(shared.folders.clone());
        Self { tree, written: shared.written.clone(), ..self }
    }

    /// Reads through links: those that `all` says, wherever they lead; else only through the one that the user named.
    #[must_use]
    pub fn following(self, all: bool, named: &str) -> Self {
        let follow = if all { Follow::All } else { Follow::Named(named.to_owned()) };
        Self { tree: self.tree.following(follow), named: named.into(), ..self }
    }

    /// Splits a path into the folder to open and the key within it. A folder, or a path that ends in `/`,
    /// is opened itself; anything else is a key in its parent.
    pub fn split(path: &Path) -> Result<(PathBuf, String)> {
        let shown = path.display().to_string();
        let bytes = path.as_os_str().as_encoded_bytes();
        // A folder, as everywhere, and no file `new`.
        if bytes.ends_with(b"/.") {
            return Ok((path.components().collect(), String::new()));
        }
        let folder_asked = bytes.ends_with(b"/");
        if folder_asked || path.is_dir() || shown.is_empty() {
            return Ok((path.to_path_buf(), String::new()));
        }
        let name = path
            .file_name()
            .ok_or_else(|| Error::new(ErrorKind::Usage, "open", &shown, "the path does not end in a name"))?;
        let key = name.to_str().ok_or_else(|| not_utf8(path))?;
        let parent = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok((parent, key.to_owned()))
    }

    /// The same, in which no link is followed, whatever the user wants read through links: what is deleted lies in the tree.
    fn following_none(&self) -> Self {
        Self { tree: self.tree.clone().following(Follow::Nothing), ..self.clone() }
    }

    fn medium(&self) -> Medium {
        self.ground().0
    }

    /// What the folder lies on, and the step of times there.
    fn ground(&self) -> (Medium, u64) {
        *self.medium.get_or_init(|| Medium::of_folder(self.tree.root()))
    }

    /// Where a file is read.
    fn source(&self, key: &str) -> Result<Place> {
        check_key(key)?;
        self.tree.place(key, false)
    }

    /// Where a file is written; the folders above it are made, like those of another file where one is given. Never through a link.
    fn destination(&self, key: &str, like: Option<&Path>) -> Result<Place> {
        check_name(key)?;
        let make = like.map_or(Make::Folders, Make::Like);
        let place = match self.tree.place_like(key, make) {
            // A folder that was open may have been removed since.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.tree.forget();
                self.tree.place_like(key, make)
            }
            other => other,
        }?;
        if place.folder.is_first_written(self.written.phase()) {
            let root = || self.medium().marked(&self.tree, self.destination_of(key));
            let marked = self.written.note(&place.folder, root)?;
            place.folder.set_marked(marked);
        }
        Ok(place)
    }

    /// The folder that the user copies to, as the next run will call it: `cp az://c/tree/ back` makes the folder `back`, and
    /// finds it there when it is run again.
    fn destination_of(&self, key: &str) -> &str {
        let below = key.strip_prefix(&*self.named).is_some_and(|rest| rest.starts_with('/'));
        if below { &self.named } else { "" }
    }
}

/// Keys come from other people's listings: what is no plain path below the root is refused.
fn check_key(key: &str) -> Result<()> {
    let plain = |segment: &str| !matches!(segment, "" | "." | "..");
    if key.split('/').all(plain) && !key.contains('\0') {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Unsupported, "open", key, "this name cannot be a file below the folder")
        .hint("copy this object alone, to a name of your choice"))
}

/// Refuses names of files that are not written.
fn check_name(key: &str) -> Result<()> {
    check_key(key)?;
    if leftover::is_none_of_content(key) {
        let cause = "this name is reserved for files that interrupted jobs leave";
        return Err(Error::new(ErrorKind::Unsupported, "write", key, cause)
            .hint("copy this object alone, to a name of your choice"));
    }
    Ok(())
}

/// A stretch that is short and in memory already.
fn short(range: BlockRange, reader: &Reader) -> Result<Option<Payload>> {
    if range.len <= ONE_READ_MAX { reader.read_cached(range) } else { Ok(None) }
}

/// The error for names that no object store can hold.
fn not_utf8(path: &Path) -> Error {
    Error::new(ErrorKind::Io, "list", path.display().to_string(), "the name is not valid UTF-8")
        .hint("rename the file; object names are UTF-8")
}

/// Runs file work where it may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    off_thread(work).await?
}

#[async_trait]
impl Store for LocalStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            put_max: u64::MAX,
            cut: CutRules::ANY,
            range_checksum_max: 0,
            streams: true,
            at_hand: true,
            keeps_checksums: false,
            folders: true,
            rechecks: true,
            late_writes: false,
            begins_freely: false,
            lists_all: true,
            time_step_ns: self.ground().1,
            in_order: false,
            keeps_properties: false,
            versions: Versions { conditions: true, unique: true },
            contents: true,
        }
    }

    fn name(&self, key: &str) -> String {
        self.tree.root().join(key).display().to_string()
    }

    fn identity(&self, key: &str) -> String {
        let path = self.tree.root().join(key);
        std::path::absolute(&path).unwrap_or(path).display().to_string()
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        Some(self.tree.root().join(key))
    }

    fn list(&self, request: ListRequest) -> Box<dyn Lister> {
        Box::new(Walker::new(self.tree.clone(), request))
    }

    async fn head(&self, key: &str, _trace: &Trace) -> Result<ObjectMeta> {
        let (store, key) = (self.clone(), key.to_owned());
        blocking(move || store.look(&key)).await
    }

    async fn get(&self, key: &str, options: &GetOptions, trace: &Trace) -> Result<GetResult> {
        // A file that is read in stretches stays open between them.
        let known = self.readers.find(key).filter(|reader| reader.range(options).is_ok());
        let kept = options.range.is_some();
        // What lies in memory is read at once.
        let fresh = known.is_none();
        let known = known.or_else(|| self.open_cached(key));
        if let Some(reader) = &known
            && let Some(cached) = reader.range(options).and_then(|range| short(range, reader))?
        {
            if kept && fresh {
                self.readers.keep(key, reader);
            }
            trace.mark(Phase::Ready);
            return Ok(GetResult { meta: reader.meta().clone(), payload: cached, crc64: None, md5: None });
        }
        let (store, owned, options) = (self.clone(), key.to_owned(), options.clone());
        let (reader, payload) = blocking(move || {
            let reader = match known {
                Some(reader) => reader,
                None => Arc::new(store.open(&owned)?),
            };
            let range = reader.range(&options)?;
            let payload = if range.len <= ONE_READ_MAX {
                reader.read(range)?
            } else {
                Arc::clone(&reader).stream(range)
            };
            Ok((reader, payload))
        })
        .await?;
        if kept {
            self.readers.keep(key, &reader);
        }
        let meta = reader.meta().clone();
        trace.mark(Phase::Ready);
        Ok(GetResult { meta, payload, crc64: None, md5: None })
    }

    async fn admits(&self, key: &str) -> Result<()> {
        let (store, key) = (self.following_none(), key.to_owned());
        blocking(move || {
            check_name(&key)?;
            match store.tree.place(&key, false) {
                Ok(place) => may_be_replaced(&place).map(drop),
                // It would be made.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                Err(error) if error.kind() == ErrorKind::Io => Err(error.hint(FILE_IN_THE_WAY)),
                Err(error) => Err(error),
            }
        })
        .await
    }

    async fn put(
        &self,
        key: &str,
        payload: Payload,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<PutResult> {
        let (store, key, options) = (self.clone(), key.to_owned(), options.clone());
        let result = if payload.len() <= partial::AT_ONCE {
            let bytes = payload.collect().await?;
            let put = move || {
                write::put_at_once(store.destination(&key, options.like.as_deref())?, &bytes, &options)
            };
            self.medium().run(put).await?
        } else {
            let (size, like, mode) = (payload.len(), options.like.clone(), options.attributes.at_first());
            let part = blocking(move || {
                let place = store.destination(&key, like.as_deref())?;
                may_be_replaced(&place)?;
                PartialFile::create(place, Some(size), mode)
            });
            let part = Arc::new(part.await?);
            let crc64 = WriteQueue::new(&part).write(0, payload).await?;
            blocking(move || part.publish(crc64, &options.attributes, &options.precondition)).await?
        };
        trace.mark(Phase::Committed);
        Ok(result)
    }

    fn appends(&self) -> bool {
        true
    }

    async fn append(&self, key: &str, at: u64, bytes: Bytes, trace: &Trace) -> Result<()> {
        let (store, key) = (self.clone(), key.to_owned());
        let appended = blocking(move || {
            let appended = write::append(&store.destination(&key, None)?, at, &bytes);
            if matches!(&appended, Err(error) if error.kind() == ErrorKind::NotFound) {
                // The folder that was open has been removed: the next try makes it anew.
                store.tree.forget();
            }
            appended
        });
        appended.await?;
        trace.mark(Phase::Committed);
        Ok(())
    }

    async fn begin(
        &self,
        key: &str,
        size: Option<u64>,
        options: &PutOptions,
        _trace: &Trace,
    ) -> Result<Arc<dyn BlockWriter>> {
        let (store, key) = (self.clone(), key.to_owned());
        let source = size.zip(options.source_etag.clone());
        let (most, like) = (options.attributes.at_first(), options.like.clone());
        let part = blocking(move || {
            let place = store.destination(&key, like.as_deref())?;
            may_be_replaced(&place)?;
            match source {
                Some((size, etag)) => PartialFile::resume(place, size, &etag, most),
                None => PartialFile::create(place, size, most),
            }
        });
        Ok(Arc::new(LocalWriter::new(part.await?, options.precondition.clone())))
    }

    async fn delete(&self, key: &str, _trace: &Trace) -> Result<()> {
        let (store, key) = (self.following_none(), key.to_owned());
        blocking(move || store.remove(&key)).await
    }

    /// In one go: a file system has no such condition, and what is written between the look and the end would be gone.
    async fn delete_version(&self, key: &str, version: &Version, _trace: &Trace) -> Result<()> {
        let (store, key, etag) = (self.clone(), key.to_owned(), version.etag.clone());
        blocking(move || {
            let _alone = store.hold(&key, &etag)?;
            store.following_none().remove(&key)
        })
        .await
    }

    async fn claim(&self, key: &str, etag: &str, _trace: &Trace) -> Result<String> {
        let (store, key, etag) = (self.clone(), key.to_owned(), etag.to_owned());
        blocking(move || {
            let _alone = store.hold(&key, &etag)?;
            file::touch(&store.source(&key)?, store.tree.follows(&key))
        })
        .await
    }

    async fn prune(&self, folders: Vec<String>) {
        let store = self.following_none();
        let pruned = blocking(move || {
            for folder in folders {
                // One that holds something stays, whatever that is.
                if check_key(&folder).is_ok()
                    && let Ok(place) = store.tree.place(&folder, false)
                {
                    let _ = place.folder.remove_folder(&place.name);
                }
            }
            Ok(())
        });
        let _ = pruned.await;
    }

    async fn look_at_leftover(&self, key: &str) -> Result<Leftover> {
        let (store, key) = (self.clone(), key.to_owned());
        blocking(move || Ok(partial::state(&store.source(&key)?))).await
    }

    async fn remove_leftover(&self, key: &str, _trace: &Trace) -> Result<bool> {
        let (store, key) = (self.clone(), key.to_owned());
        blocking(move || partial::remove(&store.source(&key)?)).await
    }

    async fn create_container(&self, _trace: &Trace) -> Result<()> {
        let root = self.tree.root().to_path_buf();
        blocking(move || {
            if let Some(parent) = root.parent() {
                std::fs::create_dir_all(parent).map_err(|e| file::io("create", parent, e))?;
            }
            std::fs::create_dir(&root).map_err(|e| {
                let there = e.kind() == std::io::ErrorKind::AlreadyExists;
                let error = file::io("create", &root, e);
                if there { error.hint(CONTAINER_THERE) } else { error }
            })
        })
        .await
    }

    /// A folder holds what others put there: it is not ours to remove.
    async fn delete_container(&self, _trace: &Trace) -> Result<()> {
        let cause = "a local folder is not removed as a whole";
        Err(Error::new(ErrorKind::Unsupported, "delete", self.name(""), cause)
            .hint("remove it with rm -r or rmdir"))
    }
}

impl LocalStore {
    /// What is known of a file. Blocks.
    fn look(&self, key: &str) -> Result<ObjectMeta> {
        let followed = self.tree.follows(key);
        let place = self.source(key)?;
        file::head(&place, key.to_owned(), followed)
    }

    /// Refuses a file that is no longer this version; while what this gives lives, no other mover claims or removes it, where it can be
    /// locked. Blocks.
    fn hold(&self, key: &str, etag: &str) -> Result<Option<std::fs::File>> {
        let alone = self.source(key).ok().and_then(|place| partial::alone(&place));
        if self.look(key)?.etag == etag { Ok(alone) } else { Err(changed_since(self.name(key))) }
    }

    /// Removes a file. Blocks.
    fn remove(&self, key: &str) -> Result<()> {
        let place = self.source(key)?;
        file::head(&place, key.to_owned(), false)?;
        place.folder.remove(&place.name).map_err(|e| file::io("delete", &place.path(), e.into()))
    }

    fn open(&self, key: &str) -> Result<Reader> {
        let followed = self.tree.follows(key);
        Reader::open(&self.source(key)?, key, followed, &self.buffers, self.medium())
    }

    /// Opens a file where that waits for no disk: its folder is open, and its inode in memory.
    fn open_cached(&self, key: &str) -> Option<Arc<Reader>> {
        check_key(key).ok()?;
        let medium = self.medium();
        let place = medium.place_at_hand(&self.tree, key)?;
        Reader::open_cached(&place, key, &self.buffers, medium).map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_leads_out_of_the_root() {
        for key in ["../a", "a/../../b", "/etc/passwd", "", "a//b", "a/", "a/./b", "./a", "..", "a\0b"] {
            assert_eq!(check_key(key).unwrap_err().kind(), ErrorKind::Unsupported, "{key:?}");
        }
        for key in ["a", "a/b", ".hidden", "a..b", "...", "a b#?%+:"] {
            check_key(key).unwrap();
        }
    }

    #[tokio::test]
    async fn what_is_missing_is_named_where_its_folder_is_missing_too() {
        let dir = tempfile::tempdir().unwrap();
        let store = LocalStore::new(dir.path(), BufferPool::default());
        let missing = store.head("no/such", &Trace::detached()).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert_eq!(missing.object_name(), dir.path().join("no/such").display().to_string());
    }

    #[tokio::test]
    async fn a_folder_is_not_removed_and_what_is_no_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let store = LocalStore::new(dir.path(), BufferPool::default());
        let trace = Trace::detached();
        let refused = [
            (store.delete_container(&trace).await.unwrap_err(), "remove it with rm -r or rmdir"),
            (store.head("link", &trace).await.unwrap_err(), "remove the link, or use the file it points to"),
            (
                store.head("pipe", &trace).await.unwrap_err(),
                "to read or write it as a stream, use it as the only source or as the destination",
            ),
        ];
        for (error, hint) in refused {
            assert_eq!((error.kind(), error.hint_text()), (ErrorKind::Unsupported, Some(hint)));
        }
        assert!(pipe.exists());
    }

    #[test]
    fn paths_split_into_folder_and_key() {
        assert_eq!(LocalStore::split(Path::new("/no/such")).unwrap(), ("/no".into(), "such".into()));
        assert_eq!(LocalStore::split(Path::new("new/")).unwrap(), ("new/".into(), String::new()));
        assert_eq!(LocalStore::split(Path::new("new/.")).unwrap(), ("new".into(), String::new()));
        assert_eq!(LocalStore::split(Path::new("name")).unwrap(), ("".into(), "name".into()));
        assert_eq!(LocalStore::split(Path::new("/")).unwrap(), ("/".into(), String::new()));
    }
}
