//! The end of an object, and what is said of it.

use super::super::effects::Said;
use super::{Active, Objects, Role};
use crate::error::{Error, ErrorKind};
use crate::event::{Failure, ObjectRecord, Outcome};
use crate::stage::transfer::Ended;
use crate::stage::verify::written_already;

/// Names of metadata are of those who write them.
const WARNED_MAX: usize = 20;

impl Objects {
    /// Ends an object and says so.
    pub(super) fn end(&mut self, id: u64, ended: Ended, now_ns: u64) {
        let Some(it) = self.by_id.remove(&id) else { return };
        let stream = it.object.is_stream();
        self.open &= !stream;
        let streams = it.object.subject.pair.destination.store.capabilities().in_order;
        let ended = match ended.error {
            Some(error) if streams => Ended { error: Some(written_already(error)), ..ended },
            error => Ended { error, ..ended },
        };
        let spoils = |error: &Error| stream || spoils(error.kind());
        // What others have staged is not this job's to give up.
        if it.object.is_all() && ended.error.as_ref().is_some_and(spoils) {
            self.effects.said.extend(it.writer().map(Said::Abandon));
        }
        let (object, role) = (it.object, it.role);
        self.note_end(&object, role, &ended);
        let resumed = object.bytes_resumed();
        if resumed > 0 {
            self.effects.said.push(Said::Resumed(resumed));
        }
        if let Some(message) = ended.not_kept
            && self.warned.len() < WARNED_MAX
            && self.warned.insert(message.clone())
        {
            let name = object.subject.pair.destination.name();
            self.effects.said.push(Said::Warning(name, message + "; others like it are not named"));
        }
        let moved = matches!(ended.outcome, Outcome::Copied | Outcome::Staged | Outcome::Equal);
        let waits = match role {
            Role::Replaced(of) => Some((of, ended.error.as_ref().map(Failure::from))),
            Role::Own | Role::Extra => None,
        };
        let outcome = match ended.outcome {
            Outcome::Copied if role != Role::Own => Outcome::BackedUp,
            outcome => outcome,
        };
        let keeps_version = self.versions || outcome == Outcome::Staged;
        if !moved {
            // What did not arrive is no longer awaited.
            self.bytes_total = self.bytes_total.saturating_sub(object.to_move());
            self.bytes_done -= object.subject.bytes_done;
            self.bytes_resumed = self.bytes_resumed.saturating_sub(resumed);
        }
        self.effects.object(ObjectRecord {
            object_id: id,
            source: object.subject.pair.source.name(),
            destination: object.subject.pair.destination.name(),
            name: object.subject.pair.relative_name().into(),
            size_bytes: object.subject.pair.meta.size,
            outcome,
            method: ended.method,
            by_service: ended.by_service,
            proof: ended.proof,
            crc64: ended.crc64,
            md5: ended.md5,
            etag: ended.etag,
            attempts: object.attempts,
            started_ns: object.started_ns,
            ended_ns: now_ns,
            reason: ended.reason,
            failure: ended.error.as_ref().map(Failure::from),
            source_etag: keeps_version.then(|| object.subject.pair.meta.etag.clone()),
            parts: match ended.outcome {
                Outcome::Staged => object.parts().iter().map(|part| part.id.into()).collect(),
                _ => Vec::new(),
            },
        });
        match waits {
            Some((of, None)) => self.effects.kept.push(of),
            Some((of, failure)) => self.go_on(of, failure, now_ns),
            None => {}
        }
    }

    /// Ends an object that was never begun.
    pub(in super::super) fn fail(&mut self, id: u64, failure: &Failure, now_ns: u64) {
        let Some(it) = self.by_id.get(&id) else { return };
        let error = Error::from(failure).object(&*it.object.subject.pair.source.name());
        self.end(id, Ended::failed(error), now_ns);
    }

    /// Ends all objects that have nothing in flight.
    pub(in super::super) fn fail_waiting(&mut self, failure: &Failure, now_ns: u64) {
        let idle = |(id, it): (&u64, &Active)| (it.in_flight == 0).then_some(*id);
        let waiting: Vec<u64> = self.by_id.iter().filter_map(idle).collect();
        for id in waiting {
            self.fail(id, failure, now_ns);
        }
    }
}

/// Whether a failure says that what has arrived is of no use to a later run.
fn spoils(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Integrity | ErrorKind::SourceChanged | ErrorKind::Exists | ErrorKind::Unsupported
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::options::CopyOptions;
    use crate::stage::plan::{Existing, Pair, Place};
    use crate::stage::schedule::{Step, Unit};
    use crate::stage::transfer::{Object, Purpose, Then};
    use crate::store::{MemoryStore, ObjectMeta};

    #[test]
    fn what_waits_for_a_failed_collection_ends_whatever_is_still_in_flight() {
        let mut objects = Objects::new(true);
        let place = Place { store: Arc::new(MemoryStore::named("x")), key: "a".into() };
        let pair = Pair::new(place.clone(), place, 0, ObjectMeta::default(), Existing::Unknown);
        let object = Object::new(pair, Purpose::Copy, &CopyOptions::default(), 0);
        let id = objects.by_id.len() as u64;
        objects.by_id.insert(id, Active { object, in_flight: 0, first_ns: None, role: Role::Own });
        // A block that was sent twice: the second request has ended, the first has not.
        objects.launched(&Unit::first(id, Step::Begin, 0), 0);
        objects.follow(id, Then::Steps(vec![Step::Commit]), 0);
        assert!(objects.all_staged());
        objects.fail_staged(&Failure::from(&Error::new(ErrorKind::Cancelled, "commit", "", "no")), 1);
        assert!(objects.is_empty());
        assert!(matches!(objects.effects.said.as_slice(), [.., Said::Object(_)]));
    }
}
