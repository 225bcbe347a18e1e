//! Who uses a connection: it counts for one client, and may be taken by another when that is done with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::meter::WireMeter;
use super::pacer::Pacer;

/// What a client counts the bytes of its connections by, and what bounds their rate.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) meter: Arc<WireMeter>,
    pub(super) pacer: Arc<Pacer>,
}

/// The next owner, left where the connection looks before it moves bytes: hyper holds it, so nobody else can change it.
#[derive(Debug, Default)]
pub(super) struct HandOver {
    is_due: AtomicBool,
    next: Mutex<Option<Owner>>,
}

impl HandOver {
    /// From the next byte on the connection is this owner's.
    pub(super) fn to(&self, owner: Owner) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(owner);
        self.is_due.store(true, Ordering::Release);
    }

    /// The next owner, told once. Costs nothing worth naming where there is none.
    pub(super) fn take(&self) -> Option<Owner> {
        if !self.is_due.load(Ordering::Acquire) {
            return None;
        }
        self.is_due.store(false, Ordering::Relaxed);
        self.next.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
