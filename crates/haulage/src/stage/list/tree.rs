//! All that lies below a source, merged with what lies below its destination.

use super::cursor::Cursor;
use super::extras::{Gathered, Wanted};
use super::one::as_prefix;
use super::pages::Pages;
use super::{Emptied, Listed, Listing, Pattern, ahead, marker_of};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Overwrite;
use crate::stage::plan::{Existing, Pair, Place};
use crate::store::{ListRequest, Location, ObjectMeta, is_witness};

impl Listing {
    /// Everything below a folder or prefix, but the keys in `own`.
    pub(super) async fn tree(
        &mut self,
        source: &Location,
        mut pages: Pages,
        destination: &Location,
        wanted: Wanted,
        own: &[String],
    ) -> Result<()> {
        let verify = wanted == Wanted::Told;
        let (from, to) = (as_prefix(&source.key), as_prefix(&destination.key));
        // What is to be moved is often known before the answer what is there: connections for it are opened meanwhile.
        let preparing = async {
            if let Some(Ok(page)) = pages.peek().await {
                let connections = ahead::for_these(page);
                self.prepare(source, connections);
                self.prepare(destination, connections);
            }
        };
        let (there, ()) = tokio::join!(self.cursor(destination, &to, wanted), preparing);
        let mut there = there?;
        // Called extra when both lists have come to their ends, and not before.
        let mut extras = Gathered::new(wanted, to.clone(), self.filter.clone());
        let (mut seen, mut chosen, mut any, mut marked) = (0_u64, 0_u64, false, false);
        while let Some(page) = pages.next().await? {
            // A folder with a marker is there, but there is nothing of it to move.
            marked |= !page.markers.is_empty();
            any |= marked;
            for problem in page.problems {
                any = true;
                extras.not_listed(&problem, &source.store.name(&from));
                let file = problem.kind() != ErrorKind::Unsupported;
                self.send(if file { Listed::Problem(problem) } else { Listed::NotAFile(problem) }).await?;
            }
            for meta in page.objects {
                any = true;
                let Some(relative) = meta.key.strip_prefix(&from).map(str::to_owned) else {
                    let cause = "the list names it, though it is not below what was asked for";
                    let name = source.store.name(&meta.key);
                    return Err(Error::new(ErrorKind::Protocol, "list", name, cause));
                };
                if is_witness(&relative) || own.contains(&meta.key) {
                    // What the source has is not only at the destination, though it is no object to move.
                    if let Wanted::Deleted(_) = wanted {
                        there.find(&format!("{to}{relative}"), &mut |extra| extras.keep(extra)).await?;
                    }
                    continue;
                }
                seen += 1;
                let taken = self.filter.wants(&relative) && self.filter.takes(&meta);
                // One that takes no part is there all the same, and its counterpart is not extra.
                if !taken && wanted == Wanted::No {
                    continue;
                }
                let key = format!("{to}{relative}");
                let mut existing = there.find(&key, &mut |extra| extras.keep(extra)).await?;
                if !taken {
                    continue;
                }
                self.missed = self.missed.take().or_else(|| self.filter.misses(&relative));
                chosen += 1;
                extras.all += u64::from(existing.there().is_some());
                if verify && existing == Existing::Absent {
                    // A store may list in another order than ours; one look settles what is missing.
                    existing = Existing::Unknown;
                }
                let source = Place { store: source.store.clone(), key: meta.key };
                let destination = Place { store: destination.store.clone(), key };
                let meta = ObjectMeta { key: source.key.clone(), ..meta };
                let origin = self.origin;
                let mut pair = Pair { origin, ..Pair::new(source, destination, to.len(), meta, existing) };
                self.vouched.apply(&mut pair);
                self.give(pair).await?;
            }
        }
        if wanted != Wanted::No {
            there.rest(&mut |extra| extras.keep(extra)).await?;
        }
        if let Some(error) = self.missed.take().or(extras.missed.take()) {
            match wanted {
                Wanted::Deleted(_) => extras.gap = extras.gap.take().or(Some(error)),
                _ => self.warn_of(&error).await?,
            }
        }
        let found = Found { seen, chosen, any, whole: extras.whole, bounded: self.filter.is_bounded() };
        let missed = match self.filter.is_of_pattern() && found.chosen == 0 {
            true => Some(Pattern::matches_nothing(source)),
            false => missed(source, wanted, &found),
        };
        match (wanted, there.into_gap()) {
            (Wanted::Deleted(_), gap) => match missed.or(gap).or(extras.gap.take()) {
                Some(error) => return Err(error),
                None => {
                    if extras.is_any() {
                        self.check_by_witness("sync", destination, source).await?;
                    }
                    return self.tell_extras(destination, extras, true).await;
                }
            },
            (_, gap) => self.tell_extras(destination, extras, gap.is_none()).await?,
        }
        if let Some(error) = missed {
            return Err(error);
        }
        // The folder of a pattern stays, and so does what is on a disk. To look for markers takes another list.
        let has_markers = self.moves && !self.filter.is_of_pattern() && !source.store.capabilities().folders;
        if has_markers && (marked || marker_of(source).await?.is_some()) {
            let emptied = Emptied { place: source.clone(), filter: self.filter.clone() };
            self.send(Listed::Emptied(Box::new(emptied))).await?;
        }
        Ok(())
    }

    /// Says what is wrong with what was asked for, though it can be done.
    async fn warn_of(&self, error: &Error) -> Result<()> {
        let hint = error.hint_text().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
        let (object, message) = (error.object_name().to_owned(), format!("{}{hint}", error.cause()));
        self.send(Listed::Warning { object, message }).await
    }

    /// How to learn what is at the destination while the source is listed.
    async fn cursor(&self, destination: &Location, prefix: &str, wanted: Wanted) -> Result<Cursor> {
        let (store, gate) = (destination.store.clone(), destination.gate.clone());
        if self.overwrite == Overwrite::Always && wanted == Wanted::No && self.backs_up.is_none() {
            return Ok(Cursor::unasked(store, gate));
        }
        let request = ListRequest { prefix: prefix.to_owned(), ..ListRequest::default() };
        Cursor::listing(store, gate, request, wanted != Wanted::No).await
    }
}

/// What there was at a source.
struct Found {
    /// Objects that may be moved, and those of them that are wanted.
    seen: u64,
    chosen: u64,
    /// Anything at all.
    any: bool,
    /// All of it could be seen.
    whole: bool,
    /// Sizes or ages are bounded.
    bounded: bool,
}

/// What is wrong with a source in which so much was found.
fn missed(source: &Location, wanted: Wanted, found: &Found) -> Option<Error> {
    let name = source.store.name(&source.key);
    let error =
        |cause: String, hint: &str| Some(Error::new(ErrorKind::NotFound, "list", &*name, cause).hint(hint));
    match *found {
        Found { chosen: 0, .. } if wanted.allows_empty() => None,
        Found { seen: seen @ 1.., chosen: 0, bounded: true, .. } => error(
            format!(
                "none of the {seen} names is wanted: --include and --exclude, --min-size, --max-size, --min-age and --max-age leave nothing"
            ),
            "allow more sizes and ages, or other names",
        ),
        Found { seen: seen @ 1.., chosen: 0, .. } => error(
            format!("none of the {seen} names is wanted: --include and --exclude leave nothing"),
            "globs match the name below the source; * passes /, and quotes keep it from the shell",
        ),
        Found { seen: 0, .. } if matches!(wanted, Wanted::Deleted(_)) => error(
            "the source is empty, so that --delete would remove everything at the destination".to_owned(),
            "check the name of the source; add --allow-empty if you mean it",
        ),
        // Where something could not be read, that is what is said.
        Found { seen: 0, whole: true, .. } if wanted == Wanted::Told => {
            error("nothing was compared: there is no object".to_owned(), "check the name of the source")
        }
        _ if found.any || source.store.capabilities().folders || source.key.is_empty() => None,
        _ => {
            let remedy = format!("list what is there with: haul ls {}", source.store.name(""));
            error("no object has this prefix".to_owned(), &remedy)
        }
    }
}
