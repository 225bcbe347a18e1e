//! Lists, page by page.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use super::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{Gate, through};
use crate::secret;
use crate::stage::list::{Filter, Pattern, marker_of};
use crate::store::azure::AzureStore;
use crate::store::s3::S3Store;
use crate::store::{
    Address, ListPage, ListRequest, Lister, Location, Request, Store, StoreOpener, StoreOptions, Trace,
    folder_of,
};
use crate::task::joined;

/// A list being read page by page. While one page is looked at the next is on its way; dropped, nothing is.
#[derive(Debug)]
pub struct Listing {
    /// Where the list stands, while nothing is on its way.
    idle: Option<Pages>,
    /// At most one page.
    ahead: JoinSet<(Pages, Result<Option<ListPage>>)>,
    folders: Folders,
    /// Which of the names below `root` are wanted: what globs say, and a URL with wildcards.
    filters: Vec<Filter>,
}

impl Listing {
    fn new(pages: Pages) -> Self {
        let folders = Folders { root: pages.root.clone(), ..Folders::default() };
        Self { idle: Some(pages), ahead: JoinSet::new(), folders, filters: Vec::new() }
    }

    /// Leaves out names below that these globs do not want; folders too, of a list of one level.
    ///
    /// # Errors
    /// `Usage` for a glob that is none.
    pub fn matching(mut self, include: &[String], exclude: &[String]) -> Result<Self> {
        if !(include.is_empty() && exclude.is_empty()) {
            self.filters.push(Filter::new(include, exclude)?);
        }
        Ok(self)
    }

    /// What the names that are compared lie below.
    pub(super) fn root(&self) -> &str {
        &self.folders.root
    }

    fn leave_out(&self, page: &mut ListPage) {
        if self.filters.is_empty() {
            return;
        }
        let wants = |key: &str| {
            let name = key.strip_prefix(self.root()).unwrap_or_else(|| key.rsplit('/').next().unwrap_or(key));
            self.filters.iter().all(|filter| filter.wants(name))
        };
        page.objects.retain(|object| wants(&object.key));
        page.prefixes.retain(|prefix| wants(prefix.trim_end_matches('/')));
        page.markers.retain(|marker| wants(&marker.key));
    }

    /// The next page, in byte order of the keys; `None` after the last. After an error the same page is asked for again. Folders that
    /// have a marker are among the prefixes.
    pub fn next_page(&mut self) -> BoxFuture<'_, Result<Option<ListPage>>> {
        Box::pin(async move {
            let Some(mut page) = self.next().await? else { return Ok(None) };
            self.folders.fold(&mut page);
            Ok(Some(without_secrets(page)))
        })
    }

    /// The next page as the store has it.
    pub(super) async fn next(&mut self) -> Result<Option<ListPage>> {
        if let Some(pages) = self.idle.take() {
            self.ask(pages);
        }
        let Some(came) = self.ahead.join_next().await else {
            return Err(Error::new(ErrorKind::Cancelled, "list", "names", "the list was stopped"));
        };
        let (pages, page) = joined(came)?;
        match page {
            Ok(Some(_)) => self.ask(pages),
            Ok(None) | Err(_) => self.idle = Some(pages),
        }
        let mut page = page?;
        page.iter_mut().for_each(|page| self.leave_out(page));
        Ok(page)
    }

    fn ask(&mut self, mut pages: Pages) {
        self.ahead.spawn(async move {
            let page = pages.next().await;
            (pages, page)
        });
    }
}

/// Folders that were told.
#[derive(Debug, Default)]
struct Folders {
    /// What is listed, with a `/` at its end: it is not in itself.
    root: String,
    told: HashSet<u64>,
}

impl Folders {
    /// Makes markers the folders that they stand for, each told once: it may be a prefix too, or have several.
    fn fold(&mut self, page: &mut ListPage) {
        let marked = std::mem::take(&mut page.markers);
        let marked = marked.iter().map(|marker| folder_of(&marker.key));
        let found = std::mem::take(&mut page.prefixes).into_iter().chain(marked);
        let mut is_new = |folder: &String| {
            let mut hasher = DefaultHasher::new();
            folder.hash(&mut hasher);
            self.told.insert(hasher.finish())
        };
        page.prefixes = found.filter(|folder| *folder != self.root && is_new(folder)).collect();
        page.prefixes.sort_unstable();
    }
}

/// The pages of a list as the store has them.
struct Pages {
    lister: Box<dyn Lister>,
    /// What the requests are called, what is listed, and what they pass.
    api: &'static str,
    name: String,
    gate: Gate,
    root: String,
    /// Given before the others: the object itself, where the URL names one.
    first: Option<ListPage>,
}

impl Pages {
    async fn next(&mut self) -> Result<Option<ListPage>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            let Self { lister, api, name, gate, .. } = self;
            match through!(gate, *api, name, trace => lister.next_page(trace).await)? {
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

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pages")
    }
}

/// Lists what is at a path or URL: the object it names, or what is below it; `recursive` for all depths.
/// An account without a container lists its containers, `recursive` all objects of all of them, named by container.
pub fn list<'a>(url: &'a str, recursive: bool, options: &'a StoreOptions) -> BoxFuture<'a, Result<Listing>> {
    listed(url, recursive, false, options)
}

/// The same of a URL that a person wrote: one with wildcards that nothing has the name of is all that matches it, at all depths.
pub fn list_matching<'a>(
    url: &'a str,
    recursive: bool,
    options: &'a StoreOptions,
) -> BoxFuture<'a, Result<Listing>> {
    listed(url, recursive, true, options)
}

pub(super) fn listed<'a>(
    url: &'a str,
    recursive: bool,
    wildcards: bool,
    options: &'a StoreOptions,
) -> BoxFuture<'a, Result<Listing>> {
    Box::pin(async move {
        let opener = StoreOpener::new(options.clone())?;
        let account = match Address::parse(url, options)? {
            Address::Azure(address) if address.container.is_empty() => {
                Some(Account::Azure(opener.open_azure(address)?))
            }
            Address::S3(address) if address.bucket.is_empty() => Some(Account::S3(opener.open_s3(&address)?)),
            _ => None,
        };
        if let Some(account) = account {
            let (gate, name) = (opener.gate().clone(), account.store().name(""));
            let containers = through!(gate, account.api(), name, trace => account.containers(trace).await)?;
            if recursive {
                let api = account.store().api(Request::List);
                let lister = Box::new(Containers { account, left: containers.into(), current: None });
                return Ok(Listing::new(Pages { lister, api, name, gate, root: String::new(), first: None }));
            }
            let prefixes = containers.into_iter().map(|name| name + "/").collect();
            let first = Some(ListPage { prefixes, ..ListPage::default() });
            let (lister, api) = (Box::new(Nothing), account.api());
            return Ok(Listing::new(Pages { lister, api, name, gate, root: String::new(), first }));
        }
        let Location { store, key, gate } = opener.open(url)?;
        let name = store.name(&key);
        let mut first = None;
        let mut prefix = key.clone();
        if !key.is_empty() && !key.ends_with('/') {
            match through!(gate, store.api(Request::Look), name, trace => store.head(&key, trace).await) {
                Ok(meta) => first = Some(ListPage { objects: vec![meta], ..ListPage::default() }),
                Err(error) if error.kind() == ErrorKind::NotFound => prefix.push('/'),
                Err(error) => return Err(error),
            }
        }
        let found = first.is_some();
        let lister: Box<dyn Lister> = if found {
            Box::new(Nothing)
        } else {
            store.list(ListRequest {
                prefix: prefix.clone(),
                hierarchical: !recursive,
                ..ListRequest::default()
            })
        };
        let api = store.api(Request::List);
        let mut pages = Pages { lister, api, name, gate: gate.clone(), root: prefix, first };
        if !found && !key.is_empty() {
            // Nothing below a prefix means that there is no such prefix.
            pages.first = pages.next().await?;
            let place = Location { store: store.clone(), key: key.clone(), gate };
            if pages.first.is_none() {
                pages.first = marker_of(&place).await?.map(ListPage::of_marker);
            }
            if pages.first.is_none() {
                return match Pattern::of(&key).filter(|_| wildcards) {
                    Some(pattern) => matches(&place, &pattern).await,
                    None => {
                        let cause = "no object has this name or prefix";
                        Err(Error::new(ErrorKind::NotFound, "list", store.name(&key), cause))
                    }
                };
            }
        }
        Ok(Listing::new(pages))
    })
}

/// All that matches a name with wildcards, at all depths.
async fn matches(place: &Location, pattern: &Pattern) -> Result<Listing> {
    let Location { store, key, gate } = place;
    let mut pages = Pages {
        lister: store.list(pattern.request(place)),
        api: store.api(Request::List),
        name: store.name(key),
        gate: gate.clone(),
        root: pattern.folder.clone(),
        first: None,
    };
    let filter = pattern.filter()?;
    // The first page with a name that matches; before it nothing is to be shown.
    while let Some(mut page) = pages.next().await? {
        page.objects
            .retain(|object| object.key.strip_prefix(&pages.root).is_some_and(|name| filter.wants(name)));
        if !page.objects.is_empty() || !page.problems.is_empty() {
            pages.first = Some(page);
            return Ok(Listing { filters: vec![filter], ..Listing::new(pages) });
        }
    }
    Err(Pattern::matches_nothing(place))
}

/// No pages.
struct Nothing;

#[async_trait::async_trait]
impl Lister for Nothing {
    async fn next_page(&mut self, _trace: &Trace) -> Result<Option<ListPage>> {
        Ok(None)
    }
}

/// An account, whose containers are listed one after the other.
enum Account {
    Azure(AzureStore),
    S3(S3Store),
}

impl Account {
    fn store(&self) -> &dyn Store {
        match self {
            Self::Azure(account) => account,
            Self::S3(account) => account,
        }
    }

    /// What the request for the names of containers is called in records.
    fn api(&self) -> &'static str {
        match self {
            Self::Azure(_) => "ListContainers",
            Self::S3(_) => "ListBuckets",
        }
    }

    async fn containers(&self, trace: &Trace) -> Result<Vec<String>> {
        match self {
            Self::Azure(account) => account.list_containers(trace).await,
            Self::S3(account) => account.list_buckets(trace).await,
        }
    }

    fn list(&self, container: &str) -> Result<Box<dyn Lister>> {
        Ok(match self {
            Self::Azure(account) => account.container(container).list(ListRequest::default()),
            Self::S3(account) => account.bucket_named(container)?.list(ListRequest::default()),
        })
    }
}

/// The objects of all containers of an account, one container after the other.
struct Containers {
    account: Account,
    left: VecDeque<String>,
    current: Option<(String, Box<dyn Lister>)>,
}

#[async_trait::async_trait]
impl Lister for Containers {
    async fn next_page(&mut self, trace: &Trace) -> Result<Option<ListPage>> {
        loop {
            if let Some((container, lister)) = &mut self.current {
                if let Some(mut page) = lister.next_page(trace).await? {
                    let entries = page.objects.iter_mut().chain(&mut page.markers);
                    entries.for_each(|meta| meta.key.insert_str(0, container));
                    return Ok(Some(page));
                }
                self.current = None;
            }
            let Some(name) = self.left.pop_front() else { return Ok(None) };
            let lister = self.account.list(&name)?;
            self.current = Some((name + "/", lister));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    /// Pages of one name each; every second time an error comes first.
    struct Flaky {
        given: u32,
        failed: bool,
    }

    #[async_trait::async_trait]
    impl Lister for Flaky {
        async fn next_page(&mut self, _trace: &Trace) -> Result<Option<ListPage>> {
            self.failed = !self.failed;
            if self.failed {
                return Err(Error::new(ErrorKind::Permission, "list", "names", "not now"));
            }
            self.given += 1;
            let prefixes = vec![format!("{}/", self.given)];
            Ok((self.given <= 3).then(|| ListPage { prefixes, ..ListPage::default() }))
        }
    }

    fn listing() -> Listing {
        let lister = Box::new(Flaky { given: 0, failed: false });
        let (name, root) = ("names".to_owned(), String::new());
        Listing::new(Pages { lister, api: "List", name, gate: Gate::default(), root, first: None })
    }

    #[tokio::test]
    async fn a_page_that_failed_is_asked_for_again_and_none_is_lost() {
        let (mut listing, mut found, mut errors) = (listing(), Vec::new(), 0);
        loop {
            match listing.next_page().await {
                Ok(Some(page)) => found.extend(page.prefixes),
                Ok(None) => break,
                Err(_) => errors += 1,
            }
        }
        assert_eq!((found, errors), (vec!["1/".to_owned(), "2/".to_owned(), "3/".to_owned()], 4));
    }

    #[tokio::test]
    async fn who_stops_waiting_loses_no_page() {
        let mut listing = listing();
        assert!(listing.next_page().await.is_err());
        // Polled once and dropped, as Ctrl-C in Python does it.
        let mut waiting = Box::pin(listing.next_page());
        let polled = std::future::poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context).is_pending()));
        assert!(polled.await);
        drop(waiting);
        assert_eq!(listing.next_page().await.unwrap().unwrap().prefixes, ["1/"]);
    }
}
