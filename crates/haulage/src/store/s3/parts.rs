//! Which part of an upload holds which stretch of an object. Pure.
//!
//! A part has a number, and the object is its parts in the order of their numbers. Many services take numbers that follow
//! each other without a gap only, and some want all parts but the last to be of one size. So all are: number and size of one
//! part, as the service lists them, then tell what every other one holds, whoever has sent it. Of a stream nobody knows the
//! size beforehand; its parts follow a schedule.

use crate::store::{BlockRange, CutRules};

/// The largest part, and the largest object that one put or copy carries.
pub(super) const PART_MAX: u64 = 5 << 30;

/// How an object may be cut.
pub(super) const RULES: CutRules =
    CutRules { least: 5 << 20, most: PART_MAX, count: 10_000, granule: 1, even: true };

/// Parts of a stream after which their size is doubled: with 5 MiB to begin with, 10,000 parts hold 5 TiB.
const STREAM_STEP: u64 = 1_000;

/// How an object is cut into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Of known size.
    Sized {
        /// Bytes of the object.
        size: u64,
        /// Bytes of every part but the last.
        part: u64,
    },
    /// Of a size that nobody knows yet.
    Stream {
        /// Bytes of each of the first parts.
        first: u64,
    },
}

impl Layout {
    /// The layout of an object of `size` bytes, where that is known, in parts of about `wanted` bytes.
    pub(super) fn new(size: Option<u64>, wanted: u64) -> Self {
        match size {
            None => Self::Stream { first: wanted.clamp(RULES.least, RULES.most) },
            Some(size) => {
                let least = size.div_ceil(RULES.count).max(RULES.least);
                Self::Sized { size, part: wanted.clamp(least, RULES.most.max(least)) }
            }
        }
    }

    /// Whether an object is cut at the same bytes by both: one that is a single part may be of any larger size.
    pub(super) fn cuts_as(&self, other: &Self) -> bool {
        let single = |layout: &Self| matches!(layout, Self::Sized { size, part } if part >= size);
        self == other || (single(self) && single(other))
    }

    /// The layout of an object of `size` bytes of which these parts are there, by number and size and in the order of their
    /// numbers: the likelier first. None where they are no parts of such an object, or larger than `most`; two where the only one may
    /// be the last, shorter than the others, or not.
    pub(super) fn of_parts(size: u64, parts: &[(u16, u64)], most: u64) -> Vec<Self> {
        let Some(((_, first), (number, last))) = parts.first().copied().zip(parts.last().copied()) else {
            return Vec::new();
        };
        // The first that is there is of the common size, or else it is the last and the only one.
        let before = u64::from(number).checked_sub(1).filter(|before| *before > 0);
        let from_end = before.and_then(|before| Some((size.checked_sub(last)?, before)));
        let from_end =
            from_end.filter(|(len, before)| len.is_multiple_of(*before)).map(|(len, before)| len / before);
        let fits = |layout: &Self| {
            parts.iter().all(|(number, len)| layout.range(*number).is_some_and(|range| range.len == *len))
        };
        let is_legal = |part: &u64| {
            (*part >= RULES.least || *part >= size)
                && *part <= most.min(RULES.most)
                && size.div_ceil((*part).max(1)) <= RULES.count
        };
        let sizes = [Some(first), from_end.filter(|part| *part != first)].into_iter().flatten();
        sizes.filter(is_legal).map(|part| Self::Sized { size, part }).filter(fits).collect()
    }

    /// Bytes of the part that begins here, unless it is the last; 0 beyond all.
    pub(super) fn len(self, offset: u64) -> u64 {
        self.place(offset).map_or(0, |(_, begin, len)| begin + len - offset)
    }

    /// The number of the part that is exactly this stretch; `None` where none is.
    pub(super) fn number(self, range: BlockRange) -> Option<u16> {
        let (number, begin, len) = self.place(range.offset)?;
        let may_end = match self {
            Self::Sized { size, .. } => range.end() == size,
            // Nobody knows yet which is the last.
            Self::Stream { .. } => true,
        };
        let whole = range.len == len || (range.len < len && may_end);
        (begin == range.offset && whole).then_some(number)
    }

    /// What the part of this number holds; `None` where there is no such part, and for streams, which nobody goes on with.
    pub(super) fn range(self, number: u16) -> Option<BlockRange> {
        let Self::Sized { size, part } = self else { return None };
        let offset = u64::from(number).checked_sub(1)?.checked_mul(part)?;
        let len = size.checked_sub(offset)?.min(part);
        (len > 0).then_some(BlockRange { offset, len })
    }

    /// Number, first byte and length of the part that holds the byte at this offset.
    fn place(self, offset: u64) -> Option<(u16, u64, u64)> {
        let (mut begin, mut before, mut part, step) = match self {
            Self::Sized { part, .. } => (0, 0, part.max(1), RULES.count),
            Self::Stream { first } => (0, 0, first.max(1), STREAM_STEP),
        };
        while before < RULES.count {
            let index = (offset - begin) / part;
            if index < step {
                let number = u16::try_from(before + index + 1).ok()?;
                return Some((number, begin + index * part, part));
            }
            begin = begin.saturating_add(part.saturating_mul(step));
            before += step;
            part = (2 * part).min(RULES.most);
            if offset < begin {
                return None;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn part(size: u64, wanted: u64) -> u64 {
        Layout::new(Some(size), wanted).len(0)
    }

    #[test]
    fn parts_are_as_large_as_wanted_within_the_rules() {
        assert_eq!((part(100 * MIB, 8 * MIB), part(100 * MIB, MIB)), (8 * MIB, 5 * MIB));
        assert_eq!(part(100_000 * MIB, 8 * MIB), 10 * MIB);
        assert_eq!(part(6 << 40, 8 * MIB), (6_u64 << 40).div_ceil(10_000));
        assert_eq!(part(0, 8 * MIB), 8 * MIB);
    }

    #[test]
    fn numbers_of_streams_follow_the_schedule() {
        let stream = Layout::new(None, MIB);
        let mut offset = 0;
        for number in 1..=10_000 {
            let len = stream.len(offset);
            assert_eq!(stream.number(BlockRange { offset, len }), Some(number));
            assert_eq!(stream.number(BlockRange { offset, len: 1 }), Some(number), "it may be the last");
            assert_eq!(stream.number(BlockRange { offset: offset + 1, len }), None);
            assert!(len <= PART_MAX);
            offset += len;
        }
        assert_eq!(offset, 1_000 * (1_023 * 5) * MIB);
        assert_eq!((stream.len(offset), stream.number(BlockRange { offset, len: 1 })), (0, None));
        assert_eq!((stream.len(0), stream.len(5_000 * MIB)), (5 * MIB, 10 * MIB));
    }

    #[test]
    fn the_parts_that_are_there_tell_the_size_of_all() {
        let found = |size: u64, parts: &[(u16, u64)]| {
            let parts: Vec<_> = parts.iter().map(|(number, len)| (*number, len * MIB)).collect();
            let layouts = Layout::of_parts(size * MIB, &parts, 100 * MIB);
            layouts.into_iter().map(|layout| layout.len(0) / MIB).collect::<Vec<_>>()
        };
        assert_eq!(found(23, &[(1, 8), (3, 7)]), [8]);
        assert_eq!(found(23, &[(2, 8)]), [8, 15], "the second of three, or of two");
        assert_eq!(found(23, &[(3, 3)]), [10], "the last alone tells it too");
        assert_eq!(found(23, &[(1, 23)]), [23]);
        assert_eq!(found(15, &[(2, 5)]), [5, 10]);
        assert_eq!(found(15, &[(1, 5), (2, 5)]), [5]);
        assert_eq!(found(3, &[(1, 3)]), [3], "a small object is one part");
        for foreign in
            [&[][..], &[(1, 4)], &[(1, 8), (2, 7)], &[(1, 8), (4, 7)], &[(3, 8)], &[(5, 7)], &[(0, 8)]]
        {
            assert_eq!(found(23, foreign), [0; 0], "{foreign:?}");
        }
        assert_eq!(Layout::of_parts(23 * MIB, &[(1, 8 * MIB)], 7 * MIB), [], "more than there is memory for");
    }

    proptest! {
        #[test]
        fn any_part_tells_all_others(size in 1u64..=48 << 40, wanted in 1u64..1 << 31, at in 0.0..1.0) {
            let layout = Layout::new(Some(size), wanted);
            let number = 1 + ((size.div_ceil(layout.len(0)) - 1) as f64 * at) as u16;
            let range = layout.range(number).unwrap();
            prop_assert_eq!(layout.number(range), Some(number));
            let first = layout.range(1).unwrap();
            if number > 1 {
                let alone = Layout::of_parts(size, &[(number, range.len)], u64::MAX);
                prop_assert!(alone.contains(&layout) && alone.len() <= 2);
                let parts = [(1, first.len), (number, range.len)];
                prop_assert_eq!(Layout::of_parts(size, &parts, u64::MAX), [layout]);
            }
        }
    }
}
