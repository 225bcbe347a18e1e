//! The pages of a list, each asked for while the one before is looked at.

use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::marker_of;
use crate::error::Result;
use crate::gate::{Gate, through};
use crate::store::{ListPage, ListRequest, Location, Request, Store};

/// Pages that wait to be looked at: some thousand names.
const AHEAD: usize = 1;

/// Reads a list ahead. Dropped, it asks for no more.
pub(super) struct Pages {
    /// The first page, where it was looked at before its turn.
    first: Option<Result<ListPage>>,
    pages: mpsc::Receiver<Result<ListPage>>,
    reading: AbortHandle,
    /// Nobody wants a page, but the request that is on its way may end, and its connection serve again.
    left: bool,
}

impl Pages {
    pub(super) fn of(store: &dyn Store, request: ListRequest, gate: Gate) -> Self {
        Self::read(store, request, gate, None)
    }

    /// The same of what is in a folder, or, if that is nothing, of its marker.
    pub(super) fn of_folder(folder: &Location, request: ListRequest) -> Self {
        Self::read(&*folder.store, request, folder.gate.clone(), Some(folder.clone()))
    }

    fn read(store: &dyn Store, request: ListRequest, gate: Gate, mut folder: Option<Location>) -> Self {
        let (send, pages) = mpsc::channel(AHEAD);
        let (api, name) = (store.api(Request::List), store.name(&request.prefix));
        let mut lister = store.list(request);
        let reading = tokio::spawn(async move {
            loop {
                let page: Result<Option<ListPage>> =
                    through!(gate, api, name, trace => lister.next_page(trace).await);
                let page = match (page, folder.take()) {
                    // A service may give an empty page with more to come.
                    (Ok(Some(page)), unseen) if page.is_empty() => {
                        folder = unseen;
                        continue;
                    }
                    (Ok(None), Some(unseen)) => {
                        marker_of(&unseen).await.map(|marker| marker.map(ListPage::of_marker))
                    }
                    (page, _) => page,
                };
                let page = page.transpose();
                let Some(page) = page else { return };
                let last = page.is_err();
                if send.send(page).await.is_err() || last {
                    return;
                }
            }
        });
        Self { first: None, pages, reading: reading.abort_handle(), left: false }
    }

    /// The first page before its turn: it comes again with [`Self::next`].
    pub(super) async fn first(&mut self) -> Result<Option<&ListPage>> {
        match self.peek().await {
            Some(Err(_)) => self.next().await.map(|_| None),
            _ => Ok(self.first.as_ref().and_then(|page| page.as_ref().ok())),
        }
    }

    /// The same, where what went wrong is left for [`Self::next`] to tell.
    pub(super) async fn peek(&mut self) -> Option<&Result<ListPage>> {
        if self.first.is_none() {
            self.first = self.pages.recv().await;
        }
        self.first.as_ref()
    }

    /// The same, where nothing came, with this page.
    pub(super) fn with(mut self, page: ListPage) -> Self {
        self.first = Some(Ok(page));
        self
    }

    /// Asks for no more, and lets what was asked for come.
    pub(super) fn leave(mut self) {
        self.left = true;
    }

    /// The next page; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<ListPage>> {
        match self.first.take() {
            Some(first) => first.map(Some),
            None => self.pages.recv().await.transpose(),
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if !self.left {
            self.reading.abort();
        }
    }
}
