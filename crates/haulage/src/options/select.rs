//! Which objects take part, besides globs: by size, by age, and by a list of their names.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::units::ByteSize;

/// Sizes and ages that take part. Each bound belongs to what it allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// No smaller ones.
    pub min_size: Option<ByteSize>,
    /// No larger ones.
    pub max_size: Option<ByteSize>,
    /// Only what was last changed this long ago, or longer.
    pub min_age: Option<Duration>,
    /// Only what was changed since this long ago.
    pub max_age: Option<Duration>,
}

impl Bounds {
    /// Whether they leave anything out.
    pub(crate) fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Refuses bounds that nothing is within.
    ///
    /// # Errors
    /// `Usage` where the least is more than the most.
    pub(crate) fn check(&self) -> Result<()> {
        let sizes =
            self.min_size.zip(self.max_size).is_some_and(|(least, most)| least.bytes() > most.bytes());
        let ages = self.min_age.zip(self.max_age).is_some_and(|(least, most)| least > most);
        let (names, cause) = match (sizes, ages) {
            (true, _) => ("--min-size", "it is more than --max-size, so nothing can match"),
            (_, true) => ("--min-age", "it is more than --max-age, so nothing can match"),
            (false, false) => return Ok(()),
        };
        Err(Error::new(ErrorKind::Usage, "select", names, cause).hint("swap the two"))
    }
}

/// Names below the source that are asked for directly, so that nothing is listed.
#[derive(Clone, Debug)]
pub enum NameList {
    /// These.
    Given(Arc<Vec<String>>),
    /// Those that a file holds; `-` is standard input.
    File {
        /// The file.
        path: PathBuf,
        /// A zero byte ends each name, as `find -print0` writes them, instead of the end of the line.
        zero: bool,
    },
}

impl NameList {
    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Given(_) => "the list of names".to_owned(),
            Self::File { path, .. } if path.as_os_str() == "-" => "standard input".to_owned(),
            Self::File { path, .. } => path.display().to_string(),
        }
    }
}
