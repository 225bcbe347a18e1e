use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::checksum::Crc64;
use crate::event::PartRecord;
use crate::stage::plan::{Existing, Place};
use crate::store::{BlockRange, MemoryStore, ObjectMeta};

const MIB: u64 = 1 << 20;

fn pair(name: &str, size: u64) -> Pair {
    let place = |store: &str| Place { store: Arc::new(MemoryStore::named(store)), key: name.to_owned() };
    let meta = ObjectMeta { key: name.to_owned(), size, etag: "one".to_owned(), ..ObjectMeta::default() };
    Pair::new(place("from"), place("to"), 0, meta, Existing::Absent)
}

fn deal(atomic: bool, begins: bool, sizes: &[u64]) -> Deal {
    let options = CopyOptions { atomic, ..CopyOptions::default() };
    let work = Work::Copy { sources: vec!["mem://from/".into()], destination: "mem://to/".into() };
    let mut deal = Deal::new(&work, &options, true, begins, 0);
    for (number, size) in sizes.iter().enumerate() {
        assert!(deal.add(pair(&format!("f{number}"), *size), &options, 0).is_none());
    }
    assert!(deal.listed(true).is_empty());
    deal
}

/// What a node says of an item that it has moved.
fn moved(item: &Item) -> ObjectRecord {
    let (outcome, parts) = match &item.assigned.portion {
        Portion::All | Portion::Commit(_) => (Outcome::Copied, Vec::new()),
        Portion::Stretch(BlockRange { len: 0, .. }) => (Outcome::Staged, Vec::new()),
        Portion::Stretch(BlockRange { offset, len }) => {
            let part = PartRecord { offset_bytes: *offset, size_bytes: *len, crc64: Crc64::of(b"") };
            (Outcome::Staged, vec![part])
        }
    };
    let (object_id, size_bytes) = (item.assigned.id, item.meta.size);
    ObjectRecord { object_id, size_bytes, outcome, parts, ..ObjectRecord::unmoved(0) }
}

/// Whether parts cover an object once and without a gap.
fn covers(parts: &[PartRecord], size: u64) -> bool {
    let mut end = 0;
    parts
        .iter()
        .all(|part| std::mem::replace(&mut end, part.offset_bytes + part.size_bytes) == part.offset_bytes)
        && end == size
}

#[test]
fn shards_get_smaller_towards_the_end() {
    let mut deal = deal(false, false, &[8 * MIB; 400]);
    let sizes: Vec<u64> = std::iter::from_fn(|| deal.next(4)).map(|shard| shard.bytes() / MIB).collect();
    assert!(sizes[0] >= 200 && sizes[0] <= 512, "{sizes:?}");
    assert_eq!(sizes.last(), Some(&16));
    assert!(sizes.is_sorted_by(|before, after| before >= after), "{sizes:?}");
    assert_eq!(sizes.iter().sum::<u64>(), 3200);
}

#[test]
fn small_objects_are_dealt_by_number() {
    let mut deal = deal(false, false, &[100; 10_000]);
    let counts: Vec<usize> = std::iter::from_fn(|| deal.next(4)).map(|shard| shard.items.len()).collect();
    assert!(counts[0] <= 1000 && *counts.last().unwrap() <= OBJECTS_MIN, "{counts:?}");
}

#[test]
fn a_large_object_is_cut_for_the_nodes_there_are() {
    let mut deal = deal(false, false, &[4096 * MIB]);
    let sizes: Vec<u64> = std::iter::from_fn(|| deal.next(4)).map(|shard| shard.bytes() / MIB).collect();
    assert!(sizes[0] <= 512 && sizes.len() > 12 && *sizes.last().unwrap() <= 24, "{sizes:?}");
    assert_eq!(sizes.iter().sum::<u64>(), 4096);
}

#[test]
fn no_more_is_dealt_out_while_the_record_lags_far_behind() {
    let mut deal = deal(false, false, &[100; 2 * UNWRITTEN_MAX]);
    let move_one = |deal: &mut Deal| {
        let shard = deal.next(1)?;
        Some(deal.came(shard.id, shard.items.iter().map(moved).collect()).len())
    };
    let waiting: usize = std::iter::from_fn(|| move_one(&mut deal)).sum();
    assert!((UNWRITTEN_MAX..2 * UNWRITTEN_MAX).contains(&waiting), "{waiting}");
    deal.wrote(waiting);
    assert!(move_one(&mut deal).is_some());
}

#[test]
fn an_answer_that_comes_twice_counts_once() {
    let mut deal = deal(false, false, &[1]);
    let shard = deal.next(1).unwrap();
    assert!(deal.lost(shard.id).is_empty());
    let again = deal.next(1).unwrap();
    assert_eq!(again.id, shard.id);
    assert!(again.items[0].look && again.items[0].assigned.since_ns.is_some(), "it may be there by now");
    let records: Vec<_> = shard.items.iter().map(moved).collect();
    assert_eq!((deal.came(shard.id, records.clone()).len(), deal.came(shard.id, records).len()), (1, 0));
    assert!(deal.is_done());
}

proptest! {
    #[test]
    fn every_byte_is_moved_and_every_object_ends_once(
        sizes in prop::collection::vec(0_u64..600 * MIB, 1..40),
        (atomic, begins) in any::<(bool, bool)>(),
        nodes in 1_usize..6,
        seed: u64,
    ) {
        let mut deal = deal(atomic, begins, &sizes);
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut out, mut ended) = (Vec::new(), BTreeMap::new());
        let mut staged = 0;
        while !deal.is_done() {
            while out.len() < 2 * nodes && let Some(shard) = deal.next(nodes) {
                out.push(shard);
            }
            prop_assert!(!out.is_empty(), "nothing is dealt, and something is left");
            let shard: Shard = out.swap_remove(random.usize(..out.len()));
            let lost = deal.out.get(&shard.id).map_or(0, |out| out.lost);
            for item in &shard.items {
                if let Portion::Commit(parts) = &item.assigned.portion {
                    prop_assert!(covers(parts, item.meta.size));
                    staged += 1;
                }
            }
            let records = match random.u8(..8) {
                0 if lost + 1 < LOST_MAX => deal.lost(shard.id),
                // Some of it did not come to its end.
                1 if shard.items.iter().all(|item| item.returned + 1 < LOST_MAX) => deal.came(shard.id, shard.items.iter().filter(|_| random.bool()).map(moved).collect()),
                _ => deal.came(shard.id, shard.items.iter().map(moved).collect()),
            };
            for record in records {
                prop_assert_eq!(record.outcome, Outcome::Copied);
                prop_assert!(ended.insert(record.object_id, record.size_bytes).is_none(), "ended twice");
            }
        }
        prop_assert_eq!(ended.into_values().collect::<Vec<_>>(), sizes);
        prop_assert!(!atomic || staged > 0);
    }
}
