//! Stretches of a table in the order of its keys, and where one may be cut in two.
//!
//! Each stretch is read by a query that bounds one key only, with `and`: the service seeks to where such a query begins, while it
//! would read the whole table for an `or`. A stretch that is cut goes on with the query that it has, for the place where a page
//! ended belongs to its query, and stops at the cut.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// The keys of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Key {
    pub(super) partition: String,
    pub(super) row: String,
}

/// A stretch of keys, as a query asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stretch {
    /// Partitions from one on, or after it, to before another.
    Partitions { from: Option<String>, after: bool, before: Option<String> },
    /// Rows of one partition, from one on to before another.
    Rows { partition: String, from: String, before: Option<String> },
}

/// Where a stretch ends now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Until {
    /// With the table.
    End,
    /// Before this partition.
    Partition(String),
    /// With this partition.
    After(String),
    /// Before this row.
    Row(Key),
}

impl Stretch {
    /// The whole table.
    pub(super) const ALL: Self = Self::Partitions { from: None, after: false, before: None };

    /// Where it ends by itself.
    pub(super) fn until(&self) -> Until {
        match self {
            Self::Partitions { before: None, .. } => Until::End,
            Self::Partitions { before: Some(before), .. } => Until::Partition(before.clone()),
            Self::Rows { partition, before: None, .. } => Until::After(partition.clone()),
            Self::Rows { partition, before: Some(before), .. } => {
                Until::Row(Key { partition: partition.clone(), row: before.clone() })
            }
        }
    }

    /// Whether a row lies behind its begin.
    pub(super) fn begins_before(&self, key: (&str, &str)) -> bool {
        match self {
            Self::Partitions { from: None, .. } => true,
            Self::Partitions { from: Some(from), after, .. } => match compare(key.0, from) {
                Ordering::Less => false,
                Ordering::Equal => !after,
                Ordering::Greater => true,
            },
            Self::Rows { partition, from, .. } => key.0 == partition && compare(key.1, from).is_ge(),
        }
    }

    /// The filter that asks for it, together with the user's own.
    pub(super) fn filter(&self, own: Option<&str>) -> Option<String> {
        let mut terms = Vec::new();
        match self {
            Self::Partitions { from, after, before } => {
                let operator = if *after { "gt" } else { "ge" };
                terms.extend(from.as_ref().map(|from| format!("PartitionKey {operator} {}", literal(from))));
                terms.extend(before.as_ref().map(|before| format!("PartitionKey lt {}", literal(before))));
            }
            Self::Rows { partition, from, before } => {
                terms.push(format!("PartitionKey eq {}", literal(partition)));
                terms.push(format!("RowKey ge {}", literal(from)));
                terms.extend(before.as_ref().map(|before| format!("RowKey lt {}", literal(before))));
            }
        }
        match own {
            Some(own) if terms.is_empty() => return Some(own.to_owned()),
            Some(own) => terms.push(format!("({own})")),
            None => {}
        }
        (!terms.is_empty()).then(|| terms.join(" and "))
    }
}

/// A text of the query language.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The order of keys in the service: by UTF-16, which differs from that of UTF-8 for the rarest characters alone.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() {
        one.cmp(other)
    } else {
        one.encode_utf16().cmp(other.encode_utf16())
    }
}

/// The order of rows.
pub(super) fn compare_keys(one: (&str, &str), other: (&str, &str)) -> Ordering {
    compare(one.0, other.0).then_with(|| compare(one.1, other.1))
}

impl Until {
    /// Whether a row lies before it.
    pub(super) fn is_after(&self, partition: &str, row: &str) -> bool {
        match self {
            Self::End => true,
            Self::Partition(end) => compare(partition, end) == Ordering::Less,
            Self::After(last) => compare(partition, last) != Ordering::Greater,
            Self::Row(end) => compare_keys((partition, row), (&end.partition, &end.row)) == Ordering::Less,
        }
    }
}

/// Cuts what is left after `at` until `until` in two: the stretch behind the cut, and where the one before it ends then. `alone`:
/// the last page lay in one partition. `None` where nothing can be cut any more.
pub(super) fn cut(at: &Key, until: &Until, alone: bool) -> Option<(Stretch, Until)> {
    let partition = &at.partition;
    let within = |before: Option<&str>| {
        let row = between(&at.row, before)?;
        let stretch = Stretch::Rows {
            partition: partition.clone(),
            from: row.clone(),
            before: before.map(str::to_owned),
        };
        Some((stretch, Until::Row(Key { partition: partition.clone(), row })))
    };
    let before = match until {
        Until::After(last) if last == partition => return within(None),
        Until::Row(end) if end.partition == *partition => return within(Some(&end.row)),
        Until::End | Until::After(_) | Until::Row(_) => None,
        Until::Partition(end) => Some(end.as_str()),
    };
    let middle = if alone { None } else { between(partition, before) };
    let before = before.map(str::to_owned);
    Some(match middle {
        Some(middle) => (
            Stretch::Partitions { from: Some(middle.clone()), after: false, before },
            Until::Partition(middle),
        ),
        None => (
            Stretch::Partitions { from: Some(partition.clone()), after: true, before },
            Until::After(partition.clone()),
        ),
    })
}

/// The first and the last character that keys are likely to be made of. Others are found all the same, only not so evenly shared.
const FIRST: u32 = 0x20;
const LAST: u32 = 0x7b;

/// A key that lies strictly between two, halving the first place at which it can; `None` where they are too close. It holds none of
/// the characters whose order depends on how they are encoded.
fn between(low: &str, high: Option<&str>) -> Option<String> {
    let low: Vec<u32> = low.chars().map(u32::from).collect();
    let high: Option<Vec<u32>> = high.map(|high| high.chars().map(u32::from).collect());
    // While all places before were alike, `high` bounds the next.
    let mut bound = high.as_deref();
    for at in 0..=low.len() {
        let below = low.get(at).copied().unwrap_or(FIRST - 1);
        let above = match bound {
            Some(high) => high.get(at).copied()?,
            None => LAST,
        };
        if below >= 0xd800 || above > 0xd800 {
            return None;
        }
        if above > below + 1 {
            let middle = below + (above - below) / 2;
            let key = low[..at].iter().copied().chain([middle]);
            return key.map(char::from_u32).collect();
        }
        if below != above {
            bound = None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_query_bounds_one_key_and_joins_by_and() {
        let rows = Stretch::Rows { partition: "o'b".to_owned(), from: "a".to_owned(), before: None };
        assert_eq!(
            rows.filter(Some("x eq 1 or y eq 2")).unwrap(),
            "PartitionKey eq 'o''b' and RowKey ge 'a' and (x eq 1 or y eq 2)"
        );
        assert_eq!(Stretch::ALL.filter(None), None);
        assert_eq!(Stretch::ALL.filter(Some("x eq 1")).as_deref(), Some("x eq 1"));
    }

    #[test]
    fn a_stretch_in_one_partition_is_cut_behind_it_first_and_then_by_rows() {
        let at = Key { partition: "p".to_owned(), row: "0001".to_owned() };
        let (behind, until) = cut(&at, &Until::End, true).unwrap();
        assert_eq!(behind.filter(None).unwrap(), "PartitionKey gt 'p'");
        assert_eq!(until, Until::After("p".to_owned()));
        let (rows, cut_at) = cut(&at, &until, true).unwrap();
        assert!(matches!(&rows, Stretch::Rows { partition, .. } if partition == "p"));
        assert!(matches!(cut_at, Until::Row(_)));
        assert!(cut_at.is_after("p", "0001") && !cut_at.is_after("q", ""));
    }

    proptest! {
        #[test]
        fn what_lies_between_lies_between(low in "\\PC{0,6}", high in proptest::option::of("\\PC{0,6}")) {
            if high.as_ref().is_none_or(|high| compare(&low, high) == Ordering::Less)
                && let Some(middle) = between(&low, high.as_deref())
            {
                prop_assert_eq!(compare(&low, &middle), Ordering::Less);
                prop_assert!(high.is_none_or(|high| compare(&middle, &high) == Ordering::Less));
            }
        }

        #[test]
        fn halving_comes_to_an_end(low in "[a-z0-9]{1,8}", high in "[a-z0-9]{1,8}") {
            let (low, mut high) = if low < high { (low, high) } else { (high, low) };
            let mut steps = 0;
            while let Some(middle) = between(&low, Some(&high)) {
                high = middle;
                steps += 1;
                prop_assert!(steps < 200, "{low} {high}");
            }
        }
    }
}
