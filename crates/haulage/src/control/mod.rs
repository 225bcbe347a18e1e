//! How much at once, and in what pieces: pure decisions, no clock, no I/O.

use crate::units::ByteSize;

/// What the scheduler may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests in flight.
    pub concurrency: usize,
    /// Size of blocks and ranges.
    pub block_size: ByteSize,
    /// Objects up to this size travel whole.
    pub single_put_max: ByteSize,
}
