//! What is there: containers, blobs, their properties and their blocks.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Data, MultipartUpload, ObjectFacts};
use crate::wire::time::Stamp;

/// Names and values as the client gave them, names in lower case.
pub(crate) type Metadata = Vec<(Box<str>, Box<str>)>;

/// All containers of the account.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    pub(crate) containers: BTreeMap<String, Container>,
}

/// A container and all that it holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Container {
    pub(crate) etag: u64,
    pub(crate) modified: Stamp,
    pub(crate) metadata: Metadata,
    /// Sorted by name, so that a page of a list is one walk.
    #[serde(skip)]
    pub(crate) blobs: BTreeMap<Box<str>, Arc<Blob>>,
    #[serde(skip)]
    pub(crate) staged: BTreeMap<Box<str>, Staged>,
    /// Multipart uploads by key and upload id, which is the order of their lists.
    #[serde(skip)]
    pub(crate) uploads: BTreeMap<(Box<str>, Box<str>), MultipartUpload>,
}

/// A blob. What few of them have lies behind a pointer: a million are a few hundred MB.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Blob {
    pub(crate) size: u64,
    pub(crate) etag: u64,
    pub(crate) created: Stamp,
    pub(crate) modified: Stamp,
    pub(crate) content: Option<Box<ContentHeaders>>,
    pub(crate) metadata: Metadata,
    pub(crate) blocks: Box<[CommittedBlock]>,
    /// Keys and values to find it by, in the order in which the client gave them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<(String, String)>,
    /// The access tier that a client chose; `None` for the account's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tier: Option<String>,
    /// That it is an append blob, and what only these have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) append: Option<Appendable>,
    /// What only S3 says of it; `None` where Azure's interface wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) s3: Option<Box<ObjectFacts>>,
    #[serde(skip)]
    pub(crate) data: Data,
}

/// What is known of an append blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Appendable {
    /// How many blocks were added.
    pub(crate) blocks: u32,
    /// Nothing more may be added.
    pub(crate) sealed: bool,
}

/// The headers that a blob carries for those who read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContentHeaders {
    pub(crate) kind: Option<Box<str>>,
    pub(crate) encoding: Option<Box<str>>,
    pub(crate) language: Option<Box<str>>,
    pub(crate) disposition: Option<Box<str>>,
    pub(crate) cache_control: Option<Box<str>>,
    pub(crate) md5: Option<Box<str>>,
}

/// A block of a committed blob.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CommittedBlock {
    pub(crate) id: Box<str>,
    pub(crate) len: u64,
}

/// The uncommitted blocks of one name, by id.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    pub(crate) blocks: BTreeMap<Box<str>, StagedBlock>,
}

/// An uncommitted block.
#[derive(Clone, Debug)]
pub(crate) struct StagedBlock {
    pub(crate) len: u64,
    pub(crate) data: Data,
}

/// Which page of a list.
#[derive(Debug, Default)]
pub(crate) struct PageQuery<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) delimiter: &'a str,
    /// The first name to look at; empty for the beginning.
    pub(crate) from: &'a str,
    /// The first name not to look at, if any.
    pub(crate) before: Option<&'a str>,
    pub(crate) limit: usize,
    /// Names too that have only uncommitted blocks. They are not folded.
    pub(crate) uncommitted: bool,
}

/// One page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) items: Vec<PageItem>,
    /// Where the next page begins.
    pub(crate) next: Option<String>,
}

/// A blob, or the names that share a prefix up to the delimiter.
#[derive(Debug)]
pub(crate) enum PageItem {
    Blob(Box<str>, Arc<Blob>),
    Prefix(String),
    /// A name that has only uncommitted blocks.
    Uncommitted(Box<str>),
}

impl Blob {
    /// The name of its kind.
    pub(crate) fn kind(&self) -> &'static str {
        if self.append.is_some() { "AppendBlob" } else { "BlockBlob" }
    }

    /// What it is in an account with a hierarchical namespace.
    pub(crate) fn resource(&self) -> &'static str {
        let is_true = |(name, value): &(Box<str>, Box<str>)| &**name == "hdi_isfolder" && &**value == "true";
        if self.metadata.iter().any(is_true) { "directory" } else { "file" }
    }
}

impl Container {
    pub(crate) fn new(etag: u64, metadata: Metadata) -> Self {
        Self {
            etag,
            modified: Stamp::now(),
            metadata,
            blobs: BTreeMap::new(),
            staged: BTreeMap::new(),
            uploads: BTreeMap::new(),
        }
    }

    /// Whether a folder holds anything.
    pub(crate) fn holds_below(&self, folder: &str) -> bool {
        let prefix = format!("{folder}/");
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        self.blobs.range::<str, _>(from).next().is_some_and(|(name, _)| name.starts_with(&prefix))
    }

    /// A page of the blobs, in order of their names. Names beneath a common prefix are stepped
    /// over, not walked.
    pub(crate) fn page(&self, query: &PageQuery<'_>) -> Page {
        if query.uncommitted && query.delimiter.is_empty() {
            return self.page_with_uncommitted(query);
        }
        let mut page = Page::default();
        let mut from = Bound::Included(query.from.max(query.prefix).to_owned());
        loop {
            let walk = self.blobs.range::<str, _>((as_str(&from), Bound::Unbounded));
            let mut skip_past = None;
            for (name, blob) in walk {
                if !name.starts_with(query.prefix) || query.before.is_some_and(|end| &**name >= end) {
                    return page;
                }
                if page.items.len() == query.limit {
                    page.next = Some(name.to_string());
                    return page;
                }
                match common_prefix(name, query) {
                    None => page.items.push(PageItem::Blob(name.clone(), Arc::clone(blob))),
                    Some(prefix) => {
                        page.items.push(PageItem::Prefix(prefix.to_owned()));
                        skip_past = Some(successor(prefix));
                        break;
                    }
                }
            }
            match skip_past {
                Some(Some(next)) => from = Bound::Included(next),
                _ => return page,
            }
        }
    }

    fn page_with_uncommitted(&self, query: &PageQuery<'_>) -> Page {
        let from = (Bound::Included(query.from.max(query.prefix)), Bound::Unbounded);
        let wanted = |name: &str| name.starts_with(query.prefix) && query.before.is_none_or(|end| name < end);
        let most = query.limit + 1;
        let staged = self.staged.range::<str, _>(from).filter(|(_, staged)| !staged.blocks.is_empty());
        let staged = staged.take_while(|(name, _)| wanted(name)).take(most);
        let blobs = self.blobs.range::<str, _>(from).take_while(|(name, _)| wanted(name)).take(most);
        let mut found: BTreeMap<&Box<str>, Option<&Arc<Blob>>> =
            staged.map(|(name, _)| (name, None)).collect();
        found.extend(blobs.map(|(name, blob)| (name, Some(blob))));
        let mut page = Page::default();
        for (name, blob) in found {
            if page.items.len() == query.limit {
                page.next = Some(name.to_string());
                break;
            }
            page.items.push(match blob {
                Some(blob) => PageItem::Blob(name.clone(), Arc::clone(blob)),
                None => PageItem::Uncommitted(name.clone()),
            });
        }
        page
    }
}

fn as_str(bound: &Bound<String>) -> Bound<&str> {
    bound.as_ref().map(String::as_str)
}

/// The part of `name` up to the first delimiter after the prefix.
fn common_prefix<'a>(name: &'a str, query: &PageQuery<'_>) -> Option<&'a str> {
    if query.delimiter.is_empty() {
        return None;
    }
    let at = name[query.prefix.len()..].find(query.delimiter)?;
    Some(&name[..query.prefix.len() + at + query.delimiter.len()])
}

/// The least string above all that begin with `prefix`; `None` where there is none.
pub(crate) fn successor(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // The order of UTF-8 bytes is the order of scalar values; surrogates are no scalars.
        let next = if last == '\u{D7FF}' { Some('\u{E000}') } else { char::from_u32(last as u32 + 1) };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn container(names: &[&str]) -> Container {
        let blob = Arc::new(Blob {
            size: 0,
            etag: 1,
            created: Stamp::now(),
            modified: Stamp::now(),
            content: None,
            metadata: Metadata::new(),
            blocks: Box::default(),
            tags: Vec::new(),
            tier: None,
            append: None,
            s3: None,
            data: Data::Pattern,
        });
        let mut container = Container::new(1, Metadata::new());
        container.blobs = names.iter().map(|name| ((*name).into(), Arc::clone(&blob))).collect();
        container
    }

    /// All items, page by page.
    fn walk(container: &Container, prefix: &str, delimiter: &str, limit: usize) -> Vec<String> {
        let (mut found, mut from) = (Vec::new(), String::new());
        loop {
            let query = PageQuery { prefix, delimiter, from: &from, limit, ..PageQuery::default() };
            let page = container.page(&query);
            assert!(page.items.len() <= limit);
            found.extend(page.items.into_iter().map(|item| match item {
                PageItem::Blob(name, _) => name.to_string(),
                PageItem::Prefix(name) => name,
                PageItem::Uncommitted(name) => format!("{name} (uncommitted)"),
            }));
            match page.next {
                Some(next) => from = next,
                None => return found,
            }
        }
    }

    #[test]
    fn prefixes_and_delimiters_fold_names() {
        let container = container(&["a", "a/1", "a/2", "a/b/3", "a0", "b/1", "é/1"]);
        assert_eq!(walk(&container, "", "/", 2), ["a", "a/", "a0", "b/", "é/"]);
        assert_eq!(walk(&container, "a/", "/", 1), ["a/1", "a/2", "a/b/"]);
        assert_eq!(walk(&container, "a/", "", 5), ["a/1", "a/2", "a/b/3"]);
        assert_eq!(walk(&container, "x", "/", 5), [] as [&str; 0]);
    }

    proptest! {
        #[test]
        fn pages_lose_and_repeat_nothing(names in prop::collection::btree_set("[ab/é]{1,5}", 0..30), limit in 1usize..7) {
            let sorted: Vec<&str> = names.iter().map(String::as_str).collect();
            let container = container(&sorted);
            prop_assert_eq!(walk(&container, "", "", limit), sorted);
            let folded = walk(&container, "a", "/", limit);
            prop_assert_eq!(&folded, &walk(&container, "a", "/", 1000));
            let mut once = folded.clone();
            once.dedup();
            prop_assert_eq!(folded, once);
        }
    }
}
