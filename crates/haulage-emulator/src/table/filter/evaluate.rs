//! Whether an entity meets a filter.
//!
//! A property that an entity does not have meets no comparison, nor does a value of another kind than the literal's.
//! Whole and other numbers compare with each other.

use std::cmp::Ordering;

use super::{Comparison, Expression, Filter, Operand};
use crate::table::key;
use crate::table::names::Names;
use crate::table::row::Row;
use crate::table::value::Stored;

/// A filter with the names of one table.
pub(crate) struct Matcher<'a> {
    filter: &'a Filter,
    /// The number of each name that the filter looks at.
    numbers: Vec<Option<usize>>,
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(filter: &'a Filter, names: &Names) -> Self {
        Self { filter, numbers: filter.names.iter().map(|name| names.find(name)).collect() }
    }

    /// Whether the entity is wanted.
    pub(crate) fn matches(&self, row: &Row) -> bool {
        let mut few = [None; 8];
        let mut many;
        let values = match self.numbers.len() {
            len @ 0..=8 => &mut few[..len],
            len => {
                many = vec![None; len];
                &mut many[..]
            }
        };
        if !values.is_empty() {
            for (number, value) in row.properties() {
                if let Some(place) = self.numbers.iter().position(|known| *known == Some(number)) {
                    values[place] = Some(value);
                }
            }
        }
        meets(&self.filter.root, row, values)
    }
}

impl Filter {
    /// Whether a table of this name is wanted.
    pub(crate) fn matches_table(&self, name: &str) -> bool {
        let values: Vec<_> =
            self.names.iter().map(|known| (known == "TableName").then_some(Stored::String(name))).collect();
        let nothing = crate::table::row::Builder::new(&[0], 0).finish();
        meets(&self.root, &nothing, &values)
    }
}

fn meets(expression: &Expression, row: &Row, values: &[Option<Stored<'_>>]) -> bool {
    match expression {
        Expression::All(parts) => parts.iter().all(|part| meets(part, row, values)),
        Expression::Any(parts) => parts.iter().any(|part| meets(part, row, values)),
        Expression::Not(part) => !meets(part, row, values),
        Expression::Constant(value) => *value,
        Expression::Compare { what, how, with } => {
            let with = with.stored();
            match what {
                Operand::PartitionKey => holds(Stored::String(&key::decode(row.keys().0)), *how, with),
                Operand::RowKey => holds(Stored::String(&key::decode(row.keys().1)), *how, with),
                Operand::Timestamp => holds(Stored::DateTime(row.time()), *how, with),
                Operand::Property(place) => values[*place].is_some_and(|value| holds(value, *how, with)),
            }
        }
    }
}

/// Whether a value compares so with another.
pub(super) fn holds(left: Stored<'_>, how: Comparison, right: Stored<'_>) -> bool {
    let Some(order) = compare(left, right) else { return false };
    match how {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::NotEqual => order != Some(Ordering::Equal),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
    }
}

/// How two values compare, which numbers that are none do not; `None` where they are of different kinds.
fn compare(left: Stored<'_>, right: Stored<'_>) -> Option<Option<Ordering>> {
    Some(match (left, right) {
        (Stored::String(a), Stored::String(b)) => Some(key::compare(a, b)),
        (Stored::Boolean(a), Stored::Boolean(b)) => Some(a.cmp(&b)),
        (Stored::DateTime(a), Stored::DateTime(b)) => Some(a.cmp(&b)),
        (Stored::Guid(a), Stored::Guid(b)) => Some(a.cmp(b)),
        (Stored::Binary(a), Stored::Binary(b)) => Some(a.cmp(b)),
        _ => match (whole(left), whole(right)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => number(left)?.partial_cmp(&number(right)?),
        },
    })
}

fn whole(value: Stored<'_>) -> Option<i64> {
    match value {
        Stored::Int32(value) => Some(value.into()),
        Stored::Int64(value) => Some(value),
        _ => None,
    }
}

fn number(value: Stored<'_>) -> Option<f64> {
    match value {
        Stored::Double(value) => Some(value),
        _ => whole(value).map(|value| value as f64),
    }
}
