//! What is cut covers everything once, within the rules of the store.

use super::*;
use crate::checksum::Crc64;
use crate::control::Limits;
use crate::options::MethodChoice;
use crate::stage::plan::Pieces;
use crate::store::BlockId;
use crate::store::azure::CAPABILITIES as AZURE;
use crate::units::ByteSize;
use proptest::prelude::*;

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
    let cut: Vec<u64> = std::iter::from_fn(|| cutter.take(7 << 20)).map(|piece| piece.len >> 20).collect();
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
fn a_stream_is_cut_as_it_comes_and_ends_where_it_ends() {
    let mut cutter = Cutter::open(&LOCAL, &AZURE);
    let (first, second) = (cutter.take(100).unwrap(), cutter.take(50).unwrap());
    assert_eq!((first, second), (range(0, 100), range(100, 50)));
    assert!(put(&mut cutter, first) && cutter.is_open() && cutter.left() > 0);
    // Of the second only thirty bytes came.
    cutter.end(130);
    assert!(cutter.is_cut() && !cutter.may_cut());
    assert_eq!((cutter.left(), cutter.peek(10)), (30, None));
    assert!(put(&mut cutter, range(100, 30)));
    assert_eq!(cutter.left(), 0);
}

#[test]
fn the_blocks_of_a_stream_of_terabytes_do_not_run_out() {
    let mut cutter = Cutter::open(&LOCAL, &AZURE);
    let mut count = 0;
    while cutter.next() < 4_800 << 30 {
        cutter.take(64 << 10).unwrap();
        count += 1;
    }
    assert!(count <= 50_000, "{count}");
    assert_eq!(Cutter::open(&LOCAL, &AZURE).peek(64 << 10), Some(range(0, 64 << 10)), "small at first");
}

#[test]
fn nothing_is_cut_far_ahead_of_the_first_piece_that_is_missing() {
    let mut cutter = Cutter::new(1000, &LOCAL, &AZURE);
    cutter.keep_close(150);
    let pieces: Vec<_> = std::iter::from_fn(|| cutter.take(100)).collect();
    assert_eq!(pieces, [range(0, 100), range(100, 100)]);
    assert!(put(&mut cutter, pieces[1]) && !cutter.may_cut(), "the first is still missing");
    assert!(put(&mut cutter, pieces[0]) && cutter.may_cut());
    assert_eq!(std::iter::from_fn(|| cutter.take(100)).count(), 2);
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
