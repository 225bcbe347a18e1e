//! Removes what interrupted writes have left.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::remove::{BATCH, Below, RemoveOptions, all_buckets, whole_account};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Failure;
use crate::gate::{Gate, through};
use crate::secret::redacted;
use crate::spool::Spool;
use crate::stage::list::Filter;
use crate::store::{Address, Leftover, ListRequest, Location, Request, Store, StoreOpener, StoreOptions};

/// What a cleaning found.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct CleanReport {
    /// Names of leftovers that were removed, or would be: at most [`CleanReport::NAMES_KEPT`] of them.
    pub names: Vec<String>,
    /// Leftovers removed, or that would be.
    pub leftovers: u64,
    /// Bytes in them. `None` at a service, whose list does not say what blocks it holds.
    pub bytes: Option<u64>,
    /// Leftovers that somebody is still writing, or that have become objects.
    pub in_use: u64,
    /// Leftovers that could not be removed.
    pub failures: Vec<Failure>,
}

impl CleanReport {
    /// Names kept at most.
    pub const NAMES_KEPT: usize = 10_000;

    /// Notes what became of one.
    fn add(&mut self, removed: Result<bool>, name: impl FnOnce() -> String, size: u64) {
        match removed {
            Ok(true) => {
                self.leftovers += 1;
                self.bytes = self.bytes.map(|bytes| bytes.saturating_add(size));
                if self.names.len() < Self::NAMES_KEPT {
                    self.names.push(redacted(name()));
                }
            }
            Ok(false) => self.in_use += 1,
            Err(error) => self.failures.push(Failure::from(&error)),
        }
    }
}

/// Leftovers at one path or URL.
struct Found {
    url: String,
    store: Arc<dyn Store>,
    gate: Gate,
    names: Spool,
    /// Those that somebody is writing.
    in_use: u64,
    /// Folders that cannot be read hold leftovers that stay.
    failures: Vec<Failure>,
}

/// Leftovers to be removed, found and counted.
///
/// A service cannot tell whether somebody is still sending the blocks of an upload; so it must not run beside one. Files
/// that a mover on this machine is writing are left alone.
pub struct Cleaning {
    found: VecDeque<Found>,
    dry_run: bool,
    /// What the run would end with: a dry run ends with it too, after it has said what there is.
    refusal: Option<Error>,
}

impl Cleaning {
    /// Finds what interrupted writes have left at and below paths or URLs; `what.recursive` has no meaning here.
    ///
    /// # Errors
    /// `Usage` for an account, and for more leftovers than `max_delete` at all URLs together; `NotFound` for a folder that
    /// is not there. Any error of a list.
    pub fn find<'a>(
        urls: &'a [String],
        what: &'a RemoveOptions,
        options: &'a StoreOptions,
    ) -> BoxFuture<'a, Result<Self>> {
        Box::pin(async move {
            let filter = Filter::new(&what.include, &what.exclude)?;
            let mut found = VecDeque::with_capacity(urls.len());
            // What is at several of them is removed, and counted, once.
            let mut known = (urls.len() > 1).then(HashSet::new);
            for url in urls {
                found.push_back(leftovers(url, &filter, known.as_mut(), options).await?);
            }
            let refusal = what.allow("clean", urls, found.iter().map(|found| found.names.count).sum())?;
            Ok(Self { found, dry_run: what.dry_run, refusal })
        })
    }

    /// Removes what was found at the next URL, in the order in which they were named; `None` after the last.
    ///
    /// # Errors
    /// None for a single leftover: that is in the report. After the last URL of a dry run, `Usage` where they are more than may be
    /// removed.
    pub fn remove_next(&mut self) -> BoxFuture<'_, Result<Option<(String, CleanReport)>>> {
        Box::pin(async move {
            let Some(Found { url, store, gate, names, in_use, failures }) = self.found.pop_front() else {
                return self.refusal.take().map_or(Ok(None), Err);
            };
            let bytes = store.capabilities().at_hand.then_some(0);
            let mut report = CleanReport { failures, bytes, in_use, ..CleanReport::default() };
            let mut names = names.read()?;
            loop {
                let batch = names.next(BATCH)?;
                if batch.is_empty() {
                    return Ok(Some((url, report)));
                }
                for (key, size) in batch {
                    let removed = match self.dry_run {
                        true => Ok(true),
                        false => through!(gate, store.api(Request::Delete), store.name(&key), trace => {
                            store.remove_leftover(&key, trace).await
                        }),
                    };
                    report.add(removed, || store.name(&key), size);
                }
            }
        })
    }
}

/// What is left at a path or URL, without what is `known`.
async fn leftovers(
    url: &str,
    filter: &Filter,
    mut known: Option<&mut HashSet<String>>,
    options: &StoreOptions,
) -> Result<Found> {
    match Address::parse(url, options)? {
        Address::Local(path) if !path.is_dir() => {
            return Err(Error::new(ErrorKind::NotFound, "clean", url, "no such folder"));
        }
        Address::Local(path) if path.canonicalize().is_ok_and(|path| path.parent().is_none()) => {
            return Err(Error::new(ErrorKind::Usage, "clean", url, "this is the whole machine")
                .hint("give the folder that was copied to"));
        }
        Address::Azure(address) if address.container.is_empty() => return Err(whole_account("clean", url)),
        Address::S3(address) if address.bucket.is_empty() => return Err(all_buckets("clean", url)),
        _ => {}
    }
    let Location { store, key, gate } = StoreOpener::new(options.clone())?.open(url)?;
    let mut lister =
        store.list(ListRequest { prefix: key.clone(), leftovers: true, ..ListRequest::default() });
    let below = Below::of(&key);
    let (api, name) = (store.api(Request::List), store.name(&key));
    let mut found = Found {
        url: url.to_owned(),
        store,
        gate: gate.clone(),
        names: Spool::default(),
        in_use: 0,
        failures: Vec::new(),
    };
    while let Some(page) = through!(gate, api, name, trace => lister.next_page(trace).await)? {
        // Links and devices are no leftovers.
        let unread = page.problems.iter().filter(|problem| problem.kind() != ErrorKind::Unsupported);
        found.failures.extend(unread.map(Failure::from));
        for leftover in page.objects {
            let object = found.store.leftover_of(&leftover.key);
            let wanted = below.holds(object) && filter.wants(below.name(object));
            if wanted && known.as_mut().is_none_or(|known| known.insert(found.store.identity(&leftover.key)))
            {
                match found.store.look_at_leftover(&leftover.key).await {
                    Ok(Leftover::InUse) => found.in_use += 1,
                    Ok(Leftover::Spare) => found.names.push(&leftover.key, leftover.size)?,
                    Err(error) => found.failures.push(Failure::from(&error)),
                }
            }
        }
    }
    Ok(found)
}
