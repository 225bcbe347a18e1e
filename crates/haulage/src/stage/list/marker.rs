//! Folders that have a marker.

use super::Filter;
use crate::error::{ErrorKind, Result};
use crate::gate::through;
use crate::store::{Location, ObjectMeta, Request};

/// A folder from which objects are taken away, of those that `filter` wants.
#[derive(Clone, Debug)]
pub(crate) struct Emptied {
    pub(crate) place: Location,
    pub(crate) filter: Filter,
}

/// The marker of a folder that stands beside it, so that a list of what is in the folder does not bring it.
pub(crate) async fn marker_of(place: &Location) -> Result<Option<ObjectMeta>> {
    let Location { store, key, gate } = place;
    let folder = key.strip_suffix('/').unwrap_or(key);
    // Where folders are there by themselves, none needs one.
    if folder.is_empty() || store.capabilities().folders {
        return Ok(None);
    }
    let (api, name) = (store.api(Request::Look), store.name(folder));
    through!(gate, api, name, trace => match store.marker(folder, trace).await {
        // Who may not look at it may list all the same, and what has a name that is none has no marker.
        Err(error) if has_none(error.kind()) => Ok(None),
        found => found,
    })
}

fn has_none(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::Permission | ErrorKind::Unsupported)
}
