//! The row of an attempt.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Retry};
use crate::event::AttemptRecord;
use crate::trace::Seen;

/// What a row is made of.
pub(crate) struct Attempted<'a> {
    pub(crate) object_id: Option<u64>,
    pub(crate) object: Arc<str>,
    pub(crate) api: &'static str,
    pub(crate) offset_bytes: u64,
    pub(crate) size_bytes: u64,
    pub(crate) attempt: u32,
    pub(crate) lane: u32,
    pub(crate) seen: Seen,
    pub(crate) ended_ns: u64,
    pub(crate) error: Option<&'a Error>,
    /// Another attempt was quicker.
    pub(crate) overtaken: bool,
    /// The wait before the next one.
    pub(crate) wait: Option<Duration>,
}

/// The row.
pub(crate) fn attempt(it: Attempted<'_>) -> AttemptRecord {
    let Attempted { mut seen, error, .. } = it;
    if it.overtaken || error.is_some() {
        seen.phases.committed_ns = None;
    }
    let (fate, cause) = match error {
        _ if it.overtaken => (ErrorKind::Cancelled.code(), Some("another attempt was quicker".to_owned())),
        Some(error) => (error.kind().code(), Some(error.service_code().unwrap_or(error.cause()).to_owned())),
        None => ("ok", None),
    };
    AttemptRecord {
        object_id: it.object_id,
        object: it.object,
        api: it.api,
        offset_bytes: it.offset_bytes,
        size_bytes: it.size_bytes,
        attempt: it.attempt,
        lane: it.lane,
        connection: seen.connection,
        connection_reused: seen.connection_reused,
        fate,
        status: seen.status,
        cause,
        request_id: seen.request_id,
        backoff_ns: it.wait.map(|wait| wait.as_nanos() as u64),
        phases: seen.phases,
        ended_ns: it.ended_ns,
        remote: seen.route.remote,
        proxied: seen.route.proxied,
        dns_ns: seen.route.dns_ns,
        proxy_ns: seen.route.proxy_ns,
        tls_ns: seen.route.tls_ns,
        retry_after_ns: error.and_then(asked_for),
        tcp_rtt_ns: seen.tcp.map(|tcp| tcp.rtt_ns),
        tcp_retransmits: seen.tcp.map(|tcp| tcp.retransmits),
        tcp_busy_ns: seen.tcp.map(|tcp| tcp.busy_ns),
        tcp_rwnd_limited_ns: seen.tcp.map(|tcp| tcp.rwnd_limited_ns),
        tcp_sndbuf_limited_ns: seen.tcp.map(|tcp| tcp.sndbuf_limited_ns),
    }
}

/// The wait that the service has asked for.
fn asked_for(error: &Error) -> Option<u64> {
    match error.retry_advice() {
        Retry::After(wait) => Some(wait.as_nanos() as u64),
        Retry::Never | Retry::Few | Retry::Backoff => None,
    }
}
