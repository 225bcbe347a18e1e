//! What is at the destination, learnt while the source is listed.

use std::collections::VecDeque;
use std::sync::Arc;

use super::pages::Pages;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{Gate, through};
use crate::stage::plan::Existing;
use crate::store::{ListRequest, ObjectMeta, Request, Store, marks_by_name};

/// Keys that a walk may pass for each one that is asked for, and before the first, until asking is cheaper.
const PASSED_EACH: u64 = 4;
const PASSED_FIRST: u64 = 1000;

/// Answers "what is at this key?" for keys that come in byte order.
pub(super) struct Cursor {
    store: Arc<dyn Store>,
    gate: Gate,
    way: Way,
    /// A folder may hold far more than what comes: then each key is asked for, which costs no request.
    may_ask: bool,
    /// Why not all that is there is known.
    gap: Option<Error>,
}

/// Takes objects that nobody asked for.
pub(super) type Taker<'a> = &'a mut (dyn FnMut(&ObjectMeta) -> Result<()> + Send);

enum Way {
    /// It does not matter.
    Unasked,
    /// Each key is asked for: cheap where the store is local.
    Asking,
    /// A list is read along.
    Listing(Box<Merge>),
    /// A list cannot be had, or is not in order: every object needs a look of its own.
    Unknown,
}

struct Merge {
    pages: Pages,
    page: VecDeque<ObjectMeta>,
    /// Names of folders that have a marker under just this name: no object can take it.
    folders: VecDeque<String>,
    /// The last key seen on each side, to notice when one is out of order.
    last_there: String,
    last_asked: String,
    /// Keys asked for, and keys passed.
    asked: u64,
    passed: u64,
    /// Something there could not be listed: a link, or a folder that may not be read.
    gaps: bool,
    /// What could not be seen at all: the first of these.
    unseen: Option<Error>,
    out_of_order: bool,
}

impl Cursor {
    pub(super) fn unasked(store: Arc<dyn Store>, gate: Gate) -> Self {
        Self { store, gate, way: Way::Unasked, may_ask: false, gap: None }
    }

    /// Reads a list along; `extras` says that the keys that nobody asks for matter too.
    pub(super) async fn listing(
        store: Arc<dyn Store>,
        gate: Gate,
        request: ListRequest,
        extras: bool,
    ) -> Result<Self> {
        let may_ask = store.capabilities().at_hand && !extras;
        let mut merge = Merge {
            pages: Pages::of(&*store, request, gate.clone()),
            page: VecDeque::new(),
            folders: VecDeque::new(),
            last_there: String::new(),
            last_asked: String::new(),
            asked: 0,
            passed: 0,
            gaps: false,
            unseen: None,
            out_of_order: false,
        };
        let (way, gap) = match merge.fill().await {
            Ok(_) => (Way::Listing(Box::new(merge)), None),
            // A token may allow writing and not listing. One that is wrong altogether is no such case.
            Err(error) if error.kind() == ErrorKind::Permission && !error.refuses_credential() => {
                (Way::Unknown, Some(error))
            }
            // A folder that is not there is empty; a container that is not there is an error.
            Err(error) if error.kind() == ErrorKind::NotFound && store.capabilities().folders => {
                (Way::Listing(Box::new(merge)), None)
            }
            Err(error) => return Err(error),
        };
        Ok(Self { store, gate, way, may_ask, gap })
    }

    /// What is at `key`. `extra` takes what is passed on the way that nobody asked for, as far as the list is in order.
    pub(super) async fn find(&mut self, key: &str, extra: Taker<'_>) -> Result<Existing> {
        match &mut self.way {
            Way::Unasked => Ok(Existing::Absent),
            Way::Unknown => Ok(Existing::Unknown),
            Way::Asking => Ok(ask(&self.store, key, &self.gate).await),
            Way::Listing(merge) => {
                let existing = merge.find(key, &*self.store, extra).await?;
                if merge.out_of_order {
                    self.lose_order(key);
                    return Ok(Existing::Unknown);
                }
                merge.asked += 1;
                let crowded = merge.passed > PASSED_FIRST + PASSED_EACH * merge.asked;
                if self.may_ask && (merge.gaps || crowded) {
                    self.way = Way::Asking;
                    return Ok(ask(&self.store, key, &self.gate).await);
                }
                Ok(existing)
            }
        }
    }

    /// Why it is not known what else is there; `None` where all of it has been seen.
    pub(super) fn into_gap(self) -> Option<Error> {
        match self.way {
            Way::Listing(merge) => merge.unseen,
            _ => self.gap,
        }
    }

    fn lose_order(&mut self, key: &str) {
        let cause = "one of the two lists is not sorted by name, so what only this side has is unknown";
        let error = Error::new(ErrorKind::Unsupported, "list", self.store.name(key), cause);
        self.gap = Some(error.hint("leave out --delete"));
        self.way = Way::Unknown;
    }

    /// Reads the list to its end; `extra` takes what is left in it.
    pub(super) async fn rest(&mut self, extra: Taker<'_>) -> Result<()> {
        let Way::Listing(merge) = &mut self.way else { return Ok(()) };
        while merge.fill().await? {
            while let Some(object) = merge.page.pop_front() {
                // One that comes late may have been asked for.
                if object.key <= merge.last_asked || object.key < merge.last_there {
                    self.lose_order(&object.key);
                    return Ok(());
                }
                extra(&object)?;
                merge.last_there = object.key;
            }
        }
        Ok(())
    }
}

async fn ask(store: &Arc<dyn Store>, key: &str, gate: &Gate) -> Existing {
    let name = store.name(key);
    let found = through!(gate, store.api(Request::Look), name, trace => store.head(key, trace).await);
    match found {
        Ok(meta) => Existing::Present(Box::new(meta)),
        Err(error) if error.kind() == ErrorKind::NotFound => Existing::Absent,
        // Let the object itself meet the trouble and report it.
        Err(_) => Existing::Unknown,
    }
}

impl Merge {
    /// Sees to it that there is a next key; false at the end of the list.
    async fn fill(&mut self) -> Result<bool> {
        while self.page.is_empty() {
            match self.pages.next().await? {
                Some(page) => {
                    self.gaps |= !page.problems.is_empty();
                    let mut unseen =
                        page.problems.into_iter().filter(|problem| problem.kind() != ErrorKind::Unsupported);
                    self.unseen = self.unseen.take().or_else(|| unseen.next());
                    let markers = page.markers.into_iter().map(|marker| marker.key);
                    self.folders.extend(markers.filter(|key| !marks_by_name(key)));
                    self.page.extend(page.objects);
                }
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    async fn find(&mut self, key: &str, store: &dyn Store, extra: Taker<'_>) -> Result<Existing> {
        self.out_of_order |= *key < *self.last_asked;
        key.clone_into(&mut self.last_asked);
        while self.fill().await? {
            let there = &self.page[0].key;
            self.out_of_order |= *there < self.last_there;
            if self.out_of_order || **there > *key {
                break;
            }
            let Some(meta) = self.page.pop_front() else { break };
            meta.key.clone_into(&mut self.last_there);
            if meta.key == key {
                return Ok(Existing::listed(meta, store));
            }
            self.passed += 1;
            extra(&meta)?;
        }
        while self.folders.front().is_some_and(|folder| **folder < *key) {
            self.folders.pop_front();
        }
        // A look says what is wrong.
        let is_folder = self.folders.front().is_some_and(|folder| folder == key);
        Ok(if is_folder { Existing::Unknown } else { Existing::Absent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[tokio::test]
    async fn out_of_order_nobody_knows_what_is_extra() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::named("x"));
        let mut there = Cursor::listing(store, Gate::default(), ListRequest::default(), true).await.unwrap();
        for (key, known) in [("b", Existing::Absent), ("a", Existing::Unknown), ("c", Existing::Unknown)] {
            assert_eq!(there.find(key, &mut |_| Ok(())).await.unwrap(), known);
        }
        let gap = there.into_gap().unwrap();
        assert_eq!((gap.kind(), gap.hint_text()), (ErrorKind::Unsupported, Some("leave out --delete")));
    }
}
