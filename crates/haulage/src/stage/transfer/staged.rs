//! What an earlier run has left at a destination, and whether it is what would be sent now.

use std::collections::HashMap;

use crate::checksum::{Checksum, Crc64};
use crate::store::{BlockId, BlockRange, Part, StagedPart};

/// By range. Of one range several may be there, from versions of the source that are no more.
#[derive(Debug, Default)]
pub(crate) struct Staged(HashMap<BlockRange, Vec<StagedPart>>);

/// Why a part cannot be taken that somebody says to have staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unclaimed {
    /// It is not there, or holds something else.
    Missing,
    /// Nobody says what it holds.
    Unknown,
}

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
        Some(Part { id: BlockId { range, crc64 }, token: part.token.clone(), unstated: false })
    }

    /// The part that somebody says to have staged.
    pub(crate) fn claimed(&self, claim: &BlockId) -> Result<Part, Unclaimed> {
        let parts = self.0.get(&claim.range).ok_or(Unclaimed::Missing)?;
        let is_it = |part: &&StagedPart| part.checksum == Some(Checksum::Crc64(claim.crc64));
        match parts.iter().find(is_it) {
            Some(part) => Ok(Part { id: *claim, token: part.token.clone(), unstated: false }),
            None if parts.iter().any(|part| part.checksum.is_none()) => Err(Unclaimed::Unknown),
            None => Err(Unclaimed::Missing),
        }
    }

    /// The part of this range which holds what the source does, as far as can be known without its bytes: one that the service has
    /// made of it; or, where the whole will be compared in the end with what the source states (`whole`), the only one whose checksum is stated. Some
    /// services state that of the source for each part of it.
    pub(crate) fn of_source(
        &self,
        range: BlockRange,
        is_copy: impl Fn(&StagedPart) -> bool,
        whole: Option<Crc64>,
    ) -> Option<Part> {
        let parts = self.0.get(&range)?;
        if let Some(StagedPart { token, .. }) = parts.iter().find(|part| is_copy(part)) {
            return Some(Part::unstated(range, token.clone()));
        }
        match &parts[..] {
            [StagedPart { checksum: Some(Checksum::Crc64(crc64)), token, .. }]
                if whole.is_some_and(|whole| whole != *crc64) =>
            {
                Some(Part { id: BlockId { range, crc64: *crc64 }, token: token.clone(), unstated: false })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Md5;

    #[test]
    fn what_was_staged_of_the_source_is_taken_over_where_that_can_be_known() {
        let range = |offset| BlockRange { offset, len: 3 };
        let part = |offset, checksum, token: &str| StagedPart {
            range: range(offset),
            checksum,
            token: token.into(),
        };
        let stated = Some(Checksum::Crc64(Crc64::of(b"abc")));
        let staged: Staged = [
            part(0, None, "copy"),
            part(3, stated, "one"),
            part(6, stated, "one"),
            part(6, stated, "two"),
            part(9, None, "unknown"),
        ]
        .into_iter()
        .collect();
        let taken = |offset, whole: bool| {
            let whole = whole.then(|| Crc64::of(b"abcabc"));
            let part = staged.of_source(range(offset), |part| part.token.as_str() == "copy", whole)?;
            Some((part.token.as_str().to_owned(), part.unstated))
        };
        assert_eq!(taken(0, false), Some(("copy".to_owned(), true)));
        assert_eq!((taken(3, true), taken(3, false)), (Some(("one".to_owned(), false)), None));
        assert_eq!((taken(6, true), taken(9, true), taken(12, true)), (None, None, None));
        let source = |_: &StagedPart| false;
        assert_eq!(staged.of_source(range(3), source, Some(Crc64::of(b"abc"))), None, "it is of the whole");
    }

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
