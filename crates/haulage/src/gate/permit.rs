//! The turn of a request beside the flow: from its slot to its row.

use std::sync::Arc;
use std::time::Duration;

use super::{Attempted, Counted, Gate, attempt};
use crate::budget::Share;
use crate::error::{Error, ErrorKind, Result};
use crate::trace::Trace;
use crate::units::format_duration;
use crate::verbose::verbose;

/// The right to send one request beside the flow. Dropped, the request was called off.
#[derive(Debug)]
pub(crate) struct Permit {
    pub(super) gate: Gate,
    pub(super) share: Option<Share>,
    pub(super) trace: Trace,
    pub(super) api: &'static str,
    pub(super) object: Arc<str>,
    pub(super) attempt: u32,
    pub(super) offset_bytes: u64,
    pub(super) size_bytes: u64,
}

impl Permit {
    /// The same for a request with payload: so many bytes of the object.
    pub(crate) fn carrying(mut self, offset_bytes: u64, size_bytes: u64) -> Self {
        (self.offset_bytes, self.size_bytes) = (offset_bytes, size_bytes);
        self
    }

    /// What the request marks its phases on.
    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Takes in how it ended, and waits where it may be sent again; the error where it may not.
    pub(crate) async fn ended<T>(self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => {
                self.gate.observe(1, 0);
                self.keep(None, None).await;
                Ok(Some(value))
            }
            Err(error) => {
                self.gate.observe(0, u32::from(error.kind() == ErrorKind::Busy));
                let attempt = self.attempt;
                let wait = self.gate.retry_after(&error, attempt);
                self.keep(Some(&error), wait).await;
                let Some(wait) = wait else { return Err(error) };
                verbose!(Info, "trying again in {}, after attempt {attempt}: {error}", format_duration(wait));
                tokio::time::sleep(wait).await;
                Ok(None)
            }
        }
    }

    fn leave(&mut self) {
        if let Some(share) = self.share.take() {
            self.gate.release(share);
            self.gate.make_room();
        }
    }

    /// Gives the slot back, leaves a row and counts it, where anything was sent: the end of a list may be known without a request.
    async fn keep(mut self, error: Option<&Error>, wait: Option<Duration>) {
        let lane = self.share.as_ref().map_or(0, Share::lane);
        self.leave();
        let seen = self.trace.take();
        if error.is_none() && seen.phases.connected_ns.is_none() {
            return;
        }
        let retried = wait.is_some();
        let counted = Counted {
            requests: 1,
            retries: u64::from(retried),
            integrity_retries: u64::from(
                retried && error.is_some_and(|error| error.kind() == ErrorKind::Integrity),
            ),
        };
        let rows = self.gate.lock().rows.clone();
        let Some(rows) = rows else { return self.gate.lock().counted.add(counted) };
        let row = attempt(Attempted {
            object_id: None,
            object: self.object.clone(),
            api: self.api,
            offset_bytes: self.offset_bytes,
            size_bytes: self.size_bytes,
            attempt: self.attempt,
            lane,
            seen,
            ended_ns: self.gate.clock().now_ns(),
            error,
            overtaken: false,
            wait,
        });
        // A job that has ended keeps no more rows.
        if rows.send(row).await.is_ok() {
            self.gate.lock().counted.add(counted);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Sends a request beside the flow until it ends: `through!(gate, "GetBlobProperties", name, trace => store.head(key, trace).await)`.
/// One with payload says which stretch of the object that is: `through!(gate, api, name; range, trace => ...)`.
///
/// A macro, because the future of an async closure that borrows cannot yet be known to be `Send`.
macro_rules! through {
    ($gate:expr, $api:expr, $object:expr $(; $range:expr)?, $trace:ident => $request:expr) => {{
        let mut attempt = 1;
        loop {
            let permit = $gate.enter($api, &$object, attempt).await;
            $(let permit = permit.carrying($range.offset, $range.len);)?
            let result = {
                let $trace = permit.trace();
                $request
            };
            match permit.ended(result).await {
                Ok(Some(value)) => break Ok(value),
                Ok(None) => attempt += 1,
                Err(error) => break Err(error),
            }
        }
    }};
}
pub(crate) use through;
