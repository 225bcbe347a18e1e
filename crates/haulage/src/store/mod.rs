//! The seam between the mover and everything that holds objects.
//!
//! A [`Store`] is one container (or folder) with a flat space of names. Every request method takes
//! a [`Trace`] and marks on it the phases it passes; none retries by itself, that is the business of
//! `gate`. Dropping a future cancels its request.

mod answer;
pub mod azure;
mod block;
mod by_service;
mod local;
mod location;
mod media;
mod memory;
mod options;
mod payload;
mod posix;
mod properties;
mod receipt;
mod renewed;
pub mod s3;
mod session;
mod surroundings;
mod tags;
mod tier;

use std::sync::Arc;

use async_trait::async_trait;

pub use block::{BlockId, BlockRange, Kept, Part, StagedPart, Token};
pub(crate) use block::{join, join_parts};
pub use by_service::{CopyRules, CopySource, Peer};
pub use local::LocalStore;
#[cfg(fuzzing)]
#[doc(hidden)]
pub use local::fuzz as local_fuzz;
pub(crate) use location::StreamEnd;
pub use location::{Address, Location, StoreOpener, check_local};
pub use memory::MemoryStore;
pub use options::StoreOptions;
pub use payload::Payload;
pub use posix::{Posix, Preserve};
pub use properties::Properties;
pub(crate) use receipt::ReceiptStore;
pub use s3::{AccessKeys, Addressing};
pub use session::{Credentials, Session};
pub use tags::Tags;
pub(crate) use tier::{is_tier, is_tier_of_azure, travels};

use crate::checksum::{ChecksumMode, Crc64, Md5};
use crate::error::{Error, Result};
pub use crate::trace::{Phase, Trace};

/// The hint where a container or folder is there already that was to be made.
const CONTAINER_THERE: &str = "nothing is left to do, or choose another name";

/// What a store can do; the planner decides by these.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Largest object that one put may carry, in bytes.
    pub put_max: u64,
    /// How an object may be cut into blocks.
    pub cut: CutRules,
    /// Largest range for which a get returns a checksum of exactly these bytes; 0 for never.
    pub range_checksum_max: u64,
    /// Whether puts take their bytes as they arrive, so that none need be gathered first.
    pub streams: bool,
    /// Whether objects can be read. A receipt only knows of them.
    pub contents: bool,
    /// Whether everything is on this machine: asking and reading cost no request, and work that has begun cannot be called back.
    pub at_hand: bool,
    /// Whether a checksum is kept with each object, and stated of what is taken and given. Where not, what is read is
    /// what is there.
    pub keeps_checksums: bool,
    /// Whether folders are there by themselves, so that one may be empty, or missing.
    pub folders: bool,
    /// Whether what an earlier run has left can be looked at again without a request.
    pub rechecks: bool,
    /// Whether a write that was given up may still arrive.
    pub late_writes: bool,
    /// Whether to begin an object in blocks leaves nothing behind.
    pub begins_freely: bool,
    /// Whether a list says all that a look at each object would: checksums, the time of the source, the media type. Where
    /// not, what is missing from a list is unknown, and not absent.
    pub lists_all: bool,
    /// Whether headers, metadata and tags can be kept with an object. Files have no place for them.
    pub keeps_properties: bool,
}

/// How a store lets objects be cut into blocks. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutRules {
    /// Smallest block but the last.
    pub least: u64,
    /// Largest block.
    pub most: u64,
    /// Largest number of blocks in an object.
    pub count: u64,
    /// Every block begins at a multiple of this, or of what a very large object needs in its place: see [`Self::granule`].
    pub granule: u64,
    /// All blocks but the last are of one size.
    pub even: bool,
}

impl CutRules {
    /// Blocks of any size and number.
    pub const ANY: Self = Self { least: 1, most: u64::MAX, count: u64::MAX, granule: 1, even: false };

    /// What every block of an object of `size` bytes begins at a multiple of. It depends on the size alone, so that a
    /// store which numbers its blocks can tell by the number where one begins, whoever has sent it.
    pub fn granule(&self, size: u64) -> u64 {
        if self.granule <= 1 {
            return 1;
        }
        let needed = size.div_ceil(self.count).next_multiple_of(GRANULE_STEP);
        needed.max(self.granule)
    }
}

/// Granules larger than the least are multiples of this.
const GRANULE_STEP: u64 = 1 << 20;

/// What is known of an object without reading it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Name within the container, `/` between folders.
    pub key: String,
    /// Size in bytes.
    pub size: u64,
    /// Changes whenever the content does: an ETag, or what stands for one on a file system.
    pub etag: String,
    /// Last change at this store, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// Last change of the file this object was copied from, in nanoseconds since 1970.
    pub source_modified_ns: Option<i128>,
    /// CRC64 of the whole, as stored with the object.
    pub crc64: Option<Crc64>,
    /// MD5 of the whole, as stored with the object.
    pub md5: Option<Md5>,
    /// Media type.
    pub content_type: Option<String>,
    /// Other headers and metadata, where there are any.
    pub properties: Option<Arc<Properties>>,
    /// Permissions, owner and time of last access of a file.
    pub posix: Option<Posix>,
}

/// What to list.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// Only names that begin so.
    pub prefix: String,
    /// Fold names at the next `/` into prefixes.
    pub hierarchical: bool,
    /// In place of objects what interrupted writes have left.
    pub leftovers: bool,
    /// First pages of a few names, so that work on them can begin while the others come.
    pub begin_small: bool,
}

/// Some of the names, in byte order of the whole key.
#[derive(Debug, Default)]
pub struct ListPage {
    /// The objects.
    pub objects: Vec<ObjectMeta>,
    /// The folded prefixes of a hierarchical list, each ending in `/`.
    pub prefixes: Vec<String>,
    /// Names that are there but cannot be moved, each with its reason.
    pub problems: Vec<Error>,
}

impl ListPage {
    /// Whether there is nothing on it.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.prefixes.is_empty() && self.problems.is_empty()
    }

    /// All that the service wrote, as it wrote it: names, versions, media types and properties.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let objects = self.objects.iter();
        let texts = objects.flat_map(|one| [Some(&one.key), Some(&one.etag), one.content_type.as_ref()]);
        let properties = self.objects.iter().flat_map(|one| &one.properties).flat_map(|one| one.texts());
        texts.flatten().chain(properties).chain(&self.prefixes).map(String::as_str)
    }

    /// The first name on it, of an object or else of a prefix, and the last, whichever of the two comes later.
    pub(crate) fn ends(&self) -> Option<(&str, &str)> {
        let first = self.objects.first().map(|object| &object.key).or(self.prefixes.first())?;
        let last = self.objects.last().map(|object| &object.key).max(self.prefixes.last())?;
        Some((first, last))
    }
}

/// Gives the pages of a list, one after another.
#[async_trait]
pub trait Lister: Send {
    /// The next page; `None` after the last. After an error the same page may be asked for again.
    async fn next_page(&mut self, trace: &Trace) -> Result<Option<ListPage>>;
}

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct GetOptions {
    /// A stretch of it, or all.
    pub range: Option<BlockRange>,
    /// Fail with `SourceChanged` unless the object still has this ETag.
    pub if_match: Option<String>,
    /// Ask for a checksum of exactly the bytes returned.
    pub range_checksum: bool,
}

/// An object, or part of it, being read.
#[derive(Debug)]
pub struct GetResult {
    /// What the store says of the object.
    pub meta: ObjectMeta,
    /// The bytes asked for.
    pub payload: Payload,
    /// The store's own CRC64 of exactly these bytes, to be compared with what arrived.
    pub crc64: Option<Crc64>,
    /// The same as MD5.
    pub md5: Option<Md5>,
}

/// When a write may replace what is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Precondition {
    /// Whatever is there.
    #[default]
    None,
    /// Only if nothing is there; `Exists` otherwise.
    IfAbsent,
    /// Only if the object there has this ETag.
    IfMatch(String),
}

/// What is stored with an object.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    /// CRC64 of the whole.
    pub crc64: Option<Crc64>,
    /// MD5 of the whole.
    pub md5: Option<Md5>,
    /// Last change of the source, in nanoseconds since 1970.
    pub source_modified_ns: Option<i128>,
    /// Media type; by the name's ending where `None`.
    pub content_type: Option<String>,
    /// Other headers and metadata. A store that cannot keep them leaves them out.
    pub properties: Option<Arc<Properties>>,
    /// What is to be kept of a file besides. For a store of objects it stands in their metadata too, under the names that rclone gives it.
    pub posix: Option<Posix>,
}

/// How to write.
#[derive(Clone, Debug, Default)]
pub struct PutOptions {
    /// What to store with the object. A put checks its bytes against `crc64` and `md5` before
    /// they get the final name, and fails with `Integrity` where they differ.
    pub attributes: Attributes,
    /// When to replace.
    pub precondition: Precondition,
    /// Which checksum goes with the bytes on the wire.
    pub checksum: ChecksumMode,
    /// ETag of the source, where it has one: a store that cannot ask its service what an interrupted run has left
    /// goes on only with what that left of the same source.
    pub source_etag: Option<String>,
    /// The source itself, to be asked what a stretch of it holds.
    pub source: Option<Arc<dyn SourceBytes>>,
    /// The service will make the blocks by itself, of another object.
    pub by_service: bool,
    /// A service that copies tags by itself does not.
    pub without_tags: bool,
    /// How large the blocks of an object are to be. Only a store whose blocks must all be of one size needs it, when one is begun.
    pub blocks: BlockSizes,
}

/// What is written, for a store that must know what a stretch holds before it can go on from what is there.
#[async_trait]
pub trait SourceBytes: Send + Sync + std::fmt::Debug {
    /// The CRC64 of a stretch, which is read for it.
    async fn crc64_of(&self, range: BlockRange) -> Result<Crc64>;
}

/// How large blocks are to be, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// The size that is wanted, as far as the rules of the store allow it.
    pub wanted: u64,
    /// The largest that an earlier run may have chosen, if this one is to go on from there.
    pub most: u64,
}

impl Default for BlockSizes {
    fn default() -> Self {
        Self { wanted: 8 << 20, most: u64::MAX }
    }
}

/// A committed write.
#[derive(Clone, Debug, Default)]
pub struct PutResult {
    /// ETag of what was written.
    pub etag: String,
    /// CRC64 of the bytes as they were taken, where the store computed it.
    pub crc64: Option<Crc64>,
    /// MD5 of the whole, where one is stored with it.
    pub md5: Option<Md5>,
    /// The store stated a checksum of what it took (of the bytes of a put, of the list of a commit), and it was ours.
    pub confirmed: bool,
    /// What of the attributes it could not keep, in words.
    pub not_kept: Option<String>,
}

/// A block that a store took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What it is.
    pub part: Part,
    /// The store stated a checksum of what it took, and it was ours.
    pub confirmed: bool,
}

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
    /// Write a block.
    PutBlock,
    /// Make an object of another of the same service.
    Copy,
    /// Make a block of a stretch of such an object.
    CopyBlock,
    /// Make the blocks the object.
    Commit,
    /// Delete an object, or what is left of one.
    Delete,
    /// Delete several objects at once.
    DeleteMany,
    /// Make a container.
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

    /// What the service calls a request, for records.
    fn api(&self, request: Request) -> &'static str {
        match request {
            Request::Look => "Look",
            Request::List => "List",
            Request::Get => "Read",
            Request::Put => "Write",
            Request::Begin => "Begin",
            Request::PutBlock => "WriteBlock",
            Request::Copy => "Copy",
            Request::CopyBlock => "CopyBlock",
            Request::Commit => "Commit",
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
    async fn head(&self, key: &str, trace: &Trace) -> Result<ObjectMeta>;

    /// The tags of an object, in the order of names.
    async fn tags(&self, _key: &str, _trace: &Trace) -> Result<Vec<(String, String)>> {
        Ok(Vec::new())
    }

    /// Reads an object or a range of it.
    async fn get(&self, key: &str, options: &GetOptions, trace: &Trace) -> Result<GetResult>;

    /// Writes an object in one request.
    async fn put(
        &self,
        key: &str,
        payload: Payload,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<PutResult>;

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

    /// The object that something in a list of leftovers was to become: several may be left of one.
    fn leftover_of<'a>(&self, leftover: &'a str) -> &'a str {
        leftover
    }

    /// Removes what an interrupted write has left, by its key in a list of leftovers. False where it is none, or no longer: an
    /// object has come out of it, or, as far as the store can tell, somebody is still writing it.
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
