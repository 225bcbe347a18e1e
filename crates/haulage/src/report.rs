//! What a comparison has found, as lists of names: one name a line, in a file for each kind, or all kinds in one file.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::event::{ObjectRecord, Outcome};
use crate::output::{Kind, OutputFile};

/// Which names a report holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportKind {
    /// All, each behind a sign: `=` equal, `*` differs, `+` missing, `-` extra, `!` failed.
    Combined,
    /// The same at both sides.
    Equal,
    /// At both sides, and not the same.
    Differs,
    /// Only at the source.
    Missing,
    /// Only at the destination.
    Extra,
    /// Not compared, because one side could not be read.
    Failed,
}

impl ReportKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Combined, Self::Equal, Self::Differs, Self::Missing, Self::Extra, Self::Failed];

    /// Its name, which is that of the option too.
    pub fn word(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Equal => "equal",
            Self::Differs => "differs",
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Failed => "failed",
        }
    }

    /// The line for an object; `None` where it is not of this kind.
    pub fn line(self, record: &ObjectRecord) -> Option<String> {
        let (kind, sign) = match record.outcome {
            Outcome::Equal => (Self::Equal, '='),
            Outcome::Differs => (Self::Differs, '*'),
            Outcome::Missing => (Self::Missing, '+'),
            Outcome::Extra => (Self::Extra, '-'),
            Outcome::Failed => (Self::Failed, '!'),
            _ => return None,
        };
        // Of what could not even be listed there is no more than its full name.
        let full = if record.source.is_empty() { &record.destination } else { &record.source };
        let name = if record.name.is_empty() { full } else { &record.name };
        match self {
            Self::Combined => Some(format!("{sign} {name}")),
            same if same == kind => Some(name.to_string()),
            _ => None,
        }
    }
}

impl FromStr for ReportKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == text).ok_or_else(|| {
            Error::new(ErrorKind::Usage, "parse", text, "not a kind of report")
                .hint("write combined, equal, differs, missing, extra or failed")
        })
    }
}

/// Writes a report beside its final name, which it gets when it is whole.
struct ReportWriter {
    kind: ReportKind,
    output: OutputFile,
    out: BufWriter<File>,
}

impl ReportWriter {
    /// Creates the file, so that one that cannot be written is noticed before anything is compared.
    fn create(kind: ReportKind, path: &Path) -> Result<Self> {
        let (output, file) = OutputFile::create(path, Kind::Report)?;
        Ok(Self { kind, output, out: BufWriter::with_capacity(64 << 10, file) })
    }

    /// Adds an object, if it is of this kind.
    fn add(&mut self, record: &ObjectRecord) -> Result<()> {
        let Some(mut line) = self.kind.line(record) else { return Ok(()) };
        line.push('\n');
        self.out.write_all(line.as_bytes()).map_err(|error| failed(self.output.path(), error))
    }

    /// Gives the file its name.
    fn finish(mut self) -> Result<()> {
        let path: PathBuf = self.output.path().to_path_buf();
        self.out.flush().and_then(|()| self.output.finish()).map_err(|error| failed(&path, error))
    }
}

/// The reports of a comparison, or why they will not be whole.
pub(crate) struct Reports(Result<Vec<ReportWriter>>);

impl Reports {
    /// One file for each.
    pub(crate) fn create(reports: &[(ReportKind, PathBuf)]) -> Result<Self> {
        let create = |(kind, path): &(ReportKind, PathBuf)| ReportWriter::create(*kind, path);
        reports.iter().map(create).collect::<Result<_>>().map(|all| Self(Ok(all)))
    }

    /// None: those that were begun are removed, and former ones stay.
    pub(crate) fn none() -> Self {
        Self(Ok(Vec::new()))
    }

    /// Whether anything is to be written.
    pub(crate) fn are_wanted(&self) -> bool {
        self.0.as_ref().is_ok_and(|reports| !reports.is_empty())
    }

    /// Adds an object to those of its kind.
    pub(crate) fn add(&mut self, record: &ObjectRecord) {
        if let Ok(reports) = &mut self.0
            && let Err(error) = reports.iter_mut().try_for_each(|report| report.add(record))
        {
            self.0 = Err(error);
        }
    }

    /// Gives the files their names.
    pub(crate) fn finish(self) -> Result<()> {
        self.0?.into_iter().try_for_each(ReportWriter::finish)
    }
}

/// What to do about a file that could not be written.
pub(crate) const OUTPUT_HINT: &str = "free some space there, or name another file";

fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::from_io("write the report", path.display().to_string(), error).hint(OUTPUT_HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(outcome: Outcome, name: &str) -> ObjectRecord {
        let source = format!("/src/{name}").into();
        ObjectRecord { outcome, source, name: name.into(), ..ObjectRecord::unmoved(0) }
    }

    #[test]
    fn each_name_stands_in_the_report_of_its_kind_and_in_that_of_all() {
        let outcomes = [Outcome::Equal, Outcome::Differs, Outcome::Missing, Outcome::Extra, Outcome::Failed];
        for (place, outcome) in outcomes.into_iter().enumerate() {
            let record = record(outcome, "a b");
            let lines: Vec<_> = ReportKind::ALL.iter().map(|kind| kind.line(&record)).collect();
            assert_eq!(lines[0], Some(format!("{} a b", ["=", "*", "+", "-", "!"][place])));
            for (other, line) in lines[1..].iter().enumerate() {
                assert_eq!(line.as_deref(), (other == place).then_some("a b"));
            }
        }
        let skipped = record(Outcome::Skipped, "link");
        assert!(ReportKind::ALL.iter().all(|kind| kind.line(&skipped).is_none()));
        let nameless = ObjectRecord { name: "".into(), ..record(Outcome::Failed, "x") };
        assert_eq!(ReportKind::Failed.line(&nameless).as_deref(), Some("/src/x"));
    }

    #[test]
    fn a_full_disk_is_named_with_what_helps() {
        let error = failed(Path::new("x"), std::io::ErrorKind::StorageFull.into());
        assert_eq!(error.hint_text(), Some("free some space there, or name another file"));
        let hint = "write combined, equal, differs, missing, extra or failed";
        assert_eq!("match".parse::<ReportKind>().unwrap_err().hint_text(), Some(hint));
    }
}
