//! Names that never become objects on their way, though the job tells of them.

use std::sync::Arc;

use super::effects::Said;
use super::objects::Objects;
use crate::error::Error;
use crate::event::{ObjectRecord, Outcome};

impl Objects {
    /// A name that cannot be moved: an outcome like any other.
    pub(super) fn problem(&mut self, error: &Error, now_ns: u64) {
        let record = ObjectRecord::problem(self.count_name(), error, now_ns);
        self.effects().object(record);
    }

    /// A link, a socket or a device: skipped, and said.
    pub(super) fn not_a_file(&mut self, error: &Error, now_ns: u64) {
        let source: Arc<str> = error.object_name().into();
        let object_id = self.count_name();
        self.effects().said.push(Said::Warning(source, format!("skipped: {}", error.cause())));
        self.effects().object(ObjectRecord::not_a_file(object_id, error, now_ns));
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
    pub(super) fn extra(&mut self, full: String, name: String, now_ns: u64) {
        let extra = ObjectRecord {
            destination: full.into(),
            name: name.into(),
            outcome: Outcome::Extra,
            ..ObjectRecord::unmoved(now_ns)
        };
        self.effects().object(extra);
    }
}
