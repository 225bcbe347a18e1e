//! Rows out of files: Parquet, an Arrow stream, lines of JSON.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::cell::can_be_stored;
use super::column::ColumnName;
use super::kind::{Kind, METADATA};
use super::page::{CELLS_MAX, Rows};
use super::sink::Format;
use super::written::Row;
use crate::error::{Error, ErrorKind, Result};

/// Rows that are read at a time.
const ROWS: usize = 1_000;

/// A line of JSON that is longer is no row: one has at most 1 MiB.
const LINE_MAX: usize = 32 << 20;

const MARK_OF_UTF8: &[u8] = b"\xef\xbb\xbf";

/// Rows of a file.
pub(super) struct RowsIn {
    reader: Reader,
    name: String,
    /// The number of the next row.
    number: u64,
    /// What was read and is too much for one page.
    left: Option<RecordBatch>,
}

enum Reader {
    Parquet(Box<ParquetRecordBatchReader>),
    Arrow(Box<StreamReader<BufReader<File>>>),
    Json(BufReader<File>),
}

/// Rows with the same columns, and what could not be read as a row.
pub(super) struct Read {
    /// The number of the first row, from 0.
    pub(super) first: u64,
    pub(super) batch: RecordBatch,
    /// Their numbers, where some between them could not be read.
    pub(super) numbers: Option<Vec<u64>>,
    /// Lines that are no rows: number, text and why.
    pub(super) unread: Vec<(u64, String, String)>,
}

/// A column that is stored.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) name: String,
    /// What the file says of its type in the table.
    pub(super) said: Option<Kind>,
    pub(super) at: usize,
}

/// What is said of a file that cannot be read to its end: it is damaged or cut short, unless the disk says why.
fn odd(name: &str, error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            Error::from_io("read", name, error)
        }
        error => Error::new(ErrorKind::Integrity, "read", name, format!("the file is damaged: {error}"))
            .hint("fetch the file again, or make another from its source"),
    }
}

impl RowsIn {
    /// Opens a file.
    ///
    /// # Errors
    /// `NotFound` for none, `Usage` for what is no such file.
    pub(super) fn open(path: &Path, format: Format) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Error::from_io("open", name.as_str(), error))?;
        let wrong = |why: String| {
            Error::new(ErrorKind::Usage, "open", name.as_str(), format!("the file cannot be read: {why}"))
                .hint("say what it is: --format parquet, arrow, csv or jsonl")
        };
        let reader = match format {
            Format::Parquet => {
                let builder = ParquetRecordBatchReaderBuilder::try_new(file)
                    .map_err(|error| wrong(error.to_string()))?;
                let reader =
                    builder.with_batch_size(ROWS).build().map_err(|error| wrong(error.to_string()))?;
                Reader::Parquet(Box::new(reader))
            }
            Format::Arrow => {
                let reader = StreamReader::try_new(BufReader::new(file), None);
                Reader::Arrow(Box::new(reader.map_err(|error| wrong(error.to_string()))?))
            }
            Format::Json => Reader::Json(BufReader::with_capacity(1 << 20, file)),
            Format::Csv => return Err(wrong("CSV says no types".to_owned())),
        };
        Ok(Self { reader, name, number: 0, left: None })
    }

    /// All rows before this one were read.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The columns, where the file has the same for all rows.
    pub(super) fn schema(&self) -> Option<SchemaRef> {
        let schema = match &self.reader {
            Reader::Parquet(reader) => arrow_array::RecordBatchReader::schema(&**reader),
            Reader::Arrow(reader) => reader.schema(),
            Reader::Json(_) => return None,
        };
        Some(plain(&schema).unwrap_or(schema))
    }

    /// The next rows; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Read>> {
        let batch = match (self.left.take(), &mut self.reader) {
            (Some(left), _) => Some(Ok(left)),
            (None, Reader::Parquet(reader)) => reader.next().map(|batch| batch.and_then(written_out)),
            (None, Reader::Arrow(reader)) => reader.next().map(|batch| batch.and_then(written_out)),
            (None, Reader::Json(_)) => return self.lines(),
        };
        let Some(mut batch) = batch.transpose().map_err(|error| odd(&self.name, error))? else {
            return Ok(None);
        };
        let most = (CELLS_MAX / batch.num_columns().max(1)).clamp(1, ROWS);
        if batch.num_rows() > most {
            self.left = Some(batch.slice(most, batch.num_rows() - most));
            batch = batch.slice(0, most);
        }
        let first = self.number;
        self.number += batch.num_rows() as u64;
        Ok(Some(Read { first, batch, numbers: None, unread: Vec::new() }))
    }

    fn lines(&mut self) -> Result<Option<Read>> {
        let Reader::Json(reader) = &mut self.reader else { return Ok(None) };
        let io = |error| Error::from_io("read", self.name.as_str(), error);
        let first = self.number;
        let (mut rows, mut numbers, mut unread) = (Rows::default(), Vec::new(), Vec::new());
        let mut line = Vec::new();
        let mut held = 0;
        while numbers.len() + unread.len() < ROWS && held < 8 << 20 && rows.has_room() {
            line.clear();
            let mut limited = std::io::Read::take(&mut *reader, LINE_MAX as u64);
            if limited.read_until(b'\n', &mut line).map_err(io)? == 0 {
                break;
            }
            held += line.len();
            let number = self.number;
            self.number += 1;
            // Some programs begin a file with the mark of UTF-8.
            let text = if number == 0 { line.strip_prefix(MARK_OF_UTF8).unwrap_or(&line) } else { &line };
            let text = text.trim_ascii();
            if text.is_empty() {
                continue;
            }
            match row_of(text, &mut rows) {
                Ok(()) => numbers.push(number),
                Err(why) => unread.push((number, String::from_utf8_lossy(text).into_owned(), why)),
            }
        }
        if self.number == first {
            return Ok(None);
        }
        let page = rows.finish().map_err(|why| Error::new(ErrorKind::Io, "read", self.name.as_str(), why))?;
        Ok(Some(Read { first, batch: page.batch, numbers: Some(numbers), unread }))
    }
}

/// What a schema is when each row has its value; `None` where it is that already. Categories of pandas are numbers in a dictionary.
fn plain(schema: &SchemaRef) -> Option<SchemaRef> {
    let value = |field: &Arc<Field>| match field.data_type() {
        DataType::Dictionary(_, value) => Some(value.as_ref().clone()),
        _ => None,
    };
    schema.fields().iter().any(|field| value(field).is_some()).then(|| {
        let fields = schema.fields().iter().map(|field| match value(field) {
            Some(kind) => Arc::new(field.as_ref().clone().with_data_type(kind).with_nullable(true)),
            None => Arc::clone(field),
        });
        Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
    })
}

/// The same rows, each with its value where it had the number of one.
fn written_out(batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let Some(schema) = plain(&batch.schema()) else { return Ok(batch) };
    let columns = batch.columns().iter().map(|column| match column.data_type() {
        DataType::Dictionary(..) => {
            let numbered = column.as_any_dictionary();
            take(numbered.values(), numbered.keys(), None)
        }
        _ => Ok(Arc::clone(column)),
    });
    RecordBatch::try_new(schema, columns.collect::<Result<_, _>>()?)
}

/// Adds the row of a line, whole or not at all.
fn row_of(line: &[u8], rows: &mut Rows) -> Result<(), String> {
    let row = Row::parse(line)?;
    let values = row.values()?;
    let mut names = HashSet::with_capacity(values.len());
    if let Some((name, _)) = values.iter().find(|(name, _)| !names.insert(*name)) {
        return Err(format!("it has the property `{name}` twice"));
    }
    rows.push(values.iter().map(|(name, value)| (*name, value.value())))
}

/// The columns of a schema that are stored, by the names that they have in the table.
///
/// # Errors
/// `Usage` for a column that no table can hold.
pub(super) fn stored_columns(schema: &SchemaRef, exclude: &[String], object: &str) -> Result<Vec<Stored>> {
    let refused =
        |cause: String, hint: String| Err(Error::new(ErrorKind::Usage, "import", object, cause).hint(hint));
    let mut columns = Vec::new();
    for (at, field) in schema.fields().iter().enumerate() {
        let typed = ColumnName::of_page(field.name());
        let name = typed.as_ref().map_or(field.name().as_str(), |column| &column.name).to_owned();
        if exclude.iter().any(|one| *one == name || one == field.name()) {
            continue;
        }
        if !can_be_stored(field.data_type()) {
            return refused(
                format!("the column `{name}` holds {}, which no table can", field.data_type()),
                format!("leave it out: --exclude {name}"),
            );
        }
        if !is_property(&name) {
            return refused(
                format!(
                    "`{name}` is no name of a property: letters, digits and _, at most 255, not a digit first"
                ),
                format!("rename the column, or leave it out: --exclude '{name}'"),
            );
        }
        let said = field.metadata().get(METADATA).and_then(|edm| Kind::of_edm(edm));
        columns.push(Stored { name, said: typed.map(|column| column.kind).or(said), at });
    }
    Ok(columns)
}

/// The service's rule for names.
fn is_property(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|char| char.is_alphabetic() || char == '_');
    first && name.encode_utf16().count() <= 255 && chars.all(|char| char.is_alphanumeric() || char == '_')
}

/// The column of this name in a batch, and whether it was found.
pub(super) fn column<'a>(columns: &[Stored], batch: &'a RecordBatch, name: &str) -> Option<&'a ArrayRef> {
    columns.iter().find(|column| column.name == name).map(|column| batch.column(column.at))
}
