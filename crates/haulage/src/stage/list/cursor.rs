//! What is at the destination, learnt while the source is listed.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::stage::plan::Existing;
use crate::stage::transfer::with_retries;
use crate::store::{ListRequest, Lister, ObjectMeta, Store};

/// Answers "what is at this key?" for keys that come in byte order.
pub(super) struct Cursor {
    store: Arc<dyn Store>,
    way: Way,
}

enum Way {
    /// It does not matter.
    Unasked,
    /// Each key is asked for: cheap where the store is local.
    Asking,
    /// A list is read along.
    Listing(Merge),
    /// A list cannot be had, or is not in order: every object needs a look of its own.
    Unknown,
}

struct Merge {
    lister: Box<dyn Lister>,
    page: VecDeque<ObjectMeta>,
    /// The last key seen on each side, to notice when one is out of order.
    last_there: String,
    last_asked: String,
    /// Keys passed that nobody asked for.
    extras: Vec<String>,
    out_of_order: bool,
}

impl Cursor {
    pub(super) fn unasked(store: Arc<dyn Store>) -> Self {
        Self { store, way: Way::Unasked }
    }

    pub(super) fn asking(store: Arc<dyn Store>) -> Self {
        Self { store, way: Way::Asking }
    }

    pub(super) async fn listing(store: Arc<dyn Store>, prefix: &str) -> Result<Self> {
        let lister = store.list(ListRequest {
            prefix: prefix.to_owned(),
            hierarchical: false,
            ..ListRequest::default()
        });
        let mut merge = Merge {
            lister,
            page: VecDeque::new(),
            last_there: String::new(),
            last_asked: String::new(),
            extras: Vec::new(),
            out_of_order: false,
        };
        match merge.fill().await {
            Ok(_) => Ok(Self { store, way: Way::Listing(merge) }),
            // A token may allow writing and not listing. One that is wrong altogether is no such case.
            Err(error)
                if error.kind() == ErrorKind::Permission
                    && error.service_code() != Some("AuthenticationFailed") =>
            {
                Ok(Self { store, way: Way::Unknown })
            }
            // A folder that is not there is empty; a container that is not there is an error.
            Err(error) if error.kind() == ErrorKind::NotFound && store.capabilities().local => {
                Ok(Self { store, way: Way::Listing(merge) })
            }
            Err(error) => Err(error),
        }
    }

    /// What is at `key`, and the keys passed on the way that nobody asked for.
    pub(super) async fn find(&mut self, key: &str) -> Result<(Existing, Vec<String>)> {
        match &mut self.way {
            Way::Unasked => Ok((Existing::Absent, Vec::new())),
            Way::Unknown => Ok((Existing::Unknown, Vec::new())),
            Way::Asking => {
                let found = with_retries!(trace => self.store.head(key, trace).await);
                match found {
                    Ok(meta) => Ok((Existing::Present(Box::new(meta)), Vec::new())),
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok((Existing::Absent, Vec::new())),
                    // Let the object itself meet the trouble and report it.
                    Err(_) => Ok((Existing::Unknown, Vec::new())),
                }
            }
            Way::Listing(merge) => {
                let existing = merge.find(key).await?;
                let extras = std::mem::take(&mut merge.extras);
                if merge.out_of_order {
                    self.way = Way::Unknown;
                    return Ok((Existing::Unknown, Vec::new()));
                }
                Ok((existing, extras))
            }
        }
    }

    /// Keys left at the end, some at a time.
    pub(super) async fn rest(&mut self) -> Result<Option<Vec<String>>> {
        let Way::Listing(merge) = &mut self.way else { return Ok(None) };
        let more = merge.fill().await?;
        Ok(more.then(|| merge.page.drain(..).map(|object| object.key).collect()))
    }
}

impl Merge {
    /// Sees to it that there is a next key; false at the end of the list.
    async fn fill(&mut self) -> Result<bool> {
        while self.page.is_empty() {
            let lister = &mut self.lister;
            match with_retries!(trace => lister.next_page(trace).await)? {
                Some(page) => self.page.extend(page.objects),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    async fn find(&mut self, key: &str) -> Result<Existing> {
        self.out_of_order |= *key < *self.last_asked;
        key.clone_into(&mut self.last_asked);
        while self.fill().await? {
            let there = &self.page[0].key;
            self.out_of_order |= *there < self.last_there;
            if self.out_of_order || **there > *key {
                return Ok(Existing::Absent);
            }
            let Some(meta) = self.page.pop_front() else { break };
            meta.key.clone_into(&mut self.last_there);
            if meta.key == key {
                return Ok(Existing::Present(Box::new(meta)));
            }
            self.extras.push(meta.key);
        }
        Ok(Existing::Absent)
    }
}
