//! What only the destination has: gathered while two lists are merged, and told when both are known to be complete.

use std::collections::HashSet;

use super::shape::{Shape, below};
use super::{Filter, Listed, Listing, apart};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Deleting;
use crate::spool::Spool;
use crate::store::{Location, ObjectMeta, is_witness};

/// Names that the source has and that are not listed: more than these, and nothing is called extra.
const NOT_LISTED_MAX: usize = 100_000;

/// Names told at once.
const BATCH: u64 = 1000;

/// What is to be known of names that only the destination has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wanted {
    /// Nothing.
    No,
    /// Which they are.
    Told,
    /// The same, to delete them.
    Deleted(Deleting),
}

impl Wanted {
    pub(super) fn allows_empty(self) -> bool {
        matches!(self, Self::Deleted(Deleting { allow_empty: true, .. }))
    }
}

/// All names that only the destination has, and the place.
pub(crate) struct Extras {
    /// The container or folder, and the prefix below which they are.
    pub(crate) place: Location,
    pub(crate) names: Spool,
    /// The version of each: its ETag, and when it was written, in seconds.
    pub(crate) versions: Spool,
    /// How many objects take part at the destination, these among them.
    pub(crate) all: u64,
}

impl std::fmt::Debug for Extras {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} extras in {:?}", self.names.count, self.place)
    }
}

/// Those that were found so far.
pub(super) struct Gathered {
    wanted: Wanted,
    /// What keys at the destination begin with.
    to: String,
    filter: Filter,
    names: Spool,
    versions: Spool,
    /// Objects found there that take part.
    pub(super) all: u64,
    /// Names below the source that are there and not listed: links and the like.
    not_listed: HashSet<String>,
    /// Whether all that the source has was seen.
    pub(super) whole: bool,
    /// Why nobody knows what is extra, though all was seen.
    pub(super) gap: Option<Error>,
    /// What is wrong with a glob that leaves nothing out.
    pub(super) missed: Option<Error>,
}

impl Gathered {
    /// None yet, below `to`, of those that `filter` takes.
    pub(super) fn new(wanted: Wanted, to: String, filter: Filter) -> Self {
        Self {
            wanted,
            to,
            filter,
            names: Spool::default(),
            versions: Spool::default(),
            all: 0,
            not_listed: HashSet::new(),
            whole: true,
            gap: None,
            missed: None,
        }
    }

    /// Takes in that something is at the source, below `root`, and is not listed. What is there under its name is not extra.
    pub(super) fn not_listed(&mut self, problem: &Error, root: &str) {
        if problem.kind() != ErrorKind::Unsupported {
            self.whole = false;
        } else if let Wanted::Deleted(_) = self.wanted {
            match problem.object_name().strip_prefix(root) {
                Some(name) if self.not_listed.len() < NOT_LISTED_MAX => {
                    self.not_listed.insert(name.trim_start_matches('/').to_owned());
                }
                _ => {
                    let cause = format!("there are more than {NOT_LISTED_MAX} links, sockets and devices");
                    let error = Error::new(ErrorKind::Unsupported, "list", root, cause);
                    self.gap = Some(error.hint("leave out --delete"));
                }
            }
        }
    }

    /// Keeps the name of an object that is only at the destination, if it takes part.
    pub(super) fn keep(&mut self, object: &ObjectMeta) -> Result<()> {
        let ObjectMeta { key, size, .. } = object;
        let name = key.strip_prefix(&self.to).filter(|name| self.filter.wants(name) && !is_witness(name));
        let Some(name) = name else {
            return Ok(());
        };
        match self.wanted {
            Wanted::No => return Ok(()),
            Wanted::Deleted(_) if self.is_at_the_source(name) || !self.filter.takes(object) => return Ok(()),
            Wanted::Told | Wanted::Deleted(_) => {}
        }
        self.missed = self.missed.take().or_else(|| self.filter.misses(name));
        self.all += 1;
        self.names.push(key, *size)?;
        let version = object.version();
        self.versions.push(version.condition().unwrap_or_default(), version.modified_s as u64)
    }

    pub(super) fn is_any(&self) -> bool {
        self.names.count > 0
    }

    fn is_at_the_source(&self, name: &str) -> bool {
        !self.not_listed.is_empty()
            && (self.not_listed.contains(name)
                || name.match_indices('/').any(|(at, _)| self.not_listed.contains(&name[..at])))
    }
}

impl Listing {
    /// Lists both sides of what is to become equal.
    pub(super) async fn sync(
        &mut self,
        source: &str,
        destination: &str,
        delete: Option<Deleting>,
    ) -> Result<()> {
        // Nothing is deleted through a link, so nothing is listed through one either.
        let destination = self.opener.following_none().open_destination(destination)?;
        let own = self.own_keys(source)?;
        let source = self.opener.open_source(source)?;
        self.check_apart(&source, &destination).await?;
        let Some(delete) = delete else { return self.copy_source(source, &destination, false, &own).await };
        if let Some(log) = &self.log {
            // Else the log of the last run would be deleted.
            apart::check_outside("log to", &self.opener.open_destination(log)?, &destination)?;
        }
        // Else what is copied would be seen at the source too, before it is known that nothing may be deleted.
        if apart::may_overlap(&source, &destination) {
            self.check_by_witness("sync", &destination, &source).await?;
        }
        let allow_empty = delete.allow_empty && !source.store.capabilities().folders;
        match self.meant(source.clone(), false).await {
            Ok((source, Shape::Tree(pages))) => {
                self.tree(&source, pages, &destination, Wanted::Deleted(delete), &own).await
            }
            Err(missing) if missing.kind() == ErrorKind::NotFound && allow_empty => {
                let pages = below(&source, false);
                self.tree(&source, pages, &destination, Wanted::Deleted(delete), &own).await
            }
            Err(missing) if missing.kind() == ErrorKind::NotFound => {
                Err(missing.hint("check the name of the source: nothing is deleted where it is missing"))
            }
            Err(error) => Err(error),
            Ok((source, Shape::One(meta))) => {
                let name = source.store.name(&meta.key);
                let cause = "this is a single object, beside which nothing can be deleted";
                Err(Error::new(ErrorKind::Usage, "sync", name, cause)
                    .hint("leave out --delete, or name the folder or prefix that it is in"))
            }
        }
    }

    /// Refuses places that two names make look apart. A dry run writes nothing, and says so of nothing.
    pub(super) async fn check_by_witness(
        &mut self,
        operation: &'static str,
        one: &Location,
        other: &Location,
    ) -> Result<()> {
        let [one_is, other_is] = [one, other].map(|place| place.store.identity(&place.key));
        // Of many sources most lie in one folder.
        let is_new = !self.plans && self.witnessed.insert((one_is, other_is));
        if !is_new {
            return Ok(());
        }
        apart::check_by_witness(self.opener.uninterrupted(), operation, one, other).await
    }

    /// Refuses to sync what the other side holds, or what holds the backups.
    pub(super) async fn check_apart(&mut self, source: &Location, destination: &Location) -> Result<()> {
        apart::check("sync", source, destination)?;
        if let Some(backup) = self.backs_up.clone() {
            for place in [destination, source] {
                apart::check("back up to", &backup, place)?;
                self.check_by_witness("back up to", &backup, place).await?;
            }
        }
        Ok(())
    }

    /// Says which names are only at the destination, if that is known.
    pub(super) async fn tell_extras(
        &self,
        destination: &Location,
        extras: Gathered,
        whole: bool,
    ) -> Result<()> {
        let Gathered { wanted, to, names, versions, all, whole: source_whole, .. } = extras;
        if wanted == Wanted::No {
            return Ok(());
        }
        if !(whole && source_whole) {
            return self.send(Listed::Unsure { extras: names.count }).await;
        }
        if let Wanted::Deleted(_) = wanted {
            let place = Location { key: to, ..destination.clone() };
            return self.send(Listed::Extras(Box::new(Extras { place, names, versions, all }))).await;
        }
        let mut names = names.read()?;
        loop {
            let some = names.next(BATCH)?;
            if some.is_empty() {
                return Ok(());
            }
            for (key, _) in some {
                let name = key.strip_prefix(&to).unwrap_or(&key).to_owned();
                self.send(Listed::Extra { full: destination.store.name(&key), name }).await?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_source_has_under_that_name_is_not_extra_though_it_is_not_listed() {
        let wanted = Wanted::Deleted(Deleting::default());
        let filter = Filter::new(&[], &["*.keep".into()]).unwrap();
        let mut gathered = Gathered::new(wanted, "to/".to_owned(), filter);
        let skipped = |name: &str| Error::new(ErrorKind::Unsupported, "list", name, "a link");
        gathered.not_listed(&skipped("/from/link"), "/from/");
        gathered.not_listed(&skipped("/from/a/pipe"), "/from");
        for key in ["to/link", "to/link/below", "to/link2", "to/a/pipe", "to/a/b", "to/x.keep"] {
            gathered.keep(&ObjectMeta { key: key.to_owned(), ..ObjectMeta::default() }).unwrap();
        }
        let mut names = gathered.names.read().unwrap();
        let kept: Vec<String> = names.next(10).unwrap().into_iter().map(|(key, _)| key).collect();
        assert_eq!(kept, ["to/link2", "to/a/b"]);
        assert!(gathered.whole);
        let filter = Filter::new(&[], &[]).unwrap();
        let wanted = Wanted::Deleted(Deleting::default());
        let mut gathered = Gathered::new(wanted, "to/".to_owned(), filter);
        gathered.not_listed(&Error::new(ErrorKind::Io, "list", "/from/x", "denied"), "/from/");
        assert!(!gathered.whole);
    }
}
