//! A fault on its way into a body.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::sleep;

use crate::fault::Fault;
use crate::server::Connection;
use crate::stats::Counters;

/// How long a stalled connection is kept for a client that never gives up.
const LONGEST_STALL: Duration = Duration::from_secs(600);
/// Lets the bytes before a cut reach the client: a reset throws away what is still queued.
const BEFORE_CUT: Duration = Duration::from_millis(10);

/// One fault and where in the body it strikes.
pub(crate) struct Tamper {
    at: u64,
    fault: Fault,
    connection: Arc<Connection>,
    counters: Arc<Counters>,
}

impl Tamper {
    /// Arms `fault` for a body of `len` bytes; `None` where it cannot strike there.
    pub(crate) fn arm(
        fault: Option<Fault>,
        len: u64,
        connection: &Arc<Connection>,
        counters: &Arc<Counters>,
    ) -> Option<Self> {
        let fault = fault?;
        let position = match fault {
            Fault::Cut { position }
            | Fault::Stall { position }
            | Fault::Flip { position, .. }
            | Fault::Truncate { position } => position,
            Fault::Busy { .. } | Fault::Lost | Fault::Short { .. } | Fault::Checksum => return None,
        };
        let (connection, counters) = (Arc::clone(connection), Arc::clone(counters));
        (len > 0).then_some(Self { at: (len as f64 * position) as u64, fault, connection, counters })
    }

    /// Whether a fault other than a flip strikes here, in the bytes from `offset`.
    pub(crate) fn halts(&self, offset: u64, len: usize) -> bool {
        !matches!(self.fault, Fault::Flip { .. }) && self.strikes(offset, len)
    }

    fn strikes(&self, offset: u64, len: usize) -> bool {
        (offset..offset + len as u64).contains(&self.at)
    }

    /// How many of the bytes from `offset` come before the fault.
    pub(crate) fn before(&self, offset: u64) -> usize {
        self.at.saturating_sub(offset) as usize
    }

    /// The bytes from `offset` as the client or the server gets to see them.
    pub(crate) fn flipped(&self, offset: u64, bytes: Bytes) -> Bytes {
        let Fault::Flip { bit, .. } = self.fault else { return bytes };
        if !self.strikes(offset, bytes.len()) {
            return bytes;
        }
        self.counters.faults.flip.fetch_add(1, Relaxed);
        let mut copy = BytesMut::from(&bytes[..]);
        copy[self.before(offset)] ^= 1 << bit;
        copy.freeze()
    }

    /// Ends the connection, now or once the stall has lasted long enough.
    pub(crate) async fn halt(self) -> Infallible {
        let faults = &self.counters.faults;
        match self.fault {
            Fault::Truncate { .. } => {
                faults.truncate.fetch_add(1, Relaxed);
                sleep(BEFORE_CUT).await;
                self.connection.close();
            }
            Fault::Cut { .. } => {
                faults.cut.fetch_add(1, Relaxed);
                sleep(BEFORE_CUT).await;
                self.connection.reset();
            }
            _ => {
                faults.stall.fetch_add(1, Relaxed);
                sleep(LONGEST_STALL).await;
                self.connection.reset();
            }
        }
        pending().await
    }
}
