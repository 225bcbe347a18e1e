//! Templates of keys: text with columns in braces, from which each row gets its PartitionKey and RowKey.
//!
//! What a template means stands in docs/reference/table-keys.md, and tests/table_keys.json holds examples that this and the
//! reference implementation, `haulage.tables.keys`, agree on. `parse` reads a template; `format` and `value` write what stands
//! in a row, times by `iso`; `escape` replaces what no key may hold; `index` makes the keys of an index table.

mod escape;
mod format;
mod index;
mod iso;
mod parse;
mod value;

use std::fmt;

#[cfg(test)]
use escape::{escape, unescape};
use format::Format;
pub(super) use index::index_row_key;
pub(super) use value::KeyValue;

/// UTF-16 code units in a key at most: 1 KiB.
const LONGEST: usize = 512;
/// Bytes that most keys fit into, so that they are written without growing.
const USUAL: usize = 64;

/// A template that was read: literal text and fields in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Field),
}

/// A column in a template, and how its value is written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    column: String,
    format: Format,
    /// Whether a missing value is written as empty text.
    optional: bool,
}

/// Why a row gets no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unmade {
    pub(super) kind: UnmadeKind,
    /// The column at fault, where one is.
    pub(super) column: Option<String>,
}

/// What is wrong with a value or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnmadeKind {
    /// The value is missing, and its field has no `?`.
    Missing,
    /// The format is not for values of this type, or the type has no text.
    Type,
    /// The number or time is outside of what the format can write.
    Range,
    /// The key is longer than the service allows.
    Length,
}

impl Template {
    /// The columns that it reads, each once.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().enumerate().filter_map(|(at, part)| {
            let column = part.column()?;
            let is_new = self.parts[..at].iter().all(|part| part.column() != Some(column));
            is_new.then_some(column)
        })
    }

    /// The column, where the template is one field without format and without `?`: keys that come from a table can be copied as
    /// they are then, while [`Template::render`] would escape a `%2F` in them once more.
    pub(super) fn as_column(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Field(Field { column, format: Format::Plain, optional: false })] => Some(column),
            _ => None,
        }
    }

    /// The key of a row. `value` gives what stands in a column of it, `None` where that is null or there is no such column.
    pub(super) fn render<'a>(
        &self,
        mut value: impl FnMut(&str) -> Option<KeyValue<'a>>,
    ) -> Result<String, Unmade> {
        let mut key = String::with_capacity(USUAL);
        for part in &self.parts {
            let field = match part {
                Part::Text(text) => {
                    key.push_str(text);
                    continue;
                }
                Part::Field(field) => field,
            };
            let written = match value(&field.column) {
                Some(value) => field.format.push(&value, &mut key),
                None if field.optional => Ok(()),
                None => Err(UnmadeKind::Missing),
            };
            written.map_err(|kind| Unmade { kind, column: Some(field.column.clone()) })?;
        }
        let key = escape::escaped(key);
        if is_too_long(&key) {
            return Err(Unmade { kind: UnmadeKind::Length, column: self.only_column() });
        }
        Ok(key)
    }

    /// The one that makes a key too long; with several, nobody knows which.
    fn only_column(&self) -> Option<String> {
        let mut columns = self.columns();
        let first = columns.next()?;
        columns.next().is_none().then(|| first.to_owned())
    }
}

impl Part {
    fn column(&self) -> Option<&str> {
        match self {
            Self::Text(_) => None,
            Self::Field(field) => Some(&field.column),
        }
    }
}

/// Whether a key is longer than the service allows.
fn is_too_long(key: &str) -> bool {
    // No character has more units in UTF-16 than bytes in UTF-8.
    key.len() > LONGEST && key.encode_utf16().count() > LONGEST
}

impl UnmadeKind {
    /// The stable code, as in the dead-letter file.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Type => "type",
            Self::Range => "range",
            Self::Length => "length",
        }
    }
}

impl fmt::Display for Unmade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(column) = &self.column {
            write!(f, "column `{column}`: ")?;
        }
        match self.kind {
            UnmadeKind::Missing => f.write_str("the value is missing"),
            UnmadeKind::Type => f.write_str("the template cannot write values of this type"),
            UnmadeKind::Range => f.write_str("the number or time is out of range for the template"),
            UnmadeKind::Length => write!(f, "the key is longer than {LONGEST} UTF-16 code units"),
        }
    }
}

#[cfg(test)]
mod tests;
