//! What follows from the end of a request: the next steps of its object, another try, or the end of the job.

use std::time::Duration;

use super::flights::Landed;
use super::{Flow, not_started};
use crate::error::{Error, ErrorKind};
use crate::event::Failure;
use crate::stage::schedule::{Step, Unit};
use crate::stage::transfer::{self, Done};

impl Flow {
    /// Takes in the end of a request.
    pub(super) async fn landed(&mut self, landed: Landed) {
        let unit = landed.flight.unit;
        let error = landed.result.as_ref().and_then(|result| result.as_ref().err());
        if landed.result.is_some() {
            self.note(error);
        }
        let held = self.take_held(&unit);
        let twin = held.is_some() || self.flights.has_twin(&unit);
        // While another attempt is on its way, nothing is lost.
        let wait = error.filter(|_| !twin).and_then(|error| self.retry_wait(error, &unit));
        let wait = wait.map(|wait| wait.max(self.retries.take(self.clock.elapsed())));
        self.recorder.count_attempt(error.map(Error::kind), wait.is_some());
        if self.recorder.wants_attempts() {
            self.recorder.attempt(|| landed.record(wait)).await;
        }
        let Landed { flight, ended_ns, result } = landed;
        self.budget.release(flight.share);
        self.objects.came_back(&unit, &mut self.schedule);
        match (result, wait) {
            (Some(Err(error)), Some(wait)) => self.again(unit, &error, ended_ns, wait),
            // Another attempt was quicker, or still may be.
            (None, _) => self.write_held(unit, held),
            (Some(Err(_)), None) if twin => self.write_held(unit, held),
            (Some(Ok(Done::Held(held))), _) => self.hold(unit, held),
            (Some(result), _) => {
                self.flights.cancel_twins(&unit);
                let fatal = result.as_ref().err().filter(|error| is_fatal(error)).map(Failure::from);
                if unit.step == Step::Look {
                    self.locate(&[]);
                    self.objects.cut(unit.object, &self.limits(self.objects.len()));
                }
                self.objects.advance(unit, result, &mut self.schedule, &mut self.recorder, self.clock).await;
                self.stop = self.stop.take().or(fatal);
            }
        }
        self.give_up_if_stopped().await;
    }

    /// Puts a step back into the queue; in halves where it was too much for the link.
    fn again(&mut self, unit: Unit, error: &Error, ended_ns: u64, wait: Duration) {
        let due = ended_ns + wait.as_nanos() as u64;
        let again = Unit { attempt: unit.attempt + 1, queued_ns: ended_ns, ..unit };
        let halves = if transfer::was_too_slow(error) { self.objects.split(&unit) } else { None };
        match halves {
            Some(halves) => {
                self.recorder.split();
                halves.into_iter().for_each(|step| self.schedule.push_later(Unit { step, ..again }, due));
            }
            None => self.schedule.push_later(again, due),
        }
    }

    fn retry_wait(&self, error: &Error, unit: &Unit) -> Option<Duration> {
        if self.stop.is_some() || !self.objects.contains(unit.object) {
            return None;
        }
        transfer::backoff(error, unit.attempt, fastrand::f64())
    }

    /// What stopped one object would stop all others: nothing more is begun, and each says why.
    async fn give_up_if_stopped(&mut self) {
        if let Some(stop) = &self.stop {
            self.schedule.clear();
            self.objects.fail_waiting(&not_started(stop), &mut self.recorder, self.clock).await;
        }
    }

    fn note(&mut self, error: Option<&Error>) {
        match error.map(Error::kind) {
            None => self.seen.succeeded += 1,
            Some(ErrorKind::Busy) => self.seen.busy += 1,
            Some(ErrorKind::Stalled) => self.seen.stalled += 1,
            Some(_) => {}
        }
    }
}

/// Errors that all objects of the job would meet.
fn is_fatal(error: &Error) -> bool {
    let refused =
        error.kind() == ErrorKind::Permission && error.service_code() == Some("AuthenticationFailed");
    refused || error.kind() == ErrorKind::NoSpace
}
