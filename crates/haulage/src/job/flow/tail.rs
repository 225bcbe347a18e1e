//! The end of a job: what a fresh attempt would bring sooner is sent a second time, over connections that have nothing
//! else to do.

use super::sending::Reserved;
use super::{Flow, Unit};
use crate::options::Overwrite;
use crate::stage::schedule::Next;
use crate::stage::transfer::{Held, Purpose};
use crate::units::ByteSize;
use crate::verbose::verbose;

impl Flow {
    /// Duplicates what lags, when slots are free because nothing is left to begin.
    pub(super) fn duplicate_laggards(&mut self) {
        // A duplicate of a whole file would find the file there.
        let allowed = self.purpose == Purpose::Copy && self.options.overwrite != Overwrite::Never;
        if !allowed || !self.knows_all() || self.stop.is_some() {
            return;
        }
        let now = self.clock.now_ns();
        let limits = self.controller.limits();
        if matches!(self.schedule.peek(now, limits.concurrency), Next::Step(_) | Next::BlockOf(_)) {
            return;
        }
        for original in self.flights.laggards(self.queueing, self.meter.is_full()) {
            let mut unit = Unit { attempt: original.attempt + 1, queued_ns: now, ..original };
            let Some((mut task, _, len)) = self.objects.task(&unit, self.purpose, &self.options) else {
                continue;
            };
            // Held in memory as a whole, whichever way it goes.
            let Some(share) = self.gate.take_unpaced(len, limits.concurrency) else { continue };
            let replaced = self.flights.replace(&original);
            unit.unanswered |= replaced;
            (task.duplicate, task.unanswered) = (!replaced, unit.unanswered);
            self.flights.note_duplicate(&original);
            self.recorder.duplicated(len);
            verbose!(Info, "sending a block of {} a second time, because it lags", ByteSize::new(len));
            self.launch(Reserved { unit, task, len, share: Some(share) });
        }
    }

    /// What a duplicate of this step has fetched and not yet written.
    pub(super) fn take_held(&mut self, unit: &Unit) -> Option<Held> {
        let same = |(waits, _): &(Unit, Held)| waits.object == unit.object && waits.step == unit.step;
        let at = self.held.iter().position(same)?;
        Some(self.held.swap_remove(at).1)
    }

    /// A duplicate has all bytes. The original may have written some, and may write more until it is gone.
    pub(super) fn hold(&mut self, unit: Unit, held: Held) {
        if self.flights.has_twin(&unit) {
            self.flights.cancel_twins(&unit);
            self.held.push((unit, held));
        } else {
            self.write_held(unit, Some(held));
        }
    }

    /// Writes what a duplicate has fetched, if it has, when nobody else can.
    pub(super) fn write_held(&mut self, unit: Unit, held: Option<Held>) {
        let Some(held) = held else { return };
        let Some((mut task, _, len)) = self.objects.task(&unit, self.purpose, &self.options) else { return };
        (task.duplicate, task.held) = (true, Some(held));
        // The bytes are here already, whatever the budget says.
        let share = self.gate.force(len);
        // They were counted when they came.
        self.launch(Reserved { unit, task, len: 0, share: Some(share) });
    }
}
