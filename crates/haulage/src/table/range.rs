//! Stretches of a table in the order of its keys.
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

#[cfg(test)]
mod tests {
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
}
