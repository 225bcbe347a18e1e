//! The pages of a list, each asked for while the one before is looked at.

use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::error::Result;
use crate::stage::transfer::with_retries;
use crate::store::{ListPage, Lister};

/// Pages that wait to be looked at: some thousand names.
const AHEAD: usize = 1;

/// Reads a list ahead. Dropped, it asks for no more.
pub(super) struct Pages {
    /// The first page, where it was looked at before its turn.
    first: Option<ListPage>,
    pages: mpsc::Receiver<Result<ListPage>>,
    reading: AbortHandle,
}

impl Pages {
    pub(super) fn of(mut lister: Box<dyn Lister>) -> Self {
        let (send, pages) = mpsc::channel(AHEAD);
        let reading = tokio::spawn(async move {
            loop {
                let page = with_retries!(trace => lister.next_page(trace).await).transpose();
                let Some(page) = page else { return };
                let last = page.is_err();
                if send.send(page).await.is_err() || last {
                    return;
                }
            }
        });
        Self { first: None, pages, reading: reading.abort_handle() }
    }

    /// The first page before its turn: it comes again with [`Self::next`].
    pub(super) async fn first(&mut self) -> Result<Option<&ListPage>> {
        if self.first.is_none() {
            self.first = self.pages.recv().await.transpose()?;
        }
        Ok(self.first.as_ref())
    }

    /// The next page; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<ListPage>> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => self.pages.recv().await.transpose(),
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.reading.abort();
    }
}
