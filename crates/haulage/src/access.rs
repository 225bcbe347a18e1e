//! Single questions to a store: list, stat, read, delete, make and remove containers.
//!
//! Each takes what the user wrote, retries as a job would, and returns when it is done. What moves many objects
//! is a [`crate::job`].

use futures_util::StreamExt as _;
use tokio::io::AsyncWrite;

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Clock, Failure};
use crate::job::CopyOptions;
use crate::stage::stream;
use crate::stage::transfer::with_retries;
use crate::store::{
    Address, ListPage, ListRequest, Lister, Location, ObjectMeta, Store, StoreOpener, StoreOptions,
};

/// Deletes in flight: enough to hide the round trip, few enough not to be throttled for it.
const DELETES: usize = 64;

/// A list being read page by page.
pub struct Listing {
    lister: Box<dyn Lister>,
    /// Given before the pages: the object itself, where the URL names one.
    first: Option<ListPage>,
}

impl Listing {
    /// The next page, in byte order of the keys; `None` after the last.
    pub async fn next_page(&mut self) -> Result<Option<ListPage>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            let lister = &mut self.lister;
            match with_retries!(trace => lister.next_page(trace).await)? {
                // A service may give an empty page with more to come.
                Some(page) if page.is_empty() => {}
                other => return Ok(other),
            }
        }
    }
}

impl std::fmt::Debug for Listing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listing")
    }
}

/// Lists what is at a path or URL: the object it names, or what is below it; `recursive` for all depths.
/// An account without a container lists its containers.
pub async fn list(url: &str, recursive: bool, options: &StoreOptions) -> Result<Listing> {
    let opener = StoreOpener::new(options.clone())?;
    if let Address::Azure(address) = Address::parse(url, options)?
        && address.container.is_empty()
    {
        let account = opener.open_azure(address)?;
        let containers = with_retries!(trace => account.list_containers(trace).await)?;
        let prefixes = containers.into_iter().map(|name| name + "/").collect();
        return Ok(Listing {
            lister: Box::new(Nothing),
            first: Some(ListPage { prefixes, ..ListPage::default() }),
        });
    }
    let Location { store, key } = opener.open(url)?;
    let mut first = None;
    let mut prefix = key.clone();
    if !key.is_empty() && !key.ends_with('/') {
        match with_retries!(trace => store.head(&key, trace).await) {
            Ok(meta) => first = Some(ListPage { objects: vec![meta], ..ListPage::default() }),
            Err(error) if error.kind() == ErrorKind::NotFound => prefix.push('/'),
            Err(error) => return Err(error),
        }
    }
    let found = first.is_some();
    let lister: Box<dyn Lister> = if found {
        Box::new(Nothing)
    } else {
        store.list(ListRequest { prefix: prefix.clone(), hierarchical: !recursive, ..ListRequest::default() })
    };
    let mut listing = Listing { lister, first };
    if !found && !key.is_empty() {
        // Nothing below a prefix means that there is no such prefix.
        listing.first = listing.next_page().await?;
        if listing.first.is_none() {
            return Err(Error::new(
                ErrorKind::NotFound,
                "list",
                store.name(&key),
                "no object has this name or prefix",
            ));
        }
    }
    Ok(listing)
}

/// No pages.
struct Nothing;

#[async_trait::async_trait]
impl Lister for Nothing {
    async fn next_page(&mut self, _trace: &crate::store::Trace) -> Result<Option<ListPage>> {
        Ok(None)
    }
}

/// All that the store says of one object.
pub async fn stat(url: &str, options: &StoreOptions) -> Result<ObjectMeta> {
    let Location { store, key } = StoreOpener::new(options.clone())?.open(url)?;
    if key.is_empty() || key.ends_with('/') {
        return Err(Error::new(ErrorKind::Usage, "stat", store.name(&key), "this names no object")
            .hint("list what is there with: haul ls URL"));
    }
    with_retries!(trace => store.head(&key, trace).await)
}

/// How much there is.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Usage {
    /// Objects.
    pub objects: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Names that are there but could not be counted.
    pub problems: Vec<Failure>,
}

/// Adds up objects and bytes at and below a path or URL.
pub async fn disk_usage(url: &str, options: &StoreOptions) -> Result<Usage> {
    let mut listing = list(url, true, options).await?;
    let mut usage = Usage::default();
    while let Some(page) = listing.next_page().await? {
        usage.problems.extend(page.problems.iter().map(Failure::from));
        usage.objects += page.objects.len() as u64;
        // A list may claim any size.
        usage.bytes = page.objects.iter().fold(usage.bytes, |sum, object| sum.saturating_add(object.size));
    }
    Ok(usage)
}

/// What a removal did.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct RemoveReport {
    /// Objects removed.
    pub objects: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Objects that could not be removed.
    pub failures: Vec<Failure>,
}

/// Removes the object that the URL names; with `recursive` everything below it.
///
/// # Errors
/// `Usage` for a container or prefix without `recursive`, `NotFound` where nothing is there.
pub async fn remove(url: &str, recursive: bool, options: &StoreOptions) -> Result<RemoveReport> {
    let Location { store, key } = StoreOpener::new(options.clone())?.open(url)?;
    if !recursive {
        if key.is_empty() || key.ends_with('/') {
            return Err(Error::new(ErrorKind::Usage, "rm", store.name(&key), "this is not one object")
                .hint("add --recursive to remove everything below it"));
        }
        let meta = with_retries!(trace => store.head(&key, trace).await)?;
        delete(&*store, &key).await?;
        return Ok(RemoveReport { objects: 1, bytes: meta.size, failures: Vec::new() });
    }
    let mut listing = list(url, true, options).await?;
    let mut report = RemoveReport::default();
    while let Some(page) = listing.next_page().await? {
        report.failures.extend(page.problems.iter().map(Failure::from));
        let store = &store;
        let mut deletes = futures_util::stream::iter(page.objects)
            .map(|object| async move {
                match delete(&**store, &object.key).await {
                    // Somebody else was faster: it is gone, as asked.
                    Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                    _ => Ok(object.size),
                }
            })
            .buffer_unordered(DELETES);
        while let Some(deleted) = deletes.next().await {
            match deleted {
                Ok(bytes) => {
                    report.objects += 1;
                    report.bytes += bytes;
                }
                Err(error) => report.failures.push(Failure::from(&error)),
            }
        }
    }
    Ok(report)
}

/// What a cleaning found.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct CleanReport {
    /// Names of leftovers that were removed, or would be: at most [`CleanReport::NAMES_KEPT`] of them.
    pub names: Vec<String>,
    /// Leftovers removed, or that would be.
    pub leftovers: u64,
    /// Bytes in them; what a service holds in blocks it does not say.
    pub bytes: u64,
    /// Leftovers that somebody is still writing, or that have become objects.
    pub in_use: u64,
    /// Leftovers that could not be removed.
    pub failures: Vec<Failure>,
}

impl CleanReport {
    /// Names kept at most.
    pub const NAMES_KEPT: usize = 10_000;
}

/// Removes what interrupted writes have left at and below a path or URL; with `dry_run` only tells what that is.
///
/// A service cannot tell whether somebody is still sending the blocks of an upload; so it must not run beside one. Files that a
/// mover on this machine is writing are left alone.
pub async fn clean(url: &str, dry_run: bool, options: &StoreOptions) -> Result<CleanReport> {
    if let Address::Local(path) = Address::parse(url, options)?
        && !path.is_dir()
    {
        return Err(Error::new(ErrorKind::NotFound, "clean", url, "no such folder"));
    }
    let Location { store, key } = StoreOpener::new(options.clone())?.open(url)?;
    let mut lister = store.list(ListRequest { prefix: key, leftovers: true, ..ListRequest::default() });
    let mut report = CleanReport::default();
    while let Some(page) = with_retries!(trace => lister.next_page(trace).await)? {
        report.failures.extend(page.problems.iter().map(Failure::from));
        for leftover in page.objects {
            let key = &leftover.key;
            let removed = match dry_run {
                true => Ok(true),
                false => with_retries!(trace => store.remove_leftover(key, trace).await),
            };
            match removed {
                Ok(true) => {
                    report.leftovers += 1;
                    report.bytes += leftover.size;
                    if report.names.len() < CleanReport::NAMES_KEPT {
                        report.names.push(store.name(key));
                    }
                }
                Ok(false) => report.in_use += 1,
                Err(error) => report.failures.push(Failure::from(&error)),
            }
        }
    }
    Ok(report)
}

/// Deletes an object; one that an attempt with a lost answer has deleted is deleted.
async fn delete(store: &dyn Store, key: &str) -> Result<()> {
    let mut tries = 0;
    let deleted = with_retries!(trace => {
        tries += 1;
        store.delete(key, trace).await
    });
    match deleted {
        Err(error) if error.kind() == ErrorKind::NotFound && tries > 1 => Ok(()),
        other => other,
    }
}

/// Creates the container (or folder) of a URL.
pub async fn make_container(url: &str, options: &StoreOptions) -> Result<()> {
    let store = container("mb", url, options)?.store;
    let mut tries = 0;
    let made = with_retries!(trace => {
        tries += 1;
        store.create_container(trace).await
    });
    match made {
        // Made by an attempt whose answer was lost.
        Err(error) if error.kind() == ErrorKind::Exists && tries > 1 => Ok(()),
        other => other,
    }
}

/// Deletes the container (or folder) of a URL; one that holds objects only by `force`, and then with them.
///
/// # Errors
/// `Usage` where it holds objects and `force` is not given: the service itself would not ask.
pub async fn remove_container(url: &str, force: bool, options: &StoreOptions) -> Result<()> {
    let Location { store, .. } = container("rb", url, options)?;
    let mut lister = store.list(ListRequest::default());
    while !force && let Some(page) = with_retries!(trace => lister.next_page(trace).await)? {
        if !page.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "rb", store.name(""), "it holds objects")
                .hint("add --force to remove them as well; haul du counts them"));
        }
    }
    with_retries!(trace => store.delete_container(trace).await)
}

fn container(operation: &'static str, url: &str, options: &StoreOptions) -> Result<Location> {
    // A folder that does not exist yet would be taken for a file in its parent.
    let local = !url.contains("://") && !url.ends_with('/');
    let url = if local { format!("{url}/") } else { url.to_owned() };
    let location = StoreOpener::new(options.clone())?.open(&url)?;
    if location.key.trim_end_matches('/').is_empty() {
        return Ok(location);
    }
    Err(Error::new(
        ErrorKind::Usage,
        operation,
        location.store.name(&location.key),
        "this names no container",
    )
    .hint("write az://container, without a path after it"))
}

/// Writes an object to `writer`, in order, and gives its length.
///
/// # Errors
/// `Integrity` when the whole does not match the checksum stored with it; every range that the service can
/// vouch for is verified before it is passed on.
pub async fn cat<W: AsyncWrite + Unpin + Send>(
    url: &str,
    options: &StoreOptions,
    writer: &mut W,
) -> Result<u64> {
    let location = StoreOpener::new(options.clone())?.open(url)?;
    if location.key.is_empty() || location.key.ends_with('/') {
        let name = location.store.name(&location.key);
        return Err(Error::new(ErrorKind::Usage, "cat", name, "this names no object"));
    }
    let limits = stream::limits(&CopyOptions::default())?;
    Ok(stream::download(&location, writer, &limits, Clock::start()).await?.size_bytes)
}
