//! The receipt of a copy: which objects lie at the destination and how that was proven, to be checked later.
//!
//! JSON lines: a head, a line for every object, and an end without which it is not whole. It holds names, sizes,
//! checksums and times, never a credential.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Outcome, Proof};
use crate::output::{Kind, OutputFile};

/// What a receipt calls itself.
const NAME: &str = "receipt 1";

/// What the first line begins with: it tells a receipt from any other file.
pub(crate) const MARK: &str = r#"{"line":"receipt","haulage":"receipt 1","#;

/// A line of a receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum ReceiptLine {
    /// The first.
    Receipt(ReceiptHead),
    /// One for each object.
    Object(ReceiptObject),
    /// The last.
    End(ReceiptEnd),
}

/// What was copied, as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReceiptHead {
    /// `receipt 1`: what this file is.
    pub haulage: String,
    /// Version of the engine.
    pub version: String,
    /// Where from, without queries.
    pub sources: Vec<String>,
    /// Where to, without queries.
    pub destination: String,
    /// When the job began, in nanoseconds since 1970.
    pub started_unix_ns: u64,
}

impl ReceiptHead {
    /// The head for a job that began then.
    pub(crate) fn new(sources: Vec<String>, destination: String, started_unix_ns: u64) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { haulage: NAME.to_owned(), version, sources, destination, started_unix_ns }
    }
}

/// An object that lies at the destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReceiptObject {
    /// Its name below the destination.
    pub name: String,
    /// The source, in full.
    pub source: String,
    /// The destination, in full.
    pub destination: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// CRC-64/NVME of the whole, 16 hexadecimal digits.
    pub crc64: Option<String>,
    /// MD5 of the whole, 32 hexadecimal digits, where one was computed or stored.
    pub md5: Option<String>,
    /// ETag at the destination.
    pub etag: Option<String>,
    /// `copied`, or `skipped` where it was there already and unchanged.
    pub outcome: Outcome,
    /// What proved the copy; `none` for what was skipped.
    pub proof: Proof,
    /// When it was done, in nanoseconds since 1970.
    pub ended_unix_ns: u64,
    /// ETag of the source, or what stands for one on a file system: the version that was copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_etag: Option<String>,
}

/// That nothing is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiptEnd {
    /// Lines of objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects of the job that are not in it, because they failed.
    pub failed: u64,
}

/// Writes a receipt beside its final name, which it gets when it is whole.
pub(crate) struct ReceiptWriter {
    output: OutputFile,
    out: BufWriter<File>,
    end: ReceiptEnd,
}

impl ReceiptWriter {
    /// Creates the file, so that one that cannot be written is noticed before anything moves.
    pub(crate) fn create(path: &Path, head: ReceiptHead) -> Result<Self> {
        let (output, file) = OutputFile::create(path, Kind::Receipt)?;
        let out = BufWriter::with_capacity(64 << 10, file);
        let mut writer = Self { output, out, end: ReceiptEnd::default() };
        writer.line(&ReceiptLine::Receipt(head))?;
        Ok(writer)
    }

    /// Adds an object.
    pub(crate) fn add(&mut self, object: ReceiptObject) -> Result<()> {
        self.end.objects += 1;
        self.end.bytes += object.size_bytes;
        self.line(&ReceiptLine::Object(object))
    }

    /// Writes the end and gives the file its name.
    pub(crate) fn finish(mut self, failed_objects: u64) -> Result<()> {
        let end = ReceiptEnd { failed: failed_objects, ..std::mem::take(&mut self.end) };
        self.line(&ReceiptLine::End(end))?;
        let path = self.output.path().to_path_buf();
        self.out.flush().and_then(|()| self.output.finish()).map_err(|e| failed(&path, e))
    }

    fn line(&mut self, line: &ReceiptLine) -> Result<()> {
        let written = serde_json::to_writer(&mut self.out, line).map_err(std::io::Error::from);
        written.and_then(|()| self.out.write_all(b"\n")).map_err(|e| failed(self.output.path(), e))
    }
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::from_io("write the receipt", path.display().to_string(), error)
        .hint("the copy itself is done; run the same command again for a complete receipt")
}

/// Whether a file is a receipt.
pub(crate) fn is_receipt(path: &Path) -> bool {
    let mut begin = vec![0; MARK.len()];
    // Only a plain file: a pipe would be read empty.
    std::fs::metadata(path).is_ok_and(|found| found.is_file())
        && File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok()
        && begin == MARK.as_bytes()
}

/// What a receipt tells.
#[derive(Debug)]
pub(crate) struct Receipt {
    /// By name; of a name that is there twice the last.
    pub(crate) objects: Vec<ReceiptObject>,
    /// Objects of its job that are not in it.
    pub(crate) failed: u64,
}

/// Reads a receipt.
///
/// # Errors
/// `Integrity` where the end is missing or tells of another number of objects: somebody has cut or changed it.
pub(crate) fn read(path: &Path) -> Result<Receipt> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| Error::from_io("read the receipt", &name, e))?;
    read_lines(BufReader::new(file), &name)
}

/// Reads a receipt called `name`, from its lines.
pub(crate) fn read_lines(lines: impl BufRead, name: &str) -> Result<Receipt> {
    let broken = |cause: String| {
        Error::new(ErrorKind::Integrity, "read the receipt", name, cause)
            .hint("run the copy again with --receipt to make a new one")
    };
    let (mut objects, mut end) = (Vec::new(), None);
    for (number, text) in lines.lines().enumerate() {
        let text = text.map_err(|e| Error::from_io("read the receipt", name, e))?;
        if end.is_some() {
            return Err(broken(format!("line {} comes after the end", number + 1)));
        }
        match serde_json::from_str(&text).map_err(|e| broken(format!("line {}: {e}", number + 1)))? {
            ReceiptLine::Receipt(_) if number == 0 => {}
            ReceiptLine::Object(object) if number > 0 => objects.push(object),
            ReceiptLine::End(it) => end = Some(it),
            _ => return Err(broken(format!("line {} is out of place", number + 1))),
        }
    }
    let mut sizes = objects.iter().map(|object: &ReceiptObject| object.size_bytes);
    // One that adds up to more than there are numbers was not written by us.
    let bytes = sizes.try_fold(0_u64, u64::checked_add);
    let failed = match end {
        Some(end) if (end.objects, Some(end.bytes)) == (objects.len() as u64, bytes) => end.failed,
        Some(_) => return Err(broken("lines are missing or were changed".to_owned())),
        None => return Err(broken("its end is missing".to_owned())),
    };
    // Stable: of two lines with one name the later one stays last.
    objects.sort_by(|a, b| a.name.cmp(&b.name));
    objects.dedup_by(|later, kept| {
        later.name == kept.name && {
            std::mem::swap(later, kept);
            true
        }
    });
    Ok(Receipt { objects, failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> ReceiptHead {
        ReceiptHead::new(vec!["src".into()], "az://c/".into(), 1)
    }

    fn object(name: &str, size_bytes: u64) -> ReceiptObject {
        ReceiptObject {
            name: name.into(),
            source: "from".into(),
            destination: "to".into(),
            size_bytes,
            crc64: None,
            md5: None,
            etag: None,
            outcome: Outcome::Copied,
            proof: Proof::Length,
            ended_unix_ns: 7,
            source_etag: None,
        }
    }

    #[test]
    fn what_is_written_is_read_in_order_of_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("receipt.jsonl");
        let mut writer = ReceiptWriter::create(&path, head()).unwrap();
        for (name, size) in [("b", 2), ("a\n\"", 1), ("b", 3)] {
            writer.add(object(name, size)).unwrap();
        }
        assert!(!is_receipt(&path), "no final name before the end");
        writer.finish(4).unwrap();
        assert!(is_receipt(&path));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let read = read(&path).unwrap();
        assert_eq!((read.objects, read.failed), (vec![object("a\n\"", 1), object("b", 3)], 4));
    }

    #[test]
    fn sizes_that_add_up_beyond_all_numbers_are_refused() {
        let objects = [object("a", u64::MAX), object("b", 1)].map(ReceiptLine::Object);
        let end = ReceiptLine::End(ReceiptEnd { objects: 2, ..ReceiptEnd::default() });
        let lines = [ReceiptLine::Receipt(head())].into_iter().chain(objects).chain([end]);
        let text: Vec<String> = lines.map(|line| serde_json::to_string(&line).unwrap()).collect();
        let error = read_lines(text.join("\n").as_bytes(), "receipt").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Integrity);
    }

    #[test]
    fn a_receipt_that_was_cut_or_changed_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("receipt.jsonl");
        let mut writer = ReceiptWriter::create(&path, head()).unwrap();
        writer.add(object("a", 10)).unwrap();
        writer.add(object("b", 20)).unwrap();
        writer.finish(1).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for spoiled in [
            lines[..3].join("\n"),
            [lines[0], lines[1], lines[3]].join("\n"),
            text.replace(":20,", ":21,"),
            text[..text.len() - 20].to_owned(),
            text.clone() + lines[1],
            text.replace("object", "thing"),
        ] {
            std::fs::write(&path, &spoiled).unwrap();
            assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::Integrity, "{spoiled}");
        }
    }
}
