//! What follows from the end of a request: the next steps of its object, another try, or the end of the job.

use std::time::Duration;

use super::flights::Landed;
use super::{Flow, not_started};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Failure;
use crate::gate::was_too_slow;
use crate::stage::schedule::{Step, Unit};
use crate::stage::transfer::{Done, Held, is_refusal};
use crate::units::format_duration;
use crate::verbose::verbose;

/// What the end of a request means.
enum Verdict {
    /// It failed, and is sent again after this wait.
    Again(Error, Duration),
    /// It says nothing: another attempt was quicker, or still may be.
    Nothing,
    /// A duplicate has all bytes, and must wait for the original to be gone.
    Held(Held),
    /// The service would not copy by itself.
    TurnsBack(Error),
    /// Whoever reads the stream wants no more of it.
    HangsUp(Error),
    /// The object goes on from this, or fails.
    Counts(Result<Done>),
}

/// What else is known of a request that ended.
#[derive(Clone, Copy, Default)]
struct Around {
    /// Another attempt of the same step is on its way, so that nothing is lost.
    twin: bool,
    /// It may be sent again after so long.
    wait: Option<Duration>,
    /// The service was to copy by itself.
    by_service: bool,
    /// Its bytes go into a stream.
    to_stream: bool,
}

/// Judges how a request ended. Pure.
fn judge(result: Option<Result<Done>>, around: Around) -> Verdict {
    let Around { twin, wait, by_service, to_stream } = around;
    match (result, wait) {
        (Some(Err(error)), Some(wait)) => Verdict::Again(error, wait),
        (None, _) => Verdict::Nothing,
        (Some(Err(_)), None) if twin => Verdict::Nothing,
        (Some(Ok(Done::Held(held))), _) => Verdict::Held(held),
        (Some(Err(error)), None) if to_stream && hung_up(&error) => Verdict::HangsUp(error),
        (Some(Err(error)), None) if by_service && is_refusal(&error) => Verdict::TurnsBack(error),
        (Some(result), _) => Verdict::Counts(result),
    }
}

/// Whether the reader of a stream is gone.
fn hung_up(error: &Error) -> bool {
    error.kind() == ErrorKind::Io && error.is_closed_pipe()
}

impl Flow {
    /// Takes in the end of a request, and of all others that have ended meanwhile.
    pub(super) fn verify(&mut self, landed: Landed) {
        let mut next = Some(landed);
        while let Some(landed) = next {
            self.land(landed);
            next = self.flights.try_next();
        }
        self.give_up_if_stopped();
    }

    fn land(&mut self, landed: Landed) {
        let unit = landed.flight.unit;
        if unit.step.is_read() {
            return self.came_in(unit, landed.result);
        }
        let error = landed.result.as_ref().and_then(|result| result.as_ref().err());
        if landed.result.is_some() {
            self.note(error);
        }
        let held = self.take_held(&unit);
        let twin = held.is_some() || self.flights.has_live_twin(&unit);
        let wait = error.filter(|_| !twin).and_then(|error| self.retry_wait(error, &unit));
        self.recorder.count_attempt(error.map(Error::kind), wait.is_some());
        if self.recorder.wants_attempt(error.is_some()) {
            self.objects.effects().attempt(landed.record(wait));
        }
        let Landed { flight, ended_ns, result } = landed;
        if let Some(share) = flight.share {
            self.gate.release(share);
        }
        self.came_back(&unit);
        let by_service = flight.by_service;
        let to_stream = flight.pair.destination.store.capabilities().in_order;
        match judge(result, Around { twin, wait, by_service, to_stream }) {
            Verdict::Again(error, wait) => self.again(unit, &error, ended_ns, wait),
            Verdict::Nothing => self.write_held(unit, held),
            Verdict::Held(held) => self.hold(unit, held),
            Verdict::TurnsBack(error) => self.turn_back(unit, &error),
            Verdict::HangsUp(error) => self.hang_up(unit, error),
            Verdict::Counts(result) => {
                let stayed = matches!(result, Ok(Done::Block { resumed: true, .. }));
                if by_service && result.is_ok() && !stayed {
                    self.objects.copied_by_service();
                    self.seen.wire_bytes = self.seen.wire_bytes.saturating_add(flight.len);
                }
                self.advance(unit, result);
            }
        }
    }

    /// A stream has brought something: that is no request, so nobody counts it.
    fn came_in(&mut self, unit: Unit, result: Option<Result<Done>>) {
        self.came_back(&unit);
        if let Some(result) = result {
            self.advance(unit, result);
        }
    }

    /// Whoever reads the stream wants no more of it: the job ends with that, and it is for its caller to say whether this is a failure.
    fn hang_up(&mut self, unit: Unit, error: Error) {
        self.advance(unit, Err(Error::from(&Failure::from(&error))));
        self.hung_up.get_or_insert(error);
    }

    fn came_back(&mut self, unit: &Unit) {
        self.objects.came_back(unit);
        if unit.step.is_ranged() {
            self.schedule.note_block(false);
        }
    }

    fn advance(&mut self, unit: Unit, result: Result<Done>) {
        self.flights.cancel_twins(&unit);
        let fatal = result.as_ref().err().filter(|error| is_fatal(error)).map(Failure::from);
        if unit.step == Step::Look {
            self.locate(&[]);
            self.objects.cut(unit.object, &self.limits(self.objects.len()));
        }
        self.objects.advance(unit, result, self.clock.now_ns());
        if !self.objects.contains(unit.object) {
            self.flights.stop_reading(unit.object);
        }
        self.stop = self.stop.take().or(fatal);
    }

    /// The service would not copy by itself, so the bytes pass this machine. If that is wrong too, it says so then.
    fn turn_back(&mut self, unit: Unit, error: &Error) {
        verbose!(Info, "the service does not copy it, so its bytes pass this machine: {error}");
        self.flights.cancel_twins(&unit);
        let limits = self.limits(self.objects.len());
        self.objects.turn_back(&unit, error, &limits, self.clock.now_ns());
    }

    /// Puts a step back into the queue; in halves where it was too much for the link.
    fn again(&mut self, unit: Unit, error: &Error, ended_ns: u64, wait: Duration) {
        let due = ended_ns + wait.as_nanos() as u64;
        let unanswered = unit.unanswered || is_unanswered(error);
        let again = Unit { attempt: unit.attempt + 1, queued_ns: ended_ns, unanswered, ..unit };
        let halves = if was_too_slow(error) { self.objects.split(&unit) } else { None };
        let how = if halves.is_some() { ", in halves" } else { "" };
        verbose!(
            Info,
            "trying again in {}{how}, after attempt {}: {error}",
            format_duration(wait),
            unit.attempt
        );
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
        self.gate.retry_after(error, unit.attempt)
    }

    /// What stopped one object would stop all others: nothing more is begun, and each says why.
    fn give_up_if_stopped(&mut self) {
        if let Some(stop) = &self.stop {
            self.schedule.clear();
            self.objects.effects().steps.clear();
            self.objects.effects().opened.clear();
            let stop = not_started(stop);
            self.objects.fail_waiting(&stop, self.clock.now_ns());
        }
    }

    fn note(&mut self, error: Option<&Error>) {
        match error.map(Error::kind) {
            None => {
                self.seen.succeeded += 1;
                self.gate.observe(1, 0);
            }
            // At once: until the next look a service may be sent hundreds in vain.
            Some(ErrorKind::Busy) => {
                self.seen.busy += 1;
                self.gate.observe(0, 1);
            }
            Some(ErrorKind::Stalled) => self.seen.stalled += 1,
            Some(_) => {}
        }
    }
}

/// Whether the service may have done what was asked, or may still do it: it did not answer, or did not say no.
fn is_unanswered(error: &Error) -> bool {
    error.status().is_none_or(|status| status >= 500 && status != 503)
}

/// Errors that all objects of the job would meet.
fn is_fatal(error: &Error) -> bool {
    error.refuses_credential() || error.kind() == ErrorKind::NoSpace
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Option<Result<Done>> {
        Some(Err(Error::new(ErrorKind::Connection, "write", "a", "it was cut")))
    }

    #[test]
    fn a_failure_is_tried_again_where_it_may_and_is_nothing_beside_a_twin() {
        let second = Duration::from_secs(1);
        let alone = Around::default();
        let again = Around { wait: Some(second), ..alone };
        assert!(matches!(judge(failed(), again), Verdict::Again(_, wait) if wait == second));
        assert!(matches!(judge(failed(), Around { twin: true, ..alone }), Verdict::Nothing));
        assert!(matches!(judge(failed(), alone), Verdict::Counts(Err(_))));
        assert!(matches!(judge(None, alone), Verdict::Nothing));
        let looked = Some(Ok(Done::Looked { there: None, told: None }));
        assert!(matches!(judge(looked, Around { twin: true, ..alone }), Verdict::Counts(Ok(_))));
    }

    #[test]
    fn a_refusal_turns_the_object_back_and_a_closed_pipe_ends_the_job() {
        let by_service = Around { by_service: true, ..Around::default() };
        let refused = || Some(Err(Error::new(ErrorKind::Unsupported, "copy", "a", "not that")));
        assert!(matches!(judge(refused(), by_service), Verdict::TurnsBack(_)));
        assert!(matches!(judge(refused(), Around::default()), Verdict::Counts(Err(_))));
        let to_stream = Around { to_stream: true, ..Around::default() };
        let closed = || Some(Err(Error::from_io("write", "-", std::io::ErrorKind::BrokenPipe.into())));
        assert!(matches!(judge(closed(), to_stream), Verdict::HangsUp(_)));
        assert!(matches!(judge(closed(), Around::default()), Verdict::Counts(Err(_))));
    }
}
