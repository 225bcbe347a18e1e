//! What proves that two tables hold the same: a hash over their rows, whatever their order.
//!
//! A row is written in one canonical form: its properties by name, each with its type and value; not the time stamp, which the
//! service sets. The hash of a table is the sum of the SHA-256 of its rows, so that it does not depend on how they came.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array as _, ArrayRef};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::column::{ColumnName, Value};
use super::kind::Kind;
use super::page::TIMESTAMP;

/// Rows and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsHash {
    /// How many rows.
    pub rows: u64,
    high: u128,
    low: u128,
}

impl RowsHash {
    /// Adds one row by the hash of its canonical form.
    fn add(&mut self, digest: [u8; 32]) {
        let (high, low) = digest.split_at(16);
        let number = |bytes: &[u8]| u128::from_be_bytes(bytes.try_into().unwrap_or_default());
        let (low, carry) = self.low.overflowing_add(number(low));
        self.high = self.high.wrapping_add(number(high)).wrapping_add(u128::from(carry));
        (self.low, self.rows) = (low, self.rows + 1);
    }

    /// Adds all rows of another.
    pub(super) fn join(&mut self, other: Self) {
        let (low, carry) = self.low.overflowing_add(other.low);
        self.high = self.high.wrapping_add(other.high).wrapping_add(u128::from(carry));
        (self.low, self.rows) = (low, self.rows + other.rows);
    }

    /// 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        format!("{:032x}{:032x}", self.high, self.low)
    }
}

/// The value of a column in a row; `None` where there is none.
pub(super) fn value_at(array: &ArrayRef, kind: Kind, row: usize) -> Option<Value<'_>> {
    if array.is_null(row) {
        return None;
    }
    Some(match kind {
        Kind::Text => Value::Text(array.as_string::<i32>().value(row)),
        Kind::FarTime => Value::FarTime(array.as_string::<i32>().value(row)),
        Kind::Guid => Value::Guid(array.as_string::<i32>().value(row)),
        Kind::Boolean => Value::Boolean(array.as_boolean().value(row)),
        Kind::Int32 => Value::Int32(array.as_primitive::<Int32Type>().value(row)),
        Kind::Int64 => Value::Int64(array.as_primitive::<Int64Type>().value(row)),
        Kind::Double => Value::Double(array.as_primitive::<Float64Type>().value(row)),
        Kind::Time => Value::Time(array.as_primitive::<TimestampNanosecondType>().value(row)),
        Kind::Binary => Value::Binary(array.as_binary::<i32>().value(row)),
    })
}

/// Hashes rows of the same columns one after the other.
pub(super) struct RowHasher {
    /// Columns in the order of their names, without the one that the service sets.
    order: Vec<usize>,
    columns: Vec<ColumnName>,
    text: Vec<u8>,
}

impl RowHasher {
    pub(super) fn new(columns: &[ColumnName]) -> Self {
        let mut order: Vec<_> = (0..columns.len()).filter(|at| &*columns[*at].name != TIMESTAMP).collect();
        order.sort_by(|one, other| columns[*one].cmp(&columns[*other]));
        Self { order, columns: columns.to_vec(), text: Vec::new() }
    }

    /// The canonical form of a row: what is hashed.
    pub(super) fn canonical(&mut self, arrays: &[ArrayRef], row: usize) -> &[u8] {
        self.text.clear();
        for at in &self.order {
            let column = &self.columns[*at];
            let Some(value) = value_at(&arrays[*at], column.kind, row) else { continue };
            put(&mut self.text, column.name.as_bytes());
            self.text.push(edm_tag(column.kind));
            match value {
                Value::Text(text) | Value::Guid(text) => put(&mut self.text, text.as_bytes()),
                // Both forms of a time are one type of the service, and no value has both.
                Value::FarTime(text) => put(&mut self.text, text.as_bytes()),
                Value::Time(ns) => put(&mut self.text, super::time::write(ns).as_bytes()),
                Value::Boolean(value) => self.text.push(u8::from(value)),
                Value::Int32(value) => self.text.extend(value.to_be_bytes()),
                Value::Int64(value) => self.text.extend(value.to_be_bytes()),
                // All that are no number are one.
                Value::Double(value) if value.is_nan() => self.text.extend(f64::NAN.to_bits().to_be_bytes()),
                Value::Double(value) => self.text.extend(value.to_bits().to_be_bytes()),
                Value::Binary(bytes) => put(&mut self.text, bytes),
            }
        }
        &self.text
    }

    /// The hash of rows of these arrays.
    pub(super) fn hash(&mut self, arrays: &[ArrayRef], rows: std::ops::Range<usize>) -> RowsHash {
        let mut all = RowsHash::default();
        for row in rows {
            let digest = Sha256::digest(self.canonical(arrays, row));
            all.add(digest.into());
        }
        all
    }
}

fn put(text: &mut Vec<u8>, bytes: &[u8]) {
    text.extend((bytes.len() as u32).to_be_bytes());
    text.extend(bytes);
}

fn edm_tag(kind: Kind) -> u8 {
    let kind = if kind == Kind::FarTime { Kind::Time } else { kind };
    kind as u8
}

#[cfg(test)]
mod tests {
    use super::super::page::Page;
    use super::*;

    fn hash(rows: &str) -> RowsHash {
        let page = Page::parse(format!("{{\"value\":[{rows}]}}").as_bytes(), "x").unwrap();
        RowHasher::new(&page.columns).hash(page.batch.columns(), 0..page.batch.num_rows())
    }

    #[test]
    fn neither_the_order_of_rows_nor_of_properties_counts_and_every_cell_does() {
        let (a, b) =
            (r#"{"PartitionKey":"p","RowKey":"a","x":1}"#, r#"{"y":"1","PartitionKey":"p","RowKey":"b"}"#);
        let whole = hash(&format!("{a},{b}"));
        assert_eq!(whole, hash(&format!("{b},{a}")));
        let mut parts = hash(a);
        parts.join(hash(b));
        assert_eq!(whole, parts);
        let stamped = r#"{"x":1,"RowKey":"a","PartitionKey":"p","Timestamp":"2020-01-01T00:00:00Z"}"#;
        assert_eq!(hash(a), hash(stamped));
        for other in [
            r#"{"PartitionKey":"p","RowKey":"a","x":2}"#,
            r#"{"PartitionKey":"p","RowKey":"a","x":"1"}"#,
            r#"{"PartitionKey":"p","RowKey":"a","x":1.0}"#,
            r#"{"PartitionKey":"p","RowKey":"a","z":1}"#,
            r#"{"PartitionKey":"p","RowKey":"a"}"#,
            r#"{"PartitionKey":"pa","RowKey":"","x":1}"#,
        ] {
            assert_ne!(hash(a), hash(other), "{other}");
        }
        assert_eq!((whole.rows, whole.hex().len()), (2, 64));
    }
}
