//! Deletes names that a list has brought, when that list is known to be complete: for `rm`, and at the end of a sync or a move.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::{Stream, StreamExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error::{Error, ErrorKind, Result, Retry};
use crate::gate::{Gate, through};
use crate::spool::Spool;
use crate::stage::list::Extras;
use crate::store::{BlockRange, GetOptions, Hold, Location, Request, Store, Trace};

/// Deletes in flight: enough to hide the round trip, few enough not to be throttled for it.
const DELETES: usize = 64;

/// Names taken at once.
const BATCH: u64 = 1000;

/// What a file is that vanished with an object, ...
const ONE: &str = "it and its copy are one file under two names, which was put back";
/// ... and one of which that cannot be found out.
const MAY_BE_ONE: &str = "not deleted, because its copy may be the same file under another name";

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
    /// The version of each that may go, where no other may: in the order of the names.
    pub(crate) versions: Option<Spool>,
    /// What has to outlive each version, for it may be the same object: where, and in the order of the names.
    pub(crate) copies: Option<(Arc<dyn Store>, Spool)>,
}

impl Doomed {
    /// None yet, at this place: each name will come with the version that may go, and with what has to outlive it if that is said to
    /// be in a store.
    pub(crate) fn versions_at(place: Location, copies: Option<Arc<dyn Store>>) -> Self {
        let copies = copies.map(|store| (store, Spool::default()));
        Self { place, names: Spool::default(), versions: Some(Spool::default()), copies }
    }

    /// All that only a destination has.
    pub(crate) fn extras(extras: Extras) -> Self {
        let Extras { place, names, versions, .. } = extras;
        Self { place, names, versions, copies: None }
    }

    /// Begins to delete all of them.
    pub(crate) fn delete(self) -> Deleting {
        let (sender, told) = mpsc::channel(BATCH as usize);
        Deleting { told, task: tokio::spawn(self.delete_each(sender)) }
    }

    /// Deletes all of them, and tells what became of each; then the folders that are empty for it. Ends early where nobody listens.
    async fn delete_each(self, told: mpsc::Sender<Deleted>) -> Result<()> {
        let Location { store, key, gate } = &self.place;
        let mut names = self.names.read()?;
        let mut versions = self.versions.map(Spool::read).transpose()?;
        let (holder, copies) = self.copies.unzip();
        let mut copies = copies.map(Spool::read).transpose()?;
        loop {
            let batch = names.next(BATCH)?;
            if batch.is_empty() {
                return Ok(());
            }
            let mut folders = BTreeSet::new();
            let mut tell = async |deleted: Deleted| {
                if store.capabilities().folders && deleted.outcome.is_ok() {
                    folders_above(&deleted.key, key, &mut folders);
                }
                told.send(deleted).await.is_ok()
            };
            match &mut versions {
                None => {
                    let mut deletes = std::pin::pin!(delete_all(&**store, &batch, gate));
                    while let Some(some) = deletes.next().await {
                        for deleted in some {
                            if !tell(deleted).await {
                                return Ok(());
                            }
                        }
                    }
                }
                Some(versions) => {
                    let count = batch.len() as u64;
                    let versions = versions.next(count)?;
                    let mut copies = match &mut copies {
                        Some(copies) => copies.next(count)?.into_iter().map(|(key, _)| key).collect(),
                        None => Vec::new(),
                    }
                    .into_iter();
                    let mut deletes = futures_util::stream::iter(batch.into_iter().zip(versions))
                        .map(|((key, size), (version, _))| {
                            let copy = holder.as_ref().zip(copies.next());
                            delete_version(store, key, size, version, copy, gate)
                        })
                        .buffer_unordered(DELETES);
                    while let Some(deleted) = deletes.next().await {
                        if !tell(deleted).await {
                            return Ok(());
                        }
                    }
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

/// Deletes an object. One that is gone was deleted by somebody, or by an attempt whose answer was lost. Of a service only its
/// own word counts: any proxy may answer 404.
async fn delete(store: &dyn Store, key: &str, gate: &Gate) -> Result<()> {
    let (api, name) = (store.api(Request::Delete), store.name(key));
    gone(through!(gate, api, name, trace => store.delete(key, trace).await))
}

/// The same, only if it is still this version, and what is called its `copy` stays.
async fn delete_version(
    store: &Arc<dyn Store>,
    key: String,
    size: u64,
    version: String,
    copy: Option<(&Arc<dyn Store>, String)>,
    gate: &Gate,
) -> Deleted {
    let (api, name) = (store.api(Request::Delete), store.name(&key));
    let delete = async || {
        gone(through!(gate, api, name.clone(), trace => store.delete_version(&key, &version, trace).await))
    };
    let outcome = match copy {
        None => delete().await,
        Some((holder, copy)) => match holder.hold(&copy).await {
            Ok(Some(hold)) => {
                let deleted = delete().await;
                match hold.release().await {
                    Ok(true) => deleted,
                    Ok(false) => Err(is_one(&name, ONE)),
                    Err(error) => deleted.and(Err(error)),
                }
            }
            Ok(None) => match store.set_aside(&key, &version).await {
                Ok(Some(aside)) => remove_beside(aside, &name, (&**holder, &copy, size), gate).await,
                Ok(None) => Err(is_one(&name, MAY_BE_ONE)),
                Err(error) => gone(Err(error)),
            },
            Err(_) => Err(is_one(&name, MAY_BE_ONE)),
        },
    };
    Deleted { outcome, key, size }
}

/// Removes what stands aside, if its copy can still be read; else it gets its name again.
async fn remove_beside(aside: Hold, name: &str, copy: (&dyn Store, &str, u64), gate: &Gate) -> Result<()> {
    let (store, key, size) = copy;
    // The last byte, from where it lies: what is known of an object may be what was true a while ago.
    let end = BlockRange { offset: size.saturating_sub(1), len: size.min(1) };
    let options = GetOptions { range: (size > 0).then_some(end), ..GetOptions::default() };
    let (api, copy) = (store.api(Request::Get), store.name(key));
    let read = through!(gate, api, copy, trace => read_all(store, key, &options, trace).await);
    match read {
        Ok(()) => aside.remove().await,
        Err(error) => {
            aside.release().await?;
            Err(if error.kind() == ErrorKind::NotFound { is_one(name, ONE) } else { error })
        }
    }
}

/// Reads what is asked for, and keeps none of it.
async fn read_all(store: &dyn Store, key: &str, options: &GetOptions, trace: &Trace) -> Result<()> {
    let mut payload = store.get(key, options, trace).await?.payload;
    while let Some(piece) = payload.next().await {
        piece?;
    }
    Ok(())
}

/// Why an object stays of which the copy is, or may be, the object itself.
fn is_one(name: &str, cause: &str) -> Error {
    Error::new(ErrorKind::Usage, "delete", name, cause)
        .hint("if there are two copies indeed, delete this one yourself")
}

fn gone(deleted: Result<()>) -> Result<()> {
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
