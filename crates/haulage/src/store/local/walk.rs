//! Walking a folder in the order in which object stores list: byte order of the whole key.
//!
//! A folder sorts as `name/`, so that `a.nc` comes before what is in `a/` (`.` is before `/`). Only the entries
//! of the folders on the way down are held.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
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
    pub(super) fn new(root: PathBuf, request: ListRequest, follow: bool) -> Self {
        Self { walk: Some(Walk { root, request, follow, folders: Vec::new(), started: false }) }
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
    /// Symbolic links are followed, wherever they lead.
    follow: bool,
    /// The folders on the way down.
    folders: Vec<Folder>,
    started: bool,
}

struct Folder {
    /// Entries still to come, last first.
    entries: Vec<Entry>,
    /// Device and inode, where links are followed: a folder that is on the way down already leads round.
    identity: Option<(u64, u64)>,
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
            let folder = self.read_folder(&self.root.clone(), "", &mut page.problems)?;
            self.folders.push(folder);
        }
        while page.objects.len() + page.prefixes.len() + page.problems.len() < PAGE {
            let Some(folder) = self.folders.last_mut() else { break };
            match folder.entries.pop() {
                None => drop(self.folders.pop()),
                Some(entry) => self.visit(entry, &mut page),
            }
        }
        Ok(page)
    }

    fn read_folder(&self, path: &Path, key: &str, problems: &mut Vec<Error>) -> Result<Folder> {
        let identity = if self.follow { Some(self.identify(path)?) } else { None };
        let mut entries = read_folder(path, key, self.follow, problems)?;
        let leftovers = self.request.leftovers;
        entries.retain(|entry| entry.folder || is_leftover(&entry.path) == leftovers);
        if leftovers {
            // A list of ranges is counted with its partial file.
            let partial: HashSet<PathBuf> = entries.iter().map(|entry| entry.path.clone()).collect();
            entries.retain(|entry| !partial_of(&entry.path).is_some_and(|of| partial.contains(&of)));
        }
        Ok(Folder { entries, identity })
    }

    /// Which folder this is; an error where it is one of those it lies in.
    fn identify(&self, path: &Path) -> Result<(u64, u64)> {
        let found = std::fs::metadata(shown(path)).map_err(|e| file::io("list", path, e))?;
        let identity = (found.dev(), found.ino());
        if self.folders.iter().any(|folder| folder.identity == Some(identity)) {
            return Err(not_followed(path, "the link leads round, to a folder that it lies in"));
        }
        Ok(identity)
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
            let found = match self.follow {
                true => std::fs::metadata(&entry.path),
                false => std::fs::symlink_metadata(&entry.path),
            };
            match found {
                Ok(found) if found.is_file() => page.objects.push(file::meta(entry.key, &found)),
                Ok(found) if found.is_symlink() => {
                    page.problems.push(not_followed(&entry.path, "symbolic links are not followed"));
                }
                Ok(_) => page.problems.push(not_followed(&entry.path, "not a regular file")),
                Err(_) if std::fs::symlink_metadata(&entry.path).is_ok_and(|found| found.is_symlink()) => {
                    page.problems.push(not_followed(&entry.path, "the link leads nowhere"));
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => page.problems.push(file::io("list", &entry.path, error)),
            }
        } else if self.request.hierarchical && below && entry.key != *prefix {
            page.prefixes.push(entry.key);
        } else {
            match self.read_folder(&entry.path, &entry.key, &mut page.problems) {
                Ok(folder) => self.folders.push(folder),
                Err(error) => page.problems.push(error),
            }
        }
    }
}

/// The entries of a folder, last first.
fn read_folder(path: &Path, key: &str, follow: bool, problems: &mut Vec<Error>) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(shown(path)).map_err(|e| file::io("list", path, e))? {
        let entry = entry.map_err(|e| file::io("list", path, e))?;
        let entry_path = path.join(entry.file_name());
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            problems.push(not_utf8(&entry_path));
            continue;
        };
        let kind = entry.file_type().map_err(|e| file::io("list", &entry_path, e))?;
        let leads_to_folder = || std::fs::metadata(&entry_path).is_ok_and(|found| found.is_dir());
        let folder = kind.is_dir() || (follow && kind.is_symlink() && leads_to_folder());
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

fn shown(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Links may lead out of the tree, or round in it, so that they are followed only when asked.
fn not_followed(path: &Path, cause: &str) -> Error {
    Error::new(ErrorKind::Unsupported, "list", path.display().to_string(), cause)
        .hint("name the file itself as a source to copy it")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn keys(root: &Path, request: ListRequest) -> (Vec<String>, Vec<String>, usize) {
        walk(Walker::new(root.to_path_buf(), request, false)).await
    }

    async fn walk(mut walker: Walker) -> (Vec<String>, Vec<String>, usize) {
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
    async fn links_are_followed_when_asked_but_not_round() {
        use std::os::unix::fs::symlink;
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        std::fs::write(dir.path().join("a/file"), "1").unwrap();
        std::fs::write(elsewhere.path().join("far"), "2").unwrap();
        symlink("..", dir.path().join("a/b/round")).unwrap();
        symlink("nowhere", dir.path().join("a/broken")).unwrap();
        symlink("file", dir.path().join("a/same")).unwrap();
        symlink(elsewhere.path(), dir.path().join("away")).unwrap();
        let walker = Walker::new(dir.path().to_path_buf(), ListRequest::default(), true);
        let (found, _, problems) = walk(walker).await;
        assert_eq!((found, problems), (vec!["a/file".into(), "a/same".into(), "away/far".into()], 2));
    }

    #[tokio::test]
    async fn a_missing_folder_is_named() {
        let mut walker = Walker::new("/no/such/folder".into(), ListRequest::default(), false);
        let error = walker.next_page(&Trace::detached()).await.unwrap_err();
        assert_eq!((error.kind(), error.object_name()), (ErrorKind::NotFound, "/no/such/folder"));
    }
}
