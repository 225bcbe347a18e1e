//! An entity as it lies in memory: one run of bytes, about as long as what it holds.
//!
//! Length of the key, key, time of the last change, then name, type and value of each property. Names are numbers
//! that the table gives out.

use std::borrow::Borrow;
use std::cmp::Ordering;

use super::key;
use super::names::Names;
use super::value::{Stored, push_varint, take_varint};

const TIME: usize = size_of::<u64>();

/// An entity.
pub(crate) struct Row(Box<[u8]>);

impl Row {
    /// Both keys in their stored form, one after the other.
    pub(crate) fn key(&self) -> &[u8] {
        self.parts().0
    }

    fn parts(&self) -> (&[u8], &[u8]) {
        let mut rest = &self.0[..];
        let len = take_varint(&mut rest).unwrap_or_default();
        rest.split_at_checked(len).unwrap_or_default()
    }

    /// When it was last changed, in ticks.
    pub(crate) fn time(&self) -> u64 {
        self.parts().1.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// The number of each property's name, and its value.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (usize, Stored<'_>)> {
        let mut rest = self.parts().1.get(TIME..).unwrap_or_default();
        std::iter::from_fn(move || Some((take_varint(&mut rest)?, Stored::take(&mut rest)?)))
    }

    /// PartitionKey and RowKey, still in their stored form.
    pub(crate) fn keys(&self) -> (&[u8], &[u8]) {
        key::split(self.key())
    }

    /// The bytes that it takes.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Puts an entity together.
pub(crate) struct Builder(Vec<u8>);

impl Builder {
    pub(crate) fn new(key: &[u8], time: u64) -> Self {
        let mut bytes = Vec::with_capacity(256);
        push_varint(&mut bytes, key.len());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(&time.to_le_bytes());
        Self(bytes)
    }

    /// Appends a property.
    pub(crate) fn push(&mut self, name: usize, value: Stored<'_>) {
        push_varint(&mut self.0, name);
        value.push(&mut self.0);
    }

    /// Appends a property by its name.
    pub(crate) fn push_named(&mut self, names: &mut Names, name: &str, value: Stored<'_>) {
        self.push(names.number(name), value);
    }

    pub(crate) fn finish(self) -> Row {
        Row(self.0.into_boxed_slice())
    }
}

impl Borrow<[u8]> for Row {
    fn borrow(&self) -> &[u8] {
        self.key()
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Row {}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Row {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::key::encode;

    #[test]
    fn rows_are_as_long_as_what_they_hold() {
        let mut names = Names::default();
        let mut row = Builder::new(&encode("partition", "row"), 5);
        row.push_named(&mut names, "A", Stored::Int32(7));
        row.push_named(&mut names, "B", Stored::String("text"));
        let row = row.finish();
        assert_eq!((row.time(), row.keys()), (5, (&b"partition"[..], &b"row"[..])));
        let properties: Vec<_> = row.properties().collect();
        assert_eq!(properties, [(0, Stored::Int32(7)), (1, Stored::String("text"))]);
        assert_eq!(row.len(), 1 + 13 + 8 + 6 + 7);
    }
}
