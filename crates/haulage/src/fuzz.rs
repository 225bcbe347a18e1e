//! What `fuzz/` sees of the parsers; there only where it is built (`--cfg fuzzing`).

pub use crate::store::azure::fuzz as azure;
pub use crate::store::local_fuzz as local;
pub use crate::store::s3::fuzz as s3;

use crate::checksum::Crc64;
use crate::error::Result;
use crate::options::Profile;
use crate::receipt::{self, ReceiptObject};
use crate::stage::plan::Cutter;
use crate::store::azure::CAPABILITIES;
use crate::store::{BlockId, BlockRange};

/// The objects of a receipt.
pub fn receipt(lines: &[u8]) -> Result<Vec<ReceiptObject>> {
    receipt::read_lines(lines, "receipt").map(|receipt| receipt.objects)
}

/// A profile.
pub fn profile(text: &str) -> Result<Profile> {
    Profile::parse(text, "profile")
}

/// CRC64 and length of blocks that follow each other.
pub fn join(blocks: &[BlockId]) -> Option<(Crc64, u64)> {
    crate::store::join(blocks).ok()
}

/// The pieces of an object of `size` bytes that goes on from what is staged, each as large as `wanted` next says.
pub fn cut(size: u64, staged: &[BlockId], mut wanted: impl FnMut() -> u64) -> Vec<BlockRange> {
    let mut cutter = Cutter::new(size, &CAPABILITIES, &CAPABILITIES);
    cutter.resume(staged.iter().map(|id| id.range), 1 << 30);
    let mut pieces = Vec::new();
    while let Some(piece) = cutter.take(wanted()) {
        assert!(cutter.put(BlockId { range: piece, crc64: Crc64::EMPTY }.into()), "{piece:?} overlaps");
        pieces.push(piece);
    }
    assert!(cutter.is_cut() && cutter.left() == 0);
    pieces
}
