//! Names that a service may keep as those of other objects: one over folders on a disk takes `a//b` for `a/b`. Nobody is told so by an
//! answer, and what is there under the other name would be gone. Which names a service keeps is found out as the first such is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::{S3Store, object};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{ListRequest, PutResult, Store as _, Trace};

/// The kinds of odd names that a service has been seen to keep.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(Arc<AtomicU8>);

const EMPTY_SEGMENT: u8 = 1;
const BACKSLASH: u8 = 2;
const DOT: u8 = 4;
const SPACE: u8 = 8;

/// In which ways a name is odd; 0 for others.
fn oddness(key: &str) -> u8 {
    let folder = key.strip_suffix('/').unwrap_or(key);
    let of_segment = |segment: &str| match segment.as_bytes().last() {
        None => EMPTY_SEGMENT,
        Some(b'.') => DOT,
        Some(b' ') => SPACE,
        Some(_) => 0,
    };
    let backslash = if key.contains('\\') { BACKSLASH } else { 0 };
    folder.split('/').map(of_segment).fold(backslash, |all, one| all | one)
}

impl S3Store {
    /// Writes an object at once, and not under another name than its own.
    ///
    /// # Errors
    /// `Unsupported` where the name leads to what has another, and whatever writing ends with.
    pub(super) async fn under_its_name(
        &self,
        key: &str,
        write: impl Future<Output = Result<PutResult>>,
        trace: &Trace,
    ) -> Result<PutResult> {
        let odd = self.before_odd(key, trace).await?;
        let put = write.await?;
        if odd {
            self.after_odd(key, trace).await?;
        }
        Ok(put)
    }

    /// Before an object is written: true where its name has to be looked for afterwards.
    ///
    /// # Errors
    /// `Unsupported` where the name leads to what has another.
    pub(super) async fn before_odd(&self, key: &str, trace: &Trace) -> Result<bool> {
        let odd = oddness(key);
        if odd & !self.odd.0.load(Ordering::Relaxed) == 0 {
            return Ok(false);
        }
        match self.is_listed(key, trace).await {
            Ok(true) => self.odd.0.fetch_or(odd, Ordering::Relaxed),
            Ok(false) if self.is_found(key, trace).await? => return Err(self.folded(key)),
            Ok(false) => return Ok(true),
            // Who may not list may still write; nobody can tell then.
            Err(error) if error.kind() == ErrorKind::Permission => return Ok(false),
            Err(error) => return Err(error),
        };
        Ok(false)
    }

    /// After it was written: whether it is there under its own name.
    ///
    /// # Errors
    /// `Unsupported` where it is not.
    pub(super) async fn after_odd(&self, key: &str, trace: &Trace) -> Result<()> {
        match self.is_listed(key, trace).await {
            Ok(true) => {
                self.odd.0.fetch_or(oddness(key), Ordering::Relaxed);
                Ok(())
            }
            Ok(false) => Err(self.folded(key)),
            Err(error) if error.kind() == ErrorKind::Permission => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether a list has exactly this name.
    async fn is_listed(&self, key: &str, trace: &Trace) -> Result<bool> {
        let request = ListRequest { prefix: key.to_owned(), begin_small: true, ..ListRequest::default() };
        let page = self.list(request).next_page(trace).await?;
        // In byte order it comes before all that begin with it.
        Ok(page.is_some_and(|page| page.entries().any(|entry| entry.key == key)))
    }

    async fn is_found(&self, key: &str, trace: &Trace) -> Result<bool> {
        match object::head(self, key, trace).await {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Permission) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn folded(&self, key: &str) -> Error {
        let cause = "the service takes this name for that of another object";
        Error::new(ErrorKind::Unsupported, "write", self.display(key), cause)
            .hint("rename it at the source, or copy it alone, to a name of your choice")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_disk_may_change_are_odd() {
        for plain in ["a", "a/b", "a/", ".a/b", "a b/c", "a..b"] {
            assert_eq!(oddness(plain), 0, "{plain}");
        }
        for (odd, how) in [
            ("a//b", EMPTY_SEGMENT),
            ("/a", EMPTY_SEGMENT),
            ("a//", EMPTY_SEGMENT),
            ("a\\b", BACKSLASH),
            ("a./b", DOT),
            ("a/../b", DOT),
            ("a /b.", DOT | SPACE),
        ] {
            assert_eq!(oddness(odd), how, "{odd}");
        }
    }
}
