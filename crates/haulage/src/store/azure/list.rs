//! Lists, page after page: blobs of a container, containers of an account.

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use http::header::HeaderMap;

use super::AzureStore;
use super::blob;
use super::rules;
use super::service::Operation;
use super::xml;
use crate::error::{ErrorKind, Result};
use crate::store::answer::{Broken, Markers, judge_count, judge_page};
use crate::store::{ListPage, ListRequest, Lister, ObjectMeta, Trace};

/// The blobs of a container.
pub(super) struct AzureLister {
    store: AzureStore,
    request: ListRequest,
    next: Next,
    markers: Markers,
    /// Pages that have come.
    pages: usize,
}

/// Where the next page begins.
enum Next {
    First,
    After(String),
    Done,
}

impl Next {
    fn marker(&self) -> Option<&str> {
        match self {
            Self::After(marker) => Some(marker),
            Self::First | Self::Done => None,
        }
    }

    fn from(marker: Option<String>) -> Self {
        marker.map_or(Self::Done, Self::After)
    }
}

impl AzureLister {
    pub(super) fn new(store: AzureStore, request: ListRequest) -> Self {
        Self { store, request, next: Next::First, markers: Markers::default(), pages: 0 }
    }
}

#[async_trait]
impl Lister for AzureLister {
    async fn next_page(&mut self, trace: &Trace) -> Result<Option<ListPage>> {
        if matches!(self.next, Next::Done) {
            return Ok(None);
        }
        self.store.need_container("list")?;
        // In the order of the alphabet, in which the signature wants them anyway.
        let mut query = vec![("comp", "list")];
        if self.request.hierarchical {
            query.push(("delimiter", "/"));
        }
        query.push(("include", if self.request.leftovers { "uncommittedblobs" } else { "metadata" }));
        query.extend(self.next.marker().map(|marker| ("marker", marker)));
        let small = FIRST_PAGES.get(self.pages).filter(|_| self.request.begin_small);
        query.extend(small.map(|names| ("maxresults", *names)));
        if !self.request.prefix.is_empty() {
            query.push(("prefix", &self.request.prefix));
        }
        query.push(("restype", "container"));
        let name = self.store.display(&self.request.prefix);
        let asked = self.store.asked("list", &name, 'l', ErrorKind::Service);
        let headers = HeaderMap::new();
        let operation =
            self.store.operation(rules::LIST_BLOBS, Method::GET, "", &query, headers, Bytes::new());
        let (page, signature) = self.store.service.document_unread(operation, asked, trace).await?;
        let not_believed = |broken| asked.not_believed(broken);
        let container = &self.store.address().container;
        let believed = believe(&page, &self.request, container, self.next.marker());
        let (mut list, marker) = believed.map_err(not_believed)?;
        if signature.is_some_and(|signature| list.texts().any(|text| signature.is_in(text.as_bytes()))) {
            return Err(not_believed(Broken::echo()));
        }
        if let Some(marker) = &marker {
            self.markers.advance(list.ends(), marker).map_err(not_believed)?;
        }
        if self.request.leftovers {
            list.objects = uncommitted(&self.store, list.objects, trace).await?;
        }
        self.next = Next::from(marker);
        self.pages += 1;
        Ok(Some(list))
    }
}

/// Names on the first pages of a list that begins small: what a new connection brings in two round trips, so that something can
/// be moved, and then so many that the next page is there before all of them are on their way.
const FIRST_PAGES: [&str; 3] = ["64", "256", "1024"];

/// What the page holds, if it answers what was asked.
fn believe(
    page: &[u8],
    request: &ListRequest,
    container: &str,
    marker: Option<&str>,
) -> Result<(ListPage, Option<String>), Broken> {
    let page = xml::blobs(page, request.leftovers)?;
    if page.prefix.is_some_and(|echoed| echoed != request.prefix) {
        return Err(Broken("the list is of another prefix than was asked for".to_owned()));
    }
    // Older versions of the service say its URL.
    if page.container.is_some_and(|echoed| echoed.rsplit('/').next() != Some(container)) {
        return Err(Broken("the list is of another container than was asked for".to_owned()));
    }
    // Of the first page some services leave it out, others empty.
    if page.marker.is_some_and(|echoed| !echoed.is_empty() && Some(echoed.as_str()) != marker) {
        return Err(Broken("the page is another than was asked for".to_owned()));
    }
    judge_page(&page.list, request)?;
    Ok((page.list, page.next))
}

/// Those of the names that are no blobs. A list does not say so, but they have no bytes.
async fn uncommitted(store: &AzureStore, listed: Vec<ObjectMeta>, trace: &Trace) -> Result<Vec<ObjectMeta>> {
    let mut found = Vec::new();
    for meta in listed.into_iter().filter(|meta| meta.size == 0) {
        match blob::head(store, &meta.key, trace).await {
            Err(error) if error.kind() == ErrorKind::NotFound => found.push(meta),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Ok(found)
}

/// All containers of the account.
pub(super) async fn containers(store: &AzureStore, trace: &Trace) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut next = Next::First;
    let mut markers = Markers::default();
    let name = store.address().endpoint.to_string();
    let asked = store.asked("list containers of", &name, 'l', ErrorKind::Service);
    while !matches!(next, Next::Done) {
        let mut query = vec![("comp", "list")];
        query.extend(next.marker().map(|marker| ("marker", marker)));
        let headers = HeaderMap::new();
        let operation = Operation {
            rule: rules::LIST_CONTAINERS,
            method: Method::GET,
            container: "",
            key: "",
            query: &query,
            headers,
            body: Bytes::new(),
        };
        let page = store.service.document(operation, asked, trace).await?;
        let not_believed = |broken| asked.not_believed(broken);
        let (found, marker) = xml::containers(&page).map_err(not_believed)?;
        if let Some(marker) = &marker {
            let ends = found.first().zip(found.last()).map(|(first, last)| (first.as_str(), last.as_str()));
            markers.advance(ends, marker).map_err(not_believed)?;
        }
        names.extend(found);
        judge_count(names.len()).map_err(not_believed)?;
        next = Next::from(marker);
    }
    Ok(names)
}
