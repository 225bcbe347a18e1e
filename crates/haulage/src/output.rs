//! Files that a job writes about itself: its record and its receipt.
//!
//! Each gets its name when it is whole. It is created new, or takes the place of a former one of its own kind; never that
//! of anything else, of a source, or of a place in the destination, where it would pass for content.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader as _, SerializedFileReader};

use crate::error::{Error, ErrorKind, Result};
use crate::receipt::is_receipt;
use crate::store::check_local;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rows for every attempt, as Parquet.
    Record,
    /// What lies at the destination, as lines of JSON.
    Receipt,
    /// Names, one a line.
    Report,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Receipt => "receipt",
            Self::Report => "report",
        }
    }

    /// Whether the file there is one of this kind; an empty one may become any.
    fn fits(self, path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        if file.metadata().is_ok_and(|found| found.len() == 0) {
            return true;
        }
        match self {
            Self::Record => SerializedFileReader::new(file)
                .is_ok_and(|found| found.metadata().file_metadata().created_by().is_some_and(is_ours)),
            Self::Receipt => is_receipt(path),
            // Nothing marks lists of names: any text may be one, but for receipts, and data is none.
            Self::Report => is_text(file) && !is_receipt(path),
        }
    }
}

/// Who writes records, as it stands in them.
pub(crate) const CREATED_BY: &str = concat!("haulage ", env!("CARGO_PKG_VERSION"));

fn is_ours(created_by: &str) -> bool {
    created_by.starts_with("haulage ")
}

/// Whether a file begins as text does.
fn is_text(file: File) -> bool {
    let mut begin = Vec::new();
    let read = file.take(64 << 10).read_to_end(&mut begin);
    let plain = match std::str::from_utf8(&begin) {
        Ok(_) => true,
        // The beginning may end within a character.
        Err(broken) => broken.error_len().is_none(),
    };
    read.is_ok() && plain && !begin.contains(&0)
}

/// A file on its way to its name. Dropped unfinished it is removed.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    temporary: PathBuf,
    there_before: bool,
}

impl OutputFile {
    /// Creates the file beside its name, so that one that cannot be written is noticed before anything moves.
    ///
    /// # Errors
    /// `Usage` where something else is at `path`.
    pub(crate) fn create(path: &Path, kind: Kind) -> Result<(Self, File)> {
        let there_before = check(path, kind)?;
        let temporary = path.with_file_name(format!(".haul-{:016x}.partial", fastrand::u64(..)));
        let file = File::create_new(&temporary)
            .map_err(|e| Error::from_io("create", path.display().to_string(), e))?;
        Ok((Self { path: path.to_path_buf(), temporary, there_before }, file))
    }

    /// Whether a former one is there.
    pub(crate) fn there_before(&self) -> bool {
        self.there_before
    }

    /// Gives it its name, when its bytes are on the disk: what tells of a job must not be lost sooner than its files.
    pub(crate) fn finish(self) -> std::io::Result<()> {
        File::open(&self.temporary)?.sync_all()?;
        std::fs::rename(&self.temporary, &self.path)?;
        // Some file systems cannot flush a folder.
        let _ = File::open(folder_of(&self.path)).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// The name it will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // Gone where it was finished; else nobody should take a part for the whole.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// Refuses a place where something else is; whether a former file of this kind is there.
fn check(path: &Path, kind: Kind) -> Result<bool> {
    check_local(path)?;
    let word = kind.word();
    let refuse = |cause: String, hint: String| {
        Err(Error::new(ErrorKind::Usage, "create", path.display().to_string(), cause).hint(hint))
    };
    if path.file_name().is_none() {
        let option = if kind == Kind::Report { "equal" } else { word };
        return refuse(format!("this names no file for the {word}"), format!("write --{option} FILE"));
    }
    let another = format!("use another file for the {word}");
    match std::fs::symlink_metadata(path) {
        Err(_) => Ok(false),
        Ok(found) if !found.is_file() => {
            refuse(format!("no regular file is there; a {word} never takes its place"), another)
        }
        Ok(_) if kind.fits(path) => Ok(true),
        Ok(_) => refuse(format!("the file there is no {word}, and is not replaced"), another),
    }
}

/// The keys that these files would have below a folder that is listed: they are no content of it.
pub(crate) fn keys_below(folder: &Path, outputs: &[PathBuf]) -> Vec<String> {
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let below = |path: &PathBuf| identity(path)?.strip_prefix(&folder).ok()?.to_str().map(str::to_owned);
    outputs.iter().filter_map(below).collect()
}

/// A path as the system knows it: its folder without links, and its name.
pub(crate) fn identity(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    Some(folder_of(path).canonicalize().ok()?.join(name))
}

/// A folder without links and detours, as far as it is there yet: one name for one place.
pub(crate) fn resolved(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match (folder.canonicalize(), folder.parent(), folder.file_name()) {
        (Ok(folder), _, _) => folder,
        (Err(_), Some(above), Some(name)) => resolved(above).join(name),
        (Err(_), Some(above), None) => resolved(above).parent().map_or_else(PathBuf::new, Path::to_path_buf),
        (Err(_), None, _) => folder.to_path_buf(),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_name_whether_it_is_there_or_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        for spelled in ["real", "link", "./real", "new/../real", "real/.", "link/../real/new/.."] {
            assert_eq!(resolved(&root.join(spelled)), root.join("real"), "{spelled}");
        }
        assert_eq!(resolved(&root.join("link/new/deep")), root.join("real/new/deep"));
    }

    #[test]
    fn only_a_former_file_of_its_kind_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("data"), "other things").unwrap();
        std::fs::write(path("empty"), "").unwrap();
        std::fs::write(path("binary"), b"CDF\x01\0\0").unwrap();
        std::fs::write(path("receipt"), format!("{}...", crate::receipt::MARK)).unwrap();
        std::os::unix::fs::symlink("data", path("link")).unwrap();
        let create =
            |name: &str, kind| OutputFile::create(&path(name), kind).map(|(file, _)| file.there_before());
        assert!(!create("new", Kind::Record).unwrap());
        assert!(create("empty", Kind::Record).unwrap());
        assert!(create("receipt", Kind::Receipt).unwrap());
        assert!(create("data", Kind::Report).unwrap());
        for (name, kind) in [
            ("data", Kind::Record),
            ("data", Kind::Receipt),
            ("receipt", Kind::Record),
            ("binary", Kind::Report),
            ("link", Kind::Record),
            (".", Kind::Receipt),
        ] {
            assert_eq!(create(name, kind).unwrap_err().kind(), ErrorKind::Usage, "{name}");
        }
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            5,
            "nothing is left of what was not finished"
        );
        assert_eq!(std::fs::read(path("data")).unwrap(), b"other things");
    }
}
