//! One error: what was done, on what, why it failed, whether to retry and what to do about it.
//!
//! Callers branch on [`ErrorKind`], never on text. The hint lives in the error, so that the
//! command, the JSON lines and Python all give the same advice.

mod kind;
mod words;

use std::fmt;
use std::time::Duration;

pub use kind::ErrorKind;
use words::{OPEN_FILES, io_cause, is_out_of_files, without_secrets};

use crate::secret::redacted;

/// The result of every fallible call in the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whether and when the same request may be sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// The same request would fail the same way.
    #[default]
    Never,
    /// Worth another attempt after the usual backoff.
    Backoff,
    /// Worth one or two: what answers so is more likely to be the wrong server than a bad moment.
    Few,
    /// The service said how long to wait.
    After(Duration),
}

/// A failure with all that a person or a program needs to act on it.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    operation: &'static str,
    object: String,
    cause: String,
    hint: Option<String>,
    retry: Retry,
    /// HTTP status and the service's own name for the failure, where there was an answer.
    status: Option<u16>,
    service_code: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A failure of `operation` on `object` because of `cause`; not retried unless said.
    pub fn new(
        kind: ErrorKind,
        operation: &'static str,
        object: impl Into<String>,
        cause: impl Into<String>,
    ) -> Self {
        Self(Box::new(Inner {
            kind,
            operation,
            object: without_secrets(object.into()),
            cause: without_secrets(cause.into()),
            hint: None,
            retry: Retry::Never,
            status: None,
            service_code: None,
            source: None,
        }))
    }

    /// A failure of the local file system, classed by its `io::ErrorKind`.
    pub fn from_io(operation: &'static str, object: impl Into<String>, source: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let (kind, hint) = match source.kind() {
            Io::NotFound => (ErrorKind::NotFound, Some("check the path")),
            Io::PermissionDenied => {
                (ErrorKind::Permission, Some("check the permissions of the file and its folder"))
            }
            Io::ReadOnlyFilesystem => {
                (ErrorKind::Permission, Some("nothing can be written to this file system; write elsewhere"))
            }
            Io::StorageFull | Io::QuotaExceeded => (ErrorKind::NoSpace, None),
            Io::AlreadyExists => (ErrorKind::Exists, None),
            _ if source.raw_os_error().is_some_and(is_out_of_files) => (ErrorKind::Io, Some(OPEN_FILES)),
            _ => (ErrorKind::Io, None),
        };
        let mut error = Self::new(kind, operation, object, io_cause(&source));
        error.0.hint = hint.map(str::to_owned);
        error.0.source = Some(Box::new(source));
        error
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(without_secrets(hint.into()));
        self
    }

    /// Says whether another attempt is worth it.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    /// Keeps the service's status and its own word for the failure.
    #[must_use]
    pub fn service(mut self, status: u16, code: Option<String>) -> Self {
        self.0.status = Some(status);
        self.0.service_code = code.map(redacted);
        self
    }

    /// Keeps the error beneath this one.
    #[must_use]
    pub fn source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Replaces the object, where a caller knows its name better than the layer below.
    #[must_use]
    pub fn object(mut self, object: impl Into<String>) -> Self {
        self.0.object = without_secrets(object.into());
        self
    }

    /// The class of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was being done.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// What it was done to.
    pub fn object_name(&self) -> &str {
        &self.0.object
    }

    /// Why it failed.
    pub fn cause(&self) -> &str {
        &self.0.cause
    }

    /// What the user can do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref().or(self.0.kind.usual_hint())
    }

    /// Whether and when to send the request again.
    pub fn retry_advice(&self) -> Retry {
        self.0.retry
    }

    /// The HTTP status, where the service answered.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Whether the service does not know who asks: nothing else that is asked in the same way will do better.
    pub(crate) fn refuses_credential(&self) -> bool {
        const CODES: [&str; 4] =
            ["AuthenticationFailed", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"];
        self.0.kind == ErrorKind::Permission && self.service_code().is_some_and(|code| CODES.contains(&code))
    }

    /// Whether nobody reads any more what was to be written. The kind alone says only that some file failed; which error of the
    /// system it was stands beneath.
    pub fn is_closed_pipe(&self) -> bool {
        let mut cause = std::error::Error::source(self);
        while let Some(beneath) = cause {
            let io = beneath.downcast_ref::<std::io::Error>();
            if io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe) {
                return true;
            }
            cause = beneath.source();
        }
        false
    }

    /// The service's own name for the failure, such as `BlobNotFound`.
    pub fn service_code(&self) -> Option<&str> {
        self.0.service_code.as_deref()
    }
}

/// One line: `operation object: cause`.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.0.operation, self.0.object, self.0.cause)?;
        if let Some(hint) = self.hint_text() {
            write!(f, " (hint: {hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_on_what_why_and_what_to_do() {
        let error = Error::new(ErrorKind::NotFound, "read", "az://data/a.nc", "no such blob")
            .hint("list what is there with: haul ls az://data");
        assert_eq!(
            error.to_string(),
            "read az://data/a.nc: no such blob (hint: list what is there with: haul ls az://data)"
        );
    }

    #[test]
    fn every_failure_says_what_to_do() {
        for kind in ErrorKind::ALL {
            let error = Error::new(kind, "read", "az://data/a.nc", "no");
            assert_eq!(error.hint_text().is_none(), kind == ErrorKind::Cancelled, "{kind:?}");
        }
        let refused = Error::new(ErrorKind::Permission, "read", "az://data/a.nc", "no");
        assert_eq!(refused.hint_text(), Some("check the permissions"));
    }

    #[test]
    fn no_signature_is_ever_told() {
        let error = Error::new(
            ErrorKind::Usage,
            "open",
            "HTTPS://h/c?se=1&SIG=a%2Bb/c==&sp=r",
            "`c?sig=x+y` is wrong",
        )
        .hint("not sig=secret here");
        let said = error.to_string();
        assert!(!said.contains("a%2Bb") && !said.contains("x+y") && !said.contains("secret"), "{said}");
        assert!(said.contains("&sp=r") && said.contains("` is wrong") && said.contains(" here"), "{said}");
        let plain = Error::new(ErrorKind::Usage, "open", "signal=1.nc", "no");
        assert_eq!(plain.object_name(), "signal=1.nc");
    }

    #[test]
    fn no_password_is_ever_told() {
        let cause = "ftp://u@h, and http://host/a@b://u:hunter2@h stay apart";
        let error = Error::new(ErrorKind::Usage, "open", "ftp://me:hunter2@host/a@b", cause);
        assert_eq!(error.object_name(), "ftp://REDACTED@host/a@b");
        assert_eq!(error.cause(), "ftp://REDACTED@h, and http://host/a@b://REDACTED@h stay apart");
        let lake = Error::new(ErrorKind::Usage, "open", "abfss://cont-1@host/a", "abfss://user:secret@host");
        assert_eq!((lake.object_name(), lake.cause()), ("abfss://cont-1@host/a", "abfss://REDACTED@host"));
    }

    #[test]
    fn codes_are_unique_and_match_their_serialised_name() {
        let mut codes: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        for kind in ErrorKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.code());
        }
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn io_errors_keep_their_class() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(Error::from_io("write", "a", full).kind(), ErrorKind::NoSpace);
        let gone = std::io::Error::from_raw_os_error(2);
        let error = Error::from_io("read", "a", gone);
        assert_eq!((error.kind(), error.cause()), (ErrorKind::NotFound, "no such file or directory"));
    }
}
