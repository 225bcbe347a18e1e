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
    /// Whether a connection there has been opened or tried.
    known: bool,
}

impl Ahead {
    /// Asks for so many in all, where `idle` are there already; how many there were before.
    pub(super) fn ask(&self, origin: &Origin, connections: usize, idle: usize) -> usize {
        let mut ways = self.lock();
        let way = ways.entry(origin.clone()).or_insert_with(|| Way { asked: idle, ..Way::default() });
        let most = connections.max(way.asked);
        std::mem::replace(&mut way.asked, most)
    }

    /// Whether nobody has connected to this origin before.
    pub(super) fn is_first(&self, origin: &Origin) -> bool {
        let mut ways = self.lock();
        !std::mem::replace(&mut ways.entry(origin.clone()).or_default().known, true)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use http::Request;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::error::ErrorKind;
    use crate::http::{HttpClient, HttpOptions};
    use crate::trace::Trace;

    /// A server that answers each connection's only request after a moment, and where it is.
    async fn server() -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = Origin::parse("http", &listener.local_addr().unwrap().to_string()).unwrap();
        tokio::spawn(async move {
            loop {
                let (mut peer, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let _ = peer.read(&mut [0; 4096]).await;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    let _ = peer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                });
            }
        });
        origin
    }

    async fn ask(client: &HttpClient, origin: &Origin) -> crate::Result<()> {
        let request = Request::get("/").body(Bytes::new()).unwrap();
        client.send(origin, request, "read", "/", &Trace::detached()).await.map(|_| ())
    }

    #[test]
    fn the_first_connection_to_each_origin_is_known() {
        let (ahead, near) = (Ahead::default(), Origin::parse("https", "near.example").unwrap());
        let far = Origin::parse("https", "far.example").unwrap();
        ahead.set_out(&near, 1);
        assert_eq!([&near, &near, &far].map(|origin| ahead.is_first(origin)), [true, false, true]);
    }

    #[tokio::test]
    async fn a_request_takes_the_connection_that_is_being_opened_and_one_more_opens_its_own() {
        let (origin, client) = (server().await, HttpClient::new(HttpOptions::default()).unwrap());
        client.prepare(&origin, 1);
        let (first, second) = tokio::join!(ask(&client, &origin), ask(&client, &origin));
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(client.connections(), 2, "one was opened beforehand, one for the request that found none");
    }

    #[tokio::test]
    async fn who_waits_for_a_connection_that_cannot_be_made_says_why() {
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let origin = Origin::parse("http", &gone.to_string()).unwrap();
        let client = HttpClient::new(HttpOptions::default()).unwrap();
        client.prepare(&origin, 3);
        let asked = tokio::time::timeout(Duration::from_secs(20), ask(&client, &origin)).await;
        assert_eq!(asked.unwrap().unwrap_err().kind(), ErrorKind::Connection);
    }

    #[tokio::test]
    async fn nobody_waits_where_none_is_on_its_way_any_more() {
        let (ahead, origin) = (Ahead::default(), Origin::parse("http", "127.0.0.1:1").unwrap());
        assert!(ahead.claim(&origin).is_none());
        ahead.set_out(&origin, 2);
        let (first, second) = (ahead.claim(&origin).unwrap(), ahead.claim(&origin).unwrap());
        assert!(ahead.claim(&origin).is_none(), "each is for one");
        // One has given up; what fails next is not the other's.
        drop(first);
        assert!(ahead.arrived(&origin, None).is_none());
        ahead.set_out(&origin, 1);
        assert!(ahead.claim(&origin).is_some());
        assert!(ahead.arrived(&origin, None).is_none() && ahead.arrived(&origin, None).is_none());
        assert!(second.await.is_err(), "the last one failed: whoever waits opens its own");
    }
}
