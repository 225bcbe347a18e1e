//! Blobs as plain files below a directory, with what files cannot carry in `.haul` beside them.
//!
//! ```text
//! DIR/<container>/<name>                     the bytes, readable by anyone
//! DIR/.haul/containers/<container>.json      metadata of the container
//! DIR/.haul/blobs/<container>/<hash>.json    name, properties and block list of a blob
//! DIR/.haul/blocks/<container>/<hash>/       uncommitted blocks and the name they are for
//! DIR/.haul/uploads/<container>/<id>/        multipart uploads
//! DIR/.haul/tmp/                             bodies on their way in
//! ```
//!
//! Files become visible by rename, so a killed emulator leaves whole blobs or none; nothing is
//! flushed to the disk, so a power failure may lose the latest. Files put there by hand are served
//! after the next start.

mod load;
mod scratch;
mod sidecar;
mod uploads;

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::task::spawn_blocking;

use self::uploads::OwnedUploadKey;
use super::{
    Blob, Catalogue, Chunks, Container, Data, Key, MultipartUpload, Part, Store, UploadKey, UploadedPart,
    path,
};
use crate::wire::error::{Answer, ServiceError};
use crate::wire::incoming::Content;
pub(crate) use scratch::StoredFile;
use scratch::{Scratch, Writer};

pub(super) struct DirectoryStore {
    places: Arc<Places>,
}

/// Where things lie.
pub(super) struct Places {
    root: PathBuf,
    scratch: Scratch,
}

impl Places {
    fn container(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn sidecars(&self, kind: &str) -> PathBuf {
        self.root.join(".haul").join(kind)
    }

    fn container_record(&self, name: &str) -> PathBuf {
        self.sidecars("containers").join(format!("{name}.json"))
    }

    fn blob_record(&self, key: &OwnedKey) -> PathBuf {
        self.sidecars("blobs").join(&key.container).join(format!("{}.json", path::hash(&key.blob)))
    }

    fn blocks(&self, key: &OwnedKey) -> PathBuf {
        self.sidecars("blocks").join(&key.container).join(path::hash(&key.blob))
    }

    /// Moves a finished file to its blob's place.
    fn place(&self, key: &OwnedKey, from: &Path) -> io::Result<PathBuf> {
        let folder = self.container(&key.container);
        let flat = folder.join(path::flat(&key.blob));
        if let Some(nested) = path::nested(&key.blob).map(|path| folder.join(path)) {
            match move_file(&self.root, from, &nested) {
                Ok(()) => {
                    // Where an earlier version may lie, from when the way was barred.
                    let _ = fs::remove_file(&flat);
                    return Ok(nested);
                }
                // Another blob's file or folder is in the way.
                Err(error) if is_taken(&error) => {}
                Err(error) => return Err(error),
            }
        }
        move_file(&self.root, from, &flat)?;
        Ok(flat)
    }
}

/// A [`Key`] that may cross to the blocking pool.
pub(super) struct OwnedKey {
    container: String,
    blob: String,
}

impl From<Key<'_>> for OwnedKey {
    fn from(key: Key<'_>) -> Self {
        Self { container: key.container.to_owned(), blob: key.blob.to_owned() }
    }
}

impl DirectoryStore {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        let root = root.canonicalize()?;
        if root.parent().is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the whole machine is no place for blobs",
            ));
        }
        for kind in ["tmp", "containers", "blobs", "blocks", "uploads"] {
            let folder = root.join(".haul").join(kind);
            no_link_above(&root, &folder.join("any"))?;
            fs::create_dir_all(folder)?;
        }
        let places = Places { root: root.clone(), scratch: Scratch::open(root)? };
        Ok(Self { places: Arc::new(places) })
    }

    /// Runs `work` where it may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Places) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let places = Arc::clone(&self.places);
        spawn_blocking(move || work(&places)).await.map_err(io::Error::other)?
    }
}

#[async_trait]
impl Store for DirectoryStore {
    fn load(&self) -> io::Result<Catalogue> {
        load::load(&self.places)
    }

    async fn receive(&self, body: &mut dyn Content) -> Answer<Data> {
        let mut writer = Writer::new(self.places.scratch.fresh());
        while let Some(bytes) = body.next().await? {
            writer.write(bytes).await.map_err(|error| ServiceError::internal(&error))?;
        }
        writer.finish().await.map_err(|error| ServiceError::internal(&error))
    }

    async fn assemble(&self, parts: Vec<Part>) -> io::Result<Data> {
        self.blocking(move |places| {
            let whole = places.scratch.fresh();
            let mut out = File::create(whole.path())?;
            for Part { data, range } in parts {
                let mut from = open_file(&data)?;
                from.seek(SeekFrom::Start(range.start))?;
                // The kernel copies by itself between files, on some file systems without reading.
                let copied = io::copy(&mut from.take(range.end - range.start), &mut out)?;
                if copied != range.end - range.start {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Ok(Data::File(Arc::new(whole)))
        })
        .await
    }

    async fn open(&self, data: &Data, range: Range<u64>) -> io::Result<Chunks> {
        let data = data.clone();
        self.blocking(move |_| Ok(Chunks::file(open_file(&data)?, range))).await
    }

    async fn keep_blob(&self, key: Key<'_>, blob: &Blob) -> io::Result<Data> {
        let (key, mut blob) = (OwnedKey::from(key), blob.clone());
        self.blocking(move |places| {
            let Data::File(from) = &blob.data else { return Err(io::ErrorKind::InvalidInput.into()) };
            let file = places.place(&key, from.path())?;
            blob.data = Data::File(Arc::new(StoredFile::kept(file)));
            sidecar::write_blob(places, &key, &blob)?;
            Ok(blob.data)
        })
        .await
    }

    async fn keep_properties(&self, key: Key<'_>, blob: &Blob) -> io::Result<()> {
        let (key, blob) = (OwnedKey::from(key), blob.clone());
        self.blocking(move |places| sidecar::write_blob(places, &key, &blob)).await
    }

    async fn keep_block(&self, key: Key<'_>, id: &str, data: Data) -> io::Result<Data> {
        let (key, id) = (OwnedKey::from(key), id.to_owned());
        self.blocking(move |places| {
            let Data::File(from) = &data else { return Err(io::ErrorKind::InvalidInput.into()) };
            let folder = places.blocks(&key);
            if !folder.join("name").exists() {
                fs::create_dir_all(&folder)?;
                fs::write(folder.join("name"), &key.blob)?;
            }
            let file = folder.join(sidecar::block_file(&id));
            move_file(&places.root, from.path(), &file)?;
            Ok(Data::File(Arc::new(StoredFile::kept(file))))
        })
        .await
    }

    async fn drop_blocks(&self, key: Key<'_>) -> io::Result<()> {
        let key = OwnedKey::from(key);
        self.blocking(move |places| gone(fs::remove_dir_all(places.blocks(&key)))).await
    }

    async fn drop_blob(&self, key: Key<'_>, blob: &Blob) -> io::Result<()> {
        let (key, data) = (OwnedKey::from(key), blob.data.clone());
        self.blocking(move |places| {
            gone(fs::remove_file(places.blob_record(&key)))?;
            if let Data::File(file) = &data {
                no_link_above(&places.root, file.path())?;
                gone(fs::remove_file(file.path()))?;
                let container = places.container(&key.container);
                let folders = file.path().ancestors().skip(1).take_while(|folder| *folder != container);
                // The first folder that still holds something ends it.
                let _: Option<()> = folders.map(|folder| fs::remove_dir(folder).ok()).collect();
            }
            Ok(())
        })
        .await
    }

    async fn keep_upload(&self, key: UploadKey<'_>, upload: &MultipartUpload) -> io::Result<()> {
        let (key, upload) = (OwnedUploadKey::from(key), upload.clone());
        self.blocking(move |places| uploads::write(places, &key, &upload)).await
    }

    async fn keep_part(&self, key: UploadKey<'_>, number: u16, part: &UploadedPart) -> io::Result<Data> {
        let (key, part) = (OwnedUploadKey::from(key), part.clone());
        self.blocking(move |places| uploads::write_part(places, &key, number, part)).await
    }

    async fn drop_upload(&self, key: UploadKey<'_>) -> io::Result<()> {
        let key = OwnedUploadKey::from(key);
        self.blocking(move |places| gone(fs::remove_dir_all(places.upload(&key)))).await
    }

    async fn keep_container(&self, name: &str, container: &Container) -> io::Result<()> {
        let record = serde_json::to_vec(container)?;
        let name = name.to_owned();
        self.blocking(move |places| {
            fs::create_dir_all(places.container(&name))?;
            places.scratch.write(&places.container_record(&name), &record)
        })
        .await
    }

    async fn drop_container(&self, name: &str) -> io::Result<()> {
        let name = name.to_owned();
        self.blocking(move |places| {
            gone(fs::remove_dir_all(places.container(&name)))?;
            gone(fs::remove_dir_all(places.sidecars("blobs").join(&name)))?;
            gone(fs::remove_dir_all(places.sidecars("blocks").join(&name)))?;
            gone(fs::remove_dir_all(places.sidecars("uploads").join(&name)))?;
            gone(fs::remove_file(places.container_record(&name)))
        })
        .await
    }
}

fn open_file(data: &Data) -> io::Result<File> {
    match data {
        Data::File(file) => File::open(file.path()),
        Data::Pattern | Data::Memory(_) => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Renames, making the folders above. A deletion nearby may prune a folder just made: once more then.
fn move_file(root: &Path, from: &Path, to: &Path) -> io::Result<()> {
    no_link_above(root, to)?;
    let parent = to.parent().unwrap_or(to);
    for _ in 0..8 {
        match fs::rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir_all(parent)?,
            done => return done,
        }
    }
    fs::rename(from, to)
}

/// Refuses a file that lies below the root by name, and behind a link elsewhere.
fn no_link_above(root: &Path, file: &Path) -> io::Result<()> {
    let mut above = file.ancestors().skip(1).take_while(|folder| *folder != root);
    match above.find(|folder| folder.is_symlink()) {
        None => Ok(()),
        Some(link) => {
            let cause = format!("{} is a symbolic link, and none is followed", link.display());
            Err(io::Error::new(io::ErrorKind::AlreadyExists, cause))
        }
    }
}

fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory)
}

/// Removing what is not there is done.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
