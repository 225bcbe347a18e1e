//! What a service was asked, as far as errors need it.

use super::answer::Broken;
use crate::error::{Error, ErrorKind};

/// An operation on an object; `P` is how the service names the permission that it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a, P> {
    /// In words: `read`, `write`, ...
    pub(super) operation: &'static str,
    /// What it was done to, without secrets.
    pub(super) object: &'a str,
    /// The URL of the container or bucket, for hints.
    pub(super) container: &'a str,
    /// The permission that it needs.
    pub(super) permission: P,
    /// What a precondition that does not hold means.
    pub(super) unmet: ErrorKind,
}

impl<P> Asked<'_, P> {
    pub(super) fn error(self, kind: ErrorKind, cause: impl Into<String>) -> Error {
        Error::new(kind, self.operation, self.object, cause)
    }

    /// The error for an answer that breaks its rule.
    pub(super) fn not_believed(self, broken: Broken) -> Error {
        broken.error(|kind, cause| self.error(kind, cause))
    }
}
