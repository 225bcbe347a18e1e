//! What was read of a stream and has not arrived yet: nobody can read it again.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::Held;
use crate::checksum::{Crc64, Md5Stream};
use crate::store::BlockRange;

/// The pieces by their first byte, and the digest of all that was read.
#[derive(Default)]
pub(crate) struct Feed {
    pieces: BTreeMap<u64, (Bytes, Crc64)>,
    pub(super) md5: Option<Md5Stream>,
    /// A piece is being read.
    pub(super) reading: bool,
}

impl Feed {
    pub(super) fn new(digest: bool) -> Self {
        Self { md5: digest.then(Md5Stream::default), ..Self::default() }
    }

    /// The digest so far, to be carried on by whoever reads next.
    pub(crate) fn digest(&self) -> Option<Md5Stream> {
        self.md5.clone()
    }

    pub(super) fn keep(&mut self, offset: u64, bytes: Bytes, crc64: Crc64) {
        self.pieces.insert(offset, (bytes, crc64));
    }

    /// The bytes of a stretch that was read, in one piece.
    pub(crate) fn get(&self, range: BlockRange) -> Option<Held> {
        let (begins, (bytes, crc64)) = self.pieces.range(..=range.offset).next_back()?;
        let from = usize::try_from(range.offset - begins).ok()?;
        let to = from.checked_add(usize::try_from(range.len).ok()?).filter(|to| *to <= bytes.len())?;
        let part = bytes.slice(from..to);
        let crc64 = if part.len() == bytes.len() { *crc64 } else { Crc64::of(&part) };
        Some(Held { bytes: part, crc64, range_checked: true })
    }

    /// Lets go of a stretch that has arrived; what was read with it stays.
    pub(super) fn forget(&mut self, range: BlockRange) {
        let Some((&begins, _)) = self.pieces.range(..=range.offset).next_back() else { return };
        let Some((bytes, _)) = self.pieces.remove(&begins) else { return };
        let before = ((range.offset - begins) as usize).min(bytes.len());
        let after = ((range.end() - begins) as usize).min(bytes.len());
        for (at, rest) in [(0, bytes.slice(..before)), (after, bytes.slice(after..))] {
            if !rest.is_empty() {
                let crc64 = Crc64::of(&rest);
                self.pieces.insert(begins + at as u64, (rest, crc64));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_piece_are_kept_until_each_has_arrived() {
        let mut feed = Feed::new(false);
        feed.keep(4, Bytes::from_static(b"abcdef"), Crc64::of(b"abcdef"));
        let range = |offset, len| BlockRange { offset, len };
        let get = |feed: &Feed, offset, len| {
            let held = feed.get(range(offset, len))?;
            assert_eq!(held.crc64, Crc64::of(&held.bytes));
            Some(held.bytes)
        };
        assert_eq!(get(&feed, 4, 6).unwrap(), "abcdef");
        assert_eq!(get(&feed, 6, 2).unwrap(), "cd");
        assert_eq!((get(&feed, 3, 1), get(&feed, 9, 2)), (None, None));
        feed.forget(range(4, 2));
        assert_eq!((get(&feed, 4, 2), get(&feed, 6, 4).unwrap()), (None, Bytes::from_static(b"cdef")));
        feed.forget(range(6, 4));
        assert!(feed.pieces.is_empty());
    }
}
