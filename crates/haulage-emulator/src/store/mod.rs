//! Where bytes go, and the catalogue of what is there.
//!
//! The catalogue (names, properties, block lists) is always in memory, so that all stores answer
//! alike; a [`Store`] keeps the bytes, and, where it outlives the process, a copy of the records.

mod catalogue;
mod chunks;
mod directory;
mod memory;
mod null;
mod object;
mod path;

use std::io;
use std::ops::Range;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use haulage::{Error, Result};

pub(crate) use catalogue::{
    Appendable, Blob, Catalogue, CommittedBlock, Container, ContentHeaders, Metadata, Page, PageItem,
    PageQuery, Staged, StagedBlock, successor,
};
pub(crate) use chunks::Chunks;
pub(crate) use directory::StoredFile;
pub(crate) use object::{MultipartUpload, ObjectFacts, PartFacts, UploadedPart, opaque_etag};

use crate::config::StoreKind;
use crate::wire::error::Answer;
use crate::wire::incoming::Content;

/// Where the bytes of a block or a blob lie.
#[derive(Clone, Debug, Default)]
pub(crate) enum Data {
    /// Nowhere: they are made up when read.
    #[default]
    Pattern,
    /// In memory, in pieces.
    Memory(Arc<[Bytes]>),
    /// In a file.
    File(Arc<StoredFile>),
}

/// A stretch of bytes already stored, to be joined with others.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) data: Data,
    pub(crate) range: Range<u64>,
}

/// Which blob, for stores that file things by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) container: &'a str,
    pub(crate) blob: &'a str,
}

/// Which multipart upload. The id is one that was made here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UploadKey<'a> {
    pub(crate) container: &'a str,
    pub(crate) id: &'a str,
}

/// Keeps bytes. What is received is nobody's until one of the `keep` methods makes it a block's
/// or a blob's; what is received and never kept is dropped.
#[async_trait]
pub(crate) trait Store: Send + Sync {
    /// What is already there.
    fn load(&self) -> io::Result<Catalogue>;

    /// Whether Put Blob computes an MD5 that the client did not send, as the service does.
    fn computes_md5(&self) -> bool {
        true
    }

    /// Takes a body in.
    async fn receive(&self, body: &mut dyn Content) -> Answer<Data>;

    /// Joins stored stretches to one.
    async fn assemble(&self, parts: Vec<Part>) -> io::Result<Data>;

    /// Joins what a blob holds and what is added to it. Done often, with little to add.
    async fn append(&self, before: Part, more: Part) -> io::Result<Data> {
        self.assemble(vec![before, more]).await
    }

    /// Bytes `range` of what is stored, ready to be sent.
    async fn open(&self, data: &Data, range: Range<u64>) -> io::Result<Chunks>;

    /// Makes `blob` the one called `key`; where its data lie afterwards.
    async fn keep_blob(&self, key: Key<'_>, blob: &Blob) -> io::Result<Data> {
        let _ = key;
        Ok(blob.data.clone())
    }

    /// Notes new properties of the blob called `key`.
    async fn keep_properties(&self, _key: Key<'_>, _blob: &Blob) -> io::Result<()> {
        Ok(())
    }

    /// Makes `data` the uncommitted block `id` of `key`; where they lie afterwards.
    async fn keep_block(&self, key: Key<'_>, id: &str, data: Data) -> io::Result<Data> {
        let _ = (key, id);
        Ok(data)
    }

    /// Notes that the uncommitted blocks of `key` are gone.
    async fn drop_blocks(&self, _key: Key<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Notes that a blob is gone.
    async fn drop_blob(&self, _key: Key<'_>, _blob: &Blob) -> io::Result<()> {
        Ok(())
    }

    /// Notes a new multipart upload.
    async fn keep_upload(&self, _key: UploadKey<'_>, _upload: &MultipartUpload) -> io::Result<()> {
        Ok(())
    }

    /// Makes `part` the part `number` of an upload; where its data lie afterwards.
    async fn keep_part(&self, key: UploadKey<'_>, number: u16, part: &UploadedPart) -> io::Result<Data> {
        let _ = (key, number);
        Ok(part.data.clone())
    }

    /// Notes that a multipart upload is gone with its parts.
    async fn drop_upload(&self, _key: UploadKey<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Notes a new or changed container.
    async fn keep_container(&self, _name: &str, _container: &Container) -> io::Result<()> {
        Ok(())
    }

    /// Notes that a container is gone with all that it held.
    async fn drop_container(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }
}

/// The paths of a blob for `fuzz`.
#[cfg(fuzzing)]
pub(crate) fn files(name: &str) -> Vec<std::path::PathBuf> {
    path::nested(name).into_iter().chain([path::flat(name)]).collect()
}

/// The blob of a path for `fuzz`.
#[cfg(fuzzing)]
pub(crate) fn name_of_file(file: &std::path::Path) -> Option<String> {
    path::decode(file)
}

/// Opens the store of this kind.
pub(crate) fn open(kind: &StoreKind, seed: u64) -> Result<Box<dyn Store>> {
    Ok(match kind {
        StoreKind::Memory => Box::new(memory::MemoryStore),
        StoreKind::Null => Box::new(null::NullStore::new(seed)),
        StoreKind::Directory(path) => Box::new(
            directory::DirectoryStore::open(path)
                .map_err(|error| Error::from_io("open store", path.display().to_string(), error))?,
        ),
    })
}
