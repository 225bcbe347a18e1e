//! What to do with each object: skip it, move it whole, or move it in blocks. Pure.

mod by_service;
mod cutter;
mod pieces;

use std::sync::Arc;

pub(crate) use by_service::ByService;
pub(crate) use cutter::Cutter;
pub(crate) use pieces::Pieces;

use crate::options::{Assigned, Overwrite, Portion};
use crate::store::{ObjectMeta, Store};

/// An object's place: a store and a name in it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) key: String,
}

impl Place {
    /// The name for people.
    pub(crate) fn name(&self) -> Arc<str> {
        self.store.name(&self.key).into()
    }
}

/// What is known of the destination before anything moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Nothing was asked, so a look may be needed.
    Unknown,
    /// Nothing is there.
    Absent,
    /// This is there.
    Present(Box<ObjectMeta>),
    /// This is there, as a list tells that leaves out what only a look would say.
    Listed(Box<ObjectMeta>),
}

impl Existing {
    /// What is there by a list of this store.
    pub(crate) fn listed(meta: ObjectMeta, store: &dyn Store) -> Self {
        match store.capabilities().lists_all {
            true => Self::Present(Box::new(meta)),
            false => Self::Listed(Box::new(meta)),
        }
    }

    /// What is there, as far as that is known.
    pub(crate) fn there(&self) -> Option<&ObjectMeta> {
        match self {
            Self::Present(there) | Self::Listed(there) => Some(there),
            Self::Unknown | Self::Absent => None,
        }
    }

    /// What is there after a look.
    pub(crate) fn looked(there: Option<ObjectMeta>) -> Self {
        there.map_or(Self::Absent, |meta| Self::Present(Box::new(meta)))
    }
}

/// A source object and where it shall go.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) source: Place,
    pub(crate) destination: Place,
    /// Where in the destination's key the name below what the user wrote begins.
    pub(crate) name_at: usize,
    /// The source as it was listed.
    pub(crate) meta: ObjectMeta,
    pub(crate) existing: Existing,
    /// Both ends have been asked what lists have left out.
    pub(crate) looked_at: bool,
    /// Which of the user's sources, or of the pairs, it came from.
    pub(crate) origin: usize,
    /// What another machine says of it, which has planned it.
    pub(crate) assigned: Option<Box<Assigned>>,
}

impl Pair {
    /// A pair that was found.
    pub(crate) fn new(
        source: Place,
        destination: Place,
        name_at: usize,
        meta: ObjectMeta,
        existing: Existing,
    ) -> Self {
        let (looked_at, origin, assigned) = (false, 0, None);
        Self { source, destination, name_at, meta, existing, looked_at, origin, assigned }
    }

    /// What of it is moved.
    pub(crate) fn portion<'a>(&'a self, of_job: &'a Portion) -> &'a Portion {
        self.assigned.as_ref().map_or(of_job, |assigned| &assigned.portion)
    }

    /// Since when another node may have written it; `None` where none has had it.
    fn since_ns(&self) -> Option<i128> {
        self.assigned.as_ref()?.since_ns
    }

    /// The name below the destination that the user wrote.
    pub(crate) fn relative_name(&self) -> &str {
        &self.destination.key[self.name_at..]
    }

    /// Whether what is `there` may be the source, if only the list of sources said more.
    pub(crate) fn may_be_same(&self, there: &ObjectMeta) -> bool {
        let unknown = !self.looked_at && !self.source.store.capabilities().lists_all;
        unknown && self.meta.size == there.size && !same(&self.meta, there)
    }
}

/// Why an object is skipped that is there already.
pub(crate) const UNCHANGED: &str = "unchanged";

/// What to do with a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Leave it, for this reason.
    Skip(&'static str),
    /// Ask what is at the destination, then decide again.
    Look,
    /// Move it.
    Move,
}

/// Decides whether a pair moves.
pub(crate) fn decide(pair: &Pair, overwrite: Overwrite) -> Decision {
    if let (Some(since), Overwrite::Always | Overwrite::Never) = (pair.since_ns(), overwrite) {
        return decide_again(pair, since, overwrite);
    }
    match (&pair.existing, overwrite) {
        (_, Overwrite::Always) | (Existing::Absent, _) => Decision::Move,
        (Existing::Unknown, _) => Decision::Look,
        (Existing::Present(_) | Existing::Listed(_), Overwrite::Never) => Decision::Skip("there already"),
        // What the list leaves out would tell whether it is the same, but for its size.
        (Existing::Listed(there), Overwrite::IfDifferent) if there.size == pair.meta.size => Decision::Look,
        (Existing::Listed(_), Overwrite::IfDifferent) => Decision::Move,
        (Existing::Present(there), Overwrite::IfDifferent) if same(&pair.meta, there) => {
            Decision::Skip(UNCHANGED)
        }
        (Existing::Present(there), Overwrite::IfDifferent) if pair.may_be_same(there) => Decision::Look,
        (Existing::Present(_), Overwrite::IfDifferent) => Decision::Move,
    }
}

/// Decides whether a pair that a lost node may have moved since then moves once more, though all shall be overwritten.
fn decide_again(pair: &Pair, since_ns: i128, overwrite: Overwrite) -> Decision {
    match &pair.existing {
        Existing::Unknown | Existing::Listed(_) => Decision::Look,
        Existing::Present(there) if there.modified_ns >= since_ns && same(&pair.meta, there) => {
            Decision::Skip(UNCHANGED)
        }
        Existing::Present(_) if overwrite == Overwrite::Never => Decision::Skip("there already"),
        Existing::Present(_) | Existing::Absent => Decision::Move,
    }
}

/// Whether the destination holds this source already: equal size, and equal checksum or equal source time.
fn same(source: &ObjectMeta, there: &ObjectMeta) -> bool {
    if source.size != there.size {
        return false;
    }
    match (source.crc64, there.crc64) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ if source.md5.is_some() && source.md5 == there.md5 => true,
        _ => {
            let source_time = source.source_modified_ns.unwrap_or(source.modified_ns);
            there.source_modified_ns == Some(source_time)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Crc64;
    use crate::store::MemoryStore;

    fn pair(existing: Existing) -> Pair {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::named("plan"));
        let meta =
            ObjectMeta { size: 5, modified_ns: 7, crc64: Some(Crc64::from_u64(1)), ..ObjectMeta::default() };
        let place = Place { store, key: "a".into() };
        Pair::new(place.clone(), place, 0, meta, existing)
    }

    fn present(meta: ObjectMeta) -> Existing {
        Existing::Present(Box::new(meta))
    }

    #[test]
    fn what_is_the_same_is_skipped_and_what_is_not_moves() {
        let same_time = ObjectMeta { size: 5, source_modified_ns: Some(7), ..ObjectMeta::default() };
        let decide_on = |existing| decide(&pair(existing), Overwrite::IfDifferent);
        assert_eq!(decide_on(present(same_time.clone())), Decision::Skip("unchanged"));
        assert_eq!(decide_on(present(ObjectMeta { size: 6, ..same_time.clone() })), Decision::Move);
        assert_eq!(
            decide_on(present(ObjectMeta { source_modified_ns: None, ..same_time.clone() })),
            Decision::Move
        );
        let other_content = ObjectMeta { crc64: Some(Crc64::from_u64(2)), ..same_time.clone() };
        assert_eq!(decide_on(present(other_content)), Decision::Move);
        assert_eq!(decide_on(Existing::Unknown), Decision::Look);
        let listed = |size| Existing::Listed(Box::new(ObjectMeta { size, ..ObjectMeta::default() }));
        assert_eq!((decide_on(listed(5)), decide_on(listed(6))), (Decision::Look, Decision::Move));
        assert_eq!(decide(&pair(present(same_time.clone())), Overwrite::Always), Decision::Move);
        assert_eq!(decide(&pair(present(same_time)), Overwrite::Never), Decision::Skip("there already"));
        assert_eq!(decide(&pair(Existing::Absent), Overwrite::Never), Decision::Move);
    }
}
