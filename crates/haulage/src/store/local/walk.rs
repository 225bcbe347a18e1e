//! Walking a folder in the order in which object stores list: byte order of the whole key.
//!
//! A folder sorts as `name/`, so that `a.nc` comes before what is in `a/` (`.` is before `/`). Only the entries
//! of the folders on the way down are held. Folders are opened beneath each other, so that the walk stays in its tree.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::leftover::{MARK, is_leftover, is_list, partial_of};
use super::mark::{in_doubt, is_held, is_of_earlier};
use super::tree::{Folder, Follow, Tree, os};
use super::{blocking, file, not_utf8};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{ListPage, ListRequest, Lister, Trace, folder};

/// Names in a page: enough that the hop to the blocking pool costs nothing.
const PAGE: usize = 1000;

/// A walk that gives a page at a time.
pub(super) struct Walker {
    /// Taken out while a page is made on another thread.
    walk: Option<Walk>,
}

impl Walker {
    pub(super) fn new(tree: Tree, request: ListRequest) -> Self {
        Self { walk: Some(Walk { tree, request, levels: Vec::new(), started: false }) }
    }
}

#[async_trait]
impl Lister for Walker {
    async fn next_page(&mut self, _trace: &Trace) -> Result<Option<ListPage>> {
        let Some(mut walk) = self.walk.take() else { return Ok(None) };
        let (walk, page) = blocking(move || {
            let page = walk.page();
            Ok((walk, page))
        })
        .await?;
        // Also after an error: what comes after it is not known to be nothing.
        self.walk = Some(walk);
        let page = page?;
        Ok((!page.is_empty()).then_some(page))
    }
}

/// Whether any file below this folder may have lost what was written to it, or it cannot be told. Blocks.
pub(super) fn is_any_doubted(folder: &Folder) -> bool {
    let tree = Tree::new(folder.path(), Follow::Nothing);
    let mut walk = Walk { tree, request: ListRequest::default(), levels: Vec::new(), started: false };
    loop {
        let Ok(page) = walk.page() else { return true };
        let unknown = page.problems.iter().any(|error| error.kind() != ErrorKind::Unsupported);
        if unknown || page.objects.iter().any(|object| object.source_modified_ns.is_none()) {
            return true;
        }
        if page.is_empty() {
            return false;
        }
    }
}

struct Walk {
    tree: Tree,
    request: ListRequest,
    /// The folders on the way down.
    levels: Vec<Level>,
    started: bool,
}

struct Level {
    /// Key of the folder, without a `/` at its end; empty for the root.
    key: String,
    folder: Arc<Folder>,
    /// Entries still to come, last first.
    entries: Vec<Entry>,
    /// Device and inode, where links are followed: a folder that is on the way down already leads round.
    identity: Option<(u64, u64)>,
}

struct Entry {
    /// Name; a folder's ends in `/`.
    name: String,
}

impl Entry {
    /// The name of a folder, without its `/`.
    fn folder(&self) -> Option<&str> {
        self.name.strip_suffix('/')
    }
}

impl Walk {
    fn page(&mut self) -> Result<ListPage> {
        let mut page = ListPage::default();
        if !self.started {
            let level = self.read_level(String::new(), &mut page.problems)?;
            self.levels.push(level);
            self.started = true;
        }
        while page.objects.len() + page.prefixes.len() + page.problems.len() < PAGE {
            let Some(level) = self.levels.last_mut() else { break };
            match level.entries.pop() {
                None => drop(self.levels.pop()),
                Some(entry) => self.visit(&entry, &mut page),
            }
        }
        folder::part(&mut page);
        Ok(page)
    }

    fn read_level(&self, key: String, problems: &mut Vec<Error>) -> Result<Level> {
        let folder = self.tree.folder(&key, false)?;
        let identity = if self.tree.follows_all() { Some(self.identify(&folder)?) } else { None };
        let mut entries = self.entries(&folder, problems)?;
        let leftovers = self.request.leftovers;
        entries.retain(|entry| match leftovers {
            _ if entry.folder().is_some() => true,
            leftovers => leftovers == is_leftover(&entry.name),
        });
        if leftovers {
            // A list of ranges is counted with its partial file.
            let names: HashSet<String> = entries.iter().map(|entry| entry.name.clone()).collect();
            entries.retain(|entry| {
                !is_list(&entry.name)
                    || partial_of(&entry.name).is_none_or(|partial| !names.contains(&partial))
            });
        }
        Ok(Level { key, folder, entries, identity })
    }

    /// The entries of a folder, last first.
    fn entries(&self, folder: &Folder, problems: &mut Vec<Error>) -> Result<Vec<Entry>> {
        let path = folder.path().to_path_buf();
        let mut entries = Vec::new();
        for entry in folder.entries().map_err(|e| file::io("list", &path, os(e)))? {
            let Some(name) = entry.name else {
                problems.push(not_utf8(&entry.path));
                continue;
            };
            let followed = || self.tree.follows_all().then(|| folder.stat_followed(&name).ok()).flatten();
            let is_folder = match entry.kind {
                FileType::Directory => true,
                FileType::Symlink => followed().is_some_and(|found| is_directory(&found)),
                _ => false,
            };
            entries.push(Entry { name: if is_folder { name + "/" } else { name } });
        }
        entries.sort_unstable_by(|a, b| b.name.cmp(&a.name));
        Ok(entries)
    }

    /// Which folder this is; an error where it is one of those it lies in.
    fn identify(&self, folder: &Folder) -> Result<(u64, u64)> {
        let path = folder.path().to_path_buf();
        let found = rustix::fs::fstat(folder.fd()).map_err(|e| file::io("list", &path, os(e)))?;
        let identity = (found.st_dev, found.st_ino);
        if self.levels.iter().any(|level| level.identity == Some(identity)) {
            return Err(not_followed(&path, "symlink loop: the link points to a folder that contains it"));
        }
        Ok(identity)
    }

    fn visit(&mut self, entry: &Entry, page: &mut ListPage) {
        let Some(level) = self.levels.last() else { return };
        let slash = if level.key.is_empty() { "" } else { "/" };
        let key = format!("{}{slash}{}", level.key, entry.name);
        let prefix = &self.request.prefix;
        let below = key.starts_with(prefix.as_str());
        match entry.folder() {
            // Who writes here removes it.
            None if below && entry.name == MARK && is_held(&level.folder) => {}
            None if below
                && entry.name == MARK
                && is_of_earlier(&level.folder)
                && is_any_doubted(&level.folder) =>
            {
                page.problems.push(in_doubt(&level.folder));
            }
            None if below => visit_file(&self.tree, &level.folder, key, &entry.name, page),
            Some(_) if self.request.hierarchical && below && key != *prefix => page.prefixes.push(key),
            Some(_) if below || prefix.starts_with(&key) => {
                let key = key.trim_end_matches('/').to_owned();
                match self.read_level(key, &mut page.problems) {
                    Ok(level) => self.levels.push(level),
                    Err(error) => page.problems.push(error),
                }
            }
            _ => {}
        }
    }
}

fn visit_file(tree: &Tree, folder: &Folder, key: String, name: &str, page: &mut ListPage) {
    let path = || folder.path_of(name);
    let follows = tree.follows_all();
    match if follows { folder.stat_followed(name) } else { folder.stat(name) } {
        Ok(found) if file::is_regular(&found) => {
            page.objects.push(file::trusted(file::meta(key, &found), &found, folder));
        }
        Ok(found) if is_link(&found) => {
            page.problems.push(not_followed(&path(), "symbolic links are not followed"));
        }
        Ok(_) => page.problems.push(not_followed(&path(), "not a regular file")),
        Err(_) if follows && folder.stat(name).is_ok_and(|found| is_link(&found)) => {
            page.problems.push(not_followed(&path(), "the link leads nowhere"));
        }
        // A file that was removed since its folder was read was not there.
        Err(Errno::NOENT) => {}
        Err(error) => page.problems.push(file::io("list", &path(), os(error))),
    }
}

fn is_directory(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

fn is_link(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Symlink
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
        walk(Walker::new(Tree::new(root, Follow::Nothing), request)).await
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
        std::fs::write(dir.path().join(".haul-0000000000000001.partial"), "left over").unwrap();
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
        let walker = Walker::new(Tree::new(dir.path(), Follow::All), ListRequest::default());
        let (found, _, problems) = walk(walker).await;
        assert_eq!((found, problems), (vec!["a/file".into(), "a/same".into(), "away/far".into()], 2));
    }

    #[tokio::test]
    async fn a_missing_folder_is_named() {
        let mut walker =
            Walker::new(Tree::new(Path::new("/no/such/folder"), Follow::Nothing), ListRequest::default());
        for _ in 0..2 {
            let error = walker.next_page(&Trace::detached()).await.unwrap_err();
            assert_eq!((error.kind(), error.object_name()), (ErrorKind::NotFound, "/no/such/folder"));
        }
    }
}
