//! The pieces of an object. Pure.

use std::collections::{BTreeMap, VecDeque};

use crate::control::Limits;
use crate::options::MethodChoice;
use crate::store::{BlockRange, Capabilities, CutRules, Part};

/// In what pieces an object moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pieces {
    /// One request.
    Whole,
    /// Blocks of this size, the last one shorter.
    Blocks(u64),
}

impl Pieces {
    /// Decides by size, the controller's limits, the user's choice and the bounds of both stores.
    pub(crate) fn of(
        size: u64,
        limits: &Limits,
        choice: MethodChoice,
        from: &Capabilities,
        to: &Capabilities,
    ) -> Self {
        let whole = match choice {
            MethodChoice::Auto => size <= limits.single_put_max.bytes(),
            MethodChoice::Whole => true,
            MethodChoice::Ranges => size <= limits.block_size.bytes(),
        };
        // A single block of a store that wants large ones would only take more requests.
        let single = to.cut.least > 1 && size <= to.cut.least;
        if (whole || single) && size <= to.put_max {
            return Self::Whole;
        }
        Self::in_blocks(size, limits, from, to)
    }

    /// In blocks or ranges, even where it would be one.
    pub(crate) fn in_blocks(size: u64, limits: &Limits, from: &Capabilities, to: &Capabilities) -> Self {
        let (least, most) = bounds(size, from, to);
        Self::Blocks(limits.block_size.bytes().clamp(least, most))
    }

    /// Number of requests that carry payload.
    pub(crate) fn count(self, size: u64) -> u64 {
        match self {
            Self::Whole => 1,
            Self::Blocks(block) => size.div_ceil(block),
        }
    }
}

/// The smallest and the largest block of an object of `size` bytes.
fn bounds(size: u64, from: &Capabilities, to: &Capabilities) -> (u64, u64) {
    // The service bounds the number of blocks, so a very large object needs larger ones.
    let least = size.div_ceil(to.cut.count).max(to.cut.least).max(to.cut.granule(size));
    // Where the source can vouch for a range of this size, let it.
    let vouched = from.range_checksum_max >= least;
    let most = if vouched { to.cut.most.min(from.range_checksum_max) } else { to.cut.most };
    (least, most.max(least))
}

/// One in so many of the blocks that a service allows is kept for splits.
const KEPT_FOR_SPLITS: u64 = 50;

/// Below twice this, a half is not worth a request.
const SPLIT_MIN: u64 = 64 << 10;

/// Cuts one object into blocks or ranges as they are wanted, and knows which are there.
///
/// Sizes may differ from one to the next, as the link changes, within the rules of the store. Stretches that an earlier run has
/// staged are cut exactly so again, whatever size is wanted now.
#[derive(Debug)]
pub(crate) struct Cutter {
    size: u64,
    rules: CutRules,
    /// Every piece begins at a multiple of this.
    granule: u64,
    least: u64,
    /// What the source can vouch for, where that is enough.
    vouched_max: u64,
    /// The size of all pieces but the last, where they must be even and one is cut.
    even: Option<u64>,
    /// The first byte that is in no piece yet.
    next: u64,
    /// Pieces cut so far.
    count: u64,
    /// Staged by an earlier run, not yet cut; in order, without overlap.
    staged: VecDeque<BlockRange>,
    there: BTreeMap<u64, Part>,
    left: u64,
}

impl Cutter {
    /// An object of `size` bytes between two stores.
    pub(crate) fn new(size: u64, from: &Capabilities, to: &Capabilities) -> Self {
        let (least, vouched_max) = bounds(size, from, to);
        let (staged, there) = Default::default();
        Self {
            size,
            rules: to.cut,
            granule: to.cut.granule(size),
            least,
            vouched_max,
            even: None,
            next: 0,
            count: 0,
            staged,
            there,
            left: size,
        }
    }

    /// Takes over the stretches of an earlier run, as far as they fit the rules and each other and none is larger than `largest`.
    pub(crate) fn resume(&mut self, staged: impl Iterator<Item = BlockRange>, largest: u64) {
        let largest = largest.min(self.vouched_max);
        let mut staged: Vec<BlockRange> = staged.filter(|range| self.is_legal(*range, largest)).collect();
        if self.rules.even {
            // What an earlier run chose is the size for all.
            self.even = self.even.or_else(|| staged.iter().map(|range| range.len).max());
            staged.retain(|range| {
                let fits = |even: u64| {
                    range.offset.is_multiple_of(even) && (range.len == even || range.end() == self.size)
                };
                self.even.is_some_and(fits)
            });
        }
        // Of those that begin together the longest: it leaves the least to send.
        staged.sort_unstable_by_key(|range| (range.offset, u64::MAX - range.len));
        // A service bounds the blocks; very many small ones with gaps between would leave none for the rest.
        let slots = self.slots() / 10 * 9;
        let (mut end, mut count) = (0, 0);
        staged.retain(|range| {
            let follows = range.offset >= end && count < slots;
            if follows {
                count += 1 + u64::from(range.offset > end);
                end = range.end();
            }
            follows
        });
        self.staged = staged.into();
    }

    /// From now on all pieces but the last are of this size, where the store has settled one.
    pub(crate) fn settle(&mut self, size: Option<u64>) {
        self.even = size.or(self.even);
    }

    /// Cuts from now on for bytes that pass this machine, none of it larger than `largest`, where the service was to copy them. The
    /// pieces in which the one goes that it refused.
    pub(crate) fn turn_back(
        &mut self,
        refused: BlockRange,
        largest: u64,
        from: &Capabilities,
        to: &Capabilities,
    ) -> Vec<BlockRange> {
        (self.least, self.vouched_max) = bounds(self.size, from, to);
        if self.rules.even {
            return vec![refused];
        }
        self.even = None;
        self.staged.retain(|staged| staged.len <= largest);
        let len = (self.vouched_max.min(largest) / self.granule * self.granule).max(self.granule);
        let offsets = (refused.offset..refused.end()).step_by(usize::try_from(len).unwrap_or(usize::MAX));
        let pieces: Vec<_> =
            offsets.map(|offset| BlockRange { offset, len: len.min(refused.end() - offset) }).collect();
        self.count += pieces.len() as u64 - 1;
        pieces
    }

    /// Whether a stretch could have been cut here.
    fn is_legal(&self, range: BlockRange, largest: u64) -> bool {
        let Some(end) = range.offset.checked_add(range.len).filter(|end| *end <= self.size) else {
            return false;
        };
        let whole = range.len.is_multiple_of(self.granule) || end == self.size;
        range.len > 0 && range.len <= largest && range.offset.is_multiple_of(self.granule) && whole
    }

    /// Pieces that may be cut from the beginning to the end.
    fn slots(&self) -> u64 {
        self.rules.count - self.rules.count / KEPT_FOR_SPLITS
    }

    /// The next piece where one of `wanted` bytes is asked for, without taking it.
    pub(crate) fn peek(&self, wanted: u64) -> Option<BlockRange> {
        let left = self.size - self.next;
        if left == 0 {
            return None;
        }
        if let Some(staged) = self.staged.front()
            && staged.offset == self.next
        {
            return Some(*staged);
        }
        let room = self.staged.front().map_or(left, |staged| staged.offset - self.next);
        let len = self.even.unwrap_or_else(|| self.fit(wanted, left)).min(room);
        Some(BlockRange { offset: self.next, len })
    }

    /// The legal size that is nearest to the wanted one, where `left` bytes are not cut yet.
    fn fit(&self, wanted: u64, left: u64) -> u64 {
        let used = self.count + self.staged.len() as u64;
        let kept = if self.slots() > used { self.slots() } else { self.rules.count };
        let least = left.div_ceil(kept.saturating_sub(used).max(1)).max(self.least);
        let len = wanted.min(self.vouched_max).max(least.next_multiple_of(self.granule)).min(self.rules.most);
        (len / self.granule * self.granule).max(self.granule)
    }

    /// Takes the next piece.
    pub(crate) fn take(&mut self, wanted: u64) -> Option<BlockRange> {
        let piece = self.peek(wanted)?;
        if self.staged.front() == Some(&piece) {
            self.staged.pop_front();
        }
        if self.rules.even {
            self.even.get_or_insert(piece.len);
        }
        self.next = piece.end();
        self.count += 1;
        Some(piece)
    }

    /// Whether all pieces are cut.
    pub(crate) fn is_cut(&self) -> bool {
        self.next == self.size
    }

    /// Two halves of a piece that was too much for the link; `None` where it stays as it is.
    pub(crate) fn split(&mut self, piece: BlockRange) -> Option<[BlockRange; 2]> {
        // On a boundary that later runs are likely to cut at as well.
        let half = (piece.len / 2).next_multiple_of(SPLIT_MIN.max(self.granule));
        let enough = half >= self.least.max(SPLIT_MIN) && half < piece.len;
        if !enough || self.rules.even || self.count >= self.rules.count {
            return None;
        }
        self.count += 1;
        let first = BlockRange { offset: piece.offset, len: half };
        Some([first, BlockRange { offset: first.end(), len: piece.len - half }])
    }

    /// Notes a piece that has arrived; false where it, or a part of it, was there.
    pub(crate) fn put(&mut self, part: Part) -> bool {
        let BlockRange { offset, len } = part.id.range;
        let last_before = self.there.range(..part.id.range.end()).next_back();
        if last_before.is_some_and(|(_, other)| other.id.range.end() > offset) {
            return false;
        }
        self.there.insert(offset, part);
        self.left -= len;
        true
    }

    /// Bytes that have not arrived.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// What is there, in order.
    pub(crate) fn parts(&self) -> Vec<Part> {
        self.there.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Crc64;
    use crate::store::BlockId;
    use crate::units::ByteSize;
    use proptest::prelude::*;

    const AZURE: Capabilities = Capabilities {
        put_max: 5000 << 20,
        cut: CutRules { most: 4000 << 20, count: 50_000, ..CutRules::ANY },
        range_checksum_max: 4 << 20,
        streams: false,
        contents: true,
        at_hand: false,
        keeps_checksums: true,
        folders: false,
        rechecks: false,
        late_writes: true,
        begins_freely: true,
        lists_all: true,
        keeps_properties: true,
    };
    const LOCAL: Capabilities = Capabilities { range_checksum_max: 0, ..AZURE };
    /// Parts are numbered, so each begins where its number says.
    const NUMBERED: Capabilities = Capabilities {
        cut: CutRules { least: 5 << 20, most: 5 << 30, count: 10_000, granule: 5 << 20, even: false },
        range_checksum_max: 0,
        ..AZURE
    };

    fn limits(block: u64) -> Limits {
        use crate::control::{Controller as _, FixedController};
        FixedController::new(8, ByteSize::new(block), None).limits()
    }

    fn range(offset: u64, len: u64) -> BlockRange {
        BlockRange { offset, len }
    }

    fn put(cutter: &mut Cutter, range: BlockRange) -> bool {
        cutter.put(BlockId { range, crc64: Crc64::EMPTY }.into())
    }

    #[test]
    fn what_is_staged_is_cut_alike_whatever_size_is_wanted_now() {
        let mut cutter = Cutter::new(1000, &LOCAL, &AZURE);
        let staged = [range(100, 50), range(100, 200), range(250, 100), range(600, 400), range(900, 200)];
        cutter.resume(staged.into_iter(), 500);
        let cut: Vec<_> = std::iter::from_fn(|| cutter.take(250)).collect();
        let expected = [range(0, 100), range(100, 200), range(300, 250), range(550, 50), range(600, 400)];
        assert_eq!(cut, expected);
        for piece in cut {
            assert!(put(&mut cutter, piece));
            assert!(!put(&mut cutter, piece), "a duplicate counts once");
            let half = range(piece.offset + piece.len / 2, piece.len.div_ceil(2));
            assert!(!put(&mut cutter, half), "so does a part");
        }
        assert_eq!(cutter.left(), 0);
    }

    #[test]
    fn forty_thousand_staged_blocks_are_taken_over_and_giants_are_not() {
        let size = 50_000 << 16;
        let mut cutter = Cutter::new(size, &LOCAL, &AZURE);
        cutter.resume((0..40_000).map(|n| range(n << 16, 1 << 16)), 96 << 20);
        assert_eq!(cutter.staged.len(), 40_000);
        let mut count = 0;
        while cutter.take(1 << 16).is_some() {
            count += 1;
        }
        assert!(cutter.is_cut() && count <= 50_000, "{count}");

        let mut cutter = Cutter::new(size, &LOCAL, &AZURE);
        cutter.resume([range(0, 1 << 30), range(u64::MAX, 1 << 16)].into_iter(), 96 << 20);
        assert_eq!(cutter.peek(1 << 20), Some(range(0, 1 << 20)));
    }

    #[test]
    fn a_piece_splits_until_halves_are_not_worth_it() {
        let mut cutter = Cutter::new(1 << 20, &LOCAL, &AZURE);
        let whole = cutter.take(1 << 20).unwrap();
        let halves = cutter.split(whole).unwrap();
        assert_eq!(halves, [range(0, 512 << 10), range(512 << 10, 512 << 10)]);
        assert_eq!(cutter.split(range(0, 64 << 10)), None);
        assert_eq!(cutter.split(range(0, 100 << 10)), Some([range(0, 64 << 10), range(64 << 10, 36 << 10)]));
    }

    #[test]
    fn even_pieces_are_of_one_size_and_stay_whole() {
        let even = Capabilities { cut: CutRules { even: true, ..NUMBERED.cut }, ..NUMBERED };
        let mut cutter = Cutter::new(100 << 20, &LOCAL, &even);
        cutter.resume([range(40 << 20, 20 << 20), range(0, 10 << 20)].into_iter(), 96 << 20);
        let cut: Vec<u64> =
            std::iter::from_fn(|| cutter.take(7 << 20)).map(|piece| piece.len >> 20).collect();
        assert_eq!(cut, [20, 20, 20, 20, 20]);
        assert_eq!(cutter.split(range(0, 20 << 20)), None);
    }

    #[test]
    fn what_is_no_larger_than_the_smallest_block_goes_whole() {
        let of = |size| Pieces::of(size, &limits(1 << 20), MethodChoice::Ranges, &LOCAL, &NUMBERED);
        assert_eq!((of(5 << 20), of((5 << 20) + 1)), (Pieces::Whole, Pieces::Blocks(5 << 20)));
    }

    #[test]
    fn what_the_service_refuses_is_cut_so_that_the_source_can_vouch_for_it() {
        let mut cutter = Cutter::new(40 << 20, &LOCAL, &AZURE);
        cutter.settle(Some(16 << 20));
        let (first, second) = (cutter.take(1 << 20).unwrap(), cutter.take(1 << 20).unwrap());
        assert_eq!((first.len, second.len), (16 << 20, 16 << 20));
        let pieces = cutter.turn_back(first, 96 << 20, &AZURE, &AZURE);
        assert_eq!(pieces.iter().map(|piece| piece.len >> 20).collect::<Vec<_>>(), [4, 4, 4, 4]);
        // The second has been copied meanwhile.
        pieces.into_iter().chain([second]).for_each(|piece| assert!(put(&mut cutter, piece)));
        assert_eq!(cutter.take(8 << 20), Some(range(32 << 20, 4 << 20)));

        let even = Capabilities { cut: CutRules { even: true, ..NUMBERED.cut }, ..NUMBERED };
        let mut cutter = Cutter::new(40 << 20, &LOCAL, &even);
        let first = cutter.take(10 << 20).unwrap();
        assert_eq!(cutter.turn_back(first, 96 << 20, &AZURE, &even), [first]);
        assert_eq!(cutter.take(7 << 20).map(|piece| piece.len >> 20), Some(10));
    }

    #[test]
    fn a_settled_size_holds_for_all() {
        let even = Capabilities { cut: CutRules { even: true, granule: 1, ..NUMBERED.cut }, ..NUMBERED };
        let mut cutter = Cutter::new(33 << 20, &LOCAL, &even);
        cutter.settle(Some(10 << 20));
        // Only the last, which is shorter, is there.
        cutter.resume([range(30 << 20, 3 << 20)].into_iter(), 96 << 20);
        let cut: Vec<_> = std::iter::from_fn(|| cutter.take(7 << 20)).map(|piece| piece.len >> 20).collect();
        assert_eq!(cut, [10, 10, 10, 3]);
    }

    #[test]
    fn a_very_large_object_has_larger_granules() {
        assert_eq!(NUMBERED.cut.granule(1), 5 << 20);
        assert_eq!(NUMBERED.cut.granule(50_000 << 20), 5 << 20);
        assert_eq!(NUMBERED.cut.granule((50_000 << 20) + 1), 6 << 20);
        assert_eq!(AZURE.cut.granule(u64::MAX), 1);
    }

    proptest! {
        #[test]
        fn a_piece_begins_where_its_number_says(
            size in 1u64..5 << 40,
            wanted in prop::collection::vec(1u64..100 << 20, 1..20),
            splits in any::<bool>(),
        ) {
            let granule = NUMBERED.cut.granule(size);
            let mut cutter = Cutter::new(size, &AZURE, &NUMBERED);
            let mut count = 0;
            while let Some(piece) = cutter.take(wanted[count % wanted.len()]) {
                count += 1;
                let halves = if splits { cutter.split(piece) } else { None };
                for part in halves.map_or(vec![piece], Vec::from) {
                    prop_assert_eq!(part.offset % granule, 0);
                    prop_assert!(part.offset / granule < 10_000);
                    prop_assert!(part.end() == size || part.len % granule == 0 && part.len >= 5 << 20);
                }
            }
            prop_assert!(cutter.is_cut());
        }

        #[test]
        fn pieces_cover_every_byte_once_within_the_bounds(
            size in 1u64..190 << 40,
            wanted in prop::collection::vec(1u64..100 << 20, 1..20),
            remote in any::<bool>(),
        ) {
            let from = if remote { AZURE } else { LOCAL };
            let mut cutter = Cutter::new(size, &from, &AZURE);
            let (mut end, mut count) = (0, 0);
            while let Some(piece) = cutter.take(wanted[count % wanted.len()]) {
                prop_assert_eq!(piece.offset, end);
                prop_assert!(piece.len > 0 && piece.len <= AZURE.cut.most);
                end = piece.end();
                count += 1;
            }
            prop_assert_eq!(end, size);
            prop_assert!(count <= 50_000, "{count} blocks");
            prop_assert!(cutter.is_cut());
        }

        #[test]
        fn the_planned_size_keeps_the_number_of_blocks(size in 0u64..190 << 40, block in 1u64..100 << 20) {
            let pieces = Pieces::of(size, &limits(block), MethodChoice::Auto, &LOCAL, &AZURE);
            prop_assert!(pieces.count(size) <= 50_000);
        }
    }
}
