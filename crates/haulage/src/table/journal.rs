//! What an import keeps beside its source, so that one that was killed goes on: how far all rows are done, and those that were
//! refused.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::prepare::Refused;
use super::range::Key;
use crate::error::{Error, ErrorKind, Result};

/// How often it is written at most: what was done since is done again, which changes nothing.
const EVERY: Duration = Duration::from_millis(300);

/// What the import is of; another one does not go on from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Subject {
    pub(super) version: u32,
    pub(super) source: String,
    size: u64,
    modified_ns: u128,
    /// Another file may have taken its name and its times; what was kept before these were is of another.
    #[serde(default)]
    inode: u64,
    #[serde(default)]
    changed_ns: i128,
    pub(super) table: String,
    /// Mode, templates and what is left out.
    pub(super) how: Vec<String>,
}

impl Subject {
    pub(super) fn of(source: &Path, table: String, how: Vec<String>) -> Result<Self> {
        let io = |error| Error::from_io("open", source.display().to_string(), error);
        let found = std::fs::metadata(source).map_err(io)?;
        let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Self {
            version: 1,
            source: source.display().to_string(),
            size: found.len(),
            modified_ns: modified.unwrap_or_default().as_nanos(),
            inode: found.ino(),
            changed_ns: i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec()),
            table,
            how,
        })
    }

    /// Whether the source is still what it was: it may have got another name or other rights meanwhile.
    pub(super) fn still(&self, source: &Path) -> bool {
        let now = Self::of(source, self.table.clone(), self.how.clone());
        now.is_ok_and(|now| (now.size, now.modified_ns) == (self.size, self.modified_ns))
    }
}

#[derive(Serialize, Deserialize)]
struct Kept {
    subject: Subject,
    /// All rows before this one are written or refused.
    done: u64,
    /// A row that was written: a table without it is not the one that the rows went to.
    #[serde(default)]
    written: Option<Key>,
}

/// How far an import is.
pub(super) struct Journal {
    path: PathBuf,
    subject: Subject,
    lock: PathBuf,
    _held: File,
    /// Rows that are read and not done yet.
    pending: BTreeSet<u64>,
    /// All rows before this one were read.
    read: u64,
    /// A row that was written.
    witness: Option<Key>,
    kept: Instant,
    letters: Letters,
}

impl Journal {
    /// Goes on from what an import of the same has left, or begins anew.
    ///
    /// # Errors
    /// `Exists` where another process imports the same, and where rows were refused to the file by another import.
    pub(super) fn open(path: PathBuf, letters: &Path, subject: Subject) -> Result<Self> {
        let io = |error| Error::from_io("create", path.display().to_string(), error);
        let lock = path.with_extension("lock");
        let held = OpenOptions::new().create(true).truncate(false).write(true).open(&lock).map_err(io)?;
        if rustix::fs::flock(&held, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(Error::new(
                ErrorKind::Exists,
                "import",
                subject.source,
                "another process imports this file",
            )
            .hint("wait for it to end"));
        }
        let kept = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Kept>(&text).ok());
        let kept = kept.filter(|kept| kept.subject == subject);
        let letters = Letters::open(letters, kept.as_ref().map(|kept| kept.done))?;
        let (done, witness) = kept.map_or((0, None), |kept| (kept.done, kept.written));
        let (pending, kept) = (BTreeSet::new(), Instant::now());
        let mut journal =
            Self { path, subject, lock, _held: held, pending, read: done, witness, kept, letters };
        // From now on refused rows are those of this import.
        journal.write(done)?;
        Ok(journal)
    }

    /// The first row that is to be sent.
    pub(super) fn from(&self) -> u64 {
        self.read
    }

    /// A row that an earlier run has written.
    pub(super) fn witness(&self) -> Option<&Key> {
        self.witness.as_ref()
    }

    /// What earlier runs have done is gone: from the first row on, and without the rows that were refused.
    pub(super) fn begin_anew(&mut self) -> Result<()> {
        (self.read, self.witness) = (0, None);
        self.letters.clear()?;
        self.write(0)
    }

    /// Rows up to this one were read; these are to be done.
    pub(super) fn read(&mut self, until: u64, numbers: impl Iterator<Item = u64>) {
        self.pending.extend(numbers);
        self.read = self.read.max(until);
    }

    /// Rows are in the table; the last of them has these keys.
    pub(super) fn written(&mut self, numbers: &[u64], last: Option<Key>) {
        for number in numbers {
            self.pending.remove(number);
        }
        self.witness = last.or_else(|| self.witness.take());
    }

    /// Rows that were refused so far, by all runs.
    pub(super) fn count_refused(&self) -> u64 {
        self.letters.numbers.len() as u64
    }

    /// A row was refused: it is on the disk before anything says that it is done.
    pub(super) fn refused(&mut self, refused: &Refused) -> Result<()> {
        self.letters.put(refused)?;
        self.pending.remove(&refused.number);
        Ok(())
    }

    /// Keeps it now and then.
    pub(super) fn keep(&mut self) -> Result<()> {
        if self.kept.elapsed() < EVERY {
            return Ok(());
        }
        self.kept = Instant::now();
        let done = self.pending.first().copied().unwrap_or(self.read);
        self.write(done)
    }

    fn write(&mut self, done: u64) -> Result<()> {
        self.letters.sync()?;
        let io = |error| Error::from_io("write", self.path.display().to_string(), error);
        let kept = Kept { subject: self.subject.clone(), done, written: self.witness.clone() };
        let text = serde_json::to_vec(&kept).map_err(|error| io(error.into()))?;
        let beside = self.path.with_extension("new");
        std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, &self.path)).map_err(io)
    }

    /// All is done: nothing is left but the refused rows.
    pub(super) fn finish(mut self) -> Result<Option<PathBuf>> {
        self.letters.sync()?;
        let io = |error| Error::from_io("remove", self.path.display().to_string(), error);
        std::fs::remove_file(&self.path).and_then(|()| std::fs::remove_file(&self.lock)).map_err(io)?;
        Ok(self.letters.file.map(|_| self.letters.path))
    }
}

/// The file of refused rows: a line of JSON for each. Made with the first.
struct Letters {
    path: PathBuf,
    file: Option<File>,
    /// Rows that are in it, by earlier runs too.
    numbers: BTreeSet<u64>,
    /// Some may not be on the disk yet.
    unsynced: bool,
}

#[derive(Deserialize)]
struct LetterNumber {
    row: u64,
}

impl Letters {
    fn open(path: &Path, goes_on_from: Option<u64>) -> Result<Self> {
        let mut letters =
            Self { path: path.to_path_buf(), file: None, numbers: BTreeSet::new(), unsynced: false };
        let Ok(file) = File::open(path) else { return Ok(letters) };
        if file.metadata().is_ok_and(|found| found.len() == 0) {
            return Ok(letters);
        }
        if goes_on_from.is_none() {
            let cause = "rows that an earlier import was refused are in this file";
            return Err(Error::new(ErrorKind::Exists, "create", path.display().to_string(), cause)
                .hint("look at them, then move the file away, or name another: --dead-letters FILE"));
        }
        let io = |error| Error::from_io("read", path.display().to_string(), error);
        let mut whole = 0;
        let mut reader = BufReader::new(file);
        let mut line = String::new();
        while reader.read_line(&mut line).map_err(io)? > 0 {
            if !line.ends_with('\n') {
                break;
            }
            whole += line.len() as u64;
            if let Ok(LetterNumber { row }) = serde_json::from_str(&line) {
                letters.numbers.insert(row);
            }
            line.clear();
        }
        let file = OpenOptions::new().append(true).open(path).map_err(io)?;
        file.set_len(whole).map_err(io)?;
        letters.file = Some(file);
        Ok(letters)
    }

    fn clear(&mut self) -> Result<()> {
        self.numbers.clear();
        let removed = self.file.take().map(|_| std::fs::remove_file(&self.path)).transpose();
        removed.map(drop).map_err(|error| Error::from_io("remove", self.path.display().to_string(), error))
    }

    fn put(&mut self, refused: &Refused) -> Result<()> {
        if self.numbers.contains(&refused.number) {
            return Ok(());
        }
        let io = |error| Error::from_io("write", self.path.display().to_string(), error);
        if self.file.is_none() {
            self.file = Some(OpenOptions::new().create(true).append(true).open(&self.path).map_err(io)?);
        }
        let entity: serde_json::Value =
            serde_json::from_str(&refused.text).unwrap_or_else(|_| refused.text.clone().into());
        let letter = serde_json::json!({"row": refused.number, "reason": refused.reason, "entity": entity});
        let file = self.file.as_mut().map(|file| file.write_all(format!("{letter}\n").as_bytes()));
        file.transpose().map_err(io)?;
        self.numbers.insert(refused.number);
        self.unsynced = true;
        Ok(())
    }

    /// Nothing says that a row is done before its refusal is on the disk.
    fn sync(&mut self) -> Result<()> {
        if let Some(file) = self.file.as_ref().filter(|_| self.unsynced) {
            file.sync_data()
                .map_err(|error| Error::from_io("write", self.path.display().to_string(), error))?;
            self.unsynced = false;
        }
        Ok(())
    }
}
