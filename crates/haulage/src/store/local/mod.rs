//! A folder of files.
//!
//! Files are read by position into pooled buffers, and written to a temporary name in the destination
//! folder, preallocated, in parallel, and renamed when verified. A file's ETag is made of its change time, size and
//! inode, compared before and after every read, so that a file that changes under the mover is noticed.

mod below;
mod file;
#[cfg(fuzzing)]
pub mod fuzz;
mod partial;
mod pen;
mod ranges;
mod readers;
mod walk;
mod write;

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;

use self::below::Below;
use self::file::Reader;
use self::partial::PartialFile;
use self::pen::Pen;
use self::readers::Readers;
use self::walk::Walker;
use self::write::LocalWriter;
use super::*;
use crate::buffer::BufferPool;
use crate::error::ErrorKind;

/// Reads up to this size come as one piece; longer ones are streamed. Blocks are below it.
const ONE_READ_MAX: u64 = 64 << 20;

/// A folder of files.
#[derive(Clone, Debug)]
pub struct LocalStore {
    root: PathBuf,
    buffers: BufferPool,
    readers: Readers,
    below: Below,
    follow_symlinks: bool,
    /// Whether the root lies in memory: asked once, at the first use.
    in_memory: Arc<OnceLock<bool>>,
}

impl LocalStore {
    /// A store over the folder `root`, which is made by the first write if it is not there.
    pub fn new(root: PathBuf, buffers: BufferPool) -> Self {
        Self {
            root,
            buffers,
            readers: Readers::default(),
            below: Below::default(),
            follow_symlinks: false,
            in_memory: Arc::default(),
        }
    }

    /// Whether a walk follows symbolic links; it does not unless told to.
    #[must_use]
    pub fn following(self, follow_symlinks: bool) -> Self {
        Self { follow_symlinks, ..self }
    }

    /// Splits a path into the folder to open and the key within it. A folder, or a path that ends in `/`,
    /// is opened itself; anything else is a key in its parent.
    pub fn split(path: &Path) -> Result<(PathBuf, String)> {
        let shown = path.display().to_string();
        let folder_asked = path.as_os_str().as_encoded_bytes().ends_with(b"/");
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

    /// The folder this store is over.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Files below a root in memory are read and written without a thread that may wait.
    fn is_in_memory(&self) -> bool {
        *self.in_memory.get_or_init(|| partial::folder_in_memory(&self.root))
    }

    /// The file that `key` names. Keys come from other people's listings, so that none may lead out of the root.
    fn path_of(&self, key: &str) -> Result<PathBuf> {
        let relative = Path::new(key);
        let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        let canonical = !key.is_empty() && !key.contains("//") && !key.ends_with('/');
        // `components()` swallows `.` in the middle, so look for it by hand.
        let dotless = key.split('/').all(|part| part != "." && part != "..");
        if plain && canonical && dotless && !key.contains('\0') {
            return Ok(self.root.join(relative));
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            "open",
            key,
            "this name cannot be a file below the destination",
        )
        .hint("copy this object alone, to a name of your choice"))
    }

    /// The file that `key` names, where it may be written or deleted: links on the way do not lead out of the root.
    fn place_of(&self, key: &str) -> Result<PathBuf> {
        let path = self.path_of(key)?;
        self.below.check(&self.root, &path)?;
        Ok(path)
    }
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
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        Err(_) => Err(Error::new(ErrorKind::Cancelled, "run", "file work", "the runtime shuts down")),
    }
}

#[async_trait]
impl Store for LocalStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            put_max: u64::MAX,
            block_max: u64::MAX,
            block_min: 1,
            blocks_max: u64::MAX,
            range_checksum_max: 0,
            streams: true,
            local: true,
            contents: true,
        }
    }

    fn name(&self, key: &str) -> String {
        self.root.join(key).display().to_string()
    }

    fn list(&self, request: ListRequest) -> Box<dyn Lister> {
        Box::new(Walker::new(self.root.clone(), request, self.follow_symlinks))
    }

    async fn head(&self, key: &str, _trace: &Trace) -> Result<ObjectMeta> {
        let (path, key) = (self.path_of(key)?, key.to_owned());
        blocking(move || file::head(&path, key)).await
    }

    async fn get(&self, key: &str, options: &GetOptions, trace: &Trace) -> Result<GetResult> {
        let path = self.path_of(key)?;
        // A file that is read in stretches stays open between them.
        let known = self.readers.find(key).filter(|reader| reader.range(options).is_ok());
        let kept = options.range.is_some();
        let in_memory = self.is_in_memory();
        // A file that lies in memory is read at once: for a small one the way to another thread and back costs more
        // than the read.
        let fresh = known.is_none();
        let known = known.or_else(|| Reader::open_cached(&path, key, &self.buffers, in_memory).map(Arc::new));
        if let Some(reader) = &known
            && let Some(cached) = reader.range(options).and_then(|range| short(range, reader))?
        {
            if kept && fresh {
                self.readers.keep(key, reader);
            }
            trace.mark(Phase::Ready);
            return Ok(GetResult { meta: reader.meta().clone(), payload: cached, crc64: None, md5: None });
        }
        let (owned, options, buffers) = (key.to_owned(), options.clone(), self.buffers.clone());
        let (reader, payload) = blocking(move || {
            let reader = match known {
                Some(reader) => reader,
                None => Arc::new(Reader::open(&path, &owned, &buffers, in_memory)?),
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

    async fn put(
        &self,
        key: &str,
        payload: Payload,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<PutResult> {
        let path = self.place_of(key)?;
        let result = if payload.len() <= partial::AT_ONCE {
            let bytes = payload.collect().await?;
            if self.is_in_memory() {
                write::put_at_once(&path, &bytes, options)?
            } else {
                let options = options.clone();
                blocking(move || write::put_at_once(&path, &bytes, &options)).await?
            }
        } else {
            let size = payload.len();
            let part = Arc::new(blocking(move || PartialFile::create(&path, Some(size))).await?);
            let crc64 = Pen::new(&part).write(0, payload).await?;
            let options = options.clone();
            blocking(move || part.publish(crc64, &options.attributes, &options.precondition)).await?
        };
        trace.mark(Phase::Committed);
        Ok(result)
    }

    async fn begin(
        &self,
        key: &str,
        size: Option<u64>,
        options: &PutOptions,
    ) -> Result<Arc<dyn BlockWriter>> {
        let path = self.place_of(key)?;
        let source = size.zip(options.source_etag.clone());
        let part = blocking(move || match source {
            Some((size, etag)) => PartialFile::resume(&path, size, &etag),
            None => PartialFile::create(&path, size),
        })
        .await?;
        Ok(Arc::new(LocalWriter::new(part, options.precondition.clone())))
    }

    async fn delete(&self, key: &str, _trace: &Trace) -> Result<()> {
        let path = self.place_of(key)?;
        blocking(move || {
            std::fs::remove_file(&path).map_err(|e| Error::from_io("delete", path.display().to_string(), e))
        })
        .await
    }

    async fn remove_leftover(&self, key: &str, _trace: &Trace) -> Result<bool> {
        let path = self.place_of(key)?;
        blocking(move || partial::remove(&path)).await
    }

    async fn create_container(&self, _trace: &Trace) -> Result<()> {
        let root = self.root.clone();
        blocking(move || {
            if let Some(parent) = root.parent() {
                std::fs::create_dir_all(parent)
                    .map_err(|e| Error::from_io("create", parent.display().to_string(), e))?;
            }
            std::fs::create_dir(&root).map_err(|e| {
                let there = e.kind() == std::io::ErrorKind::AlreadyExists;
                let error = Error::from_io("create", root.display().to_string(), e);
                if there { error.hint(CONTAINER_THERE) } else { error }
            })
        })
        .await
    }

    async fn delete_container(&self, _trace: &Trace) -> Result<()> {
        let root = self.root.clone();
        blocking(move || {
            std::fs::remove_dir_all(&root)
                .map_err(|e| Error::from_io("delete", root.display().to_string(), e))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> LocalStore {
        LocalStore::new(PathBuf::from("/data"), BufferPool::default())
    }

    #[test]
    fn no_key_leads_out_of_the_root() {
        for key in ["../a", "a/../../b", "/etc/passwd", "", "a//b", "a/", "a/./b", "./a", "..", "a\0b"] {
            assert_eq!(store().path_of(key).unwrap_err().kind(), ErrorKind::Unsupported, "{key:?}");
        }
        for key in ["a", "a/b", ".hidden", "a..b", "...", "a b#?%+:"] {
            assert_eq!(store().path_of(key).unwrap(), Path::new("/data").join(key));
        }
    }

    #[test]
    fn paths_split_into_folder_and_key() {
        assert_eq!(LocalStore::split(Path::new("/no/such")).unwrap(), ("/no".into(), "such".into()));
        assert_eq!(LocalStore::split(Path::new("new/")).unwrap(), ("new/".into(), String::new()));
        assert_eq!(LocalStore::split(Path::new("name")).unwrap(), ("".into(), "name".into()));
        assert_eq!(LocalStore::split(Path::new("/")).unwrap(), ("/".into(), String::new()));
    }
}
