//! What a sync deletes in the end: by the machine where it was started, once all nodes have ended and all went well.

use super::run::{Run, TICK};
use super::shared::locked;
use crate::error::Result;
use crate::event::{Failure, ObjectRecord, Outcome};
use crate::job::flow::clearing::{COPIED_BEFORE, EXTRA, Verdict, record};
use crate::job::flow::{next_row, stopped};
use crate::options::{Work, without_query};
use crate::stage::list::Extras;
use crate::stage::plan::Withheld;
use crate::stage::remove::{Deleted, Doomed};

/// Names told at once.
const BATCH: u64 = 256;

impl Run {
    /// Deletes what only the destination has, where that is wanted; true where the job was stopped meanwhile. `listed`: all that there
    /// is was listed.
    pub(super) async fn clear(&mut self, outcome: &Result<()>, listed: bool) -> bool {
        let Work::Sync { delete: Some(delete), destination, .. } = &self.work else { return false };
        let (max, destination) = (delete.max, without_query(destination));
        let failed = self.recorder.summary().failures.len() as u64;
        let extras = self.extras.take().filter(|_| listed);
        match Verdict::of(extras, outcome, failed, max) {
            Verdict::Nothing => {}
            Verdict::Delete(extras) => return self.delete(extras).await,
            Verdict::Keep(withheld, extras) => self.withhold(&withheld, &destination, extras).await,
        }
        false
    }

    /// Says why nothing is deleted, and what was not.
    async fn withhold(&mut self, withheld: &Withheld, destination: &str, extras: Option<Extras>) {
        if let Some(error) = withheld.failure(destination) {
            if self.recorder.summary().objects_done > 0 {
                self.recorder.warn(destination.into(), COPIED_BEFORE.to_owned()).await;
            }
            self.recorder.failure(Failure::from(&error));
        }
        if let Some(words) = withheld.warning() {
            self.recorder.warn(destination.into(), words).await;
        }
        if let Some(extras) = extras
            && let Err(error) = self.tell_left(extras).await
        {
            self.recorder.failure(Failure::from(&error));
        }
    }

    async fn tell_left(&mut self, extras: Extras) -> Result<()> {
        let (place, mut names) = (extras.place, extras.names.read()?);
        loop {
            let some = names.next(BATCH)?;
            if some.is_empty() {
                return Ok(());
            }
            for (key, size) in some {
                let left = Deleted { key, size, outcome: Ok(()) };
                let record = record(&place, left, self.number(), EXTRA, self.clock.now_ns());
                self.recorder.object(ObjectRecord { outcome: Outcome::Extra, ..record }).await;
            }
        }
    }

    async fn delete(&mut self, extras: Extras) -> bool {
        let place = extras.place.clone();
        let mut deleting = Doomed::extras(extras).delete();
        let mut ticks = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                deleted = deleting.next() => {
                    if deleted.is_empty() {
                        break;
                    }
                    for one in deleted {
                        let record = record(&place, one, self.number(), EXTRA, self.clock.now_ns());
                        self.recorder.object(record).await;
                    }
                }
                row = next_row(&mut self.beside) => self.recorder.attempt(|| row).await,
                _ = ticks.tick() => self.sample(true),
                () = stopped(&mut self.cancelled) => return true,
            }
        }
        if let Err(error) = deleting.end().await {
            self.recorder.failure(Failure::from(&error));
        }
        false
    }

    fn number(&self) -> u64 {
        locked(&self.shared.deal).number()
    }
}
