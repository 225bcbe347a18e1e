//! Takes a name away from an object that has a copy elsewhere: for a move, and where what goes was backed up. Pure.
//!
//! What proves a copy is known earlier than its source goes, and may no longer be true then: another client replaces the copy, or a
//! second mover counts on the very source as *its* copy. So four things are done in this order (ADR-0015): a copy that was found, and
//! not made by this job, is claimed, so that its version changes for whoever counts on the one before; only then is the source looked
//! at, and the copy, in the same breath; and the source goes on the condition that it is the version that was copied. Of several
//! movers that would take the last copies from one another at least one looks after the claims of the others.

#[cfg(test)]
mod model;

/// How a copy came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// This job has written it, on the condition that what was there before is still there: whoever counts on that sees it.
    Written,
    /// It was there, and is the same by what both ends state, or hold.
    Found,
}

/// What a store says of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Versions {
    /// A write and a deletion take the condition that the object is still a version.
    pub(crate) conditions: bool,
    /// No two versions are called the same in a condition. On S3 an ETag may be that of the bytes, whoever has written them.
    pub(crate) unique: bool,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Next {
    /// Give the copy another version, if it is still the one that was found.
    Claim,
    /// See whether the source is still what was copied.
    LookAtSource,
    /// See whether the copy is still there.
    LookAtCopy,
    /// Delete the source, on condition where the store takes one.
    Delete,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Done {
    pub(crate) claimed: bool,
    pub(crate) source_seen: bool,
    pub(crate) copy_seen: bool,
}

/// The next step towards the deletion of a source in a store with such `versions`.
pub(crate) fn next(copy: Origin, versions: Versions, done: Done) -> Next {
    match done {
        Done { claimed: false, .. } if copy == Origin::Found => Next::Claim,
        // The condition of the deletion says the same.
        Done { source_seen: false, .. } if !(versions.conditions && versions.unique) => Next::LookAtSource,
        Done { copy_seen: false, .. } => Next::LookAtCopy,
        _ => Next::Delete,
    }
}
