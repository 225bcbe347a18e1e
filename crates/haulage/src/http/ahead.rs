//! Connections on their way that no request has asked for yet, and the requests that wait for one of them instead of opening
//! another.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::connection::Connection;
use super::origin::Origin;

/// What is on its way to each origin.
#[derive(Debug, Default)]
pub(super) struct Ahead(Mutex<HashMap<Origin, Way>>);

#[derive(Debug, Default)]
struct Way {
    /// Connections that were asked for beforehand since the client was made.
    asked: usize,
    /// Those of them that are being opened, ...
    coming: usize,
    /// ... and requests that wait for them; some may have given up.
    waiting: VecDeque<oneshot::Sender<Connection>>,
}

impl Ahead {
    /// Asks for so many in all, where `idle` are there already; how many there were before.
    pub(super) fn ask(&self, origin: &Origin, connections: usize, idle: usize) -> usize {
        let mut ways = self.lock();
        let way = ways.entry(origin.clone()).or_insert_with(|| Way { asked: idle, ..Way::default() });
        let most = connections.max(way.asked);
        std::mem::replace(&mut way.asked, most)
    }

    /// So many are being opened.
    pub(super) fn set_out(&self, origin: &Origin, connections: usize) {
        self.lock().entry(origin.clone()).or_default().coming += connections;
    }

    /// One of them is there, or could not be made; it comes back where nobody waits for it.
    pub(super) fn arrived(&self, origin: &Origin, connection: Option<Connection>) -> Option<Connection> {
        let mut ways = self.lock();
        let way = ways.get_mut(origin)?;
        way.coming = way.coming.saturating_sub(1);
        let Some(mut connection) = connection else {
            // Whoever waits in vain opens one, and says what is wrong.
            way.waiting.retain(|waits| !waits.is_closed());
            let many = way.waiting.len().saturating_sub(way.coming);
            way.waiting.drain(..many);
            return None;
        };
        while let Some(waits) = way.waiting.pop_front() {
            match waits.send(connection) {
                Ok(()) => return None,
                Err(gone) => connection = gone,
            }
        }
        Some(connection)
    }

    /// A connection that is on its way and that nobody else waits for; `None` where there is none.
    pub(super) fn claim(&self, origin: &Origin) -> Option<oneshot::Receiver<Connection>> {
        let mut ways = self.lock();
        let way = ways.get_mut(origin)?;
        way.waiting.retain(|waits| !waits.is_closed());
        if way.waiting.len() >= way.coming {
            return None;
        }
        let (send, receive) = oneshot::channel();
        way.waiting.push_back(send);
        Some(receive)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Origin, Way>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
