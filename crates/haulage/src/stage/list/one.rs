//! A single object by its name, and the names of places.

use super::Listing;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::options::Work;
use crate::stage::plan::{Existing, Pair, Place};
use crate::store::{Location, ObjectMeta, Request};

/// Whether a key is that of a folder or of all there is, and no object's.
pub(super) fn names_none(key: &str) -> bool {
    key.is_empty() || key.ends_with('/')
}

/// What is known of the one object that is to be read in order.
pub(crate) async fn find(from: &Location, operation: &'static str) -> Result<ObjectMeta> {
    let Location { store, key, gate } = from;
    if names_none(key) {
        return Err(Error::new(ErrorKind::Usage, operation, store.name(key), "this names no object")
            .hint("a stream holds one object; name the object, or copy into a folder"));
    }
    through!(gate, store.api(Request::Look), store.name(key), trace => store.head(key, trace).await)
}

/// The pair of a single object. Into a folder it keeps its name.
pub(super) fn one(source: &Location, destination: &Location, meta: ObjectMeta, several: bool) -> Pair {
    let to = &destination.key;
    let name = source.key.rsplit('/').next().unwrap_or(&source.key);
    let key = match names_none(to) || several {
        true => format!("{}{name}", as_prefix(to)),
        false => to.clone(),
    };
    let source = Place { store: source.store.clone(), key: source.key.clone() };
    let name_at = key.rfind('/').map_or(0, |slash| slash + 1);
    let destination = Place { store: destination.store.clone(), key };
    Pair::new(source, destination, name_at, meta, Existing::Absent)
}

/// A key as the beginning of the keys below it.
pub(crate) fn as_prefix(key: &str) -> String {
    if names_none(key) { key.to_owned() } else { format!("{key}/") }
}

impl Listing {
    /// Whether a single object that was named is within the bounds on size and age.
    pub(super) fn is_within(&mut self, meta: &ObjectMeta) -> bool {
        let within = self.filter.takes(meta);
        self.out_of_bounds += u64::from(!within);
        within
    }

    /// Refuses single objects of which none was within the bounds. Of several, which a shell may have found, some may be left out.
    pub(super) fn check_bounds(&self, work: &Work) -> Result<()> {
        if self.out_of_bounds == 0 || self.given > 0 {
            return Ok(());
        }
        let sources = work.names().0;
        let name = match &sources[..] {
            [one] => one.clone(),
            several => format!("{} sources", several.len()),
        };
        let cause = "nothing is within --min-size, --max-size, --min-age and --max-age";
        Err(Error::new(ErrorKind::NotFound, "list", name, cause).hint("allow more sizes and ages"))
    }
}
