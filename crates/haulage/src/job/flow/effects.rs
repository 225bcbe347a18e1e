//! What follows from something that happened, for the rest of the flow: steps for the queue, and words for the record.

use std::sync::Arc;

use super::Flow;
use crate::event::{AttemptRecord, ObjectRecord};
use crate::stage::plan::Pair;
use crate::stage::schedule::Unit;
use crate::stage::taking::Copy;
use crate::store::BlockWriter;

/// Something for the record, or to be done before it.
pub(super) enum Said {
    /// A request has ended.
    Attempt(Box<AttemptRecord>),
    /// An object has ended, or a name never became one.
    Object(Box<ObjectRecord>),
    /// An object is there already, and nobody wants to hear more of it.
    Skipped,
    /// An object is done, of which an earlier run had sent so many bytes.
    Resumed(u64),
    /// The user should know something of a name.
    Warning(Arc<str>, String),
    /// What is staged is of no use any more.
    Abandon(Arc<dyn BlockWriter>),
}

/// What is to be applied, in order.
#[derive(Default)]
pub(super) struct Effects {
    /// Steps that became possible, each with the size of its object in bytes.
    pub(super) steps: Vec<(Unit, u64)>,
    /// Objects whose blocks may be taken, with their sizes in bytes.
    pub(super) opened: Vec<(u64, u64)>,
    pub(super) said: Vec<Said>,
    /// Objects that wait for a backup of what they replace.
    pub(super) backups: Vec<u64>,
    /// Objects of which what they replace was backed up, and may not be on the disk.
    pub(super) kept: Vec<u64>,
    /// What is safe elsewhere and may be deleted in the end.
    pub(super) spare: Vec<Spare>,
}

/// An object that has been copied and may be deleted, as this version.
pub(super) struct Spare {
    pub(super) pair: Arc<Pair>,
    pub(super) copy: Copy,
}

impl Effects {
    pub(super) fn attempt(&mut self, record: AttemptRecord) {
        self.said.push(Said::Attempt(Box::new(record)));
    }

    pub(super) fn object(&mut self, record: ObjectRecord) {
        self.said.push(Said::Object(Box::new(record)));
    }
}

impl Flow {
    /// Puts what became possible into the queue.
    pub(super) fn schedule(&mut self) {
        if self.listed && self.objects.all_staged() {
            self.commit_together();
        }
        self.clear_away();
        let effects = self.objects.effects();
        for (unit, size) in effects.steps.drain(..) {
            self.schedule.push(unit, size);
        }
        for (object, size) in effects.opened.drain(..) {
            self.schedule.push_large(object, size);
        }
    }

    /// Keeps what happened, and says it to whoever listens. Waits where they are slow.
    pub(super) async fn record(&mut self) {
        let mut said = std::mem::take(&mut self.objects.effects().said);
        for one in said.drain(..) {
            match one {
                Said::Attempt(record) => self.recorder.attempt(|| *record).await,
                Said::Object(record) => self.recorder.object(*record).await,
                Said::Skipped => self.recorder.skipped(),
                Said::Resumed(bytes) => self.recorder.resumed(bytes),
                Said::Warning(name, message) => self.recorder.warn(name, message).await,
                Said::Abandon(writer) => self.abandoned.add(async move { writer.abandon().await }),
            }
        }
        // Its room is used again.
        self.objects.effects().said = said;
    }
}
