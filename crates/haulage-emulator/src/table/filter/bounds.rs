//! Which range of keys a query must read: what bounds on PartitionKey and RowKey leave of the table.
//!
//! Bounds count where they must hold for every entity: alone or joined by `and`. Beneath `or` and `not` they do not,
//! as on the service, which then reads the whole table, or the whole partition. A bound on RowKey counts within one
//! partition.

use std::ops::Bound;

use super::{Comparison, Expression, Filter, Operand};
use crate::table::key;
use crate::table::value::Value;

/// Keys in their stored form, from and to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) low: Bound<Vec<u8>>,
    pub(crate) high: Bound<Vec<u8>>,
}

impl Range {
    /// The whole table.
    pub(crate) const ALL: Self = Self { low: Bound::Unbounded, high: Bound::Unbounded };

    /// What is in both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { low: higher(self.low, other.low), high: lower(self.high, other.high) }
    }

    /// The same without what lies before a key.
    pub(crate) fn from(self, key: Vec<u8>) -> Self {
        Self { low: higher(self.low, Bound::Included(key)), ..self }
    }

    /// Whether a key lies in it.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        std::ops::RangeBounds::<[u8]>::contains(&self.borrowed(), key)
    }

    /// As a sorted set takes it.
    pub(crate) fn borrowed(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.low.as_ref().map(Vec::as_slice), self.high.as_ref().map(Vec::as_slice))
    }

    /// Whether no key can lie in it: a sorted set would not take that.
    pub(crate) fn is_empty(&self) -> bool {
        match (&self.low, &self.high) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(low), Bound::Included(high)) => low > high,
            (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
                low >= high
            }
        }
    }
}

fn higher(a: Bound<Vec<u8>>, b: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    // Where both are at the same key, the one that leaves it out is higher.
    let rank = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Unbounded => None,
        Bound::Included(key) => Some((key.clone(), false)),
        Bound::Excluded(key) => Some((key.clone(), true)),
    };
    if rank(&a) >= rank(&b) { a } else { b }
}

fn lower(a: Bound<Vec<u8>>, b: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    let rank = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Unbounded => (true, Vec::new(), false),
        Bound::Included(key) => (false, key.clone(), true),
        Bound::Excluded(key) => (false, key.clone(), false),
    };
    if rank(&a) <= rank(&b) { a } else { b }
}

/// The bounds of one key: text, and whether it is within.
#[derive(Default)]
struct Limits<'a> {
    low: Option<(&'a str, bool)>,
    high: Option<(&'a str, bool)>,
}

impl<'a> Limits<'a> {
    fn narrow(&mut self, how: Comparison, text: &'a str) {
        // No key holds a control character, but a literal may: all keys between it and its part before that are that
        // part itself.
        let plain = &text[..text.find(|c: char| c < ' ').unwrap_or(text.len())];
        let cut = plain.len() < text.len();
        let (low, high) = match how {
            Comparison::Equal => (true, true),
            Comparison::Greater | Comparison::GreaterOrEqual => (true, false),
            Comparison::Less | Comparison::LessOrEqual => (false, true),
            Comparison::NotEqual => return,
        };
        let within = cut || !matches!(how, Comparison::Greater | Comparison::Less);
        let further = |order: std::cmp::Ordering, known_within: bool| {
            order.is_gt() || order.is_eq() && known_within && !within
        };
        if low
            && self.low.is_none_or(|(known, known_within)| further(key::compare(plain, known), known_within))
        {
            self.low = Some((plain, within));
        }
        if high
            && self.high.is_none_or(|(known, known_within)| further(key::compare(known, plain), known_within))
        {
            self.high = Some((plain, within));
        }
    }
}

impl Filter {
    /// The keys that may meet it.
    pub(crate) fn range(&self) -> Range {
        let (mut partition, mut row) = (Limits::default(), Limits::default());
        collect(&self.root, &mut partition, &mut row);
        let one = match (partition.low, partition.high) {
            (Some((low, true)), Some((high, true))) if low == high => Some(low),
            _ => None,
        };
        if let Some(partition) = one {
            let first = key::encode(partition, "");
            return Range {
                low: match row.low {
                    Some((row, true)) => Bound::Included(key::encode(partition, row)),
                    Some((row, false)) => Bound::Excluded(key::encode(partition, row)),
                    None => Bound::Included(first.clone()),
                },
                high: match row.high {
                    Some((row, true)) => Bound::Included(key::encode(partition, row)),
                    Some((row, false)) => Bound::Excluded(key::encode(partition, row)),
                    None => Bound::Excluded(key::after_partition(&first)),
                },
            };
        }
        let edge = |(partition, after): (&str, bool)| {
            let first = key::encode(partition, "");
            if after { key::after_partition(&first) } else { first }
        };
        Range {
            low: partition
                .low
                .map_or(Bound::Unbounded, |(key, within)| Bound::Included(edge((key, !within)))),
            high: partition
                .high
                .map_or(Bound::Unbounded, |(key, within)| Bound::Excluded(edge((key, within)))),
        }
    }
}

fn collect<'a>(expression: &'a Expression, partition: &mut Limits<'a>, row: &mut Limits<'a>) {
    match expression {
        Expression::All(parts) => parts.iter().for_each(|part| collect(part, partition, row)),
        Expression::Compare { what: Operand::PartitionKey, how, with: Value::String(text) } => {
            partition.narrow(*how, text);
        }
        Expression::Compare { what: Operand::RowKey, how, with: Value::String(text) } => {
            row.narrow(*how, text);
        }
        _ => {}
    }
}
