//! What to do with each object: skip it, move it whole, or move it in blocks. Pure.

mod by_service;
mod cutter;
mod decision;
mod pieces;
mod removal;

use std::sync::Arc;

pub(crate) use by_service::ByService;
pub(crate) use cutter::Cutter;
pub(crate) use decision::{Decision, NEW, Rule, UNCHANGED, decide, is_there};
pub(crate) use pieces::Pieces;
pub(crate) use removal::{Facts, Withheld, may_delete};

use crate::options::{Assigned, Compare, Portion};
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
    /// Whether the two are the same, where that is known from elsewhere: a receipt, or because both were read.
    pub(crate) same: Option<bool>,
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
        let (looked_at, origin, assigned, same) = (false, 0, None, None);
        Self { source, destination, name_at, meta, existing, looked_at, origin, assigned, same }
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
        unknown
            && self.meta.size == there.size
            && decision::differs(&self.meta, there, Compare::Auto, decision::time_step_ns(self)).is_some()
    }
}
