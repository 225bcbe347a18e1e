//! Single questions to a store: list, stat, count, read; and what removes objects and makes containers (`remove`).
//!
//! Each takes what the user wrote, retries as a job would, and returns when it is done. What moves many objects
//! is a [`crate::job`]. What goes out of here holds no secret that we know.

mod clean;
mod remove;

use std::collections::VecDeque;

use tokio::io::AsyncWrite;

pub use self::clean::{CleanReport, Cleaning};
pub use self::remove::{
    Removal, RemoveOptions, RemoveReport, check_remote, make_container, remove_container,
};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Clock, Failure};
use crate::job::CopyOptions;
use crate::secret::{self, redacted};
use crate::stage::stream::{self, STDIO};
use crate::stage::transfer::with_retries;
use crate::store::azure::AzureStore;
use crate::store::{
    Address, ListPage, ListRequest, Lister, Location, ObjectMeta, Store as _, StoreOpener, StoreOptions,
    StreamEnd, Trace,
};

/// A list being read page by page.
pub struct Listing {
    lister: Box<dyn Lister>,
    /// Given before the pages: the object itself, where the URL names one.
    first: Option<ListPage>,
}

impl Listing {
    /// The next page, in byte order of the keys; `None` after the last.
    pub async fn next_page(&mut self) -> Result<Option<ListPage>> {
        Ok(self.next().await?.map(without_secrets))
    }

    /// The next page as the store has it.
    async fn next(&mut self) -> Result<Option<ListPage>> {
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

/// What is shown of a page. The millions in lists were looked through for the signature of their request by the page;
/// a page of one may be made of the headers of an object, in which nobody has looked for it.
fn without_secrets(mut page: ListPage) -> ListPage {
    let known = secret::names();
    if page.objects.len() == 1 {
        page.objects = page.objects.into_iter().map(shown).collect();
    }
    let hide = |name: &mut String| {
        if let Some(clean) = known.redact(name) {
            *name = clean;
        }
    };
    for object in &mut page.objects {
        hide(&mut object.key);
        hide(&mut object.etag);
        object.content_type.as_mut().map(hide);
    }
    page.prefixes.iter_mut().for_each(hide);
    page
}

/// What is shown of an object.
fn shown(meta: ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        key: redacted(meta.key),
        etag: redacted(meta.etag),
        content_type: meta.content_type.map(redacted),
        ..meta
    }
}

impl std::fmt::Debug for Listing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listing")
    }
}

/// Lists what is at a path or URL: the object it names, or what is below it; `recursive` for all depths.
/// An account without a container lists its containers, `recursive` all objects of all of them, named by container.
pub async fn list(url: &str, recursive: bool, options: &StoreOptions) -> Result<Listing> {
    let opener = StoreOpener::new(options.clone())?;
    if let Address::Azure(address) = Address::parse(url, options)?
        && address.container.is_empty()
    {
        let account = opener.open_azure(address)?;
        let containers = with_retries!(trace => account.list_containers(trace).await)?;
        if recursive {
            let lister = Containers { account, left: containers.into(), current: None };
            return Ok(Listing { lister: Box::new(lister), first: None });
        }
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
        listing.first = listing.next().await?;
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
    async fn next_page(&mut self, _trace: &Trace) -> Result<Option<ListPage>> {
        Ok(None)
    }
}

/// The objects of all containers of an account, one container after the other.
struct Containers {
    account: AzureStore,
    left: VecDeque<String>,
    current: Option<(String, Box<dyn Lister>)>,
}

#[async_trait::async_trait]
impl Lister for Containers {
    async fn next_page(&mut self, trace: &Trace) -> Result<Option<ListPage>> {
        loop {
            if let Some((container, lister)) = &mut self.current {
                if let Some(mut page) = lister.next_page(trace).await? {
                    page.objects.iter_mut().for_each(|meta| meta.key.insert_str(0, container));
                    return Ok(Some(page));
                }
                self.current = None;
            }
            let Some(name) = self.left.pop_front() else { return Ok(None) };
            let lister = self.account.container(&name).list(ListRequest::default());
            self.current = Some((name + "/", lister));
        }
    }
}

/// All that the store says of one object.
pub async fn stat(url: &str, options: &StoreOptions) -> Result<ObjectMeta> {
    let Location { store, key } = StoreOpener::new(options.clone())?.open(url)?;
    if key.is_empty() || key.ends_with('/') {
        return Err(Error::new(ErrorKind::Usage, "stat", store.name(&key), "this names no object")
            .hint("list what is there with: haul ls URL"));
    }
    with_retries!(trace => store.head(&key, trace).await).map(shown)
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
    while let Some(page) = listing.next().await? {
        usage.problems.extend(page.problems.iter().map(Failure::from));
        usage.objects += page.objects.len() as u64;
        // A list may claim any size.
        usage.bytes = page.objects.iter().fold(usage.bytes, |sum, object| sum.saturating_add(object.size));
    }
    Ok(usage)
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
    if let Some(StreamEnd::File(path)) = Address::parse(url, options)?.source_stream() {
        let mut from = stream::open(&path, false).await?;
        let copied = tokio::io::copy(&mut from, writer).await;
        return copied.map_err(|e| Error::from_io("read", path.display().to_string(), e));
    }
    let location = StoreOpener::new(options.clone())?.open(url)?;
    let found = stream::find(&location, "cat").await?;
    let limits = stream::limits(&CopyOptions::default())?;
    Ok(stream::download(&location, &found, writer, STDIO, &limits, Clock::start()).await?.size_bytes)
}
