//! Takes a name away from an object: from one that has a copy elsewhere, for a move and where what goes was backed up, and from one
//! that only a destination has.
//!
//! What proves a copy is known earlier than its source goes, and may no longer be true then: another client replaces the copy, or a
//! second mover counts on the very source as *its* copy. So things are done in this order (ADR-0015): a copy that was found, and not
//! made by this job, is claimed, so that its version changes for whoever counts on the one before; only then the copy is looked at,
//! and the source, in the same breath; and the source goes on the condition that it is the version that was copied. Of several
//! movers that would take the last copies from one another at least one looks after the claims of the others.

#[cfg(test)]
mod model;

use crate::error::{Error, ErrorKind, Result};
use crate::gate::{Gate, through};
use crate::store::{Location, Request, Store, Trace, Version, Versions, changed_since};

/// How a copy came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// This job has written it, on the condition that what was there before is still there: whoever counts on that sees it.
    Written,
    /// It was there, and is the same by what both ends state, or hold.
    Found,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Next {
    /// Give the copy another version, if it is still the one that was found.
    Claim,
    /// See whether the copy is still there.
    LookAtCopy,
    /// See whether the source is still what was copied.
    LookAtSource,
    /// Delete the source, on condition where the store takes one.
    Delete,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Done {
    claimed: bool,
    copy_seen: bool,
    source_seen: bool,
}

/// The next step towards the deletion of a source in a store with such `versions`. Of what only a destination has there is no copy.
fn next(copy: Option<Origin>, versions: Versions, done: Done) -> Next {
    match done {
        Done { claimed: false, .. } if copy == Some(Origin::Found) => Next::Claim,
        Done { copy_seen: false, .. } if copy.is_some() => Next::LookAtCopy,
        // The condition of the deletion says the same.
        Done { source_seen: false, .. } if !(versions.conditions && versions.unique) => Next::LookAtSource,
        _ => Next::Delete,
    }
}

/// The copy of what is taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) key: String,
    pub(crate) etag: String,
    pub(crate) origin: Origin,
}

/// Takes its name from an object, if it is this version and its copy is there.
///
/// # Errors
/// `SourceChanged` where one of the two is not what it was; `Unsupported` where nothing would tell.
pub(crate) async fn take(
    store: &dyn Store,
    key: &str,
    version: &Version,
    copy: Option<(&Location, Copy)>,
    gate: &Gate,
) -> Result<()> {
    if version.condition().is_none() {
        return Err(unpinned(store.name(key)));
    }
    let mut done = Done::default();
    let (at, mut copy) = copy.unzip();
    let (holder, holders_gate) = at.map_or((store, gate), |at| (&*at.store, &at.gate));
    loop {
        let origin = copy.as_ref().map(|copy| copy.origin);
        match (next(origin, store.capabilities().versions, done), &mut copy) {
            (Next::Claim, Some(copy)) => {
                let (api, name) = (holder.api(Request::Claim), holder.name(&copy.key));
                let claimed = through!(holders_gate, api, name, trace => holder.claim(&copy.key, &copy.etag, trace).await);
                copy.etag = claimed.map_err(|error| unclaimed(store.name(key), error))?;
                // What was claimed is there.
                (done.claimed, done.copy_seen) = (true, true);
            }
            (Next::LookAtCopy, Some(copy)) => {
                let (api, name) = (holder.api(Request::Look), holder.name(&copy.key));
                let found = through!(holders_gate, api, name, trace => holder.head(&copy.key, trace).await);
                match found {
                    Ok(there) if there.etag == copy.etag => done.copy_seen = true,
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => return Err(copy_gone(store.name(key), &name)),
                }
            }
            (Next::LookAtSource, _) => {
                let (api, name) = (store.api(Request::Look), store.name(key));
                let found = through!(gate, api, name, trace => store.head(key, trace).await);
                match found {
                    Ok(there) if version.is_of(&there) => done.source_seen = true,
                    Ok(_) => return Err(changed_since(name)),
                    Err(error) => return gone(Err(error)),
                }
            }
            (Next::Delete | Next::Claim | Next::LookAtCopy, _) => {
                let (api, name) = (store.api(Request::Delete), store.name(key));
                return gone(
                    through!(gate, api, name, trace => store.delete_version(key, version, trace).await),
                );
            }
        }
    }
}

/// Removes what was written and is not what it should be, if it is still that: true then.
pub(crate) async fn retract(store: &dyn Store, key: &str, etag: &str, trace: &Trace) -> bool {
    // Not every service takes a condition.
    match store.head(key, trace).await {
        Ok(there) if there.etag == etag => store.delete_version(key, &there.version(), trace).await.is_ok(),
        _ => false,
    }
}

/// What a deletion came to where nothing is there: somebody has deleted it, or an attempt whose answer was lost. Of a service only its
/// own word counts: any proxy may answer 404.
pub(crate) fn gone(deleted: Result<()>) -> Result<()> {
    match deleted {
        Err(error)
            if error.kind() == ErrorKind::NotFound
                && (error.status().is_none()
                    || matches!(error.service_code(), Some("BlobNotFound" | "NoSuchKey"))) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// Why an object stays of which no condition could name the version that was seen.
fn unpinned(name: String) -> Error {
    let cause =
        "the service gives it no strong ETag, by which a deletion would spare a later version, so it stays";
    Error::new(ErrorKind::Unsupported, "delete", name, cause)
        .hint("compare both sides with haul verify, then delete it with haul rm")
}

fn copy_gone(name: String, copy: &str) -> Error {
    let cause = format!("its copy {copy} was changed or removed by another client, so it stays");
    Error::new(ErrorKind::SourceChanged, "delete", name, cause).hint("run the same command again")
}

/// Why an object stays whose copy is not known to be this job's to count on.
fn unclaimed(name: String, error: Error) -> Error {
    match error.kind() {
        ErrorKind::SourceChanged | ErrorKind::NotFound => copy_gone(name, error.object_name()),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{MemoryStore, PutOptions};

    async fn put(store: &MemoryStore, key: &str) -> Version {
        let bytes = bytes::Bytes::from_static(b"content");
        store.put(key, bytes.into(), &PutOptions::default(), &Trace::detached()).await.unwrap();
        store.head(key, &Trace::detached()).await.unwrap().version()
    }

    #[tokio::test]
    async fn a_source_goes_only_while_both_are_what_they_were() {
        let (store, gate) = (MemoryStore::named("taking"), Gate::default());
        let at = Location { store: Arc::new(store.clone()), key: String::new(), gate: gate.clone() };
        let there = async |key: &str| store.head(key, &Trace::detached()).await.is_ok();
        for origin in [Origin::Written, Origin::Found] {
            let copy = |etag: &str| {
                let copy = Copy { key: "copy".to_owned(), etag: etag.to_owned(), origin };
                Some((&at, copy))
            };
            let (source, made) = (put(&store, "source").await, put(&store, "copy").await);
            // Another client writes the copy anew, or removes it.
            put(&store, "copy").await;
            let error = take(&store, "source", &source, copy(&made.etag), &gate).await.unwrap_err();
            assert_eq!((error.kind(), there("source").await), (ErrorKind::SourceChanged, true));
            store.delete("copy", &Trace::detached()).await.unwrap();
            let error = take(&store, "source", &source, copy(&made.etag), &gate).await.unwrap_err();
            assert_eq!((error.kind(), there("source").await), (ErrorKind::SourceChanged, true));
            // Or the source.
            let (made, _) = (put(&store, "copy").await, put(&store, "source").await);
            let error = take(&store, "source", &source, copy(&made.etag), &gate).await.unwrap_err();
            assert_eq!((error.kind(), there("source").await), (ErrorKind::SourceChanged, true));
            let (source, made) = (put(&store, "source").await, put(&store, "copy").await);
            take(&store, "source", &source, copy(&made.etag), &gate).await.unwrap();
            assert_eq!((there("source").await, there("copy").await), (false, true));
        }
    }

    #[tokio::test]
    async fn what_no_condition_can_name_stays() {
        let (store, gate) = (MemoryStore::named("unpinned"), Gate::default());
        let source = put(&store, "source").await;
        for version in [Version { weak: true, ..source.clone() }, Version { etag: String::new(), ..source }] {
            let error = take(&store, "source", &version, None, &gate).await.unwrap_err();
            let hint = "compare both sides with haul verify, then delete it with haul rm";
            assert_eq!((error.kind(), error.hint_text()), (ErrorKind::Unsupported, Some(hint)));
        }
        assert!(store.head("source", &Trace::detached()).await.is_ok());
    }

    #[tokio::test]
    async fn of_two_movers_that_count_on_each_other_one_at_least_keeps_its_source() {
        let (store, gate) = (MemoryStore::named("opposite"), Gate::default());
        let (one, other) = (put(&store, "one").await, put(&store, "other").await);
        let at = Location { store: Arc::new(store.clone()), key: String::new(), gate: gate.clone() };
        let found = |key: &str, version: &Version| {
            let copy = Copy { key: key.to_owned(), etag: version.etag.clone(), origin: Origin::Found };
            Some((&at, copy))
        };
        take(&store, "one", &one, found("other", &other), &gate).await.unwrap();
        let error = take(&store, "other", &other, found("one", &one), &gate).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SourceChanged);
        assert!(store.head("other", &Trace::detached()).await.is_ok());
        // One object by two names is no copy of itself.
        let error = take(&store, "other", &put(&store, "other").await, found("other", &other), &gate).await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::SourceChanged);
        let itself = put(&store, "other").await;
        let error = take(&store, "other", &itself, found("other", &itself), &gate).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SourceChanged);
    }
}
