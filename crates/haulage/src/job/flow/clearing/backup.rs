//! Copies of what will be replaced or deleted.

use std::sync::Arc;

use futures_util::StreamExt as _;
use tokio::sync::mpsc;

use super::super::objects::{Objects, Role};
use super::super::{BATCH, Flow, Names};
use crate::error::ErrorKind;
use crate::event::{Failure, ObjectRecord, Outcome};
use crate::gate::through;
use crate::stage::list::{Extras, Listed};
use crate::stage::plan::{Existing, Pair, Place};
use crate::stage::transfer::Object;
use crate::store::{Location, ObjectMeta, Request, changed_since};

/// Objects asked for at once before they are backed up.
const LOOKUPS: usize = 64;

impl Objects {
    /// Lets an object go on that has waited for a backup.
    pub(in crate::job::flow) fn go_on(&mut self, id: u64, failure: Option<Failure>, now_ns: u64) {
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
    /// Lets objects go on of which what they replace was backed up, when the disk has it.
    pub(in crate::job::flow) async fn keep_backups(&mut self) {
        let kept = std::mem::take(&mut self.objects.effects().kept);
        if kept.is_empty() {
            return;
        }
        let failure = self.opener.sync().await.err().map(|error| Failure::from(&error));
        let now = self.clock.now_ns();
        for id in kept {
            self.objects.go_on(id, failure.clone(), now);
        }
    }

    /// Copies what an object will replace.
    pub(super) fn back_up(&mut self, id: u64) {
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
    pub(in crate::job::flow) fn plan_backup(&mut self, pair: Pair, role: Role, now_ns: u64) {
        let Some((_, options)) = &self.clearing.backup else { return };
        let limits = self.limits(self.objects.len());
        let mut object = Object::new(pair, self.purpose, options, now_ns);
        object.for_a_backup();
        object.cut(&limits);
        let id = self.objects.add(object, role, &limits);
        self.objects.start(id, now_ns);
    }

    pub(super) fn say_backup(&mut self, pair: &Pair, now_ns: u64) {
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

    /// Says that one that would be deleted would be backed up first, where that is wanted.
    pub(super) fn say_backup_of(&mut self, place: &Location, key: &str, size: u64, now_ns: u64) {
        let Some((backup, _)) = &self.clearing.backup else { return };
        let (source, to) =
            (Place { store: place.store.clone(), key: key.to_owned() }, as_prefix(&backup.key));
        let name = key.strip_prefix(&place.key).unwrap_or(key);
        let destination = Place { store: backup.store.clone(), key: format!("{to}{name}") };
        let meta = ObjectMeta { size, ..ObjectMeta::default() };
        let pair = Pair::new(source, destination, to.len(), meta, Existing::Absent);
        self.say_backup(&pair, now_ns);
    }
}

fn as_prefix(key: &str) -> String {
    if key.is_empty() || key.ends_with('/') { key.to_owned() } else { format!("{key}/") }
}

/// Asks what each of the extras is, so that it can be copied and deleted as that version.
pub(super) fn find_extras(extras: Extras, backup: Location) -> Names {
    let (sender, found) = mpsc::channel(1000);
    let listing = tokio::spawn(async move {
        let Extras { place: Location { store, key: root, gate }, names, versions, .. } = extras;
        let to = as_prefix(&backup.key);
        let mut names = names.read()?;
        let mut versions = versions.read()?;
        loop {
            let some = names.next(BATCH as u64)?;
            if some.is_empty() {
                return Ok(());
            }
            let versions = versions.next(some.len() as u64)?;
            let look = async |((key, _), (etag, _)): ((String, u64), (String, u64))| {
                let (api, name) = (store.api(Request::Look), store.name(&key));
                let looked = through!(gate, api, name, trace => store.head(&key, trace).await);
                let looked = looked.and_then(|meta| match meta.etag == etag {
                    true => Ok(meta),
                    false => Err(changed_since(store.name(&key))),
                });
                (key, looked)
            };
            let with_versions = futures_util::stream::iter(some.into_iter().zip(versions));
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
