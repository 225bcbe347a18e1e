//! What removes objects.
//!
//! All of it acts on object stores; a local path is refused. Nothing is removed before the list of what would be is whole,
//! and nothing if that is more than was allowed.

use std::collections::{HashSet, VecDeque};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;

use super::list::listed;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Failure;
use crate::gate::through;
use crate::secret::redacted;
use crate::spool::Spool;
use crate::stage::list::{Emptied, Filter, Pattern, marker_of};
use crate::stage::remove::{Folders, clear_markers, delete_all};
use crate::store::{Address, Location, Request, StoreOpener, StoreOptions};

/// Names taken from the list at once.
pub(super) const BATCH: u64 = 1000;

/// What to remove of what a URL names.
#[derive(Clone, Debug, Default)]
pub struct RemoveOptions {
    /// Everything below a prefix or in a container, rather than one object.
    pub recursive: bool,
    /// A URL that nothing has the name of, and that has wildcards, is all that matches it.
    pub wildcards: bool,
    /// Only tell what would be removed.
    pub dry_run: bool,
    /// Only names (below what the URL names) that match one of these globs; all where empty.
    pub include: Vec<String>,
    /// No names that match one of these globs.
    pub exclude: Vec<String>,
    /// Remove nothing if that would be more objects than this.
    pub max_delete: Option<u64>,
}

impl RemoveOptions {
    fn is_pattern(&self, key: &str) -> bool {
        self.wildcards && Pattern::of(key).is_some()
    }

    /// Why so many, at all URLs together, are not removed; `None` where they may be.
    pub(super) fn refusal(&self, operation: &'static str, urls: &[String], count: u64) -> Option<Error> {
        let most = self.max_delete.filter(|most| count > *most)?;
        let cause =
            format!("{count} objects would be removed, where at most {most} may be; nothing was removed");
        let name = match urls {
            [url] => without_query(url).to_owned(),
            urls => format!("{} URLs", urls.len()),
        };
        let review = if self.dry_run { "" } else { "review them with --dry-run, then " };
        Some(Error::new(ErrorKind::Usage, operation, name, cause).hint(format!("{review}raise --max-delete")))
    }

    /// Refuses more than is allowed at once; a dry run first says what there is, so that it can be reviewed.
    pub(super) fn allow(
        &self,
        operation: &'static str,
        urls: &[String],
        count: u64,
    ) -> Result<Option<Error>> {
        match self.refusal(operation, urls, count) {
            Some(refusal) if !self.dry_run => Err(refusal),
            later => Ok(later),
        }
    }
}

/// What a removal did, or would do.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct RemoveReport {
    /// Objects removed.
    pub objects: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Objects and markers that could not be removed.
    pub failures: Vec<Failure>,
    /// Folders whose marker was removed, because nothing is left in them.
    pub folders: u64,
    /// The object that the URL itself names stays, because of `include` and `exclude`.
    pub left_out: bool,
}

/// What is to be removed at one URL.
pub(super) struct Found {
    pub(super) url: String,
    pub(super) place: Location,
    pub(super) whole: Whole,
}

/// All that a list has brought of what is to be removed.
#[derive(Default)]
pub(super) struct Whole {
    pub(super) names: Spool,
    /// Folders that lose an object, where some have markers.
    lost: Folders,
    pub(super) emptied: Option<Emptied>,
    /// The filter leaves out an object that the URL names.
    left_out: bool,
}

/// Objects to be removed, found and counted: nothing is removed before all that was named has been looked at.
pub struct Removal {
    pub(super) found: VecDeque<Found>,
    pub(super) dry_run: bool,
    /// What the run would end with: a dry run ends with it too, after it has said what there is.
    pub(super) refusal: Option<Error>,
}

impl Removal {
    /// Finds the objects that URLs name; with `recursive` everything below them.
    ///
    /// # Errors
    /// `Usage` for a local path, an account, a container or prefix without `recursive`, and for more objects than
    /// `max_delete` at all URLs together; `NotFound` where nothing is there. Any error of a list.
    pub fn find<'a>(
        urls: &'a [String],
        what: &'a RemoveOptions,
        options: &'a StoreOptions,
    ) -> BoxFuture<'a, Result<Self>> {
        Box::pin(async move {
            let filter = Filter::new(&what.include, &what.exclude)?;
            let located: Vec<Location> =
                urls.iter().map(|url| remote("rm", url, options)).collect::<Result<_>>()?;
            let many = |at: &&Location| !what.recursive && (at.key.is_empty() || at.key.ends_with('/'));
            if let Some(Location { store, key, .. }) = located.iter().find(many) {
                return Err(Error::new(ErrorKind::Usage, "rm", store.name(key), "this is not one object")
                    .hint("add --recursive to remove everything below it"));
            }
            let mut found = VecDeque::with_capacity(urls.len());
            let mut named = HashSet::new();
            // Where everything below was looked for already.
            let mut searched: Vec<(String, String)> = Vec::new();
            for (url, place) in urls.iter().zip(located) {
                let Location { store, key, gate } = &place;
                // What is named twice is removed, and counted, once.
                if !named.insert(store.name(key)) {
                    continue;
                }
                let whole = if what.recursive {
                    let container = store.identity("");
                    let of_container = searched.iter().filter(|(known, _)| *known == container);
                    let above: Vec<Below<'_>> = of_container.map(|(_, key)| Below::of(key)).collect();
                    let found = whole_list(url, &place, &above, &filter, what, options).await?;
                    searched.push((container, key.clone()));
                    found
                } else {
                    let (api, name) = (store.api(Request::Look), store.name(key));
                    match through!(gate, api, name, trace => store.head(key, trace).await) {
                        Ok(meta) => one(key, meta.size, &filter)?,
                        // Whoever writes a wildcard means several.
                        Err(error) if error.kind() == ErrorKind::NotFound && what.is_pattern(key) => {
                            whole_list(url, &place, &[], &filter, what, options).await?
                        }
                        Err(error) => return Err(error),
                    }
                };
                found.push_back(Found { url: url.clone(), place, whole });
            }
            let refusal = what.allow("rm", urls, found.iter().map(|found| found.whole.names.count).sum())?;
            Ok(Self { found, dry_run: what.dry_run, refusal })
        })
    }

    /// Removes what was found at the next URL, in the order in which they were named; `None` after the last. `tell` gets the
    /// name of each object that a dry run finds.
    ///
    /// # Errors
    /// None for a single object: that is in the report. After the last URL of a dry run, `Usage` where they are more than may be removed.
    pub fn remove_next<'a>(
        &'a mut self,
        tell: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<Option<(String, RemoveReport)>>> {
        Box::pin(async move {
            let Some(Found { url, place, whole }) = self.found.pop_front() else {
                return self.refusal.take().map_or(Ok(None), Err);
            };
            let (store, gate) = (&place.store, &place.gate);
            let Whole { names, lost, emptied, left_out } = whole;
            let mut report = RemoveReport { left_out, ..RemoveReport::default() };
            let mut names = names.read()?;
            loop {
                let batch = names.next(BATCH)?;
                if batch.is_empty() {
                    break;
                }
                if self.dry_run {
                    batch.iter().for_each(|(key, _)| tell(&redacted(store.name(key))));
                    report.objects += batch.len() as u64;
                    report.bytes =
                        batch.iter().fold(report.bytes, |sum, (_, size)| sum.saturating_add(*size));
                    continue;
                }
                let mut deletes = std::pin::pin!(delete_all(&**store, &batch, gate));
                while let Some(outcomes) = deletes.next().await {
                    for deleted in outcomes {
                        match deleted.outcome {
                            Ok(()) => {
                                report.objects += 1;
                                report.bytes = report.bytes.saturating_add(deleted.size);
                            }
                            Err(error) => report.failures.push(Failure::from(&error)),
                        }
                    }
                }
            }
            if let Some(emptied) = emptied.filter(|_| !self.dry_run) {
                let cleared = clear_markers(emptied, lost).await?;
                report.folders = cleared.folders;
                report.failures.extend(cleared.failures.iter().map(Failure::from));
            }
            Ok(Some((url, report)))
        })
    }
}

/// What a URL names: an object, all that is below its name as a folder, or, with a `/` at its end, only that.
pub(super) struct Below<'a> {
    key: &'a str,
    prefix: String,
}

impl<'a> Below<'a> {
    pub(super) fn of(key: &'a str) -> Self {
        let prefix = if key.is_empty() || key.ends_with('/') { key.to_owned() } else { format!("{key}/") };
        Self { key, prefix }
    }

    /// Whether a name is one of those: `data2/x` is not below `data`.
    pub(super) fn holds(&self, key: &str) -> bool {
        key == self.key || key.starts_with(&self.prefix)
    }

    /// The part of a name that globs match: what is below, or the last word of the object itself.
    pub(super) fn name<'k>(&self, key: &'k str) -> &'k str {
        key.strip_prefix(&self.prefix).unwrap_or_else(|| key.rsplit('/').next().unwrap_or(key))
    }
}

/// The object that a URL names, if the filter wants it.
fn one(key: &str, size: u64, filter: &Filter) -> Result<Whole> {
    let wanted = filter.wants(Below::of(key).name(key));
    let mut one = Whole { left_out: !wanted, ..Whole::default() };
    if wanted {
        one.names.push(key, size)?;
    }
    Ok(one)
}

/// Everything at and below a URL that the filter wants, when the list has come to its end; without what was found `above` or below other
/// URLs already.
async fn whole_list(
    url: &str,
    place: &Location,
    above: &[Below<'_>],
    filter: &Filter,
    what: &RemoveOptions,
    options: &StoreOptions,
) -> Result<Whole> {
    let RemoveOptions { recursive, wildcards, .. } = *what;
    let key = place.key.as_str();
    let mut listing = listed(url, true, wildcards, options).await?;
    let matched = Pattern::of(key).filter(|pattern| wildcards && pattern.folder == listing.root());
    if !recursive && matched.is_none() {
        return Err(Error::new(ErrorKind::Usage, "rm", place.store.name(key), "this is not one object")
            .hint("add --recursive to remove everything below it"));
    }
    let below = matched.as_ref().map_or_else(|| Below::of(key), |pattern| Below::of(&pattern.folder));
    let mut found = Whole::default();
    let (mut is_object, mut is_marked) = (false, false);
    while let Some(page) = listing.next().await? {
        if let Some(problem) = page.problems.into_iter().next() {
            return Err(problem);
        }
        is_marked |= !page.markers.is_empty();
        for object in page.objects {
            is_object |= object.key == key;
            let known = |other: &Below<'_>| other.holds(&object.key) && filter.wants(other.name(&object.key));
            if filter.wants(below.name(&object.key)) && !above.iter().any(known) {
                if let Some(missed) = filter.misses(below.name(&object.key)) {
                    return Err(missed);
                }
                found.lost.note(&object.key);
                found.names.push(&object.key, object.size)?;
            } else {
                found.left_out |= object.key == key && !filter.wants(below.name(key));
            }
        }
    }
    if matched.is_none() && !is_object && (is_marked || marker_of(place).await?.is_some()) {
        found.emptied = Some(Emptied { place: place.clone(), filter: filter.clone() });
    }
    Ok(found)
}

/// A location in an object store, and in a container of it.
pub(super) fn remote(operation: &'static str, url: &str, options: &StoreOptions) -> Result<Location> {
    check_remote(operation, url, options)?;
    StoreOpener::new(options.clone())?.open(url)
}

/// Refuses what is not in a container of an object store.
///
/// # Errors
/// `Usage` for a local path, a stream and a whole account.
pub fn check_remote(operation: &'static str, url: &str, options: &StoreOptions) -> Result<()> {
    match Address::parse(url, options)? {
        Address::Local(_) => Err(Error::new(
            ErrorKind::Usage,
            operation,
            url,
            "this is a local path; only object stores are changed so",
        )
        .hint("for local files use rm, mkdir and rmdir; for an object write az://container/path or s3://bucket/key")),
        Address::Stdio => {
            Err(Error::new(ErrorKind::Usage, operation, url, "this is a stream, not an object"))
        }
        Address::Azure(address) if address.container.is_empty() => Err(whole_account(operation, url)),
        Address::S3(address) if address.bucket.is_empty() => Err(all_buckets(operation, url)),
        Address::Azure(_) | Address::S3(_) | Address::Memory { .. } => Ok(()),
    }
}

/// A URL as it may be shown.
fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or_default()
}

pub(super) fn whole_account(operation: &'static str, url: &str) -> Error {
    Error::new(ErrorKind::Usage, operation, without_query(url), "this is a whole account")
        .hint("name a container: az://container; haul ls az:// lists them")
}

pub(super) fn all_buckets(operation: &'static str, url: &str) -> Error {
    Error::new(ErrorKind::Usage, operation, url, "this is a whole account")
        .hint("name a bucket: s3://bucket; haul ls s3:// lists them")
}
