//! What is known of an object, and how one is read and written.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

use super::{BlockRange, Part, Payload, Posix, Properties};
use crate::checksum::{ChecksumMode, Crc64, Md5};
use crate::error::Result;

/// What is known of an object without reading it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ObjectMeta {
    /// Name within the container, `/` between folders.
    pub key: String,
    /// Size in bytes.
    pub size: u64,
    /// Changes whenever the content does: an ETag, or what stands for one on a file system.
    pub etag: String,
    /// The ETag is weak: the content may have changed all the same, and no condition matches it (RFC 9110, 13.1.1).
    pub weak: bool,
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

impl ObjectMeta {
    /// The time of its content, in nanoseconds since 1970, which a copy of it gets: that of the file it was copied from, else that of
    /// the write, to the second, for not every answer says more. `None` if unknown, or for a file of which it is doubted.
    pub fn time_ns(&self) -> Option<i128> {
        let written = (self.posix.is_none() && self.modified_ns != 0).then_some(self.modified_ns);
        self.source_modified_ns.or_else(|| written.map(|ns| i128::from(second(ns)) * 1_000_000_000))
    }

    /// Which version this is.
    pub fn version(&self) -> Version {
        Version { etag: self.etag.clone(), weak: self.weak, modified_s: second(self.modified_ns) }
    }
}

/// What tells a version of an object from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its ETag, which the same bytes may have again.
    pub etag: String,
    /// The ETag is weak.
    pub weak: bool,
    /// When it was written, in seconds since 1970: a list may tell more of a time than a look does. 0 if unknown.
    pub modified_s: i64,
}

impl Version {
    /// Whether this is what was found.
    pub fn is_of(&self, found: &ObjectMeta) -> bool {
        self.etag == found.etag && self.modified_s == second(found.modified_ns)
    }

    /// The ETag that a condition can name.
    pub fn condition(&self) -> Option<&str> {
        Some(&*self.etag).filter(|etag| !self.weak && !etag.is_empty())
    }

    /// Whether an answer to a read may be of this version: the ETags decide; where one is missing or weak, the times do too.
    pub fn may_be(&self, told: &ObjectMeta) -> bool {
        let both = !self.etag.is_empty() && !told.etag.is_empty();
        if both && (self.etag != told.etag || !(self.weak || told.weak)) {
            return self.etag == told.etag;
        }
        match (self.modified_s, second(told.modified_ns)) {
            // The service has looked at the condition, or nothing is known.
            (0, _) | (_, 0) => both || self.condition().is_some(),
            (then, now) => then == now,
        }
    }
}

impl From<String> for Version {
    /// The version of an ETag alone.
    fn from(etag: String) -> Self {
        Self { etag, weak: false, modified_s: 0 }
    }
}

fn second(ns: i128) -> i64 {
    ns.div_euclid(1_000_000_000).try_into().unwrap_or_default()
}

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct GetOptions {
    /// A stretch of it, or all.
    pub range: Option<BlockRange>,
    /// The object may end before the range does; what there is of it is read. An answer tells how long the object is.
    pub up_to: bool,
    /// Fail with `SourceChanged` unless the object is still of this version.
    pub if_match: Option<Version>,
    /// How long the object is, as far as that is known: an answer in chunks does not tell.
    pub size: Option<u64>,
    /// Ask for a checksum of exactly the bytes returned.
    pub range_checksum: bool,
}

impl GetOptions {
    /// The range that an object of `size` bytes must answer with; `None` where all of it was asked for.
    pub(super) fn range_of(&self, size: u64) -> Option<BlockRange> {
        self.range.map(|range| if self.up_to { range.within(size) } else { range })
    }
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
    /// Permissions of the source. A file gets no others, whatever is kept besides.
    pub permissions: Option<u32>,
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
    /// The file of the source, where it is one: folders that are made are as open as those above it, and no more.
    pub like: Option<PathBuf>,
    /// The source itself, to be asked what a stretch of it holds.
    pub source: Option<Arc<dyn SourceBytes>>,
    /// The service will make the blocks by itself, of another object.
    pub by_service: bool,
    /// A service that copies tags by itself does not.
    pub without_tags: bool,
    /// Whether others stage parts of it too.
    pub joining: Joining,
    /// How large the blocks of an object are to be. Only a store whose blocks must all be of one size needs it, when one is begun.
    pub blocks: BlockSizes,
}

/// Whether a writer is one of several, each a job of its own. Only a store whose service keeps uploads needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Joining {
    /// It is the only one.
    #[default]
    Alone,
    /// It begins the upload that the others go on with, if there is none with blocks of just the size that is wanted.
    First,
    /// It goes on with that upload, and begins none.
    Joins,
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
    /// Bytes that may wait for those before them, where a store takes them in order.
    pub ahead: u64,
}

impl Default for BlockSizes {
    fn default() -> Self {
        Self { wanted: 8 << 20, most: u64::MAX, ahead: u64::MAX }
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
