//! What a sync deletes in the end: by the machine where it was started, once all nodes have ended and all went well.

use tokio::sync::mpsc;

use super::run::{Run, TICK};
use super::shared::locked;
use crate::error::Result;
use crate::event::{Failure, ObjectRecord, Outcome};
use crate::job::flow::clearing::{COPIED_BEFORE, EXTRA, record};
use crate::job::flow::{next_row, stopped};
use crate::options::{Work, without_query};
use crate::stage::list::Extras;
use crate::stage::plan::{Facts, Withheld, may_delete};
use crate::stage::remove::{Deleted, Doomed};

/// Names told at once.
const BATCH: u64 = 256;

impl Run {
    /// Deletes what only the destination has, where that is wanted; true where the job was stopped meanwhile. `whole`: all that there
    /// is was listed.
    pub(super) async fn clear(&mut self, whole: bool) -> bool {
        let Work::Sync { delete: Some(delete), destination, .. } = &self.work else { return false };
        let (max, destination) = (delete.max, without_query(destination));
        let extras = self.extras.take();
        let (count, all) = extras.as_ref().map_or((0, 0), |extras| (extras.names.count, extras.all));
        if extras.is_some() && count == 0 {
            return false;
        }
        let cut_short = !whole || extras.is_none();
        let failed = self.recorder.summary().failures.len() as u64;
        let facts = Facts { interrupted: false, cut_short, failed, extras: count, all, max };
        match (may_delete(facts), extras) {
            (Ok(()), Some(extras)) => return self.delete(extras).await,
            (Err(withheld), extras) => self.withhold(&withheld, &destination, extras).await,
            (Ok(()), None) => {}
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
        let Extras { place, names, versions, .. } = extras;
        let doomed = Doomed { place: place.clone(), names, versions };
        let (told, mut deleted) = mpsc::channel(1000);
        let deleting = tokio::spawn(doomed.delete(told));
        let mut ticks = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                one = deleted.recv() => {
                    let Some(one) = one else { break };
                    let record = record(&place, one, self.number(), EXTRA, self.clock.now_ns());
                    self.recorder.object(record).await;
                }
                row = next_row(&mut self.beside) => self.recorder.attempt(|| row).await,
                _ = ticks.tick() => self.sample(true),
                () = stopped(&mut self.cancelled) => {
                    deleting.abort();
                    return true;
                }
            }
        }
        if let Ok(Err(error)) = deleting.await {
            self.recorder.failure(Failure::from(&error));
        }
        false
    }

    fn number(&self) -> u64 {
        locked(&self.shared.deal).number()
    }
}
