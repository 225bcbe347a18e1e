//! What a store can do, as values that can be compared and printed.

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
    /// Whether bytes are given and taken once, from the beginning to the end, as by a stream: without a size until it ends, and
    /// with no way back.
    pub in_order: bool,
    /// Whether headers, metadata and tags can be kept with an object. Files and streams have no place for them.
    pub keeps_properties: bool,
    /// It keeps times of files down to such a step, in nanoseconds: 1 if to the nanosecond.
    pub time_step_ns: u64,
    /// What it says of versions.
    pub versions: Versions,
}

/// How far a store tells versions of an object apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Versions {
    /// A write and a deletion take the condition that the object is still a version.
    pub conditions: bool,
    /// No two versions are called the same in a condition. On S3 an ETag may be that of the bytes, whoever has written them.
    pub unique: bool,
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
