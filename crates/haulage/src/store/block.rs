//! Block ids that say what the block holds.
//!
//! An id carries offset, length and CRC64 of its block at a fixed width, so that the service's own
//! list of uncommitted blocks tells which bytes are already there, whichever machine or block
//! size comes next (ADR-0002).

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::checksum::{Checksum, Crc64};
use crate::event::PartRecord;

const MARK: &str = "h1";
/// In place of it where the service has made the block of another: then what stands for a checksum names that other.
const COPIED: &str = "h2";
/// In place of it where nobody has compared what arrived with the checksum.
const UNVOUCHED: &str = "h0";
/// Mark, offset (16), length (8) and CRC64 (16) as hexadecimal digits. A multiple of three, so that
/// Base64 needs no padding; and hexadecimal text never encodes to `+` or `/`.
const RAW_LEN: usize = MARK.len() + 16 + 8 + 16;

/// A stretch of an object.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct BlockRange {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl BlockRange {
    /// The byte after the last.
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }

    /// As much of it as there is in so many bytes.
    pub(crate) fn within(self, size: u64) -> Self {
        let offset = self.offset.min(size);
        Self { offset, len: self.end().min(size) - offset }
    }
}

/// What a staged block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockId {
    /// Where it belongs.
    pub range: BlockRange,
    /// Its checksum.
    pub crc64: Crc64,
}

impl From<BlockId> for PartRecord {
    fn from(BlockId { range, crc64 }: BlockId) -> Self {
        Self { offset_bytes: range.offset, size_bytes: range.len, crc64 }
    }
}

impl From<PartRecord> for BlockId {
    fn from(part: PartRecord) -> Self {
        let range = BlockRange { offset: part.offset_bytes, len: part.size_bytes };
        Self { range, crc64: part.crc64 }
    }
}

/// What a store calls a block it holds, where range and checksum do not name it. Only the store can read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Token(Option<Arc<str>>);

impl Token {
    /// The store's own words; empty where it has none.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

impl From<&str> for Token {
    fn from(text: &str) -> Self {
        Self(Some(text.into()))
    }
}

/// A block that a store has taken, of which everything is known: what a commit is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it holds.
    pub id: BlockId,
    /// What the store calls it.
    pub token: Token,
    /// The service has made it of another object and not said what its bytes come to: the checksum of `id` means nothing.
    pub unstated: bool,
}

impl Part {
    /// A part of which nobody knows the checksum.
    pub fn unstated(range: BlockRange, token: Token) -> Self {
        Self { id: BlockId { range, crc64: Crc64::EMPTY }, token, unstated: true }
    }
}

impl From<BlockId> for Part {
    fn from(id: BlockId) -> Self {
        Self { id, token: Token::default(), unstated: false }
    }
}

/// A block that a store says it holds from an earlier run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedPart {
    /// Where it belongs.
    pub range: BlockRange,
    /// What the store states of its bytes. Without it nobody can tell what they are, and the block is sent again.
    pub checksum: Option<Checksum>,
    /// What the store calls it.
    pub token: Token,
}

impl From<BlockId> for StagedPart {
    fn from(id: BlockId) -> Self {
        Self { range: id.range, checksum: Some(Checksum::Crc64(id.crc64)), token: Token::default() }
    }
}

/// A block that a destination holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What it is.
    pub id: BlockId,
    /// The source's own checksum of exactly these bytes was compared.
    pub vouched: bool,
}

impl BlockId {
    /// The id as the service stores it: Base64 of 42 bytes, always 56 characters.
    pub fn encode(&self) -> String {
        self.encode_as(MARK)
    }

    /// Reads an id back; `None` where somebody else made it.
    pub fn decode(text: &str) -> Option<Self> {
        Self::decode_as(MARK, text)
    }

    /// The id of a block that is sent with no checksum, so that nobody vouches for what arrives.
    pub(crate) fn encode_unvouched(&self) -> String {
        self.encode_as(UNVOUCHED)
    }

    /// Reads such an id back.
    pub(crate) fn decode_unvouched(text: &str) -> Option<Self> {
        Self::decode_as(UNVOUCHED, text)
    }

    /// The id of a block that the service makes of another object. It has a name before anybody knows its checksum; in its place
    /// stands what `crc64` is of: the name of that object and its version. As wide as other ids, for all of a blob must be.
    pub(crate) fn encode_copied(&self) -> String {
        self.encode_as(COPIED)
    }

    /// Reads such an id back.
    pub(crate) fn decode_copied(text: &str) -> Option<Self> {
        Self::decode_as(COPIED, text)
    }

    fn encode_as(&self, mark: &str) -> String {
        let BlockRange { offset, len } = self.range;
        BASE64_STANDARD.encode(format!("{mark}{offset:016x}{len:08x}{}", self.crc64))
    }

    fn decode_as(mark: &str, text: &str) -> Option<Self> {
        let raw = String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok()?;
        let digits = raw.strip_prefix(mark)?;
        if raw.len() != RAW_LEN || !digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let range = BlockRange {
            offset: u64::from_str_radix(&digits[..16], 16).ok()?,
            len: u64::from_str_radix(&digits[16..24], 16).ok()?,
        };
        // Nothing of ours lies beyond what a number can count, and whoever asks for its end may.
        range.offset.checked_add(range.len)?;
        Some(Self { range, crc64: Crc64::from_hex(&digits[24..])? })
    }
}

/// CRC64 and length of blocks that follow each other from byte 0.
///
/// # Errors
/// The byte up to which they do, and the byte at which the next one begins instead.
pub(crate) fn join<'a>(blocks: impl IntoIterator<Item = &'a BlockId>) -> Result<(Crc64, u64), (u64, u64)> {
    blocks.into_iter().try_fold((Crc64::EMPTY, 0), |(crc64, end), id| {
        if id.range.offset != end {
            return Err((end, id.range.offset));
        }
        Ok((crc64.combine(id.crc64, id.range.len), id.range.end()))
    })
}

/// The same of parts; no CRC64 where that of one of them is not known.
pub(crate) fn join_parts(parts: &[Part]) -> Result<(Option<Crc64>, u64), (u64, u64)> {
    let (crc64, end) = join(parts.iter().map(|part| &part.id))?;
    Ok((parts.iter().all(|part| !part.unstated).then_some(crc64), end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_part_that_nobody_has_stated_leaves_the_whole_unstated() {
        let part = |offset, bytes: &[u8]| {
            let range = BlockRange { offset, len: bytes.len() as u64 };
            Part::from(BlockId { range, crc64: Crc64::of(bytes) })
        };
        let second = Part::unstated(BlockRange { offset: 2, len: 3 }, Token::from("h2"));
        assert_eq!(join_parts(&[part(0, b"12"), part(2, b"345")]), Ok((Some(Crc64::of(b"12345")), 5)));
        assert_eq!(join_parts(&[part(0, b"12"), second.clone()]), Ok((None, 5)));
        assert_eq!(join_parts(&[part(0, b"1"), second]), Err((1, 2)));
    }

    #[test]
    fn a_block_that_ends_beyond_all_numbers_is_not_ours() {
        let id = |len| BlockId { range: BlockRange { offset: u64::MAX - 8, len }, crc64: Crc64::EMPTY };
        assert_eq!(BlockId::decode(&id(8).encode()), Some(id(8)));
        assert_eq!(BlockId::decode(&id(9).encode()), None);
    }

    proptest! {
        #[test]
        fn ids_keep_their_width_and_survive_a_round_trip(offset in 0u64..=u64::MAX - (1 << 32), len in 0u64..1 << 32, crc in any::<u64>()) {
            let id = BlockId { range: BlockRange { offset, len }, crc64: Crc64::from_u64(crc) };
            let text = id.encode();
            prop_assert_eq!(text.len(), 56);
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric()));
            prop_assert_eq!(BlockId::decode(&text), Some(id));
            let unvouched = id.encode_unvouched();
            prop_assert_eq!((unvouched.len(), BlockId::decode(&unvouched)), (56, None));
            prop_assert_eq!(BlockId::decode_unvouched(&unvouched), Some(id));
            let copied = id.encode_copied();
            prop_assert_eq!((copied.len(), BlockId::decode(&copied)), (56, None));
            prop_assert_eq!((BlockId::decode_copied(&copied), BlockId::decode_copied(&text)), (Some(id), None));
        }

        #[test]
        fn foreign_ids_are_not_ours(text in ".{0,80}") {
            if let Some(id) = BlockId::decode(&text) {
                prop_assert_eq!(id.encode(), text);
            }
        }
    }
}
