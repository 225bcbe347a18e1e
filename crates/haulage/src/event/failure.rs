//! An error as others read it.

use serde::{Deserialize, Serialize};

use super::words::{Word, word};

use crate::error::{Error, ErrorKind};

/// An [`Error`] as it stands in events and reports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Code of the kind.
    pub kind: ErrorKind,
    /// What was being done.
    #[serde(deserialize_with = "word")]
    pub operation: Word,
    /// What it was done to.
    pub object: String,
    /// Why it failed.
    pub cause: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            operation: error.operation(),
            object: error.object_name().to_owned(),
            cause: error.cause().to_owned(),
            hint: error.hint_text().map(str::to_owned),
        }
    }
}

impl From<&Failure> for Error {
    fn from(failure: &Failure) -> Self {
        let error = Error::new(failure.kind, failure.operation, &failure.object, &failure.cause);
        match &failure.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}
