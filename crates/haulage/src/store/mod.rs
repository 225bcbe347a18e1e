//! The seam between the mover and everything that holds objects.
//!
//! A [`Store`] is one container (or folder) with a flat space of names. Every request method takes
//! a [`Trace`] and marks on it the phases it passes; none retries by itself, that is the business of
//! `gate`. Dropping a future cancels its request.

mod address;
mod answer;
mod asked;
pub mod azure;
mod block;
mod by_service;
mod capabilities;
mod folder;
mod headers;
mod list;
mod local;
mod location;
mod media;
mod memory;
mod object;
mod options;
mod payload;
mod posix;
mod presigned;
mod properties;
pub mod reach;
mod receipt;
mod renewed;
pub mod s3;
mod session;
mod stream;
mod surroundings;
mod tags;
mod tier;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

pub use address::{Address, check_local};
pub use block::{BlockId, BlockRange, Kept, Part, StagedPart, Token};
pub(crate) use block::{join, join_parts};
pub use by_service::{CopyRules, CopySource, Peer};
pub use capabilities::{Capabilities, CutRules, Versions};
pub(crate) use folder::{folder_of, is_folder, marks_by_name};
pub use list::{Leftover, ListPage, ListRequest, Lister};
pub use local::LocalStore;
#[cfg(fuzzing)]
#[doc(hidden)]
pub use local::fuzz as local_fuzz;
pub(crate) use local::{is_witness, witness_name};
pub use location::{Location, StoreOpener};
pub use memory::MemoryStore;
pub use object::{
    Attributes, BlockSizes, GetOptions, GetResult, Joining, ObjectMeta, Precondition, PutOptions, PutResult,
    SourceBytes, Stored, Version,
};
pub use options::StoreOptions;
pub use payload::Payload;
pub use posix::{Posix, Preserve};
pub use presigned::{Access, Presigned};
pub use properties::Properties;
pub(crate) use receipt::ReceiptStore;
pub use s3::{AccessKeys, Addressing};
pub use session::{Credentials, Session};
pub(crate) use stream::Input;
pub use tags::Tags;
pub(crate) use tier::{is_tier, is_tier_of_azure, travels};

use crate::checksum::{Crc64, Md5};
use crate::error::{Error, ErrorKind, Result};
pub use crate::trace::{Phase, Trace};

/// Why an object is not deleted or backed up that somebody has written since it was seen.
pub(crate) fn changed_since(name: String) -> Error {
    let cause = "it has changed since it was listed, so it stays";
    Error::new(ErrorKind::SourceChanged, "delete", name, cause).hint("run the same command again")
}

/// The hint where a container or folder is there already that was to be made.
const CONTAINER_THERE: &str = "nothing to do, or choose another name";

/// What may be asked of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// What is known of an object.
    Look,
    /// A page of a list.
    List,
    /// An object, or a stretch of it.
    Get,
    /// Write an object at once.
    Put,
    /// Begin one in blocks, and what is staged of it.
    Begin,
    /// Add to an object that only grows.
    Append,
    /// Write a block.
    PutBlock,
    /// Make an object of another of the same service.
    Copy,
    /// Make a block of a stretch of such an object.
    CopyBlock,
    /// Make the blocks the object.
    Commit,
    /// Give an object another version.
    Claim,
    /// Delete an object, or what is left of one.
    Delete,
    /// Delete several objects at once.
    DeleteMany,
    /// Create a container.
    CreateContainer,
    /// Delete one.
    DeleteContainer,
}

/// One container of objects, or one folder of files.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// What this store can do.
    fn capabilities(&self) -> Capabilities;

    /// The object's name for people and records: never with a secret in it.
    fn name(&self, key: &str) -> String;

    /// The same from wherever it is reached, so that two names of one object are told to be one.
    fn identity(&self, key: &str) -> String {
        self.name(key)
    }

    /// The file of an object, where it is one of this machine.
    fn path(&self, _key: &str) -> Option<PathBuf> {
        None
    }

    /// What the service calls a request, for records.
    fn api(&self, request: Request) -> &'static str {
        match request {
            Request::Look => "Look",
            Request::List => "List",
            Request::Get => "Read",
            Request::Put => "Write",
            Request::Begin => "Begin",
            Request::Append => "Append",
            Request::PutBlock => "WriteBlock",
            Request::Copy => "Copy",
            Request::CopyBlock => "CopyBlock",
            Request::Commit => "Commit",
            Request::Claim => "Claim",
            Request::Delete => "Delete",
            Request::DeleteMany => "DeleteMany",
            Request::CreateContainer => "Create",
            Request::DeleteContainer => "Remove",
        }
    }

    /// Says that so many requests at once are about to come, so that connections may be opened for them. Returns at once.
    fn prepare(&self, _requests: usize) {}

    /// Lists names in byte order.
    fn list(&self, request: ListRequest) -> Box<dyn Lister>;

    /// Asks for an object's metadata.
    ///
    /// # Errors
    /// `NotFound` also for the marker of a folder.
    async fn head(&self, key: &str, trace: &Trace) -> Result<ObjectMeta>;

    /// The marker of a folder, by its name without a `/`, that is not among what is in the folder.
    async fn marker(&self, _folder: &str, _trace: &Trace) -> Result<Option<ObjectMeta>> {
        Ok(None)
    }

    /// The tags of an object, in the order of names.
    async fn tags(&self, _key: &str, _trace: &Trace) -> Result<Vec<(String, String)>> {
        Ok(Vec::new())
    }

    /// Reads an object or a range of it.
    async fn get(&self, key: &str, options: &GetOptions, trace: &Trace) -> Result<GetResult>;

    /// Whether an object of this name can be written, as far as that is known without writing: for dry runs.
    ///
    /// # Errors
    /// What a write would end with.
    async fn admits(&self, _key: &str) -> Result<()> {
        Ok(())
    }

    /// Writes an object in one request.
    async fn put(
        &self,
        key: &str,
        payload: Payload,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<PutResult>;

    /// Whether it knows objects that only grow.
    fn appends(&self) -> bool {
        false
    }

    /// Adds bytes at the end of an object that only grows and is `at` bytes long now; it is made where that is 0. Not twice at the
    /// same place: who does not know whether an attempt took effect looks how long the object is.
    async fn append(&self, key: &str, _at: u64, _bytes: Bytes, _trace: &Trace) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "append to", self.name(key), "objects here do not grow"))
    }

    /// Begins to write an object block by block, or goes on with what an earlier run has begun; `size` in bytes, where it is
    /// known beforehand.
    async fn begin(
        &self,
        key: &str,
        size: Option<u64>,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<Arc<dyn BlockWriter>>;

    /// The store by its kind, where its service can hand objects over to another of its stores.
    fn peer(&self) -> Option<Peer<'_>> {
        None
    }

    /// How the service of this store copies objects of `source` by itself; `None` where it cannot, or must not be told how to reach
    /// them.
    fn copies_from(&self, _source: &dyn Store) -> Option<CopyRules> {
        None
    }

    /// Has the service copy an object, in one request. Only from a store of which [`Store::copies_from`] says how.
    ///
    /// # Errors
    /// `SourceChanged` where the source is no longer what `from` says; anything where the service does not copy.
    async fn copy(
        &self,
        _from: &CopySource<'_>,
        key: &str,
        _options: &PutOptions,
        _trace: &Trace,
    ) -> Result<PutResult> {
        Err(by_service::unable(self.name(key)))
    }

    /// Deletes an object.
    async fn delete(&self, key: &str, trace: &Trace) -> Result<()>;

    /// Deletes an object if it is still this version. Where the store's conditions cannot tell versions apart, it is looked at first.
    ///
    /// # Errors
    /// `SourceChanged` where it is another one.
    async fn delete_version(&self, key: &str, version: &Version, trace: &Trace) -> Result<()> {
        if !version.is_of(&self.head(key, trace).await?) {
            return Err(changed_since(self.name(key)));
        }
        self.delete(key, trace).await
    }

    /// Gives an object another version, if it is still the one with this ETag, and changes nothing else: whoever counts on the one
    /// before finds another there. What its ETag is then.
    ///
    /// # Errors
    /// `SourceChanged` where it is another one already, or is gone.
    async fn claim(&self, key: &str, _etag: &str, _trace: &Trace) -> Result<String> {
        Err(Error::new(ErrorKind::Unsupported, "claim", self.name(key), "nothing is written here"))
    }

    /// Removes those of these folders that are empty, in this order; nothing where folders are not there by themselves. What cannot
    /// be removed stays.
    async fn prune(&self, _folders: Vec<String>) {}

    /// Objects that [`Store::delete_many`] takes at most.
    fn delete_max(&self) -> usize {
        1
    }

    /// Deletes objects, and says what became of each, in their order. Where one request deletes many, deleting what is not there
    /// is no error.
    ///
    /// # Errors
    /// Where nobody knows what became of any of them.
    async fn delete_many(&self, keys: &[String], trace: &Trace) -> Result<Vec<Result<()>>> {
        let mut outcomes = Vec::with_capacity(keys.len());
        for key in keys {
            outcomes.push(self.delete(key, trace).await);
        }
        Ok(outcomes)
    }

    /// Makes a URL that lets whoever has it do this for so long: for an object, or for the whole container where the key is empty
    /// and the service has such URLs.
    ///
    /// # Errors
    /// `Unsupported` where there are none, or what lets us in cannot sign; `Usage` for a life that the service does not allow.
    async fn presign(&self, key: &str, _: Access, _life: Duration, _trace: &Trace) -> Result<Presigned> {
        let cause = "only objects of Azure and S3 have signed URLs";
        Err(Error::new(ErrorKind::Unsupported, "sign a URL for", self.name(key), cause)
            .hint("name an object: az://container/path or s3://bucket/key"))
    }

    /// The object that something in a list of leftovers was to become: several may be left of one.
    fn leftover_of<'a>(&self, leftover: &'a str) -> &'a str {
        leftover
    }

    /// What this key in a list of leftovers is.
    async fn look_at_leftover(&self, _key: &str) -> Result<Leftover> {
        Ok(Leftover::Spare)
    }

    /// Removes what an interrupted write has left, by its key in a list of leftovers. False where it
    /// is none, or no longer: an object has come out of it, or, as far as the store can tell, somebody is still writing it.
    async fn remove_leftover(&self, key: &str, trace: &Trace) -> Result<bool>;

    /// Creates the container; `Exists` if it is there.
    async fn create_container(&self, trace: &Trace) -> Result<()>;

    /// Whether a container goes with all that is in it. Where not, one that holds objects stays, and is refused.
    fn deletes_full(&self) -> bool {
        true
    }

    /// Deletes the container: with all that is in it, or only an empty one, as [`Store::deletes_full`] says.
    async fn delete_container(&self, trace: &Trace) -> Result<()>;
}

/// An object being written block by block; nobody sees it before the commit.
#[async_trait]
pub trait BlockWriter: Send + Sync {
    /// Stages one block. Staging the same block again is harmless; several at once is the point.
    async fn put_block(&self, range: BlockRange, payload: Payload, trace: &Trace) -> Result<Stored>;

    /// Has the service make a block of the same stretch of another of its objects. Several at once, and the same one again, are
    /// as good as for [`BlockWriter::put_block`].
    ///
    /// # Errors
    /// As for [`Store::copy`].
    async fn copy_block(&self, _range: BlockRange, from: &CopySource<'_>, _trace: &Trace) -> Result<Stored> {
        Err(by_service::unable(from.store.name(from.key)))
    }

    /// Whether a block that is staged was made by the service of this version of this object, by what the store calls it.
    fn is_copy(&self, _staged: &StagedPart, _from: &CopySource<'_>) -> bool {
        false
    }

    /// Bytes of the block that begins here, unless it is the last, where the store has to say how an object is cut. `None` where
    /// any of the sizes that its rules allow will do.
    fn block_len(&self, _offset: u64) -> Option<u64> {
        None
    }

    /// The blocks that are staged already, whoever did it.
    async fn staged(&self, trace: &Trace) -> Result<Vec<StagedPart>>;

    /// The block of exactly this range which an earlier run has left in the store's own hands, after another look at its
    /// bytes. `None` where there is none, or they are no longer what they were. Only stores that read without a request.
    async fn recheck(&self, _range: BlockRange) -> Result<Option<Kept>> {
        Ok(None)
    }

    /// Notes a block that is there and right, for a later run to go on from. Nothing to do where the store itself remembers.
    async fn keep(&self, _kept: Kept) {}

    /// Makes these, in this order, the object.
    async fn commit(&self, parts: &[Part], attributes: &Attributes, trace: &Trace) -> Result<PutResult>;

    /// Gives up: removes what is staged where the store does not do so by itself. Not to be called where a later run shall
    /// go on from it.
    async fn abandon(&self);
}
