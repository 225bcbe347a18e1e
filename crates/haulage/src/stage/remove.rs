//! Deletes names that a list has brought, when that list is known to be complete: for `rm`, and at the end of a sync or a move.

use std::collections::BTreeSet;

use futures_util::{Stream, StreamExt as _};
use tokio::sync::mpsc;

use crate::error::{Error, ErrorKind, Result, Retry};
use crate::gate::{Gate, through};
use crate::spool::{Names, Spool};
use crate::store::{Location, Request, Seen, Snapshots, Store, rewritten};

/// Deletes in flight: enough to hide the round trip, few enough not to be throttled for it.
const DELETES: usize = 64;

/// Names taken at once.
const BATCH: u64 = 1000;

/// Objects that are looked at right before one request deletes them, where the service does not keep to versions: few, so that
/// little time passes between.
const LOOKED_AT: usize = 100;

/// Looks in flight for one such request.
const LOOKS: usize = 16;

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
    pub(crate) victims: Victims,
    pub(crate) snapshots: Snapshots,
}

impl Doomed {
    /// None yet, at this place.
    pub(crate) fn at(place: Location, snapshots: Snapshots) -> Self {
        Self { place, victims: Victims::default(), snapshots }
    }

    /// Deletes all of them, and tells what became of each; then the folders that are empty for it. Ends early where nobody listens.
    pub(crate) async fn delete(self, told: mpsc::Sender<Deleted>) -> Result<()> {
        let Location { store, key, gate } = &self.place;
        let mut victims = self.victims.read()?;
        loop {
            let batch = victims.next(BATCH)?;
            if batch.is_empty() {
                return Ok(());
            }
            let mut folders = BTreeSet::new();
            let mut deletes = std::pin::pin!(delete_all(&**store, batch, gate, self.snapshots));
            while let Some(some) = deletes.next().await {
                for deleted in some {
                    if store.capabilities().folders && deleted.outcome.is_ok() {
                        folders_above(&deleted.key, key, &mut folders);
                    }
                    if told.send(deleted).await.is_err() {
                        return Ok(());
                    }
                }
            }
            // The deepest first.
            store.prune(folders.into_iter().rev().collect()).await;
        }
    }
}

/// Objects to be deleted, each as the version that was seen.
#[derive(Default)]
pub(crate) struct Victims {
    names: Spool,
    etags: Spool,
}

impl Victims {
    /// Adds one; with an empty ETag any version may go.
    pub(crate) fn push(&mut self, key: &str, size: u64, etag: &str) -> Result<()> {
        self.names.push(key, size)?;
        self.etags.push(etag, 0)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.names.count
    }

    /// Their names with their sizes, in the order in which they came.
    pub(crate) fn names(self) -> Spool {
        self.names
    }

    /// All of them, from the first.
    pub(crate) fn read(self) -> Result<VictimsRead> {
        Ok(VictimsRead { names: self.names.read()?, etags: self.etags.read()? })
    }
}

/// Reads them back.
pub(crate) struct VictimsRead {
    names: Names,
    etags: Names,
}

impl VictimsRead {
    /// The next ones with their sizes, at most `most`; none at the end.
    pub(crate) fn next(&mut self, most: u64) -> Result<Vec<(Seen, u64)>> {
        let names = self.names.next(most)?;
        let etags = self.etags.next(names.len() as u64)?;
        let seen = |((key, size), (etag, _)): ((String, u64), (String, u64))| {
            (Seen { key, etag: Some(etag).filter(|etag| !etag.is_empty()) }, size)
        };
        Ok(names.into_iter().zip(etags).map(seen).collect())
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

/// Deletes objects, many at once, and says what became of them as it is known. One that was rewritten since it was seen stays.
pub(crate) fn delete_all<'a>(
    store: &'a dyn Store,
    mut batch: Vec<(Seen, u64)>,
    gate: &'a Gate,
    snapshots: Snapshots,
) -> impl Stream<Item = Vec<Deleted>> + use<'a> {
    let keeps = store.keeps_to_versions();
    let first = batch.iter().position(|(seen, _)| seen.etag.is_some()).filter(|_| keeps.is_none());
    let first = first.map(|at| batch.remove(at));
    let most = if keeps == Some(true) { store.delete_max() } else { store.delete_max().min(LOOKED_AT) };
    let together: Vec<Vec<(Seen, u64)>> = batch.chunks(most).map(<[_]>::to_vec).collect();
    let deleted = |(Seen { key, .. }, size), outcome| Deleted { key, size, outcome };
    let learning = futures_util::stream::iter(first).then(move |(seen, size)| async move {
        let outcome = delete_first(store, &seen, gate, snapshots).await;
        vec![deleted((seen, size), outcome)]
    });
    let rest = futures_util::stream::iter(together).map(move |some| async move {
        let seen: Vec<Seen> = some.iter().map(|(seen, _)| seen.clone()).collect();
        let outcomes = delete_some(store, &seen, gate, snapshots).await;
        some.into_iter().zip(outcomes).map(|(one, outcome)| deleted(one, outcome)).collect()
    });
    learning.chain(rest.buffer_unordered(DELETES))
}

/// Deletes the first object of a service of which nobody knows yet whether it keeps to versions: it is looked at, and shows that.
async fn delete_first(store: &dyn Store, seen: &Seen, gate: &Gate, snapshots: Snapshots) -> Result<()> {
    if !is_unchanged(store, seen, gate).await? {
        return Ok(());
    }
    let (api, name) = (store.api(Request::DeleteMany), store.name(&seen.key));
    let gone = gone(through!(gate, api, name, trace => store.try_versions(&seen.key, trace).await), true)?;
    match gone {
        true => Ok(()),
        false => {
            delete_some(store, std::slice::from_ref(seen), gate, snapshots).await.pop().unwrap_or(Ok(()))
        }
    }
}

/// Deletes objects, as many as one request takes: what became of each.
async fn delete_some(
    store: &dyn Store,
    objects: &[Seen],
    gate: &Gate,
    snapshots: Snapshots,
) -> Vec<Result<()>> {
    if store.delete_max() == 1 {
        let mut outcomes = Vec::with_capacity(objects.len());
        for seen in objects {
            outcomes.push(delete(store, seen, gate, snapshots).await);
        }
        return outcomes;
    }
    if store.keeps_to_versions() == Some(true) || objects.iter().all(|seen| seen.etag.is_none()) {
        return delete_together(store, objects, gate, snapshots).await;
    }
    let looks: Vec<_> = objects.iter().map(|seen| is_unchanged(store, seen, gate)).collect();
    let looked: Vec<Result<bool>> = futures_util::stream::iter(looks).buffered(LOOKS).collect().await;
    let there = objects.iter().zip(&looked).filter(|(_, looked)| matches!(looked, Ok(true)));
    let there: Vec<Seen> = there.map(|(seen, _)| Seen { etag: None, ..seen.clone() }).collect();
    let mut outcomes = delete_together(store, &there, gate, snapshots).await.into_iter();
    let outcome = |looked| match looked {
        Ok(true) => outcomes.next().unwrap_or(Ok(())),
        Ok(false) => Ok(()),
        Err(error) => Err(error),
    };
    looked.into_iter().map(outcome).collect()
}

/// Deletes objects with one request, by a service that keeps to their versions, or whatever version they are.
async fn delete_together(
    store: &dyn Store,
    objects: &[Seen],
    gate: &Gate,
    snapshots: Snapshots,
) -> Vec<Result<()>> {
    if objects.is_empty() {
        return Vec::new();
    }
    let (api, name) = (store.api(Request::DeleteMany), store.name(""));
    let deleted = through!(gate, api, name, trace => store.delete_many(objects, trace).await);
    let outcomes = match deleted {
        Ok(outcomes) => outcomes,
        Err(error) => {
            let same = |seen: &Seen| {
                let one = Error::new(error.kind(), "delete", store.name(&seen.key), error.cause());
                Err(match error.hint_text() {
                    Some(hint) => one.hint(hint),
                    None => one,
                })
            };
            objects.iter().map(same).collect()
        }
    };
    let mut deleted = Vec::with_capacity(outcomes.len());
    for (outcome, seen) in outcomes.into_iter().zip(objects) {
        deleted.push(match outcome {
            Err(error) if error.retry_advice() != Retry::Never => delete(store, seen, gate, snapshots).await,
            other => settled(store, seen, gate, gone(other, ())).await,
        });
    }
    deleted
}

/// Deletes an object. One that is gone was deleted by somebody, or by an attempt whose answer was lost.
async fn delete(store: &dyn Store, seen: &Seen, gate: &Gate, snapshots: Snapshots) -> Result<()> {
    let Seen { key, etag } = seen;
    let (api, name) = (store.api(Request::Delete), store.name(key));
    let deleted = through!(gate, api, name, trace => match etag {
        Some(etag) => store.delete_version(key, etag, snapshots, trace).await,
        None => store.delete(key, trace).await,
    });
    settled(store, seen, gate, gone(deleted, ())).await
}

/// Whether an object is still what was seen; false where it is gone.
async fn is_unchanged(store: &dyn Store, seen: &Seen, gate: &Gate) -> Result<bool> {
    let Seen { key, etag: Some(etag) } = seen else { return Ok(true) };
    let (api, name) = (store.api(Request::Look), store.name(key));
    let looked = through!(gate, api, name, trace => store.head(key, trace).await);
    match looked {
        Ok(there) if there.etag == *etag => Ok(true),
        Ok(_) => Err(rewritten(name)),
        // The answer to a look has no body, so that this is all it says.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The outcome of a delete: some services say of an object that is gone that it is another version.
async fn settled(store: &dyn Store, seen: &Seen, gate: &Gate, outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::SourceChanged && error.status().is_some() => {
            match is_unchanged(store, seen, gate).await {
                Ok(false) => Ok(()),
                Ok(true) | Err(_) => Err(error),
            }
        }
        other => other,
    }
}

/// What holds of an object that is gone. Of a service only its own word counts: any proxy may answer 404.
fn gone<T>(outcome: Result<T>, then: T) -> Result<T> {
    match outcome {
        Err(error)
            if error.kind() == ErrorKind::NotFound
                && (error.status().is_none()
                    || matches!(error.service_code(), Some("BlobNotFound" | "NoSuchKey"))) =>
        {
            Ok(then)
        }
        other => other,
    }
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
