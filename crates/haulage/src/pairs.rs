//! Lists of pairs, source and destination, out of files: CSV, lines of JSON, Parquet, an Arrow stream.
//!
//! What a file is tell its first bytes, so that its name does not matter and standard input will do.

use std::fs::File;
use std::io::{BufReader, Cursor, Read as _};
use std::path::Path;

use arrow_array::{Array as _, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use arrow_ipc::reader::StreamReader;
use arrow_schema::ArrowError;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};

const HINT: &str =
    "write source,destination in each row; a first row with these names may say which columns they are";

/// How a Parquet file begins, and how an Arrow stream does.
const PARQUET: &[u8] = b"PAR1";
const ARROW: &[u8] = b"\xff\xff\xff\xff";

type Pairs = Vec<(String, String)>;

/// Reads pairs of source and destination from a file; `-` is standard input. CSV has two columns, or a first row that names
/// `source` and `destination` among others; rows of the other formats have fields of these names.
///
/// # Errors
/// `NotFound` and the like where it cannot be read, `Usage` where it is none of the formats, lacks a field, or holds no pair.
pub fn read_pairs(path: &Path) -> Result<Vec<(String, String)>> {
    let stdin = path.as_os_str() == "-";
    let name = if stdin { "standard input".to_owned() } else { path.display().to_string() };
    let mut content = Vec::new();
    let read = if stdin {
        std::io::stdin().lock().read_to_end(&mut content)
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut content))
    };
    read.map_err(|error| Error::from_io("read the list", &*name, error))?;
    let wrong = |cause: String| Error::new(ErrorKind::Usage, "read the list", &*name, cause).hint(HINT);
    let pairs = parse(content).map_err(wrong)?;
    if pairs.is_empty() {
        return Err(wrong("it holds no pairs".to_owned()));
    }
    if let Some(row) = pairs.iter().position(|(from, to)| from.is_empty() || to.is_empty()) {
        return Err(wrong(format!("pair {} lacks its source or its destination", row + 1)));
    }
    Ok(pairs)
}

fn parse(content: Vec<u8>) -> Result<Pairs, String> {
    if content.starts_with(PARQUET) {
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(Bytes::from(content)).map_err(|e| e.to_string())?;
        return batches(reader.build().map_err(|e| e.to_string())?);
    }
    if content.starts_with(ARROW) {
        let reader = StreamReader::try_new(BufReader::new(Cursor::new(content)), None);
        return batches(reader.map_err(|e| e.to_string())?);
    }
    let text = String::from_utf8(content).map_err(|_| "it is not valid UTF-8".to_owned())?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') { json(text) } else { csv(text) }
}

fn batches(batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>) -> Result<Pairs, String> {
    let mut pairs = Pairs::new();
    for batch in batches {
        let batch = batch.map_err(|error| format!("the file is damaged: {error}"))?;
        let (from, to) = (column(&batch, "source")?, column(&batch, "destination")?);
        pairs.extend(from.into_iter().zip(to));
    }
    Ok(pairs)
}

/// The texts of a column; empty where there is none.
fn column(batch: &RecordBatch, name: &str) -> Result<Vec<String>, String> {
    fn owned<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<String> {
        texts.map(|text| text.unwrap_or_default().to_owned()).collect()
    }
    let column = batch.column_by_name(name).ok_or_else(|| format!("it has no column `{name}`"))?;
    let any = column.as_any();
    if let Some(texts) = any.downcast_ref::<StringArray>() {
        return Ok(owned(texts.iter()));
    }
    if let Some(texts) = any.downcast_ref::<LargeStringArray>() {
        return Ok(owned(texts.iter()));
    }
    match any.downcast_ref::<StringViewArray>() {
        Some(texts) => Ok(owned(texts.iter())),
        None => Err(format!("its column `{name}` holds no text")),
    }
}

#[derive(Deserialize)]
struct Line {
    source: String,
    destination: String,
}

fn json(text: &str) -> Result<Pairs, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| match serde_json::from_str::<Line>(line) {
            Ok(Line { source, destination }) => Ok((source, destination)),
            // What serde says may repeat the line, in which a signature may stand.
            Err(_) => Err(format!("line {} is no object with the texts source and destination", at + 1)),
        })
        .collect()
}

fn csv(text: &str) -> Result<Pairs, String> {
    let mut rows = rows(text)?.into_iter();
    let Some((at, first)) = rows.next() else { return Ok(Pairs::new()) };
    let named = |name: &str| first.iter().position(|field| field.trim().eq_ignore_ascii_case(name));
    let (mut pairs, (from, to), width) = match (named("source"), named("destination")) {
        (Some(from), Some(to)) => (Pairs::new(), (from, to), first.len()),
        _ => (vec![pair((at, first), (0, 1), 2)?], (0, 1), 2),
    };
    for row in rows {
        pairs.push(pair(row, (from, to), width)?);
    }
    Ok(pairs)
}

fn pair(
    (at, row): (usize, Vec<String>),
    (from, to): (usize, usize),
    width: usize,
) -> Result<(String, String), String> {
    if row.len() != width {
        return Err(format!("line {at} has {} columns, not {width}", row.len()));
    }
    Ok((row[from].clone(), row[to].clone()))
}

/// The rows of a CSV file (RFC 4180) with the lines that they begin on; empty lines are none.
fn rows(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut line, mut begin, mut quoted) = (1, 1, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        line += usize::from(letter == '\n');
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' if quoted => quoted = false,
            _ if quoted => field.push(letter),
            '"' if field.is_empty() => quoted = true,
            ',' => row.push(std::mem::take(&mut field)),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\n' => {
                end(&mut rows, &mut row, &mut field, begin);
                begin = line;
            }
            _ => field.push(letter),
        }
    }
    if quoted {
        return Err(format!("a quote on line {begin} or below is never closed"));
    }
    end(&mut rows, &mut row, &mut field, begin);
    Ok(rows)
}

fn end(rows: &mut Vec<(usize, Vec<String>)>, row: &mut Vec<String>, field: &mut String, line: usize) {
    if !(row.is_empty() && field.is_empty()) {
        row.push(std::mem::take(field));
        rows.push((line, std::mem::take(row)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ArrayRef;
    use arrow_ipc::writer::StreamWriter;
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Result<Pairs, String> {
        parse(text.as_bytes().to_vec())
    }

    fn pair(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    #[test]
    fn csv_is_read_with_and_without_a_first_row_of_names() {
        let two = vec![pair("a", "az://c/a"), pair("b, c", "say \"x\"\ny")];
        assert_eq!(of("a,az://c/a\r\n\n\"b, c\",\"say \"\"x\"\"\ny\"\n").unwrap(), two);
        let named = "\u{feff}size,Destination,source\n1,az://c/a,a\n2,\"say \"\"x\"\"\ny\",\"b, c\"";
        assert_eq!(of(named).unwrap(), two);
        assert_eq!(of("source,destination\n").unwrap(), []);
        for (text, cause) in [
            ("a,b\nc\n", "line 2 has 1 columns, not 2"),
            ("\"a\nb\",c\nd,e,f", "line 3 has 3 columns, not 2"),
            ("a,\"b\n", "a quote on line 1 or below is never closed"),
        ] {
            assert_eq!(of(text).unwrap_err(), cause);
        }
    }

    #[test]
    fn lines_of_json_are_read_and_never_repeated() {
        let text = "{\"source\": \"a\", \"destination\": \"b\", \"size\": 1}\n\n{\"destination\":\"d\",\"source\":\"c\"}";
        assert_eq!(of(text).unwrap(), [pair("a", "b"), pair("c", "d")]);
        let error = of("{\"source\": \"https://h/c?sig=secret\"}").unwrap_err();
        assert_eq!(error, "line 1 is no object with the texts source and destination");
    }

    #[test]
    fn columns_of_arrow_are_read_whatever_kind_of_text_they_hold() {
        let texts = ["a", "b"];
        let kinds: [ArrayRef; 3] = [
            Arc::new(StringArray::from_iter_values(texts)),
            Arc::new(LargeStringArray::from_iter_values(texts)),
            Arc::new(StringViewArray::from_iter_values(texts)),
        ];
        for kind in kinds {
            let batch =
                RecordBatch::try_from_iter([("source", kind.clone()), ("destination", kind)]).unwrap();
            let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            assert_eq!(parse(writer.into_inner().unwrap()).unwrap(), [pair("a", "a"), pair("b", "b")]);
            let mut parquet = Vec::new();
            let mut writer =
                parquet::arrow::ArrowWriter::try_new(&mut parquet, batch.schema(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            assert_eq!(parse(parquet).unwrap(), [pair("a", "a"), pair("b", "b")]);
        }
    }

    proptest! {
        #[test]
        fn what_is_quoted_reads_back(pairs in prop::collection::vec(("[^\r\u{feff}]{1,12}", "[^\r]{1,12}"), 1..8)) {
            let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
            let lines: Vec<String> = pairs.iter().map(|(from, to)| format!("{},{}", quoted(from), quoted(to))).collect();
            let text = format!("source,destination\n{}\n", lines.join("\n"));
            prop_assert_eq!(csv(&text).unwrap(), pairs);
        }
    }
}
