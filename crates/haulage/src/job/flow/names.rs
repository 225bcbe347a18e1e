//! Names that never become objects on their way, though the job tells of them.

use std::sync::Arc;

use super::effects::Said;
use super::objects::Objects;
use crate::error::Error;
use crate::event::{Failure, Method, ObjectRecord, Outcome, Proof};

impl Objects {
    /// A name that cannot be moved: an outcome like any other.
    pub(super) fn problem(&mut self, error: &Error, now_ns: u64) {
        let failure = Some(Failure::from(error));
        let source = error.object_name().into();
        let object_id = self.count_name();
        let record = ObjectRecord { object_id, source, outcome: Outcome::Failed, failure, ..unmoved(now_ns) };
        self.effects().object(record);
    }

    /// A link, a socket or a device: skipped, and said.
    pub(super) fn not_a_file(&mut self, error: &Error, now_ns: u64) {
        let source: Arc<str> = error.object_name().into();
        let object_id = self.count_name();
        self.effects().said.push(Said::Warning(source.clone(), format!("skipped: {}", error.cause())));
        let reason = Some("not a regular file");
        self.effects().object(ObjectRecord { object_id, source, reason, ..unmoved(now_ns) });
    }

    /// Names seem to be only at the destination, but a list was not whole.
    pub(super) fn unsure(&mut self, extras: u64) {
        let message =
            format!("a list is not whole: {extras} names that seem to be only there are not reported");
        if extras > 0 {
            self.effects().said.push(Said::Warning("destination".into(), message));
        }
    }

    /// An object that is only at the destination.
    pub(super) fn extra(&mut self, name: String, now_ns: u64) {
        let extra = ObjectRecord { destination: name.into(), outcome: Outcome::Extra, ..unmoved(now_ns) };
        self.effects().object(extra);
    }
}

/// The record of a name that never was an object of the job.
fn unmoved(now: u64) -> ObjectRecord {
    ObjectRecord {
        object_id: 0,
        source: "".into(),
        destination: "".into(),
        name: "".into(),
        size_bytes: 0,
        outcome: Outcome::Skipped,
        method: Method::None,
        by_service: false,
        proof: Proof::None,
        crc64: None,
        md5: None,
        etag: None,
        attempts: 0,
        started_ns: now,
        ended_ns: now,
        reason: None,
        failure: None,
        source_etag: None,
        parts: Vec::new(),
    }
}
