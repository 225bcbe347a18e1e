//! Files that rows are written to: Parquet, an Arrow stream, CSV, lines of JSON.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Schema, SchemaRef};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::column::{ColumnName, Value};
use super::hash::value_at;
use super::time;
use crate::error::{Error, ErrorKind, Result};
use crate::output::CREATED_BY;

/// Rows of a group: what a reader has in memory at least.
const GROUP_ROWS: usize = 128 << 10;
const GROUP_BYTES: usize = 48 << 20;

/// A form of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet, packed with Zstandard.
    Parquet,
    /// A stream of Apache Arrow.
    Arrow,
    /// Comma-separated values with a line of names; nothing is an empty field, an empty text two quotation marks.
    Csv,
    /// A JSON object on each line, with the types that JSON does not have beside the values, as the service writes them.
    Json,
}

impl Format {
    /// By the end of a file's name.
    pub fn of_name(name: &str) -> Option<Self> {
        let end = name.rsplit_once('.')?.1.to_ascii_lowercase();
        end.parse().ok()
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "arrows" | "ipc" => Self::Arrow,
            "csv" => Self::Csv,
            "json" | "jsonl" | "ndjson" => Self::Json,
            _ => {
                return Err(Error::new(ErrorKind::Usage, "choose the format", text, "no such format")
                    .hint("formats are parquet, arrow, csv and jsonl"));
            }
        })
    }
}

/// What becomes of text in CSV that a spreadsheet would run as a formula. Others hold text as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Formulas {
    /// It gets an apostrophe in front.
    #[default]
    Disarm,
    /// It stays as it is, for programs.
    Keep,
}

impl FromStr for Formulas {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "disarm" => Ok(Self::Disarm),
            "keep" => Ok(Self::Keep),
            _ => Err(Error::new(ErrorKind::Usage, "choose what becomes of formulas", text, "no such choice")
                .hint("write disarm or keep")),
        }
    }
}

/// What makes a spreadsheet take the text of a cell for a formula.
const FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

/// Where rows go. It gets its name when it is whole.
pub(super) struct Sink {
    writer: Writer,
    /// The file's name, and the one that it has until it is whole; neither for standard output.
    path: Option<(PathBuf, PathBuf)>,
    columns: Vec<ColumnName>,
    names: Vec<String>,
    name: String,
    formulas: Formulas,
    disarmed: u64,
}

enum Writer {
    Parquet(Box<ArrowWriter<Box<dyn Write + Send>>>),
    Arrow(Box<StreamWriter<Box<dyn Write + Send>>>),
    Text(Format, Box<dyn Write + Send>),
}

impl Sink {
    /// Creates the file beside its name, or takes standard output for `-`. `words` go along where the form has a place for them.
    pub(super) fn create(
        path: &Path,
        (format, formulas): (Format, Formulas),
        schema: &SchemaRef,
        columns: &[ColumnName],
        words: &[(&str, String)],
    ) -> Result<Self> {
        let name = path.display().to_string();
        let io = |error| Error::from_io("write", name.as_str(), error);
        let (out, path): (Box<dyn Write + Send>, _) = if name == "-" {
            (Box::new(std::io::stdout()), None)
        } else {
            let beside = beside(path);
            (Box::new(File::create(&beside).map_err(io)?), Some((path.to_path_buf(), beside)))
        };
        let out: Box<dyn Write + Send> = Box::new(BufWriter::with_capacity(1 << 20, out));
        let metadata: HashMap<String, String> =
            words.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let schema = Arc::new(Schema::clone(schema).with_metadata(metadata));
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let odd = |error: String| Error::new(ErrorKind::Io, "write", name.as_str(), error);
        let writer = match format {
            Format::Parquet => {
                let words = words
                    .iter()
                    .map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()))
                    .collect();
                let level = ZstdLevel::try_new(1).map_err(|error| odd(error.to_string()))?;
                let properties = WriterProperties::builder()
                    .set_created_by(CREATED_BY.to_owned())
                    .set_compression(Compression::ZSTD(level))
                    .set_max_row_group_row_count(Some(GROUP_ROWS))
                    .set_key_value_metadata(Some(words))
                    .build();
                let writer = ArrowWriter::try_new(out, schema, Some(properties));
                Writer::Parquet(Box::new(writer.map_err(|error| odd(error.to_string()))?))
            }
            Format::Arrow => Writer::Arrow(Box::new(
                StreamWriter::try_new(out, &schema).map_err(|error| odd(error.to_string()))?,
            )),
            Format::Csv | Format::Json => Writer::Text(format, out),
        };
        let mut sink = Self { writer, path, columns: columns.to_vec(), names, name, formulas, disarmed: 0 };
        if let Writer::Text(Format::Csv, out) = &mut sink.writer {
            let mut line = String::new();
            for name in &sink.names {
                sink.disarmed += u64::from(text_field(&mut line, name, formulas));
            }
            end_line(&mut line);
            out.write_all(line.as_bytes())
                .map_err(|error| Error::from_io("write", sink.name.as_str(), error))?;
        }
        Ok(sink)
    }

    /// Writes rows.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let odd = |error: String| Error::new(ErrorKind::Io, "write", self.name.as_str(), error);
        match &mut self.writer {
            Writer::Parquet(writer) => {
                writer.write(batch).map_err(|error| odd(error.to_string()))?;
                if writer.in_progress_size() > GROUP_BYTES {
                    writer.flush().map_err(|error| odd(error.to_string()))?;
                }
                Ok(())
            }
            Writer::Arrow(writer) => writer.write(batch).map_err(|error| odd(error.to_string())),
            Writer::Text(format, out) => {
                let mut text = String::new();
                for row in 0..batch.num_rows() {
                    let cells = self.columns.iter().zip(&self.names).zip(batch.columns());
                    let cells = cells.map(|((column, name), array)| {
                        (column, name.as_str(), value_at(array, column.kind, row))
                    });
                    if *format == Format::Csv {
                        self.disarmed += csv_row(&mut text, cells, self.formulas);
                    } else {
                        json_row(&mut text, cells);
                    }
                    if text.len() > 1 << 20 {
                        out.write_all(text.as_bytes())
                            .map_err(|error| Error::from_io("write", self.name.as_str(), error))?;
                        text.clear();
                    }
                }
                out.write_all(text.as_bytes())
                    .map_err(|error| Error::from_io("write", self.name.as_str(), error))
            }
        }
    }

    /// Writes the end, and gives the file its name when it is on the disk.
    ///
    /// Returns how many texts were disarmed.
    pub(super) fn finish(self) -> Result<u64> {
        let Self { writer, path, name, disarmed, .. } = self;
        let io = |error| Error::from_io("write", name.as_str(), error);
        let odd = |error: String| Error::new(ErrorKind::Io, "write", name.as_str(), error);
        let mut out = match writer {
            Writer::Parquet(writer) => writer.into_inner().map_err(|error| odd(error.to_string()))?,
            Writer::Arrow(writer) => writer.into_inner().map_err(|error| odd(error.to_string()))?,
            Writer::Text(_, out) => out,
        };
        out.flush().map_err(io)?;
        drop(out);
        let Some((path, beside)) = path else { return Ok(disarmed) };
        File::open(&beside).and_then(|file| file.sync_all()).map_err(io)?;
        std::fs::rename(&beside, &path).map_err(io)?;
        Ok(disarmed)
    }
}

/// The name of a file until it is whole.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.haul-partial"))
}

/// The text of a value, where it is not a number or a truth in JSON.
pub(super) fn text_of(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) | Value::FarTime(text) | Value::Guid(text) => (*text).to_owned(),
        Value::Boolean(value) => value.to_string(),
        Value::Int32(value) => value.to_string(),
        Value::Int64(value) => value.to_string(),
        Value::Double(value) => double(*value),
        Value::Time(ns) => time::write(*ns),
        Value::Binary(bytes) => BASE64_STANDARD.encode(bytes),
    }
}

/// A double as the service writes it: with a point or an exponent, so that it is not taken for a whole number.
pub(super) fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    // Debug gives the shortest text that reads back as the same number.
    format!("{value:?}")
}

fn field(line: &mut String, text: Option<&str>) {
    if let Some(text) = text {
        if text.is_empty()
            || text.contains([',', '"', '\n', '\r'])
            || text.starts_with(' ')
            || text.ends_with(' ')
        {
            line.push('"');
            line.push_str(&text.replace('"', "\"\""));
            line.push('"');
        } else {
            line.push_str(text);
        }
    }
    line.push(',');
}

fn end_line(line: &mut String) {
    line.pop();
    line.push_str("\r\n");
}

type CellOf<'a> = (&'a ColumnName, &'a str, Option<Value<'a>>);

/// Writes a row; returns how many of its texts were disarmed.
fn csv_row<'a>(line: &mut String, cells: impl Iterator<Item = CellOf<'a>>, formulas: Formulas) -> u64 {
    let mut disarmed = 0;
    for (_, _, value) in cells {
        match value {
            Some(Value::Text(text)) => disarmed += u64::from(text_field(line, text, formulas)),
            value => field(line, value.as_ref().map(text_of).as_deref()),
        }
    }
    end_line(line);
    disarmed
}

/// Writes a field of text; whether it was disarmed.
fn text_field(line: &mut String, text: &str, formulas: Formulas) -> bool {
    let disarm = formulas == Formulas::Disarm && text.starts_with(FORMULA);
    match disarm {
        true => field(line, Some(&format!("'{text}"))),
        false => field(line, Some(text)),
    }
    disarm
}

fn json_row<'a>(line: &mut String, cells: impl Iterator<Item = CellOf<'a>>) {
    line.push('{');
    for (column, _, value) in cells {
        let Some(value) = value else { continue };
        if line.len() > 1 && !line.ends_with('{') {
            line.push(',');
        }
        json_property(line, &column.name, &value);
    }
    line.push_str("}\n");
}

/// Writes `"name":value`, with its type before it where JSON does not show it.
pub(super) fn json_property(line: &mut String, name: &str, value: &Value<'_>) {
    let typed = match value {
        Value::Text(_) | Value::Boolean(_) | Value::Int32(_) => false,
        // JavaScript writes `1.0` as `1`, and so do services that are written in it.
        Value::Double(value) => !value.is_finite() || value.fract() == 0.0,
        Value::Int64(_) | Value::Time(_) | Value::FarTime(_) | Value::Guid(_) | Value::Binary(_) => true,
    };
    if typed {
        json_text(line, &format!("{name}@odata.type"));
        line.push_str(":\"");
        line.push_str(value.kind().edm());
        line.push_str("\",");
    }
    json_text(line, name);
    line.push(':');
    match value {
        Value::Boolean(_) | Value::Int32(_) => line.push_str(&text_of(value)),
        Value::Double(number) if number.is_finite() => line.push_str(&double(*number)),
        Value::Text(text) => json_text(line, text),
        _ => json_text(line, &text_of(value)),
    }
}

fn json_text(line: &mut String, text: &str) {
    // Writing text into memory cannot fail.
    line.push_str(&serde_json::to_string(text).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_a_spreadsheet_would_run_has_an_apostrophe_in_front() {
        let written = |text: &str, formulas| {
            let mut line = String::new();
            let disarmed = text_field(&mut line, text, formulas);
            (line, disarmed)
        };
        for text in ["=1+1", "+cmd", "-2+3", "@SUM(A1)"] {
            assert_eq!(written(text, Formulas::Disarm), (format!("'{text},"), true));
            assert_eq!(written(text, Formulas::Keep), (format!("{text},"), false));
        }
        assert_eq!(written("\t=1", Formulas::Disarm), ("'\t=1,".to_owned(), true));
        assert_eq!(written("\n=1", Formulas::Disarm), ("\"'\n=1\",".to_owned(), true));
        for text in ["a=1", "'=1", "1-2"] {
            assert_eq!(written(text, Formulas::Disarm), (format!("{text},"), false));
        }
    }
}
