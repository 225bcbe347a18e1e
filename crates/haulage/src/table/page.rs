//! One page of rows as the service writes it, into columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::column::{ColumnName, Value, Values, page_batch};
use super::kind::Kind;
use super::written::{PROPERTIES_MAX, Row, RowSeed};
use crate::error::{Error, ErrorKind, Result};

/// The names that every row has.
pub(super) const PARTITION_KEY: &str = "PartitionKey";
pub(super) const ROW_KEY: &str = "RowKey";
pub(super) const TIMESTAMP: &str = "Timestamp";

/// Names and types of properties in one page. Each row may have others, so that this bounds what is held.
const COLUMNS_MAX: usize = 12_000;

/// A page holds at most 1,000 rows.
const ROWS_MAX: usize = 10_000;

/// Rows times columns: a column takes memory for all rows, whether they have a value or not.
pub(super) const CELLS_MAX: usize = 4 << 20;

/// Rows in columns, one for each name and type.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) batch: RecordBatch,
    pub(super) columns: Vec<ColumnName>,
}

impl Page {
    /// Reads a page in JSON with or without types.
    ///
    /// # Errors
    /// `Protocol` for what is no page of rows, or has rows without keys.
    pub(super) fn parse(json: &[u8], object: &str) -> Result<Self> {
        let broken = |why: String| Error::new(ErrorKind::Protocol, "read a page of", object, why);
        let mut rows = Rows::default();
        let mut reader = serde_json::Deserializer::from_slice(json);
        let read = reader.deserialize_map(PageVisitor(&mut rows)).and_then(|()| reader.end());
        read.map_err(|error| {
            let error = broken(format!("the page cannot be read: {}", without_position(&error)));
            if rows.too_unlike { error.hint("name those that you need: --select A,B") } else { error }
        })?;
        rows.finish().map_err(broken)
    }
}

/// The reason alone; a position in a page of megabytes helps nobody, and it may quote what users keep.
pub(super) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    text.chars().filter(|char| !char.is_control()).take(200).collect()
}

/// Rows that were read so far.
#[derive(Default)]
pub(super) struct Rows {
    rows: usize,
    names: HashMap<Arc<str>, usize>,
    known: Vec<Known>,
    columns: Vec<(ColumnName, Values)>,
    /// The name that followed this one in the last row: most rows are alike.
    follows: Vec<usize>,
    /// They have too many different properties.
    too_unlike: bool,
}

/// A name that was met.
struct Known {
    name: Arc<str>,
    /// The row, counted from one, in which it was met last.
    last_row: usize,
    columns: [Option<usize>; Kind::ALL.len()],
}

impl Rows {
    /// Adds one row.
    pub(super) fn push<'a>(
        &mut self,
        cells: impl Iterator<Item = (&'a str, Value<'a>)>,
    ) -> Result<(), String> {
        if self.rows == ROWS_MAX {
            return Err(format!("the page has more than {ROWS_MAX} rows"));
        }
        self.rows += 1;
        if self.rows * self.columns.len() > CELLS_MAX {
            return self.refused();
        }
        let mut before = None;
        for (name, value) in cells {
            let id = self.id(name, before);
            before = Some(id);
            let kind = value.kind();
            let known = &mut self.known[id];
            if known.last_row == self.rows {
                return Err(format!("a row has the property `{}` twice", shown(name)));
            }
            known.last_row = self.rows;
            let at = match known.columns[kind as usize] {
                Some(at) => at,
                None if self.columns.len() == COLUMNS_MAX
                    || self.rows * (self.columns.len() + 1) > CELLS_MAX =>
                {
                    return self.refused();
                }
                None => {
                    let at = self.columns.len();
                    known.columns[kind as usize] = Some(at);
                    let name = Arc::clone(&known.name);
                    self.columns.push((ColumnName { name, kind }, Values::new(kind)));
                    at
                }
            };
            let values = &mut self.columns[at].1;
            values.pad(self.rows - 1);
            values.push(&value);
        }
        Ok(())
    }

    fn refused(&mut self) -> Result<(), String> {
        self.too_unlike = true;
        Err("the rows of one page have too many different properties".to_owned())
    }

    /// Whether another row of any kind may follow, in what a page may hold.
    pub(super) fn has_room(&self) -> bool {
        self.rows < ROWS_MAX
            && self.columns.len() + 2 * PROPERTIES_MAX <= COLUMNS_MAX
            && (self.columns.len() + 2 * PROPERTIES_MAX) * (self.rows + 1) <= CELLS_MAX
    }

    fn id(&mut self, name: &str, before: Option<usize>) -> usize {
        if let Some(before) = before
            && let Some(id) = self.follows.get(before).copied()
            && self.known.get(id).is_some_and(|known| &*known.name == name)
        {
            return id;
        }
        let id = match self.names.get(name) {
            Some(id) => *id,
            None => {
                let (id, name) = (self.known.len(), Arc::<str>::from(name));
                self.names.insert(Arc::clone(&name), id);
                self.known.push(Known { name, last_row: 0, columns: Default::default() });
                self.follows.push(usize::MAX);
                id
            }
        };
        if let Some(before) = before {
            self.follows[before] = id;
        }
        id
    }

    pub(super) fn finish(mut self) -> Result<Page, String> {
        let rows = self.rows;
        let made = self.columns.drain(..).map(|(name, mut values)| {
            values.pad(rows);
            (name, values.finish())
        });
        let made: Vec<_> = made.collect();
        let columns = made.iter().map(|(name, _)| name.clone()).collect();
        let batch = page_batch(made, rows).map_err(|error| error.to_string())?;
        Ok(Page { batch, columns })
    }
}

pub(super) fn shown(name: &str) -> String {
    name.chars().filter(|char| !char.is_control()).take(100).collect()
}

/// `{"odata.metadata": ..., "value": [...]}`.
struct PageVisitor<'a>(&'a mut Rows);

impl<'de> Visitor<'de> for PageVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a page of rows")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = false;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "value" {
                if std::mem::replace(&mut seen, true) {
                    return Err(A::Error::custom("it has its rows twice"));
                }
                map.next_value_seed(RowsSeed(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if seen { Ok(()) } else { Err(A::Error::custom("it has no rows (`value`)")) }
    }
}

struct RowsSeed<'a>(&'a mut Rows);

impl<'de> DeserializeSeed<'de> for RowsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RowsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        let mut scratch = Row::default();
        while let Some(row) = rows.next_element_seed(RowSeed(&mut scratch))? {
            row.give(self.0).map_err(A::Error::custom)?;
            scratch = row;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType};

    use super::*;

    fn page(rows: &str) -> Result<Page> {
        Page::parse(format!("{{\"odata.metadata\":\"x\",\"value\":[{rows}]}}").as_bytes(), "az-table://rows")
    }

    #[test]
    fn every_type_becomes_a_column_of_its_own() {
        let page = page(
            r#"{"PartitionKey":"p","RowKey":"r","s":"a\"b","b":true,"i":-1,"l@odata.type":"Edm.Int64","l":"9007199254740993",
                "d":1.0,"n@odata.type":"Edm.Double","n":"NaN","t@odata.type":"Edm.DateTime","t":"2020-01-01T00:00:00.0000001Z",
                "g@odata.type":"Edm.Guid","g":"c9da6455-213d-42c9-9a79-3e9149a57833","y@odata.type":"Edm.Binary","y":"AP8="},
               {"PartitionKey":"p","RowKey":"s","i":"now text","t@odata.type":"Edm.DateTime","t":"1601-01-01T00:00:00Z","none":null}"#,
        )
        .unwrap();
        let names: Vec<_> = page.columns.iter().map(ColumnName::in_page).collect();
        assert_eq!(
            names,
            [
                "PartitionKey@Edm.String",
                "RowKey@Edm.String",
                "s@Edm.String",
                "b@Edm.Boolean",
                "i@Edm.Int32",
                "l@Edm.Int64",
                "d@Edm.Double",
                "n@Edm.Double",
                "t@Edm.DateTime",
                "g@Edm.Guid",
                "y@Edm.Binary",
                "i@Edm.String",
                "t@Edm.DateTime.text"
            ]
        );
        let column = |name: &str| page.batch.column_by_name(name).unwrap();
        assert_eq!(column("s@Edm.String").as_string::<i32>().value(0), "a\"b");
        assert_eq!(column("i@Edm.Int32").as_primitive::<Int32Type>().value(0), -1);
        assert!(arrow_array::Array::is_null(column("i@Edm.Int32"), 1));
        assert_eq!(column("l@Edm.Int64").as_primitive::<Int64Type>().value(0), 9_007_199_254_740_993);
        assert!(column("n@Edm.Double").as_primitive::<Float64Type>().value(0).is_nan());
        assert_eq!(column("t@Edm.DateTime").as_primitive::<TimestampNanosecondType>().value(0) % 1_000, 100);
        assert_eq!(column("y@Edm.Binary").as_binary::<i32>().value(0), [0, 255]);
        assert_eq!(column("t@Edm.DateTime.text").as_string::<i32>().value(1), "1601-01-01T00:00:00Z");
    }

    #[test]
    fn doubles_are_read_as_javascript_writes_them() {
        for (digits, value) in [
            ("10000000000000000000", 1e19),
            ("100000000000000000000", 1e20),
            ("-10000000000000000000", -1e19),
        ] {
            let page = page(&format!(r#"{{"PartitionKey":"p","RowKey":"r","a":{digits}}}"#)).unwrap();
            let column = page.batch.column_by_name("a@Edm.Double").unwrap();
            assert_eq!(column.as_primitive::<Float64Type>().value(0), value);
        }
    }

    #[test]
    fn rows_that_are_too_unlike_say_what_to_do() {
        let row = |row: usize| {
            let names: Vec<_> = (0..250).map(|name| format!(r#""p{row}_{name}":1"#)).collect();
            format!(r#"{{"PartitionKey":"p","RowKey":"{row}",{}}}"#, names.join(","))
        };
        let rows: Vec<_> = (0..COLUMNS_MAX / 250 + 1).map(row).collect();
        let error = page(&rows.join(",")).unwrap_err();
        assert_eq!(error.hint_text(), Some("name those that you need: --select A,B"), "{error}");
    }

    #[test]
    fn what_is_no_page_is_not_believed() {
        for rows in [
            r#"{"PartitionKey":"p"}"#,
            r#"{"PartitionKey":"p","RowKey":1}"#,
            r#"{"PartitionKey":"p","RowKey":"r","a":1,"a":2}"#,
            r#"{"PartitionKey":"p","RowKey":"r","a":[1]}"#,
            r#"{"PartitionKey":"p","RowKey":"r","a@odata.type":"Edm.Int64","a":"x"}"#,
            r#"{"PartitionKey":"p","RowKey":"r","a@odata.type":"Edm.Odd","a":"x"}"#,
            r#"{"PartitionKey":"p","RowKey":"r","a@odata.type":"Edm.Int64","a":99999999999999999999}"#,
            "1",
        ] {
            assert_eq!(page(rows).unwrap_err().kind(), ErrorKind::Protocol, "{rows}");
        }
        for text in ["", "[]", "{}", "{\"value\":[]}x", "{\"value\":[],\"value\":[]}", &"[".repeat(10_000)] {
            assert!(Page::parse(text.as_bytes(), "x").is_err(), "{text}");
        }
        assert_eq!(page("").unwrap().batch.num_rows(), 0);
    }
}
