//! Files on their way in.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::store::Data;

/// How much is gathered before the blocking pool is troubled.
const BATCH: usize = 1 << 20;

/// A file that holds stored bytes. One that nobody kept goes away with its last user.
#[derive(Debug)]
pub(crate) struct StoredFile {
    path: PathBuf,
    kept: bool,
}

impl StoredFile {
    pub(super) fn kept(path: PathBuf) -> Self {
        Self { path, kept: true }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for StoredFile {
    fn drop(&mut self) {
        if !self.kept {
            // Renamed files are no longer there, which is as well.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The folder for unfinished files.
pub(super) struct Scratch {
    root: PathBuf,
    folder: PathBuf,
    serial: AtomicU64,
}

impl Scratch {
    /// Opens the folder and drops what an earlier run left unfinished.
    pub(super) fn open(root: PathBuf) -> io::Result<Self> {
        let folder = root.join(".haul/tmp");
        super::gone(fs::remove_dir_all(&folder))?;
        fs::create_dir_all(&folder)?;
        Ok(Self { root, folder, serial: AtomicU64::new(0) })
    }

    /// A file name that nobody uses.
    pub(super) fn fresh(&self) -> StoredFile {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        StoredFile { path: self.folder.join(serial.to_string()), kept: false }
    }

    /// Writes a small file so that it is there whole or not at all.
    pub(super) fn write(&self, to: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = self.fresh();
        fs::write(file.path(), bytes)?;
        super::move_file(&self.root, file.path(), to)
    }
}

/// Writes a body in batches in the blocking pool, one batch behind the network.
pub(super) struct Writer {
    file: Arc<StoredFile>,
    gathered: Vec<Bytes>,
    gathered_len: usize,
    writing: Option<JoinHandle<io::Result<File>>>,
}

impl Writer {
    pub(super) fn new(file: StoredFile) -> Self {
        Self { file: Arc::new(file), gathered: Vec::new(), gathered_len: 0, writing: None }
    }

    pub(super) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        self.gathered_len += bytes.len();
        self.gathered.push(bytes);
        if self.gathered_len >= BATCH { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let open = self.written().await?;
        let batch = mem::take(&mut self.gathered);
        self.gathered_len = 0;
        let target = Arc::clone(&self.file);
        self.writing = Some(spawn_blocking(move || {
            let mut file = match open {
                Some(file) => file,
                None => File::create(target.path())?,
            };
            batch.iter().try_for_each(|bytes| file.write_all(bytes))?;
            Ok(file)
        }));
        Ok(())
    }

    /// Waits for the batch in flight.
    async fn written(&mut self) -> io::Result<Option<File>> {
        match self.writing.take() {
            None => Ok(None),
            Some(writing) => writing.await.map_err(io::Error::other)?.map(Some),
        }
    }

    pub(super) async fn finish(mut self) -> io::Result<Data> {
        self.flush().await?;
        self.written().await?;
        Ok(Data::File(self.file))
    }
}
