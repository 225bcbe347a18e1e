//! Idle connections, the last one used first: the others grow old and are closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::Connection;
use super::origin::Origin;

/// Azure's load balancers forget a connection after 4 minutes without a byte, Azurite closes it after 5 s
/// (which is noticed when it is taken). Well below the former, above any pause within a job.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// The idle connections of a client. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    idle: HashMap<Origin, Vec<Idle>>,
    /// Nothing is kept any more.
    closed: bool,
}

#[derive(Debug)]
struct Idle {
    connection: Connection,
    since: Instant,
}

impl Pool {
    /// A connection that was alive a moment ago; `None` where there is none.
    pub(super) fn take(&self, origin: &Origin) -> Option<Connection> {
        loop {
            // Not held while the connection is looked at or dropped: either makes system calls.
            let mut idle = self.lock().idle.get_mut(origin)?.pop()?;
            if idle.since.elapsed() < IDLE_MAX && idle.connection.is_alive() {
                return Some(idle.connection);
            }
        }
    }

    /// Keeps a connection whose exchange has ended well.
    pub(super) fn give_back(&self, connection: Connection) {
        let now = Instant::now();
        let origin = connection.origin().clone();
        let mut pool = self.lock();
        if pool.closed {
            drop(pool);
            return drop(connection);
        }
        let idle = pool.idle.entry(origin).or_default();
        idle.push(Idle { connection, since: now });
        // The oldest lie first.
        let old = idle.iter().take_while(|idle| now.duration_since(idle.since) >= IDLE_MAX).count();
        let old: Vec<Idle> = idle.drain(..old).collect();
        drop(pool);
        drop(old);
    }

    /// Connections to this origin that nobody uses, and that are not too old to be used.
    pub(super) fn idle(&self, origin: &Origin) -> usize {
        let pool = self.lock();
        let young = |idle: &&Idle| idle.since.elapsed() < IDLE_MAX;
        pool.idle.get(origin).map_or(0, |idle| idle.iter().filter(young).count())
    }

    /// Closes what is idle, and from now on what comes back.
    pub(super) fn close(&self) {
        let mut pool = self.lock();
        pool.closed = true;
        let idle = std::mem::take(&mut pool.idle);
        // Not held while they are closed: that makes system calls.
        drop(pool);
        drop(idle);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
