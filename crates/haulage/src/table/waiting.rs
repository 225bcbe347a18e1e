//! Rows on their way into transactions: gathered by partition, and never in flight twice.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::RandomState;

use super::transaction::{BYTES_MAX, ROWS_MAX, Ready};

/// Rows that wait for others of their partition, at most, and their bytes.
const WAITING_ROWS: usize = 50_000;
const WAITING_BYTES: usize = 32 << 20;

/// Rows that wait for others of their partition.
#[derive(Default)]
pub(super) struct Waiting {
    groups: HashMap<String, Group>,
    /// Partitions by when their first row came.
    order: VecDeque<String>,
    full: VecDeque<Vec<Ready>>,
    rows: usize,
    bytes: usize,
}

#[derive(Default)]
struct Group {
    rows: Vec<Ready>,
    keys: HashSet<String>,
    bytes: usize,
}

impl Waiting {
    pub(super) fn add(&mut self, row: Ready) {
        let size = row.size();
        let group = match self.groups.get_mut(&row.partition) {
            Some(group) => group,
            None => {
                self.order.push_back(row.partition.clone());
                self.groups.entry(row.partition.clone()).or_default()
            }
        };
        // A transaction holds each row once.
        let closed =
            group.rows.len() == ROWS_MAX || group.bytes + size > BYTES_MAX || group.keys.contains(&row.row);
        if closed {
            let Group { rows, bytes, .. } = std::mem::take(group);
            (self.rows, self.bytes) = (self.rows - rows.len(), self.bytes - bytes);
            self.full.push_back(rows);
        }
        group.bytes += size;
        group.keys.insert(row.row.clone());
        group.rows.push(row);
        (self.rows, self.bytes) = (self.rows + 1, self.bytes + size);
    }

    pub(super) fn has_full(&self) -> bool {
        !self.full.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows > WAITING_ROWS || self.bytes > WAITING_BYTES
    }

    /// A full transaction, or else the one that has waited longest.
    pub(super) fn take(&mut self) -> Option<Vec<Ready>> {
        if let Some(full) = self.full.pop_front() {
            return Some(full);
        }
        loop {
            let partition = self.order.pop_front()?;
            let Some(group) = self.groups.remove(&partition) else { continue };
            if group.rows.is_empty() {
                continue;
            }
            (self.rows, self.bytes) = (self.rows - group.rows.len(), self.bytes - group.bytes);
            return Some(group.rows);
        }
    }
}

/// The keys of rows that are in flight. A file may have several rows of the same keys: the last one is to be there in the end,
/// so that each waits for the one before.
#[derive(Default)]
pub(super) struct InFlight {
    /// Hashes: two that collide wait for each other in vain, and that is all.
    keys: HashSet<u64>,
    hasher: RandomState,
}

impl InFlight {
    pub(super) fn holds_any_of(&self, rows: &[Ready]) -> bool {
        !self.keys.is_empty() && rows.iter().any(|row| self.keys.contains(&self.key(row)))
    }

    /// The rows have left; the keys that are to be given back when they have landed.
    pub(super) fn left(&mut self, rows: &[Ready]) -> Vec<u64> {
        let keys: Vec<_> = rows.iter().map(|row| self.key(row)).collect();
        self.keys.extend(&keys);
        keys
    }

    pub(super) fn landed(&mut self, keys: Vec<u64>) {
        for key in keys {
            self.keys.remove(&key);
        }
    }

    fn key(&self, row: &Ready) -> u64 {
        use std::hash::BuildHasher as _;
        self.hasher.hash_one((&row.partition, &row.row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u64, partition: &str, row: &str) -> Ready {
        Ready { number, partition: partition.to_owned(), row: row.to_owned(), body: "{}".to_owned() }
    }

    #[test]
    fn rows_of_the_same_keys_are_in_different_transactions_in_their_order() {
        let mut waiting = Waiting::default();
        for (number, key) in ["a", "b", "a", "c", "a"].into_iter().enumerate() {
            waiting.add(row(number as u64, "p", key));
        }
        let taken = std::iter::from_fn(|| waiting.take());
        let numbers: Vec<Vec<u64>> = taken.map(|rows| rows.iter().map(|row| row.number).collect()).collect();
        assert_eq!(numbers, [vec![0, 1], vec![2, 3], vec![4]]);
    }

    #[test]
    fn a_row_waits_for_the_one_of_its_keys_that_is_in_flight() {
        let mut in_flight = InFlight::default();
        let keys = in_flight.left(&[row(0, "p", "a"), row(1, "p", "b")]);
        assert!(in_flight.holds_any_of(&[row(2, "p", "c"), row(3, "p", "a")]));
        assert!(!in_flight.holds_any_of(&[row(2, "q", "a"), row(3, "p", "c")]));
        in_flight.landed(keys);
        assert!(!in_flight.holds_any_of(&[row(3, "p", "a")]));
    }
}
