//! Whether two places have nothing in common, so that what is deleted in one is not in the other.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::one::as_prefix;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::output::resolved;
use crate::store::{Location, ObjectMeta, Request};

/// Refuses two folders or prefixes of which one lies in the other.
pub(super) fn check(operation: &'static str, one: &Location, other: &Location) -> Result<()> {
    check_outside(operation, one, other)?;
    if lies_in(other, one) { Err(common(operation, one, other)) } else { Ok(()) }
}

/// Refuses a folder or prefix that lies in another.
pub(super) fn check_outside(operation: &'static str, inner: &Location, outer: &Location) -> Result<()> {
    if lies_in(inner, outer) { Err(common(operation, inner, outer)) } else { Ok(()) }
}

/// Refuses two prefixes of which one lies in the other, though two addresses make them look apart: `object` of the first is what
/// the second address has under this name.
pub(super) async fn check_addresses(
    operation: &'static str,
    one: &Location,
    other: &Location,
    object: &ObjectMeta,
) -> Result<()> {
    let container = |place: &Location| {
        let identity = place.store.identity("");
        identity.trim_end_matches('/').rsplit('/').next().map(str::to_owned)
    };
    let (from, to) = (as_prefix(&one.key), as_prefix(&other.key));
    let nested = from != to && (from.starts_with(&to) || to.starts_with(&from));
    let remote = !one.store.capabilities().folders && !other.store.capabilities().folders;
    if !(nested && remote && container(one) == container(other)) {
        return Ok(());
    }
    let Location { store, gate, .. } = other;
    let (api, name) = (store.api(Request::Look), store.name(&object.key));
    let found = through!(gate, api, name, trace => store.head(&object.key, trace).await);
    match found {
        Ok(there) if there.is_likely(object) => Err(common(operation, one, other)),
        // Another service has something else there, or nothing; what it refuses is told when it matters.
        _ => Ok(()),
    }
}

fn common(operation: &'static str, one: &Location, other: &Location) -> Error {
    let (name, other_name) = (one.store.name(&one.key), other.store.name(&other.key));
    if name == other_name {
        return same(operation, &name);
    }
    let cause = format!("this and {other_name} have objects in common: one is inside the other");
    Error::new(ErrorKind::Usage, operation, name, cause)
        .hint("name two places of which neither holds the other")
}

fn lies_in(inner: &Location, outer: &Location) -> bool {
    match (folder(inner), folder(outer)) {
        (Some(inner), Some(outer)) => is_in(&inner, &outer),
        (None, None) if inner.store.identity("") == outer.store.identity("") => {
            as_prefix(&inner.key).starts_with(&as_prefix(&outer.key))
        }
        _ => false,
    }
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
