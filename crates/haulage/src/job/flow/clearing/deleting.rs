//! Deletes names, or tells of them.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::super::{BATCH, Flow, next_row, sleep_until, stopped};
use super::{EXTRA, MOVED};
use crate::error::Result;
use crate::event::{Failure, ObjectRecord, Outcome};
use crate::spool::Spool;
use crate::stage::list::Emptied;
use crate::stage::remove::{DELETES, Deleted, Doomed, clear_markers};
use crate::store::Location;
use crate::task::joined;

impl Flow {
    /// Deletes names, and keeps what became of each; true where the job was stopped meanwhile.
    pub(super) async fn delete(&mut self, doomed: Doomed, why: &'static str) -> bool {
        let place = doomed.place.clone();
        if self.options.dry_run {
            self.tell(doomed.names, &place, Outcome::WouldDelete, why);
            return false;
        }
        let mut number = match why {
            MOVED => self.objects.count_copied(doomed.names.count),
            _ => self.objects.count_names(doomed.names.count),
        };
        if self.options.concurrency.fixed().is_none() && self.politeness.is_none() {
            // What the controller has found is for payload, and none moves now.
            self.gate.widen(DELETES);
        }
        let mut deleting = doomed.delete();
        loop {
            tokio::select! {
                deleted = deleting.next() => {
                    if deleted.is_empty() {
                        break;
                    }
                    let now = self.clock.now_ns();
                    for one in deleted {
                        let record = record(&place, one, number, why, now);
                        self.objects.effects().object(record);
                        number += 1;
                    }
                }
                row = next_row(&mut self.beside) => self.objects.effects().attempt(row),
                () = sleep_until(self.look_at, self.clock) => self.look(),
                () = stopped(&mut self.cancelled) => return true,
            }
            self.record().await;
        }
        if let Err(error) = deleting.end().await {
            self.recorder.failure(Failure::from(&error));
        }
        false
    }

    /// Deletes the markers of a folder that was moved; true where the job was stopped meanwhile.
    pub(super) async fn delete_markers(&mut self, emptied: Emptied) -> bool {
        let mut clearing = JoinSet::new();
        clearing.spawn(clear_markers(emptied, self.clearing.lost.clone()));
        loop {
            tokio::select! {
                Some(cleared) = clearing.join_next() => {
                    let failures = match joined(cleared).and_then(|cleared| cleared) {
                        Ok(cleared) => cleared.failures,
                        Err(error) => vec![error],
                    };
                    failures.iter().for_each(|error| self.recorder.failure(Failure::from(error)));
                    return false;
                }
                row = next_row(&mut self.beside) => self.objects.effects().attempt(row),
                () = sleep_until(self.look_at, self.clock) => self.look(),
                () = stopped(&mut self.cancelled) => return true,
            }
            self.record().await;
        }
    }

    /// Tells of names that are left, or would go.
    pub(super) fn tell(&mut self, names: Spool, place: &Location, outcome: Outcome, why: &'static str) {
        if let Err(error) = self.tell_each(names, place, outcome, why) {
            self.recorder.failure(Failure::from(&error));
        }
    }

    fn tell_each(
        &mut self,
        names: Spool,
        place: &Location,
        outcome: Outcome,
        why: &'static str,
    ) -> Result<()> {
        let now = self.clock.now_ns();
        let mut names = names.read()?;
        loop {
            let some = names.next(BATCH as u64)?;
            if some.is_empty() {
                return Ok(());
            }
            for (key, size) in some {
                if outcome == Outcome::WouldDelete && why == EXTRA {
                    self.say_backup_of(place, &key, size, now);
                }
                let number = self.objects.count_name();
                let gone = Deleted { key, size, outcome: Ok(()) };
                let record = record(place, gone, number, why, now);
                self.objects.effects().object(ObjectRecord { outcome, ..record });
            }
        }
    }
}

/// What became of a name.
pub(in crate::job) fn record(
    place: &Location,
    deleted: Deleted,
    object_id: u64,
    why: &'static str,
    now_ns: u64,
) -> ObjectRecord {
    let Deleted { key, size, outcome } = deleted;
    let full: Arc<str> = place.store.name(&key).into();
    let empty: Arc<str> = "".into();
    let (source, destination) = if why == MOVED { (full, empty) } else { (empty, full) };
    let record = ObjectRecord {
        object_id,
        source,
        destination,
        name: key.strip_prefix(&place.key).unwrap_or(&key).into(),
        size_bytes: size,
        outcome: Outcome::Deleted,
        reason: Some(why),
        ..ObjectRecord::unmoved(now_ns)
    };
    match outcome {
        Ok(()) => record,
        Err(error) => {
            let failure = Some(Failure::from(&error));
            ObjectRecord { outcome: Outcome::Failed, failure, reason: None, ..record }
        }
    }
}
