//! Walking a folder in the order in which object stores list: byte order of the whole key.
//!
//! A folder sorts as `name/`, so that `a.nc` comes before what is in `a/` (`.` is before `/`). Only the entries
//! of the folders on the way down are held.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use async_trait::async_trait;

use super::{blocking, file, not_utf8};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{ListPage, ListRequest, Lister, Trace};

/// Names in a page: enough that the hop to the blocking pool costs nothing.
const PAGE: usize = 1000;

/// Leftovers of interrupted writes begin so; they are not content.
pub(super) const PARTIAL_PREFIX: &str = ".haul-";
/// ... and end so.
pub(super) const PARTIAL_SUFFIX: &str = ".partial";

/// A list of the ranges in a partial file ends so.
pub(super) const LIST_SUFFIX: &str = ".ranges.partial";

/// A walk that gives a page at a time.
pub(super) struct Walker {
    /// Taken out while a page is made on another thread.
    walk: Option<Walk>,
}

impl Walker {
    pub(super) fn new(root: PathBuf, request: ListRequest) -> Self {
        Self { walk: Some(Walk { root, request, folders: Vec::new(), started: false }) }
    }
}

#[async_trait]
impl Lister for Walker {
    async fn next_page(&mut self, _trace: &Trace) -> Result<Option<ListPage>> {
        let Some(mut walk) = self.walk.take() else { return Ok(None) };
        let (walk, page) = blocking(move || {
            let page = walk.page()?;
            Ok((walk, page))
        })
        .await?;
        if page.is_empty() {
            return Ok(None);
        }
        self.walk = Some(walk);
        Ok(Some(page))
    }
}

struct Walk {
    root: PathBuf,
    request: ListRequest,
    /// The folders on the way down, each with its entries still to come, last first.
    folders: Vec<Vec<Entry>>,
    started: bool,
}

struct Entry {
    /// Key from the root; a folder's ends in `/`.
    key: String,
    path: PathBuf,
    folder: bool,
}

impl Walk {
    fn page(&mut self) -> Result<ListPage> {
        let mut page = ListPage::default();
        if !std::mem::replace(&mut self.started, true) {
            let entries = self.read_folder(&self.root.clone(), "", &mut page.problems)?;
            self.folders.push(entries);
        }
        while page.objects.len() + page.prefixes.len() + page.problems.len() < PAGE {
            let Some(folder) = self.folders.last_mut() else { break };
            match folder.pop() {
                None => drop(self.folders.pop()),
                Some(entry) => self.visit(entry, &mut page),
            }
        }
        Ok(page)
    }

    fn read_folder(&self, path: &Path, key: &str, problems: &mut Vec<Error>) -> Result<Vec<Entry>> {
        let mut entries = read_folder(path, key, problems)?;
        let leftovers = self.request.leftovers;
        entries.retain(|entry| entry.folder || is_leftover(&entry.path) == leftovers);
        if leftovers {
            // A list of ranges is counted with its partial file.
            let partial: HashSet<PathBuf> = entries.iter().map(|entry| entry.path.clone()).collect();
            entries.retain(|entry| !partial_of(&entry.path).is_some_and(|of| partial.contains(&of)));
        }
        Ok(entries)
    }

    fn visit(&mut self, entry: Entry, page: &mut ListPage) {
        let prefix = &self.request.prefix;
        let below = entry.key.starts_with(prefix.as_str());
        let leads_there = entry.folder && prefix.starts_with(&entry.key);
        if !below && !leads_there {
            return;
        }
        if !entry.folder {
            // A file that was removed since its folder was read was not there.
            match std::fs::symlink_metadata(&entry.path) {
                Ok(found) if found.is_file() => page.objects.push(file::meta(entry.key, &found)),
                Ok(found) => page.problems.push(no_file(&entry.path, found.is_symlink())),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => page.problems.push(file::io("list", &entry.path, error)),
            }
        } else if self.request.hierarchical && below && entry.key != *prefix {
            page.prefixes.push(entry.key);
        } else {
            match self.read_folder(&entry.path, &entry.key, &mut page.problems) {
                Ok(entries) => self.folders.push(entries),
                Err(error) => page.problems.push(error),
            }
        }
    }
}

/// The entries of a folder, last first.
fn read_folder(path: &Path, key: &str, problems: &mut Vec<Error>) -> Result<Vec<Entry>> {
    let shown = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(shown).map_err(|e| file::io("list", path, e))? {
        let entry = entry.map_err(|e| file::io("list", path, e))?;
        let entry_path = path.join(entry.file_name());
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            problems.push(not_utf8(&entry_path));
            continue;
        };
        let folder = entry.file_type().map_err(|e| file::io("list", &entry_path, e))?.is_dir();
        let slash = if folder { "/" } else { "" };
        entries.push(Entry { key: format!("{key}{name}{slash}"), path: entry_path, folder });
    }
    entries.sort_unstable_by(|a, b| b.key.cmp(&a.key));
    Ok(entries)
}

/// Whether a file is what an interrupted write has left.
pub(super) fn is_leftover(path: &Path) -> bool {
    let name = path.file_name().map(std::ffi::OsStr::as_encoded_bytes).unwrap_or_default();
    name.starts_with(PARTIAL_PREFIX.as_bytes()) && name.ends_with(PARTIAL_SUFFIX.as_bytes())
}

/// The partial file that a list of ranges is of; `None` for any other file.
pub(super) fn partial_of(path: &Path) -> Option<PathBuf> {
    let stem = path.file_name()?.to_str()?.strip_suffix(LIST_SUFFIX)?;
    Some(path.with_file_name(format!("{stem}{PARTIAL_SUFFIX}")))
}

/// Links are not followed: they may lead out of the tree, or round in it.
fn no_file(path: &Path, link: bool) -> Error {
    let cause = if link { "symbolic links are not followed" } else { "not a regular file" };
    Error::new(ErrorKind::Unsupported, "list", path.display().to_string(), cause)
        .hint("name the file itself as a source to copy it")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn keys(root: &Path, request: ListRequest) -> (Vec<String>, Vec<String>, usize) {
        let mut walker = Walker::new(root.to_path_buf(), request);
        let (mut keys, mut prefixes, mut problems) = (Vec::new(), Vec::new(), 0);
        while let Some(page) = walker.next_page(&Trace::detached()).await.unwrap() {
            keys.extend(page.objects.into_iter().map(|object| object.key));
            prefixes.extend(page.prefixes);
            problems += page.problems.len();
        }
        (keys, prefixes, problems)
    }

    #[tokio::test]
    async fn keys_come_in_byte_order_and_links_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["a/b", "a.nc", "a0", "a/b.c/d", "b", "ü/#?%+: x", ".dot", "empty"];
        for name in names {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        std::fs::create_dir(dir.path().join("no-files")).unwrap();
        std::fs::write(dir.path().join(".haul-1.partial"), "left over").unwrap();
        std::os::unix::fs::symlink("b", dir.path().join("link")).unwrap();

        let (all, _, problems) = keys(dir.path(), ListRequest::default()).await;
        let mut sorted = names.map(str::to_owned);
        sorted.sort_unstable();
        assert_eq!((all.as_slice(), problems), (sorted.as_slice(), 1));

        let request = ListRequest { prefix: "a/".into(), hierarchical: true, ..ListRequest::default() };
        let (below, folded, _) = keys(dir.path(), request).await;
        assert_eq!((below, folded), (vec!["a/b".to_owned()], vec!["a/b.c/".to_owned()]));

        let request = ListRequest { prefix: "a".into(), hierarchical: false, ..ListRequest::default() };
        let (below, _, _) = keys(dir.path(), request).await;
        assert_eq!(below, ["a.nc", "a/b", "a/b.c/d", "a0"]);
    }

    #[tokio::test]
    async fn a_missing_folder_is_named() {
        let mut walker = Walker::new("/no/such/folder".into(), ListRequest::default());
        let error = walker.next_page(&Trace::detached()).await.unwrap_err();
        assert_eq!((error.kind(), error.object_name()), (ErrorKind::NotFound, "/no/such/folder"));
    }
}
