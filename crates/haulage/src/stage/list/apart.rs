//! Whether two places have nothing in common, so that what is deleted in one is not in the other.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::one::as_prefix;
use crate::error::{Error, ErrorKind, Result};
use crate::output::resolved;
use crate::store::Location;

/// Refuses two folders or prefixes of which one lies in the other.
pub(super) fn check(operation: &'static str, one: &Location, other: &Location) -> Result<()> {
    let (name, other_name) = (one.store.name(&one.key), other.store.name(&other.key));
    let meet = match (folder(one), folder(other)) {
        (Some(one), Some(other)) => is_in(&one, &other) || is_in(&other, &one),
        (None, None) if one.store.identity("") == other.store.identity("") => {
            let (one, other) = (as_prefix(&one.key), as_prefix(&other.key));
            one.starts_with(&other) || other.starts_with(&one)
        }
        _ => false,
    };
    if !meet {
        return Ok(());
    }
    if name == other_name {
        return Err(same(operation, &name));
    }
    let cause = format!("this and {other_name} have objects in common: one lies in the other");
    Err(Error::new(ErrorKind::Usage, operation, name, cause)
        .hint("name two places of which neither holds the other"))
}

/// The refusal where both are the same.
pub(super) fn same(operation: &'static str, name: &str) -> Error {
    Error::new(ErrorKind::Usage, operation, name, "source and destination are the same")
        .hint("name another destination")
}

/// The folder of this machine that a location names.
fn folder(place: &Location) -> Option<PathBuf> {
    let local = place.store.capabilities().folders;
    local.then(|| resolved(Path::new(&place.store.name(&place.key))))
}

/// Whether a folder is another or lies in it, by its path or by what the path leads to.
fn is_in(inner: &Path, outer: &Path) -> bool {
    let inode = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let outer_inode = inode(outer);
    inner.starts_with(outer)
        || outer_inode.is_some_and(|outer| inner.ancestors().any(|above| inode(above) == Some(outer)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{StoreOpener, StoreOptions};

    #[tokio::test]
    async fn places_that_hold_each_other_are_told_from_neighbours() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| format!("{}/{name}", dir.path().display());
        for name in ["a/b", "ab"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::os::unix::fs::symlink("a/b", at("link")).unwrap();
        let opener = StoreOpener::new(StoreOptions::default()).unwrap();
        let apart = |one: &str, other: &str| {
            check("sync", &opener.open(one).unwrap(), &opener.open(other).unwrap()).is_ok()
        };
        for (one, other) in
            [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a", "link"), ("a/b", "link"), ("a", "a/new")]
        {
            assert!(!apart(&at(one), &at(other)), "{one} {other}");
        }
        assert!(apart(&at("a"), &at("ab")) && apart(&at("ab"), &at("link")) && apart(&at("a"), &at("new")));
        for (one, other) in [("", ""), ("/a", "/a/"), ("/a", "/a/b"), ("", "/a"), ("/a/b/", "/a")] {
            assert!(!apart(&format!("mem://x{one}"), &format!("mem://x{other}")), "{one} {other}");
        }
        assert!(
            apart("mem://x/a", "mem://x/ab") && apart("mem://x/a", "mem://y/a") && apart("mem://x", &at("a"))
        );
    }
}
