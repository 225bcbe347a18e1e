//! Deletes names that a list has brought, when that list is known to be complete: for `rm`, and, by [`take`], at the end of a sync or a
//! move.

mod markers;

use std::collections::BTreeSet;

use futures_util::{Stream, StreamExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::taking::{Copy, Origin, gone, take};
use crate::error::{Error, Result, Retry};
use crate::gate::{Gate, through};
use crate::spool::Spool;
use crate::stage::list::Extras;
use crate::store::{Location, Request, Store, Version};

pub(crate) use markers::{Folders, clear_markers};

/// Deletes in flight: enough to hide the round trip, few enough not to be throttled for it.
pub(crate) const DELETES: usize = 64;

/// Names taken at once.
const BATCH: u64 = 1000;

/// What became of a name.
#[derive(Debug)]
pub(crate) struct Deleted {
    pub(crate) key: String,
    /// Its size in bytes, by the list.
    pub(crate) size: u64,
    pub(crate) outcome: Result<()>,
}

/// Names to be deleted at one place.
pub(crate) struct Doomed {
    /// The container or folder, and the prefix above which nothing is touched.
    pub(crate) place: Location,
    pub(crate) names: Spool,
    /// The version of each that may go: its ETag, and when it was written.
    pub(crate) versions: Spool,
    /// What has to be there for each: in the order of the names.
    pub(crate) copies: Option<Copies>,
}

/// Copies of what is to be deleted.
pub(crate) struct Copies {
    /// The store that has them, and what requests to it pass.
    place: Location,
    /// Each with whether it was found, and not written by this job.
    names: Spool,
    etags: Spool,
}

impl Doomed {
    /// None yet, at this place: each name will come with a copy at another.
    pub(crate) fn with_copies(place: Location, at: Location) -> Self {
        let (names, etags) = (Spool::default(), Spool::default());
        let copies = Some(Copies { place: at, names, etags });
        Self { place, names: Spool::default(), versions: Spool::default(), copies }
    }

    /// All that only a destination has.
    pub(crate) fn extras(extras: Extras) -> Self {
        let Extras { place, names, versions, .. } = extras;
        Self { place, names, versions, copies: None }
    }

    /// Adds a name with its copy.
    pub(crate) fn push(&mut self, key: &str, size: u64, version: &Version, copy: &Copy) -> Result<()> {
        self.names.push(key, size)?;
        self.versions.push(version.condition().unwrap_or_default(), version.modified_s as u64)?;
        let Some(Copies { names, etags, .. }) = &mut self.copies else { return Ok(()) };
        names.push(&copy.key, u64::from(copy.origin == Origin::Found))?;
        etags.push(&copy.etag, 0)
    }

    /// Begins to delete all of them.
    pub(crate) fn delete(self) -> Deleting {
        let (sender, told) = mpsc::channel(BATCH as usize);
        Deleting { told, task: tokio::spawn(self.delete_each(sender)) }
    }

    /// Deletes all of them, and tells what became of each; then the folders that are empty for it. Ends early where nobody listens.
    async fn delete_each(self, told: mpsc::Sender<Deleted>) -> Result<()> {
        let Self { place: Location { store, key: root, gate }, names, versions, copies } = self;
        let (mut names, mut versions) = (names.read()?, versions.read()?);
        let mut copies = match copies {
            Some(Copies { place, names, etags }) => Some((place, names.read()?, etags.read()?)),
            None => None,
        };
        loop {
            let batch = names.next(BATCH)?;
            if batch.is_empty() {
                return Ok(());
            }
            let count = batch.len() as u64;
            let mut with_copies = Vec::with_capacity(batch.len());
            if let Some((holder, names, etags)) = &mut copies {
                for ((key, found), (etag, _)) in names.next(count)?.into_iter().zip(etags.next(count)?) {
                    let origin = if found == 0 { Origin::Written } else { Origin::Found };
                    with_copies.push((&*holder, Copy { key, etag, origin }));
                }
            }
            let mut with_copies = with_copies.into_iter();
            let take_one = |((key, size), (etag, modified_s)): ((String, u64), (String, u64))| {
                let version = Version { modified_s: modified_s as i64, ..Version::from(etag) };
                let (store, gate, copy) = (&*store, &gate, with_copies.next());
                async move {
                    let outcome = take(store, &key, &version, copy, gate).await;
                    Deleted { key, size, outcome }
                }
            };
            let versions = versions.next(count)?;
            let mut deletes = futures_util::stream::iter(batch.into_iter().zip(versions))
                .map(take_one)
                .buffer_unordered(DELETES);
            let mut folders = BTreeSet::new();
            while let Some(deleted) = deletes.next().await {
                if store.capabilities().folders && deleted.outcome.is_ok() {
                    folders_above(&deleted.key, &root, &mut folders);
                }
                if told.send(deleted).await.is_err() {
                    return Ok(());
                }
            }
            // The deepest first.
            store.prune(folders.into_iter().rev().collect()).await;
        }
    }
}

/// Names that are being deleted. Dropped, it stops: what has been asked for may still be done.
pub(crate) struct Deleting {
    told: mpsc::Receiver<Deleted>,
    task: JoinHandle<Result<()>>,
}

impl Deleting {
    /// What has become of names since the last call, at least one; empty once all are told. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Vec<Deleted> {
        let mut some = Vec::new();
        self.told.recv_many(&mut some, BATCH as usize).await;
        some
    }

    /// What ended it before all names were told, if anything did.
    pub(crate) async fn end(mut self) -> Result<()> {
        match (&mut self.task).await {
            Ok(outcome) => outcome,
            Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
            Err(_) => Ok(()),
        }
    }
}

impl Drop for Deleting {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The folders of a key that lie below `root`, a prefix.
fn folders_above(key: &str, root: &str, folders: &mut BTreeSet<String>) {
    let mut folder = key;
    while let Some((above, _)) = folder.rsplit_once('/') {
        // One that is known has brought those above it.
        if above.len() < root.len() || !folders.insert(above.to_owned()) {
            return;
        }
        folder = above;
    }
}

/// Deletes objects, many at once, and says what became of them as it is known.
pub(crate) fn delete_all<'a>(
    store: &'a dyn Store,
    batch: &[(String, u64)],
    gate: &'a Gate,
) -> impl Stream<Item = Vec<Deleted>> + use<'a> {
    let together: Vec<Vec<(String, u64)>> = batch.chunks(store.delete_max()).map(<[_]>::to_vec).collect();
    futures_util::stream::iter(together)
        .map(move |some| async move {
            let keys: Vec<String> = some.iter().map(|(key, _)| key.clone()).collect();
            let outcomes = delete_some(store, &keys, gate).await;
            let deleted = |((key, size), outcome)| Deleted { key, size, outcome };
            some.into_iter().zip(outcomes).map(deleted).collect()
        })
        .buffer_unordered(DELETES)
}

/// Deletes objects, as many as one request takes: what became of each.
async fn delete_some(store: &dyn Store, keys: &[String], gate: &Gate) -> Vec<Result<()>> {
    if let [key] = keys {
        return vec![delete(store, key, gate).await];
    }
    let (api, name) = (store.api(Request::DeleteMany), store.name(""));
    let deleted = through!(gate, api, name, trace => store.delete_many(keys, trace).await);
    let outcomes = match deleted {
        Ok(outcomes) => outcomes,
        Err(error) => {
            let same = |key: &String| {
                let one = Error::new(error.kind(), "delete", store.name(key), error.cause());
                Err(match error.hint_text() {
                    Some(hint) => one.hint(hint),
                    None => one,
                })
            };
            keys.iter().map(same).collect()
        }
    };
    let mut deleted = Vec::with_capacity(outcomes.len());
    for (outcome, key) in outcomes.into_iter().zip(keys) {
        deleted.push(match outcome {
            Err(error) if error.retry_advice() != Retry::Never => delete(store, key, gate).await,
            other => other,
        });
    }
    deleted
}

/// Deletes an object.
async fn delete(store: &dyn Store, key: &str, gate: &Gate) -> Result<()> {
    let (api, name) = (store.api(Request::Delete), store.name(key));
    gone(through!(gate, api, name, trace => store.delete(key, trace).await))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_those_between_the_root_and_the_name() {
        let above = |key: &str, root: &str| {
            let mut folders = BTreeSet::new();
            folders_above(key, root, &mut folders);
            folders.into_iter().rev().collect::<Vec<_>>()
        };
        assert_eq!(above("a/b/c", ""), ["a/b", "a"]);
        assert_eq!(above("a", ""), [""; 0]);
        assert_eq!(above("there/a/b/c", "there/"), ["there/a/b", "there/a"]);
        assert_eq!(above("there/c", "there/"), [""; 0], "the root stays");
    }
}
