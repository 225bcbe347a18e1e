//! What an earlier run has left at a destination, and whether it is what would be sent now.

use std::collections::HashMap;

use crate::checksum::Crc64;
use crate::store::{BlockId, BlockRange, Part, StagedPart};

/// By range. Of one range several may be there, from versions of the source that are no more.
#[derive(Debug, Default)]
pub(crate) struct Staged(HashMap<BlockRange, Vec<StagedPart>>);

impl FromIterator<StagedPart> for Staged {
    fn from_iter<T: IntoIterator<Item = StagedPart>>(parts: T) -> Self {
        let mut by_range: HashMap<BlockRange, Vec<StagedPart>> = HashMap::new();
        for part in parts {
            by_range.entry(part.range).or_default().push(part);
        }
        Self(by_range)
    }
}

impl Staged {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = BlockRange> {
        self.0.keys().copied()
    }

    /// The part that holds exactly these bytes, which need not be sent again then.
    pub(crate) fn holding(&self, range: BlockRange, bytes: &[u8], crc64: Crc64) -> Option<Part> {
        let fits = |part: &&StagedPart| part.checksum.is_some_and(|stated| stated.fits(bytes, crc64));
        let part = self.0.get(&range)?.iter().find(fits)?;
        Some(Part { id: BlockId { range, crc64 }, token: part.token.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::{Checksum, Md5};

    #[test]
    fn only_what_is_stated_to_hold_the_same_bytes_is_taken_over() {
        let range = BlockRange { offset: 0, len: 3 };
        let part = |checksum, token: &str| StagedPart { range, checksum, token: token.into() };
        let staged: Staged = [
            part(None, "unknown"),
            part(Some(Checksum::Crc64(Crc64::of(b"abc"))), "by crc64"),
            part(Some(Checksum::Md5(Md5::of(b"xyz"))), "by md5"),
        ]
        .into_iter()
        .collect();
        let held = |bytes: &[u8]| staged.holding(range, bytes, Crc64::of(bytes)).map(|part| part.token);
        assert_eq!(held(b"abc"), Some("by crc64".into()));
        assert_eq!(held(b"xyz"), Some("by md5".into()));
        assert_eq!(held(b"abd"), None);
        assert_eq!(staged.ranges().collect::<Vec<_>>(), [range]);
    }
}
