//! From the queue onto the wire: each request reserves what it needs, and goes.

use super::Flow;
use crate::budget::Share;
use crate::control::Limits;
use crate::gate::Closed;
use crate::stage::schedule::{Next, Unit};
use crate::stage::transfer::Task;
use crate::store::{Phase, Trace};
use crate::units::ByteSize;

/// A request that may go: its step is out of the queue, and its share of the budget is taken.
pub(super) struct Reserved {
    pub(super) unit: Unit,
    pub(super) task: Task,
    /// Payload in bytes.
    pub(super) len: u64,
    /// `None` where it needs none, for it is no request.
    pub(super) share: Option<Share>,
}

/// Why nothing goes now.
enum Waits {
    /// Nothing is to be done, or something must end first.
    Nothing,
    /// The first is due at this time.
    Until(u64),
}

impl Flow {
    /// Puts as many requests into flight as may be.
    pub(super) fn transfer(&mut self) {
        self.hungry = false;
        self.wake = loop {
            match self.reserve() {
                Ok(reserved) => self.launch(reserved),
                Err(Waits::Nothing) => break None,
                Err(Waits::Until(due)) => break Some(due),
            }
        };
    }

    /// Takes the next step out of the queue, with all that its request needs.
    fn reserve(&mut self) -> Result<Reserved, Waits> {
        loop {
            let now = self.clock.now_ns();
            let limits = self.controller.limits();
            let wanted = limits.block_for(self.left());
            let (unit, is_fresh) = self.next_unit(now, wanted, &limits)?;
            let Some((task, bytes, len)) = self.objects.task(&unit, self.purpose, &self.options) else {
                // The object has failed meanwhile.
                self.schedule.take(&unit);
                continue;
            };
            if !self.flights.has_room(&task, len, limits.in_flight_max.map(ByteSize::bytes)) {
                // More of them would be no quicker.
                return Err(Waits::Nothing);
            }
            let taken = match unit.step.is_read() {
                true => Ok(None),
                false => self.gate.take(bytes, limits.concurrency).map(Some),
            };
            let share = match taken {
                Ok(share) => share,
                Err(Closed::Pace(due)) => return Err(Waits::Until(due)),
                Err(closed) => {
                    self.hungry = closed == Closed::Slots;
                    return Err(Waits::Nothing);
                }
            };
            if !is_fresh {
                self.schedule.take(&unit);
            } else if self.objects.take_range(unit.object, wanted) {
                self.schedule.finish_large(unit.object);
            }
            return Ok(Reserved { unit, task, len, share });
        }
    }

    /// The next step, and whether it is a stretch that is yet to be cut from its object.
    fn next_unit(&mut self, now_ns: u64, wanted: u64, limits: &Limits) -> Result<(Unit, bool), Waits> {
        loop {
            match self.schedule.peek(now_ns, limits.concurrency) {
                Next::Empty => return Err(Waits::Nothing),
                Next::Wait(due) => return Err(Waits::Until(due)),
                Next::Step(unit) => return Ok((unit, false)),
                Next::BlockOf(object) => match self.objects.peek_range(object, wanted) {
                    Some(step) => return Ok((Unit::first(object, step, now_ns), true)),
                    None => self.schedule.finish_large(object),
                },
            }
        }
    }

    /// Sends a request on its way.
    pub(super) fn launch(&mut self, reserved: Reserved) {
        let Reserved { unit, task, len, share } = reserved;
        self.objects.launched(&unit, self.clock.now_ns());
        if unit.step.is_ranged() {
            self.schedule.note_block(true);
        }
        let trace = Trace::new(self.clock).asking_kernel(self.recorder.wants_attempt(false));
        trace.mark_at(Phase::Queued, unit.queued_ns);
        trace.mark(Phase::Slot);
        self.flights.start(unit, task, len, share, trace);
    }

    /// Bytes of the job that are not on their way yet, as far as anybody knows.
    fn left(&self) -> u64 {
        let (total, done) = self.objects.bytes();
        if self.knows_all() { total.saturating_sub(done + self.flights.payload()) } else { u64::MAX }
    }

    /// Whether all is found that is to be moved.
    pub(super) fn knows_all(&self) -> bool {
        self.listed && !self.objects.is_open()
    }
}
