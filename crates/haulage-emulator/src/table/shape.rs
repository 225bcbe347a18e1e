//! Which properties of its entities an answer shows, and what it says of where they are.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::key;
use super::names::Names;

/// What a URL's path carries as it is.
const PATH: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where a table is, as clients see it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// `http://host:port/account`
    pub(crate) root: String,
    pub(crate) account: String,
    pub(crate) table: String,
}

impl Place {
    /// `table(PartitionKey='a',RowKey='b')`, as a URL has it; the keys in their stored form.
    pub(crate) fn entity(&self, partition: &[u8], row: &[u8]) -> String {
        let mut text = self.table.clone();
        let escaped =
            |stored: &[u8]| utf8_percent_encode(&key::decode(stored).replace('\'', "''"), &PATH).to_string();
        // Writing to a String cannot fail.
        let _ = write!(text, "(PartitionKey='{}',RowKey='{}')", escaped(partition), escaped(row));
        text
    }
}

/// The entity tag of an entity that was last changed then.
pub(crate) fn etag(time: u64) -> String {
    let time = super::ticks::text(time, super::ticks::Digits::Seven).replace(':', "%3A");
    format!("W/\"datetime'{time}'\"")
}

/// The system's own properties.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct System {
    pub(crate) partition: bool,
    pub(crate) row: bool,
    pub(crate) timestamp: bool,
}

/// What `$select` says: all, or some.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection(Option<Vec<String>>);

impl Selection {
    /// Reads a list of names; `*` or none at all is everything.
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let mut names: Vec<String> = Vec::new();
        for name in text.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if name == "*" {
                return Self(None);
            }
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        Self((!names.is_empty()).then_some(names))
    }

    /// What it means for the names that a table has.
    pub(crate) fn resolve<'a>(&'a self, names: &Names) -> Shape<'a> {
        let Some(selected) = &self.0 else {
            let all = System { partition: true, row: true, timestamp: true };
            return Shape { system: all, some: None };
        };
        let has = |name: &str| selected.iter().any(|selected| selected == name);
        let system =
            System { partition: has("PartitionKey"), row: has("RowKey"), timestamp: has("Timestamp") };
        let own = selected.iter().filter(|name| !matches!(&***name, "PartitionKey" | "RowKey" | "Timestamp"));
        Shape { system, some: Some(own.map(|name| (names.find(name), &**name)).collect()) }
    }
}

/// A selection among the names of a table.
#[derive(Debug)]
pub(crate) struct Shape<'a> {
    pub(crate) system: System,
    /// Number and text of each name, if not all are shown.
    some: Option<Vec<(Option<usize>, &'a str)>>,
}

impl Shape<'_> {
    pub(crate) fn shows(&self, number: usize) -> bool {
        self.some.as_ref().is_none_or(|some| some.iter().any(|(known, _)| *known == Some(number)))
    }

    /// Selected names that are not among these: the service answers them with null.
    pub(crate) fn missing(&self, there: impl Fn(usize) -> bool) -> impl Iterator<Item = &str> {
        let some = self.some.as_deref().unwrap_or_default();
        some.iter().filter(move |(number, _)| !number.is_some_and(&there)).map(|(_, name)| *name)
    }
}
