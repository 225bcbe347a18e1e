//! Whether two hold the same rows: tables, or files of them. Both are read in the order of their keys, side by side.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use futures_util::future::BoxFuture;
use serde::Serialize;

use super::assemble::{Batches, Columns};
use super::cell::stored;
use super::column::ColumnName;
use super::export::{fetched, rounded};
use super::fetch::blocking;
use super::hash::{RowHasher, RowsHash};
use super::page::{PARTITION_KEY, Page, ROW_KEY, Rows, TIMESTAMP};
use super::range::compare_keys;
use super::rows_in::{RowsIn, stored_columns};
use super::sink::Format;
use super::spool::Spool;
use crate::error::{Error, ErrorKind, Result};
use crate::store::StoreOptions;

/// Differences that are told one by one.
const TOLD: usize = 1_000;

/// One row that is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// `missing` from the second, `extra` in it, or `changed`.
    pub kind: &'static str,
    /// Its PartitionKey.
    pub partition: String,
    /// Its RowKey.
    pub row: String,
    /// Of a row that changed, the properties that did.
    pub properties: Vec<String>,
}

/// How two compare.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Compared {
    /// Rows of the first.
    pub rows: u64,
    /// Rows of the second.
    pub rows_other: u64,
    /// Rows that are the same.
    pub equal: u64,
    /// Rows of the first that the second lacks.
    pub missing: u64,
    /// Rows of the second that the first lacks.
    pub extra: u64,
    /// Rows of both with other values.
    pub changed: u64,
    /// The first differences, at most a thousand.
    pub differences: Vec<Difference>,
    /// A hash over the rows of the first, whatever their order.
    pub hash: String,
    /// The same of the second.
    pub hash_other: String,
    /// How long it took.
    pub seconds: f64,
}

/// Compares two; each is the address of a table, or the name of a file in the order of its keys, as exports write it. What is
/// fetched lies in `scratch` meanwhile.
///
/// # Errors
/// Those of the service and the disk; `Usage` for a file whose rows are not in the order of their keys.
pub fn compare<'a>(
    first: &'a str,
    second: &'a str,
    scratch: &'a Path,
    options: &'a StoreOptions,
) -> BoxFuture<'a, Result<Compared>> {
    Box::pin(async move {
        let began = Instant::now();
        let first = Side::open(first, &scratch.join("first"), options).await?;
        let second = Side::open(second, &scratch.join("second"), options).await?;
        let compared = blocking(move || {
            let compared = compare_sides(&first, &second)?;
            first.remove()?;
            second.remove()?;
            Ok(compared)
        });
        Ok(Compared { seconds: rounded(began.elapsed()), ..compared.await? })
    })
}

/// Whether this names a table and not a file.
fn is_table(text: &str) -> bool {
    ["az-table://", "http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
}

/// One of the two.
enum Side {
    File(PathBuf, Format),
    Table(Box<Fetched>),
}

/// The rows of a table, on this machine.
struct Fetched {
    spool: Spool,
    order: Vec<u32>,
    columns: Columns,
    name: String,
}

impl Side {
    async fn open(text: &str, scratch: &Path, options: &StoreOptions) -> Result<Self> {
        if is_table(text) {
            let (spool, order, name) = fetched(text, scratch, options).await?;
            return blocking(move || {
                let columns = Columns::of(&spool, &order, &name)?;
                Ok(Self::Table(Box::new(Fetched { spool, order, columns, name })))
            })
            .await;
        }
        let format = Format::of_name(text).ok_or_else(|| {
            Error::new(ErrorKind::Usage, "compare", text, "nothing says which format the file has")
                .hint("use a name ending in .parquet, .arrow or .jsonl")
        })?;
        Ok(Self::File(PathBuf::from(text), format))
    }

    fn remove(self) -> Result<()> {
        match self {
            Self::File(..) => Ok(()),
            Self::Table(fetched) => fetched.spool.remove(),
        }
    }

    fn rows(&self) -> Result<Cursor<'_>> {
        let (pages, name) = match self {
            Self::File(path, format) => {
                (Pages::File(Box::new(RowsIn::open(path, *format)?)), path.display().to_string())
            }
            Self::Table(fetched) => {
                let Fetched { spool, order, columns, name } = &**fetched;
                (Pages::Table(Batches::new(spool, columns, order, name), columns.names()), name.clone())
            }
        };
        let mut cursor = Cursor { pages, name, page: None, at: 0, hash: RowsHash::default() };
        cursor.fill()?;
        Ok(cursor)
    }
}

enum Pages<'a> {
    File(Box<RowsIn>),
    Table(Batches<'a>, &'a [ColumnName]),
}

/// A row of one side.
struct Cursor<'a> {
    pages: Pages<'a>,
    name: String,
    page: Option<Held>,
    at: usize,
    hash: RowsHash,
}

struct Held {
    batch: RecordBatch,
    columns: Vec<ColumnName>,
    hasher: RowHasher,
    keys: (usize, usize),
}

impl Cursor<'_> {
    /// The keys of the row; `None` behind the last.
    fn key(&self) -> Option<(&str, &str)> {
        let page = self.page.as_ref()?;
        let text = |at: usize| page.batch.column(at).as_string::<i32>().value(self.at);
        Some((text(page.keys.0), text(page.keys.1)))
    }

    fn step(&mut self) -> Result<()> {
        let Some(page) = &mut self.page else { return Ok(()) };
        self.hash.join(page.hasher.hash(page.batch.columns(), self.at..self.at + 1));
        let before = self.key().map(|(partition, row)| (partition.to_owned(), row.to_owned()));
        self.at += 1;
        self.fill()?;
        let sorted = |before: &(String, String), key: (&str, &str)| {
            compare_keys((&before.0, &before.1), key) == Ordering::Less
                || (before.0.as_str(), before.1.as_str()) < key
        };
        if let (Some(before), Some(key)) = (before, self.key())
            && !sorted(&before, key)
        {
            let cause = "its rows are not in the order of their keys";
            return Err(Error::new(ErrorKind::Usage, "compare", self.name.as_str(), cause).hint(
                "compare what haul table export or backup has written, or import it and compare the table",
            ));
        }
        Ok(())
    }

    /// Has a row at hand, if there is one.
    fn fill(&mut self) -> Result<()> {
        while self.page.as_ref().is_none_or(|page| self.at >= page.batch.num_rows()) {
            self.at = 0;
            let next = match &mut self.pages {
                Pages::Table(batches, columns) => batches.next()?.map(|batch| (batch, columns.to_vec())),
                Pages::File(rows) => page_of(rows, &self.name)?.map(|page| (page.batch, page.columns)),
            };
            let Some((batch, columns)) = next else {
                self.page = None;
                return Ok(());
            };
            if batch.num_rows() == 0 {
                continue;
            }
            let at = |name: &str| columns.iter().position(|column| &*column.name == name);
            let Some(keys) = at(PARTITION_KEY).zip(at(ROW_KEY)) else {
                return Err(Error::new(ErrorKind::Usage, "compare", self.name.as_str(), "its rows have no keys")
                    .hint("compare what haul table export or backup has written, or import it and compare the table"));
            };
            let hasher = RowHasher::new(&columns);
            self.page = Some(Held { batch, columns, hasher, keys });
        }
        Ok(())
    }

    /// The row in its canonical form, and its properties one by one.
    fn canonical(&mut self) -> Vec<u8> {
        let at = self.at;
        let page = self.page.as_mut();
        page.map(|page| page.hasher.canonical(page.batch.columns(), at).to_vec()).unwrap_or_default()
    }

    fn properties(&self) -> Vec<(Arc<str>, Vec<u8>)> {
        let Some(page) = &self.page else { return Vec::new() };
        let columns =
            page.columns.iter().zip(page.batch.columns()).filter(|(column, _)| &*column.name != TIMESTAMP);
        let one = |(column, array): (&ColumnName, &arrow_array::ArrayRef)| {
            let mut hasher = RowHasher::new(std::slice::from_ref(column));
            let text = hasher.canonical(std::slice::from_ref(array), self.at).to_vec();
            (!text.is_empty()).then(|| (Arc::clone(&column.name), text))
        };
        let mut all: Vec<_> = columns.filter_map(one).collect();
        all.sort();
        all
    }
}

/// The next rows of a file, in the columns that tables have.
fn page_of(rows: &mut RowsIn, name: &str) -> Result<Option<Page>> {
    let Some(read) = rows.next()? else { return Ok(None) };
    let wrong = |why: String| Error::new(ErrorKind::Usage, "compare", name, why);
    if let Some((number, _, why)) = read.unread.into_iter().next() {
        return Err(wrong(format!("line {} is no row: {why}", number + 1)));
    }
    let columns = stored_columns(&read.batch.schema(), &[], name)?;
    let mut page = Rows::default();
    for at in 0..read.batch.num_rows() {
        let mut values = Vec::with_capacity(columns.len());
        for column in &columns {
            let value = stored(read.batch.column(column.at), at, column.said).map_err(wrong)?;
            values.extend(value.map(|value| (column.name.as_str(), value)));
        }
        page.push(values.iter().map(|(name, value)| (*name, value.value()))).map_err(wrong)?;
    }
    page.finish().map(Some).map_err(wrong)
}

fn compare_sides(first: &Side, second: &Side) -> Result<Compared> {
    let (mut one, mut other) = (first.rows()?, second.rows()?);
    let mut compared = Compared::default();
    loop {
        let order = match (one.key(), other.key()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => compare_keys(one, other),
        };
        let kind = match order {
            Ordering::Less => {
                compared.missing += 1;
                "missing"
            }
            Ordering::Greater => {
                compared.extra += 1;
                "extra"
            }
            Ordering::Equal if one.canonical() == other.canonical() => {
                compared.equal += 1;
                ""
            }
            Ordering::Equal => {
                compared.changed += 1;
                "changed"
            }
        };
        if !kind.is_empty() && compared.differences.len() < TOLD {
            let side = if order == Ordering::Greater { &other } else { &one };
            let (partition, row) = side.key().unwrap_or_default();
            let properties = if kind == "changed" { changed(&one, &other) } else { Vec::new() };
            let (partition, row) = (partition.to_owned(), row.to_owned());
            compared.differences.push(Difference { kind, partition, row, properties });
        }
        if order != Ordering::Greater {
            one.step()?;
        }
        if order != Ordering::Less {
            other.step()?;
        }
    }
    (compared.rows, compared.rows_other) = (one.hash.rows, other.hash.rows);
    (compared.hash, compared.hash_other) = (one.hash.hex(), other.hash.hex());
    Ok(compared)
}

/// The names of properties that are not the same in both rows.
fn changed(one: &Cursor<'_>, other: &Cursor<'_>) -> Vec<String> {
    let (one, other) = (one.properties(), other.properties());
    let lacks = |side: &[(Arc<str>, Vec<u8>)], property: &(Arc<str>, Vec<u8>)| !side.contains(property);
    let mut names: Vec<String> = one
        .iter()
        .filter(|property| lacks(&other, property))
        .chain(other.iter().filter(|property| lacks(&one, property)))
        .map(|(name, _)| name.to_string())
        .collect();
    names.sort();
    names.dedup();
    names
}
