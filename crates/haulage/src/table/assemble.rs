//! From the pages of a spool to one sequence of batches with the same columns, in the order of the keys.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{Field, Schema, SchemaRef};

use super::column::ColumnName;
use super::hash::RowsHash;
use super::kind::Kind;
use super::page::{PARTITION_KEY, ROW_KEY};
use super::range::{Key, compare_keys};
use super::spool::{Pages, Spool};
use crate::error::{Error, ErrorKind, Result};

/// A batch that is written at a time has about as many rows, or bytes.
const ROWS: usize = 32 << 10;
const BYTES: usize = 24 << 20;

/// A file with more columns is read by nobody.
const COLUMNS_MAX: usize = 10_000;

/// The columns of all pages.
#[derive(Debug)]
pub(super) struct Columns {
    names: Vec<ColumnName>,
    pub(super) schema: SchemaRef,
    /// Names that have several types, each of which has a column.
    pub(super) mixed: Vec<(String, Vec<&'static str>)>,
    /// Where a page's column goes.
    at: HashMap<ColumnName, usize>,
    pub(super) hash: RowsHash,
}

impl Columns {
    /// Looks through all pages of the stretches.
    pub(super) fn of(spool: &Spool, order: &[u32], object: &str) -> Result<Self> {
        let (mut names, mut at, mut hash) = (Vec::new(), HashMap::new(), RowsHash::default());
        let mut add = |column: ColumnName, names: &mut Vec<ColumnName>| {
            at.entry(column.clone()).or_insert_with(|| {
                names.push(column);
                names.len() - 1
            });
        };
        for key in [PARTITION_KEY, ROW_KEY] {
            add(ColumnName { name: key.into(), kind: Kind::Text }, &mut names);
        }
        for id in order {
            let mut pages = spool.read(*id)?;
            while let Some(head) = pages.head()? {
                if head.rows == 0 {
                    continue;
                }
                hash.join(head.hash);
                head.columns().for_each(|column| add(column, &mut names));
                if names.len() > COLUMNS_MAX {
                    let cause = format!("the rows have more than {COLUMNS_MAX} different properties");
                    return Err(Error::new(ErrorKind::Usage, "export", object, cause)
                        .hint("select the columns you need: --select A,B"));
                }
            }
        }
        let mut kinds: HashMap<&Arc<str>, Vec<Kind>> = HashMap::new();
        names.iter().for_each(|column: &ColumnName| kinds.entry(&column.name).or_default().push(column.kind));
        let called = |column: &ColumnName| {
            let alone = kinds[&column.name].len() == 1 && column.kind != Kind::FarTime;
            if alone { column.name.to_string() } else { column.in_page() }
        };
        let fields: Vec<Field> = names.iter().map(|column| column.field(called(column))).collect();
        let mut mixed: Vec<_> = kinds
            .iter()
            .filter(|(_, kinds)| kinds.len() > 1)
            .map(|(name, kinds)| (name.to_string(), kinds.iter().map(|kind| kind.suffix()).collect()))
            .collect();
        mixed.sort();
        Ok(Self { schema: Arc::new(Schema::new(fields)), names, mixed, at, hash })
    }

    /// The columns as pages name them.
    pub(super) fn names(&self) -> &[ColumnName] {
        &self.names
    }

    /// A batch of pages, with nothing where a page lacks a column.
    fn batch(&self, pages: &[RecordBatch], object: &str) -> Result<RecordBatch> {
        let wrong = |why: String| Error::new(ErrorKind::Io, "assemble", object, why);
        let mut parts: Vec<Vec<Option<ArrayRef>>> = vec![vec![None; pages.len()]; self.names.len()];
        for (number, page) in pages.iter().enumerate() {
            for (field, array) in page.schema().fields().iter().zip(page.columns()) {
                let column = ColumnName::of_page(field.name());
                let at = column.and_then(|column| self.at.get(&column));
                let at = *at.ok_or_else(|| wrong(format!("the column {} came later", field.name())))?;
                parts[at][number] = Some(Arc::clone(array));
            }
        }
        let mut arrays = Vec::with_capacity(self.names.len());
        for (parts, column) in parts.into_iter().zip(&self.names) {
            let filled: Vec<ArrayRef> = parts
                .into_iter()
                .zip(pages)
                .map(|(part, page)| {
                    part.unwrap_or_else(|| new_null_array(&column.kind.arrow(), page.num_rows()))
                })
                .collect();
            let all: Vec<_> = filled.iter().map(AsRef::as_ref).collect();
            arrays.push(arrow_select::concat::concat(&all).map_err(|error| wrong(error.to_string()))?);
        }
        let rows = pages.iter().map(RecordBatch::num_rows).sum();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|error| wrong(error.to_string()))
    }
}

/// The batches of a spool, from the first key to the last.
pub(super) struct Batches<'a> {
    spool: &'a Spool,
    columns: &'a Columns,
    order: std::slice::Iter<'a, u32>,
    pages: Option<Pages>,
    last: Option<Key>,
    object: &'a str,
}

impl<'a> Batches<'a> {
    pub(super) fn new(spool: &'a Spool, columns: &'a Columns, order: &'a [u32], object: &'a str) -> Self {
        Self { spool, columns, order: order.iter(), pages: None, last: None, object }
    }

    /// The next batch; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let (mut held, mut rows, mut bytes) = (Vec::new(), 0, 0);
        // A column takes memory for each row, whether there is a value or not.
        let most = ROWS.min(BYTES / (8 * self.columns.names.len()).max(1));
        while rows < most && bytes < BYTES {
            let Some(page) = self.page()? else { break };
            rows += page.num_rows();
            bytes += page.get_array_memory_size();
            held.push(page);
        }
        if held.is_empty() { Ok(None) } else { self.columns.batch(&held, self.object).map(Some) }
    }

    fn page(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.pages.is_none() {
                let Some(id) = self.order.next() else { return Ok(None) };
                self.pages = Some(self.spool.read(*id)?);
            }
            let Some((head, page)) = self.pages.as_mut().map(Pages::next).transpose()?.flatten() else {
                self.pages = None;
                continue;
            };
            if head.rows == 0 {
                continue;
            }
            let first = first_key(&page);
            let overlaps = self.last.as_ref().zip(first.as_ref()).is_some_and(|(last, first)| {
                let (last, first) =
                    ((last.partition.as_str(), last.row.as_str()), (first.0.as_str(), first.1.as_str()));
                compare_keys(last, first).is_ge() && last >= first
            });
            if overlaps {
                let cause = "a row came twice: its service does not sort rows by their keys";
                return Err(Error::new(ErrorKind::Protocol, "export", self.object, cause));
            }
            self.last = head.last;
            return Ok(Some(page));
        }
    }
}

fn first_key(page: &RecordBatch) -> Option<(String, String)> {
    use arrow_array::cast::AsArray as _;
    let first = |name: &str| {
        let column = ColumnName { name: name.into(), kind: Kind::Text };
        Some(page.column_by_name(&column.in_page())?.as_string_opt::<i32>()?.value(0).to_owned())
    };
    Some((first(PARTITION_KEY)?, first(ROW_KEY)?))
}
