//! What clients may share: idle connections, what TLS needs, and what is known of where they lead.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::origin::Origin;
use super::pool::Pool;
use super::tls::Tls;
use crate::error::Result;

/// Connections that several clients use, each for a while. Clones are the same.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    pool: Pool,
    tls: Tls,
    made: AtomicU64,
    /// Something has answered at least once.
    answered: AtomicBool,
    /// How long it took to reach each origin, at best: name, address and handshake of TCP.
    reached: Mutex<HashMap<Origin, Duration>>,
}

impl Connections {
    /// None yet. Root certificates in this file (PEM) are trusted besides the system's.
    ///
    /// # Errors
    /// `Usage` where the file cannot be read, or holds none.
    pub fn trusting(extra_roots: Option<&Path>) -> Result<Self> {
        Ok(Self::with(Tls::new(extra_roots)?))
    }

    /// None yet. The root certificates of this file (PEM), or folder, are trusted in place of the system's; they are read when a
    /// server shows its own.
    pub fn trusting_only(bundle: PathBuf) -> Self {
        Self::with(Tls::trusting_only(bundle))
    }

    fn with(tls: Tls) -> Self {
        Self(Arc::new(Shared {
            pool: Pool::default(),
            tls,
            made: AtomicU64::new(0),
            answered: AtomicBool::new(false),
            reached: Mutex::default(),
        }))
    }

    /// How many were made so far.
    pub fn made(&self) -> u64 {
        self.0.made.load(Ordering::Relaxed)
    }

    /// Closes those that nobody uses, and the others when they come back. Clients that are left make new ones, which
    /// nobody keeps.
    pub fn close(&self) {
        self.0.pool.close();
    }

    /// The number of one more.
    pub(super) fn count(&self) -> u64 {
        self.0.made.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Notes how long it took to reach an origin.
    pub(super) fn note_reached(&self, origin: &Origin, took: Duration) {
        let mut reached = self.0.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let best = reached.entry(origin.clone()).or_insert(took);
        *best = took.min(*best);
    }

    /// How long it took to reach an origin at best; `None` before the first time.
    pub(super) fn reached(&self, origin: &Origin) -> Option<Duration> {
        self.0.reached.lock().unwrap_or_else(PoisonError::into_inner).get(origin).copied()
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.0.pool
    }

    pub(super) fn tls(&self) -> &Tls {
        &self.0.tls
    }

    pub(super) fn answered(&self) -> &AtomicBool {
        &self.0.answered
    }
}
