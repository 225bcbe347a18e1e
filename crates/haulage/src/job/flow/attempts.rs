//! The row of an attempt.

use std::time::Duration;

use super::flights::{Flight, Landed};
use crate::error::{Error, ErrorKind, Retry};
use crate::event::AttemptRecord;
use crate::stage::schedule::Step;
use crate::stage::transfer::Done;

impl Landed {
    /// The record of the attempt, with the wait before the next one.
    pub(super) fn record(&self, wait: Option<Duration>) -> AttemptRecord {
        let Landed { flight: Flight { unit, share, api, trace, len, pair, .. }, ended_ns, result } = self;
        let seen = trace.take();
        let error = result.as_ref().and_then(|result| result.as_ref().err());
        // Read and compared, but not sent.
        let staged = matches!(result, Some(Ok(Done::Block { resumed: true, .. })));
        let mut phases = seen.phases;
        if !matches!(result, Some(Ok(_))) {
            phases.committed_ns = None;
        }
        let (fate, cause) = match (result, error) {
            (None, _) => (ErrorKind::Cancelled.code(), Some("another attempt was quicker".to_owned())),
            (_, Some(error)) => {
                (error.kind().code(), Some(error.service_code().unwrap_or(error.cause()).to_owned()))
            }
            _ => ("ok", None),
        };
        AttemptRecord {
            object_id: Some(unit.object),
            object: pair.source.name(),
            api: if staged { "StagedBlock" } else { api },
            offset_bytes: offset(unit.step),
            size_bytes: *len,
            attempt: unit.attempt,
            lane: share.lane(),
            connection: seen.connection,
            connection_reused: seen.connection_reused,
            fate,
            status: seen.status,
            cause,
            request_id: seen.request_id,
            backoff_ns: wait.map(|wait| wait.as_nanos() as u64),
            phases,
            ended_ns: *ended_ns,
            remote: seen.route.remote,
            dns_ns: seen.route.dns_ns,
            tls_ns: seen.route.tls_ns,
            retry_after_ns: error.and_then(asked_for),
            tcp_rtt_ns: seen.tcp.map(|tcp| tcp.rtt_ns),
            tcp_retransmits: seen.tcp.map(|tcp| tcp.retransmits),
            tcp_busy_ns: seen.tcp.map(|tcp| tcp.busy_ns),
            tcp_rwnd_limited_ns: seen.tcp.map(|tcp| tcp.rwnd_limited_ns),
            tcp_sndbuf_limited_ns: seen.tcp.map(|tcp| tcp.sndbuf_limited_ns),
        }
    }
}

/// The wait that the service has asked for.
fn asked_for(error: &Error) -> Option<u64> {
    match error.retry_advice() {
        Retry::After(wait) => Some(wait.as_nanos() as u64),
        Retry::Never | Retry::Few | Retry::Backoff => None,
    }
}

fn offset(step: Step) -> u64 {
    match step {
        Step::Block(range) | Step::Compare(Some(range)) => range.offset,
        _ => 0,
    }
}
