//! What a sync or a move deletes, when all else is done: and what is backed up before it is replaced or deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use tokio::sync::mpsc;

use super::effects::{Said, Spare};
use super::objects::{Objects, Role};
use super::{BATCH, Flow, Names, next_row, sleep_until, stopped};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Failure, ObjectRecord, Outcome};
use crate::gate::through;
use crate::job::Work;
use crate::options::{CopyOptions, Overwrite};
use crate::spool::Spool;
use crate::stage::list::{Extras, Listed};
use crate::stage::plan::{Existing, Facts, Pair, Place, UNCHANGED, Withheld, may_delete};
use crate::stage::remove::{Deleted, Doomed};
use crate::stage::transfer::{Ended, Object};
use crate::store::{Location, ObjectMeta, Request, changed_since};

/// Why objects are deleted.
const EXTRA: &str = "only at the destination";
const MOVED: &str = "moved";

/// Objects asked for at once before they are backed up.
const LOOKUPS: usize = 64;

/// What is to be deleted in the end.
#[derive(Default)]
pub(super) struct Clearing {
    /// All that only the destination has, once both lists are known to be complete.
    pub(super) extras: Option<Extras>,
    /// What is safe elsewhere, by the source that it came from.
    spare: BTreeMap<usize, Doomed>,
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
        let pair = &object.subject.pair;
        if ended.reason == Some(UNCHANGED) && may_be_one(pair) {
            let message = "not deleted, because the destination may be the same object under another name";
            self.effects().said.push(Said::Warning(pair.source.name(), message.to_owned()));
        } else {
            self.effects().spare.push(Spare { pair: Arc::clone(pair) });
        }
    }

    /// Lets an object go on that has waited for a backup.
    pub(super) fn go_on(&mut self, id: u64, failure: Option<Failure>, now_ns: u64) {
        match failure {
            None => {
                self.backed_up(id);
                self.start(id, now_ns);
            }
            Some(failure) => {
                let cause = format!("not replaced, because the backup failed: {}", failure.cause);
                self.fail(id, &Failure { operation: "back up", cause, ..failure }, now_ns);
            }
        }
    }
}

impl Flow {
    /// Begins backups that objects wait for, and notes what may be deleted.
    pub(super) fn clear_away(&mut self) {
        let backups = std::mem::take(&mut self.objects.effects().backups);
        backups.into_iter().for_each(|id| self.back_up(id));
        for Spare { pair } in std::mem::take(&mut self.objects.effects().spare) {
            if let Err(error) = self.spare(&pair) {
                self.clearing.failed.get_or_insert(error);
            }
        }
    }

    /// Copies what an object will replace.
    fn back_up(&mut self, id: u64) {
        let now = self.clock.now_ns();
        let Some(replaced) = self.objects.get(id).map(|object| Arc::clone(&object.subject.pair)) else {
            return;
        };
        let (Some((place, _)), Some(there)) = (&self.clearing.backup, replaced.existing.there()) else {
            return;
        };
        let to = as_prefix(&place.key);
        let key = format!("{to}{}", replaced.relative_name());
        let destination = Place { store: place.store.clone(), key };
        let pair = Pair {
            origin: replaced.origin,
            ..Pair::new(replaced.destination.clone(), destination, to.len(), there.clone(), Existing::Absent)
        };
        if self.options.dry_run {
            self.say_backup(&pair, now);
            return self.objects.go_on(id, None, now);
        }
        self.plan_backup(pair, Role::Replaced(id), now);
    }

    /// Begins the copy of a backup.
    pub(super) fn plan_backup(&mut self, pair: Pair, role: Role, now_ns: u64) {
        let Some((_, options)) = &self.clearing.backup else { return };
        let limits = self.limits(self.objects.len());
        let mut object = Object::new(pair, self.purpose, options, now_ns);
        object.cut(&limits);
        let id = self.objects.add(object, role, &limits);
        self.objects.start(id, now_ns);
    }

    fn say_backup(&mut self, pair: &Pair, now_ns: u64) {
        let record = ObjectRecord {
            object_id: self.objects.count_name(),
            source: pair.source.name(),
            destination: pair.destination.name(),
            name: pair.relative_name().into(),
            size_bytes: pair.meta.size,
            outcome: Outcome::WouldBackUp,
            ..ObjectRecord::unmoved(now_ns)
        };
        self.objects.effects().object(record);
    }

    /// Notes that the source of a pair may be deleted, as the version that was copied.
    fn spare(&mut self, pair: &Pair) -> Result<()> {
        let Pair { source, meta, origin, .. } = pair;
        let doomed = self.clearing.spare.entry(*origin).or_insert_with(|| {
            let named = pair.relative_name();
            let root = source.key.strip_suffix(named).unwrap_or_default();
            Doomed::at(self.opener.location(source.store.clone(), root.to_owned()), true)
        });
        doomed.names.push(&source.key, meta.size)?;
        doomed.versions.as_mut().map_or(Ok(()), |versions| versions.push(&meta.etag, 0))
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
        false
    }

    async fn clear_extras(&mut self, outcome: &Result<()>) -> bool {
        let Work::Sync { delete: Some(delete), destination, .. } = &self.work else { return false };
        let (max, destination) = (delete.max, crate::options::without_query(destination));
        let extras = self.clearing.extras.take();
        let cut_short = outcome.is_err() || extras.is_none();
        let failed = self.recorder.summary().objects_failed + u64::from(self.failures_beside_objects());
        let (count, all) = extras.as_ref().map_or((0, 0), |extras| (extras.names.count, extras.all));
        if extras.is_some() && count == 0 {
            return false;
        }
        let facts = Facts { interrupted: false, cut_short, failed, extras: count, all, max };
        match (may_delete(facts), extras) {
            (Ok(()), Some(extras)) => self.remove_extras(extras).await,
            (Err(withheld), extras) => {
                self.withhold(&withheld, &destination, outcome.is_ok(), extras);
                false
            }
            (Ok(()), None) => false,
        }
    }

    /// Says why nothing is deleted, and what was not.
    fn withhold(&mut self, withheld: &Withheld, destination: &str, listed: bool, extras: Option<Extras>) {
        match withheld.failure(destination) {
            Some(error) => self.recorder.failure(Failure::from(&error)),
            None => {
                let Withheld::Said(why) = withheld else { return };
                self.warn(destination, format!("nothing was deleted, because {why}"));
                // Where a list has not failed, something in it was not seen; the job has not done what it was to do.
                if listed && self.recorder.summary().failures.is_empty() {
                    let cause = format!("nothing was deleted, because {why}");
                    let error = Error::new(ErrorKind::Unsupported, "delete from", destination, cause);
                    let error =
                        error.hint("haul ls -r shows what cannot be listed; allow it, and run it again");
                    self.recorder.failure(Failure::from(&error));
                }
            }
        }
        let now = self.clock.now_ns();
        let Some(Extras { place, names, .. }) = extras else { return };
        if let Err(error) = self.tell(names, &place, Outcome::Extra, now) {
            self.recorder.failure(Failure::from(&error));
        }
    }

    async fn remove_extras(&mut self, extras: Extras) -> bool {
        if self.options.dry_run {
            let (Extras { place, names, .. }, now) = (extras, self.clock.now_ns());
            if let Err(error) = self.tell(names, &place, Outcome::WouldDelete, now) {
                self.recorder.failure(Failure::from(&error));
            }
            return false;
        }
        let Some((backup, _)) = &self.clearing.backup else {
            let Extras { place, names, versions, .. } = extras;
            return self.delete(Doomed { place, names, versions }, EXTRA).await;
        };
        let place = extras.place.clone();
        self.clearing.spare = BTreeMap::from([(0, Doomed::at(place, true))]);
        let names = find_extras(extras, backup.clone());
        let (outcome, interrupted) = self.move_all(names).await;
        if interrupted {
            return true;
        }
        self.flush(outcome.is_ok()).await;
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

    /// Deletes names, and keeps what became of each; true where the job was stopped meanwhile.
    async fn delete(&mut self, doomed: Doomed, why: &'static str) -> bool {
        let at_source = why == MOVED;
        let place = doomed.place.clone();
        let mut number = self.objects.count_names(doomed.names.count);
        if self.options.dry_run {
            // It is told as it would be done.
            let Doomed { names, .. } = doomed;
            let now = self.clock.now_ns();
            if let Err(error) = names.read().and_then(|mut names| {
                loop {
                    let some = names.next(BATCH as u64)?;
                    if some.is_empty() {
                        return Ok(());
                    }
                    for (key, size) in some {
                        let gone = Deleted { key, size, outcome: Ok(()) };
                        let record = record(&place, gone, number, at_source, why, now);
                        self.objects
                            .effects()
                            .object(ObjectRecord { outcome: Outcome::WouldDelete, ..record });
                        number += 1;
                    }
                }
            }) {
                self.recorder.failure(Failure::from(&error));
            }
            return false;
        }
        let (told, mut deleted) = mpsc::channel(1000);
        let deleting = tokio::spawn(doomed.delete(told));
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                count = deleted.recv_many(&mut batch, BATCH) => {
                    if count == 0 {
                        break;
                    }
                    let now = self.clock.now_ns();
                    for one in batch.drain(..) {
                        let record = record(&place, one, number, at_source, why, now);
                        self.objects.effects().object(record);
                        number += 1;
                    }
                }
                row = next_row(&mut self.beside) => self.objects.effects().attempt(row),
                () = sleep_until(self.look_at, self.clock) => self.look(),
                () = stopped(&mut self.cancelled) => {
                    deleting.abort();
                    return true;
                }
            }
            self.record().await;
        }
        if let Ok(Err(error)) = deleting.await {
            self.recorder.failure(Failure::from(&error));
        }
        false
    }

    /// Tells of names that are left, or would go.
    fn tell(&mut self, names: Spool, place: &Location, outcome: Outcome, now: u64) -> Result<()> {
        let mut names = names.read()?;
        loop {
            let some = names.next(BATCH as u64)?;
            if some.is_empty() {
                return Ok(());
            }
            for (key, size) in some {
                if outcome == Outcome::WouldDelete
                    && let Some((backup, _)) = &self.clearing.backup
                {
                    let (source, to) =
                        (Place { store: place.store.clone(), key: key.clone() }, as_prefix(&backup.key));
                    let name = key.strip_prefix(&place.key).unwrap_or(&key);
                    let destination = Place { store: backup.store.clone(), key: format!("{to}{name}") };
                    let meta = ObjectMeta { size, ..Default::default() };
                    let pair = Pair::new(source, destination, to.len(), meta, Existing::Absent);
                    self.say_backup(&pair, now);
                }
                let number = self.objects.count_name();
                let gone = Deleted { key, size, outcome: Ok(()) };
                let record = record(place, gone, number, false, EXTRA, now);
                self.objects.effects().object(ObjectRecord { outcome, ..record });
            }
        }
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

/// Whether both ends of a pair may be one object, which two endpoints or mounts give two names: then nothing is its copy.
fn may_be_one(pair: &Pair) -> bool {
    let Pair { source, destination, meta, .. } = pair;
    // A list may tell more of a time than a look.
    let second = |meta: &ObjectMeta| meta.modified_ns.div_euclid(1_000_000_000);
    let as_it = |there: &ObjectMeta| there.etag == meta.etag && second(there) == second(meta);
    source.store.identity("") != destination.store.identity("") && pair.existing.there().is_some_and(as_it)
}

/// What became of a name.
fn record(
    place: &Location,
    deleted: Deleted,
    object_id: u64,
    at_source: bool,
    why: &'static str,
    now_ns: u64,
) -> ObjectRecord {
    let Deleted { key, size, outcome } = deleted;
    let full: Arc<str> = place.store.name(&key).into();
    let empty: Arc<str> = "".into();
    let (source, destination) = if at_source { (full, empty) } else { (empty, full) };
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

fn as_prefix(key: &str) -> String {
    if key.is_empty() || key.ends_with('/') { key.to_owned() } else { format!("{key}/") }
}

/// Asks what each of the extras is, so that it can be copied and deleted as that version.
fn find_extras(extras: Extras, backup: Location) -> Names {
    let (sender, found) = mpsc::channel(1000);
    let listing = tokio::spawn(async move {
        let Extras { place: Location { store, key: root, gate }, names, versions, .. } = extras;
        let to = as_prefix(&backup.key);
        let mut names = names.read()?;
        let mut versions = versions.map(Spool::read).transpose()?;
        loop {
            let some = names.next(BATCH as u64)?;
            if some.is_empty() {
                return Ok(());
            }
            let listed = match &mut versions {
                Some(versions) => {
                    versions.next(some.len() as u64)?.into_iter().map(|(etag, _)| Some(etag)).collect()
                }
                None => vec![None; some.len()],
            };
            let look = async |((key, _), listed): ((String, u64), Option<String>)| {
                let (api, name) = (store.api(Request::Look), store.name(&key));
                let looked = through!(gate, api, name, trace => store.head(&key, trace).await);
                let same = |meta: &ObjectMeta| listed.is_none_or(|etag| meta.etag == etag);
                let looked = looked.and_then(|meta| match same(&meta) {
                    true => Ok(meta),
                    false => Err(changed_since(store.name(&key))),
                });
                (key, looked)
            };
            let with_versions = futures_util::stream::iter(some.into_iter().zip(listed));
            let mut looked = with_versions.map(look).buffered(LOOKUPS);
            while let Some((key, looked)) = looked.next().await {
                let listed = match looked {
                    Ok(meta) => {
                        let name = key.strip_prefix(&root).unwrap_or(&key);
                        let destination = Place { store: backup.store.clone(), key: format!("{to}{name}") };
                        let source = Place { store: store.clone(), key };
                        let pair = Pair::new(source, destination, to.len(), meta, Existing::Absent);
                        Listed::Doomed(Box::new(pair))
                    }
                    // Somebody has deleted it.
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(error) => Listed::Problem(error),
                };
                if sender.send(listed).await.is_err() {
                    return Ok(());
                }
            }
        }
    });
    Names { found, listing }
}
