//! What is asked of a list, and what its pages hold.

use async_trait::async_trait;

use super::ObjectMeta;
use crate::error::{Error, Result};
use crate::trace::Trace;

/// What to list.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// Only names that begin so.
    pub prefix: String,
    /// Fold names at the next `/` into prefixes.
    pub hierarchical: bool,
    /// In place of objects what interrupted writes have left.
    pub leftovers: bool,
    /// First pages of a few names, so that work on them can begin while the others come.
    pub begin_small: bool,
}

/// What something in a list of leftovers is, as far as the store can tell without changing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// Of no use to anybody but a job that goes on with it.
    Spare,
    /// Somebody is still writing it.
    InUse,
}

/// Some of the names, in byte order of the whole key.
#[derive(Debug, Default)]
pub struct ListPage {
    /// The objects.
    pub objects: Vec<ObjectMeta>,
    /// The folded prefixes of a hierarchical list, each ending in `/`.
    pub prefixes: Vec<String>,
    /// Empty objects that only stand for a folder.
    pub markers: Vec<ObjectMeta>,
    /// Names that are there but cannot be moved, each with its reason.
    pub problems: Vec<Error>,
}

impl ListPage {
    /// A page with nothing but the marker of the folder that is listed.
    pub(crate) fn of_marker(marker: ObjectMeta) -> Self {
        Self { markers: vec![marker], ..Self::default() }
    }

    /// Whether there is nothing on it.
    pub fn is_empty(&self) -> bool {
        let Self { objects, prefixes, markers, problems } = self;
        objects.is_empty() && prefixes.is_empty() && markers.is_empty() && problems.is_empty()
    }

    /// All that has a key of its own: objects, and then markers.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &ObjectMeta> + Clone {
        self.objects.iter().chain(&self.markers)
    }

    /// All that the service wrote, as it wrote it: names, versions, media types and properties.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let texts =
            self.entries().flat_map(|one| [Some(&one.key), Some(&one.etag), one.content_type.as_ref()]);
        let properties = self.entries().flat_map(|one| &one.properties).flat_map(|one| one.texts());
        texts.flatten().chain(properties).chain(&self.prefixes).map(String::as_str)
    }

    /// The first name on it, of an entry or else of a prefix, and the last, whichever of the two comes later.
    pub(crate) fn ends(&self) -> Option<(&str, &str)> {
        let Self { objects, markers, prefixes, .. } = self;
        let firsts = [objects.first(), markers.first()].into_iter().flatten().map(|one| &one.key);
        let lasts = [objects.last(), markers.last()].into_iter().flatten().map(|one| &one.key);
        Some((firsts.min().or(prefixes.first())?, lasts.chain(prefixes.last()).max()?))
    }
}

/// Gives the pages of a list, one after another.
#[async_trait]
pub trait Lister: Send {
    /// The next page; `None` after the last. After an error the same page may be asked for again.
    async fn next_page(&mut self, trace: &Trace) -> Result<Option<ListPage>>;
}
