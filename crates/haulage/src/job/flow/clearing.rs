//! What a sync or a move deletes, when all else is done: and what is backed up before it is replaced or deleted.

mod backup;
mod deleting;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::backup::find_extras;
pub(in crate::job) use self::deleting::record;
use super::Flow;
use super::effects::{Said, Spare};
use super::objects::{Objects, Role};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Failure, Outcome};
use crate::job::Work;
use crate::options::{CopyOptions, MaxDelete, Overwrite};
use crate::stage::list::{Emptied, Extras};
use crate::stage::plan::{Facts, Pair, UNCHANGED, Withheld, may_delete};
use crate::stage::remove::{Doomed, Folders};
use crate::stage::taking::{Copy, Origin};
use crate::stage::transfer::{Ended, Object};
use crate::store::Location;

/// Why objects are deleted.
pub(in crate::job) const EXTRA: &str = "only at the destination";
const MOVED: &str = "moved";

/// What is to be known where too many would be deleted.
pub(in crate::job) const COPIED_BEFORE: &str =
    "what is new or has changed was copied before the number of deletions was known";

/// What is to be deleted in the end.
#[derive(Default)]
pub(super) struct Clearing {
    /// All that only the destination has, once both lists are known to be complete.
    pub(super) extras: Option<Extras>,
    /// What is safe elsewhere, by the source that it came from.
    spare: BTreeMap<usize, Doomed>,
    /// Folders of which all is moved, and those that lose an object.
    pub(super) emptied: Vec<Emptied>,
    lost: Folders,
    /// Where backups go, and how they are copied.
    pub(super) backup: Option<(Location, Arc<CopyOptions>)>,
    /// The names that could not be kept.
    failed: Option<Error>,
}

impl Clearing {
    pub(super) fn new(backup: Option<Location>, options: &CopyOptions) -> Self {
        let options = CopyOptions {
            overwrite: Overwrite::Always,
            backup: None,
            atomic: false,
            source_etag: None,
            ..options.clone()
        };
        Self { backup: backup.map(|place| (place, Arc::new(options))), ..Self::default() }
    }
}

/// What becomes of what only the destination has.
pub(in crate::job) enum Verdict {
    Nothing,
    Delete(Extras),
    /// Why nothing is deleted, and what is left for it where that is known.
    Keep(Withheld, Option<Extras>),
}

impl Verdict {
    /// Judges once all else is done, with this outcome. `extras`: none where the lists of both sides are not known to be complete.
    pub(in crate::job) fn of(
        extras: Option<Extras>,
        outcome: &Result<()>,
        failed: u64,
        max: Option<MaxDelete>,
    ) -> Self {
        let (count, all) = extras.as_ref().map_or((0, 0), |extras| (extras.names.count, extras.all));
        if extras.is_some() && count == 0 {
            return Self::Nothing;
        }
        let refused = outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::Usage);
        let cut_short = outcome.is_err() || extras.is_none();
        let facts = Facts { refused, cut_short, failed, extras: count, all, max };
        match (may_delete(facts), extras) {
            (Ok(()), Some(extras)) => Self::Delete(extras),
            (Ok(()), None) => Self::Nothing,
            (Err(withheld), extras) => Self::Keep(withheld, extras),
        }
    }
}

impl Objects {
    /// Notes what an object that has ended means for others.
    pub(super) fn note_end(&mut self, object: &Object, role: Role, ended: &Ended) {
        let is_there = match ended.outcome {
            Outcome::Copied | Outcome::WouldCopy => true,
            Outcome::Skipped => ended.reason == Some(UNCHANGED),
            _ => false,
        };
        let goes = role == Role::Extra || (self.moves && role == Role::Own);
        if !(is_there && goes) {
            return;
        }
        let pair = Arc::clone(&object.subject.pair);
        let origin = if ended.outcome == Outcome::Skipped { Origin::Found } else { Origin::Written };
        let copy =
            Copy { key: pair.destination.key.clone(), etag: ended.etag.clone().unwrap_or_default(), origin };
        self.effects().spare.push(Spare { pair, copy });
    }
}

impl Flow {
    /// Begins backups that objects wait for, and notes what may be deleted.
    pub(super) fn clear_away(&mut self) {
        let backups = std::mem::take(&mut self.objects.effects().backups);
        backups.into_iter().for_each(|id| self.back_up(id));
        for Spare { pair, copy } in std::mem::take(&mut self.objects.effects().spare) {
            if let Err(error) = self.spare(&pair, &copy) {
                self.clearing.failed.get_or_insert(error);
            }
        }
    }

    /// Notes that the source of a pair may be deleted, as the version that was copied.
    fn spare(&mut self, pair: &Pair, copy: &Copy) -> Result<()> {
        let Pair { source, destination, meta, origin, .. } = pair;
        let doomed = self.clearing.spare.entry(*origin).or_insert_with(|| {
            let named = pair.relative_name();
            let root = source.key.strip_suffix(named).unwrap_or_default();
            let place = self.opener.location(source.store.clone(), root.to_owned());
            let at = self.opener.location(destination.store.clone(), String::new());
            Doomed::with_copies(place, at)
        });
        self.clearing.lost.note(&source.key);
        doomed.push(&source.key, meta.size, &meta.version(), copy)
    }

    /// Deletes what is to go, now that all else is done; true where the job was stopped meanwhile.
    pub(super) async fn clear(&mut self, outcome: &Result<()>) -> bool {
        let interrupted = match &self.work {
            Work::Sync { delete: Some(_), .. } => self.clear_extras(outcome).await,
            Work::Move { .. } => self.clear_sources(outcome).await,
            _ => return false,
        };
        self.record().await;
        interrupted
    }

    async fn clear_sources(&mut self, outcome: &Result<()>) -> bool {
        let spare = std::mem::take(&mut self.clearing.spare);
        let not_kept = self.failures_beside_objects();
        if outcome.is_err() || not_kept {
            let why =
                if not_kept { "what was copied may not be on the disk" } else { "a list is not complete" };
            self.warn("source", format!("no source was deleted, because {why}"));
            return false;
        }
        for (_, doomed) in spare {
            if self.delete(doomed, MOVED).await {
                return true;
            }
        }
        for emptied in std::mem::take(&mut self.clearing.emptied) {
            if !self.options.dry_run && self.delete_markers(emptied).await {
                return true;
            }
        }
        false
    }

    async fn clear_extras(&mut self, outcome: &Result<()>) -> bool {
        let Work::Sync { delete: Some(delete), destination, .. } = &self.work else { return false };
        let (max, destination) = (delete.max, crate::options::without_query(destination));
        let extras = self.clearing.extras.take();
        let failed = self.recorder.summary().objects_failed + u64::from(self.failures_beside_objects());
        match Verdict::of(extras, outcome, failed, max) {
            Verdict::Nothing => false,
            Verdict::Delete(extras) => self.remove_extras(extras).await,
            Verdict::Keep(withheld, extras) => {
                self.withhold(&withheld, &destination, extras);
                false
            }
        }
    }

    /// Says why nothing is deleted, and what was not.
    fn withhold(&mut self, withheld: &Withheld, destination: &str, extras: Option<Extras>) {
        if let Some(error) = withheld.failure(destination) {
            if !self.options.dry_run && self.recorder.summary().objects_done > 0 {
                self.warn(destination, COPIED_BEFORE.to_owned());
            }
            self.recorder.failure(Failure::from(&error));
        }
        if let Some(words) = withheld.warning() {
            self.warn(destination, words);
        }
        if let Some(Extras { place, names, .. }) = extras {
            self.tell(names, &place, Outcome::Extra, EXTRA);
        }
    }

    async fn remove_extras(&mut self, extras: Extras) -> bool {
        if self.options.dry_run {
            let Extras { place, names, .. } = extras;
            self.tell(names, &place, Outcome::WouldDelete, EXTRA);
            return false;
        }
        let Some((backup, _)) = &self.clearing.backup else {
            return self.delete(Doomed::extras(extras), EXTRA).await;
        };
        let doomed = Doomed::with_copies(extras.place.clone(), backup.clone());
        self.clearing.spare = BTreeMap::from([(0, doomed)]);
        let names = find_extras(extras, backup.clone());
        let (outcome, interrupted) = self.move_all(names).await;
        if interrupted {
            return true;
        }
        self.flush().await;
        if let Err(error) = &outcome {
            self.recorder.failure(Failure::from(error));
        }
        if outcome.is_err() || self.recorder.summary().objects_failed > 0 || self.failures_beside_objects() {
            self.warn("backup", "nothing was deleted, because not everything was backed up".to_owned());
            return false;
        }
        for (_, doomed) in std::mem::take(&mut self.clearing.spare) {
            if self.delete(doomed, EXTRA).await {
                return true;
            }
        }
        false
    }

    fn warn(&mut self, object: &str, message: String) {
        self.objects.effects().said.push(Said::Warning(object.into(), message));
    }

    /// Whether something failed that was no object: what was written is not on the disk, or names could not be kept.
    fn failures_beside_objects(&mut self) -> bool {
        if let Some(error) = self.clearing.failed.take() {
            self.recorder.failure(Failure::from(&error));
            self.broken = true;
        }
        self.broken
    }
}
