//! The body of a request as it comes over the wire: counted, perhaps damaged on the way.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use async_trait::async_trait;
use bytes::Bytes;
use http_body::Body as _;
use hyper::body::Incoming;

use super::error::{Answer, REQUEST_CUT};
use super::tamper::Tamper;
use crate::stats::Counters;

/// What a store takes in: the bytes that a client means, whatever they were wrapped in.
#[async_trait]
pub(crate) trait Content: Send {
    /// How many bytes the client announced.
    fn len(&self) -> u64;

    /// The next bytes; `None` after the last.
    async fn next(&mut self) -> Answer<Option<Bytes>>;
}

/// A request's body.
pub(crate) struct RequestBody {
    incoming: Incoming,
    received: u64,
    /// Bytes of the content that have passed the fault, if there is one.
    passed: u64,
    tamper: Option<Tamper>,
    counters: Arc<Counters>,
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming, counters: Arc<Counters>) -> Self {
        Self { incoming, received: 0, passed: 0, tamper: None, counters }
    }

    /// How many bytes the client announced, if it did.
    pub(crate) fn announced(&self) -> Option<u64> {
        // The rest, hyper says; nothing has been read when this is asked.
        self.incoming.size_hint().exact()
    }

    /// Whether no byte has come yet, so that the client may still be waiting for leave.
    pub(crate) fn is_untouched(&self) -> bool {
        self.received == 0
    }

    /// Arms a fault, by its place in the content.
    pub(crate) fn tamper(&mut self, tamper: Option<Tamper>) {
        self.tamper = tamper;
    }

    /// The next bytes as they were sent; `None` after the last.
    pub(crate) async fn frame(&mut self) -> Answer<Option<Bytes>> {
        loop {
            let frame = poll_fn(|context| Pin::new(&mut self.incoming).poll_frame(context)).await;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| {
                tracing::debug!(%error, "a request body broke off");
                &REQUEST_CUT
            })?;
            // HTTP's own trailers carry nothing that is read here.
            let Ok(bytes) = frame.into_data() else { continue };
            self.received += bytes.len() as u64;
            self.counters.bytes_in.fetch_add(bytes.len() as u64, Relaxed);
            return Ok(Some(bytes));
        }
    }

    /// The next bytes of the content as the fault leaves them.
    pub(crate) async fn strike(&mut self, bytes: Bytes) -> Bytes {
        let offset = self.passed;
        self.passed += bytes.len() as u64;
        match self.tamper.take_if(|tamper| tamper.halts(offset, bytes.len())) {
            Some(tamper) => match tamper.halt().await {},
            None => match &self.tamper {
                Some(tamper) => tamper.flipped(offset, bytes),
                None => bytes,
            },
        }
    }

    /// Reads to the end, so that the client gets its answer: one that is still sending when the
    /// connection closes sees a reset instead.
    pub(crate) async fn drain(&mut self) {
        while let Ok(Some(_)) = self.frame().await {}
    }
}
