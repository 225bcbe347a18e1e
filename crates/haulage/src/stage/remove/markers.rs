//! Deletes the markers of folders that were emptied. Services that have folders of their own delete only empty ones, so that markers go
//! last, and the deepest first.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{BATCH, Deleted, Doomed};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::spool::Spool;
use crate::stage::list::{Emptied, as_prefix, marker_of};
use crate::stage::taking::take;
use crate::store::{ListRequest, Location, ObjectMeta, Request, folder_of};

/// Folders, by a number for each: there may be millions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folders {
    numbers: HashSet<u64>,
    /// The one that was noted last, for many names in a row are in one folder.
    last: String,
}

impl Folders {
    /// Adds those that a name is in.
    pub(crate) fn note(&mut self, key: &str) {
        let folder = &key[..key.rfind('/').map_or(0, |slash| slash + 1)];
        if folder != self.last {
            self.numbers.extend(folder.match_indices('/').map(|(at, _)| number(&folder[..=at])));
            folder.clone_into(&mut self.last);
        }
    }

    fn hold(&self, folder: &str) -> bool {
        self.numbers.contains(&number(folder))
    }
}

fn number(folder: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    hasher.finish()
}

/// What became of markers.
#[derive(Debug, Default)]
pub(crate) struct Cleared {
    /// How many were deleted.
    pub(crate) folders: u64,
    /// Why others were not.
    pub(crate) failures: Vec<Error>,
}

/// Markers by how deep their folders lie.
#[derive(Default)]
struct Markers(BTreeMap<usize, (Spool, Spool)>);

impl Markers {
    fn push(&mut self, folder: &str, marker: &ObjectMeta) -> Result<()> {
        let (names, versions) = self.0.entry(folder.matches('/').count()).or_default();
        let version = marker.version();
        names.push(&marker.key, 0)?;
        versions.push(&version.etag, version.modified_s as u64)
    }
}

/// Those of these of whose folders nothing is known to be left.
fn empty((names, versions): (Spool, Spool), full: &Folders) -> Result<(Spool, Spool)> {
    let (mut names, mut versions) = (names.read()?, versions.read()?);
    let mut left = <(Spool, Spool)>::default();
    loop {
        let some = names.next(BATCH)?;
        if some.is_empty() {
            return Ok(left);
        }
        for ((key, size), (etag, modified_s)) in some.into_iter().zip(versions.next(BATCH)?) {
            if !full.hold(&folder_of(&key)) {
                left.0.push(&key, size)?;
                left.1.push(&etag, modified_s)?;
            }
        }
    }
}

/// A service may change the version of a folder with what is in it: one that is still a folder is deleted as it is now.
async fn again(place: &Location, key: &str, deleted: Result<()>) -> Result<()> {
    let Err(changed) = &deleted else { return deleted };
    if changed.kind() != ErrorKind::SourceChanged {
        return deleted;
    }
    match marker_of(&Location { key: folder_of(key), ..place.clone() }).await? {
        Some(now) if now.key == key => take(&*place.store, key, &now.version(), None, &place.gate).await,
        _ => deleted,
    }
}

/// Deletes the markers of a folder and of those in it, where nothing is left: of those that have `lost` something, and of those that are
/// wanted themselves, by a name with a `/` at its end.
pub(crate) async fn clear_markers(emptied: Emptied, lost: Folders) -> Result<Cleared> {
    let Emptied { place, filter } = &emptied;
    let (store, gate, root) = (&place.store, &place.gate, as_prefix(&place.key));
    let (api, name) = (store.api(Request::List), store.name(&root));
    let (mut full, mut markers) = (Folders::default(), Markers::default());
    let mut sort = |marker: &ObjectMeta, full: &mut Folders| {
        let folder = folder_of(&marker.key);
        let wanted = filter.wants(folder.strip_prefix(&root).unwrap_or_default());
        if wanted || lost.hold(&folder) {
            return markers.push(&folder, marker);
        }
        full.note(&folder);
        Ok(())
    };
    let mut lister = store.list(ListRequest { prefix: root.clone(), ..ListRequest::default() });
    while let Some(page) = through!(gate, api, name, trace => lister.next_page(trace).await)? {
        if !page.problems.is_empty() {
            // Nobody knows what else is there.
            return Ok(Cleared::default());
        }
        page.objects.iter().for_each(|object| full.note(&object.key));
        page.markers.iter().try_for_each(|marker| sort(marker, &mut full))?;
    }
    if let Some(marker) = marker_of(place).await? {
        sort(&marker, &mut full)?;
    }
    let mut cleared = Cleared::default();
    for (_, some) in markers.0.into_iter().rev() {
        let (names, versions) = empty(some, &full)?;
        let mut deleting = Doomed { place: place.clone(), names, versions, copies: None }.delete();
        loop {
            let some = deleting.next().await;
            if some.is_empty() {
                break;
            }
            for Deleted { key, outcome, .. } in some {
                let Err(error) = again(place, &key, outcome).await else {
                    cleared.folders += 1;
                    continue;
                };
                full.note(&folder_of(&key));
                // Somebody has written into the folder meanwhile, or has made an object of its marker.
                let is_full = error.status() == Some(409) || error.kind() == ErrorKind::SourceChanged;
                cleared.failures.extend((!is_full).then_some(error));
            }
        }
        deleting.end().await?;
    }
    Ok(cleared)
}
