//! Whether two places have nothing in common, so that what is deleted in one is not in the other.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use futures_util::StreamExt as _;

use super::one::as_prefix;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::output::resolved;
use crate::stage::taking::gone;
use crate::store::{Location, PutOptions, Request, Version, witness_name};
use crate::task::Uninterrupted;

/// Names at which a witness is looked for at once.
const LOOKS: usize = 16;

/// Refuses two folders or prefixes of which one lies in the other.
pub(super) fn check(operation: &'static str, one: &Location, other: &Location) -> Result<()> {
    check_outside(operation, one, other)?;
    if lies_in(other, one) { Err(common(operation, one, other)) } else { Ok(()) }
}

/// Refuses a folder or prefix that lies in another.
pub(super) fn check_outside(operation: &'static str, inner: &Location, outer: &Location) -> Result<()> {
    if lies_in(inner, outer) { Err(common(operation, inner, outer)) } else { Ok(()) }
}

/// Refuses two places that are one, or of which one is inside the other, though two endpoints, mounts or interfaces give them names
/// apart: something is written at one, and looked for at and around the other.
///
/// # Errors
/// `Usage` where it is seen there. What a write or a deletion ends with that neither of them allows.
pub(super) async fn check_by_witness(
    uninterrupted: &Uninterrupted,
    operation: &'static str,
    one: &Location,
    other: &Location,
) -> Result<()> {
    let is_stream = |place: &Location| place.store.capabilities().in_order;
    if is_stream(one) || is_stream(other) || one.store.identity("") == other.store.identity("") {
        return Ok(());
    }
    // A gateway may not take every file for an object of its own.
    let (first, second) = if folder(one).is_some() { (other, one) } else { (one, other) };
    let is_seen = |at: &Location, from: &Location| {
        let (at, from) = (at.clone(), from.clone());
        // Called off in between, it would leave what it has written.
        uninterrupted.run(async move { is_seen(&at, &from).await })
    };
    let seen = match is_seen(first, second).await {
        Err(error) if error.kind() == ErrorKind::Permission => {
            is_seen(second, first).await.map_err(|_| error)?
        }
        seen => seen?,
    };
    if !seen {
        return Ok(());
    }
    let cause = format!(
        "what is written there is seen here: this and {} are one place, or one is inside the other",
        other.store.name(&other.key)
    );
    Err(Error::new(ErrorKind::Usage, operation, one.store.name(&one.key), cause)
        .hint("name two places of which neither holds the other"))
}

/// Whether two prefixes of containers of one name are such that one would lie in the other, if the containers are one.
pub(super) fn may_overlap(one: &Location, other: &Location) -> bool {
    let (from, to) = (as_prefix(&one.key), as_prefix(&other.key));
    let is_nested = from != to && (from.starts_with(&to) || to.starts_with(&from));
    let are_remote = folder(one).is_none() && folder(other).is_none();
    is_nested && are_remote && container(one) == container(other)
}

/// Whether what is written at one place is seen from the other.
async fn is_seen(at: &Location, from: &Location) -> Result<bool> {
    let name = witness_name();
    let (seen, removed) = match folder(at) {
        Some(folder) => {
            let path = folder.join(&name);
            match std::fs::File::create_new(&path) {
                Ok(_) => {}
                // There is nothing to be deleted.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(Error::from_io("write to", folder.display().to_string(), error)),
            }
            let above = folder.components().filter_map(|part| match part {
                Component::Normal(name) => name.to_str().map(str::to_owned),
                _ => None,
            });
            let seen = looks(from, &above.collect::<Vec<_>>(), &name).await;
            let removed = std::fs::remove_file(&path);
            (seen, removed.map_err(|e| Error::from_io("delete", path.display().to_string(), e)))
        }
        None => {
            let Location { store, key, gate } = at;
            let (key, container) = (format!("{}{name}", as_prefix(key)), container(at));
            let (api, object) = (store.api(Request::Put), store.name(&key));
            let written = through!(gate, api, object, trace => {
                store.put(&key, Bytes::new().into(), &PutOptions::default(), trace).await
            });
            let etag = match written {
                Ok(put) => put.etag,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            };
            let above = container.into_iter().chain(key.split('/').map(str::to_owned));
            let mut above: Vec<String> = above.collect();
            above.pop();
            let seen = looks(from, &above, &name).await;
            let (api, object) = (store.api(Request::Delete), store.name(&key));
            let version = Version::from(etag);
            let removed =
                through!(gate, api, object, trace => store.delete_version(&key, &version, trace).await);
            (seen, gone(removed))
        }
    };
    // What was seen counts more than what stays of it.
    if seen { Ok(true) } else { removed.map(|()| false) }
}

/// Looks for a witness at a place, below it by each end of the path that leads to the witness, and above it.
async fn looks(from: &Location, path: &[String], name: &str) -> bool {
    let below =
        (0..=path.len()).map(|at| path[at..].iter().map(|part| format!("{part}/")).collect::<String>());
    if let Some(folder) = folder(from) {
        let seen = |path: PathBuf| std::fs::symlink_metadata(path).is_ok();
        return below.into_iter().any(|below| seen(folder.join(below).join(name)))
            || folder.ancestors().any(|above| seen(above.join(name)));
    }
    let Location { store, key, gate } = from;
    let root = as_prefix(key);
    let above = root.match_indices('/').map(|(at, _)| root[..=at].to_owned());
    let above = std::iter::once(String::new()).chain(above);
    let keys: BTreeSet<String> = below
        .map(|below| format!("{root}{below}{name}"))
        .chain(above.map(|above| format!("{above}{name}")))
        .collect();
    let look = |key: String| async move {
        let (api, object) = (store.api(Request::Look), store.name(&key));
        through!(gate, api, object, trace => store.head(&key, trace).await).is_ok()
    };
    let mut looked = futures_util::stream::iter(keys).map(look).buffer_unordered(LOOKS);
    while let Some(seen) = looked.next().await {
        if seen {
            return true;
        }
    }
    false
}

/// The name of a container.
fn container(place: &Location) -> Option<String> {
    let identity = place.store.identity("");
    identity.trim_end_matches('/').rsplit('/').next().map(str::to_owned)
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
