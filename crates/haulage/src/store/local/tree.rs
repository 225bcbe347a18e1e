//! One owner of a local tree: everything that is read or written below a folder that the user named goes through it.
//!
//! It holds the folder's descriptor and opens every component beneath it by itself, without following links. So what
//! a name reaches lies in the tree, whatever links are in it or are put there meanwhile: names come from other
//! people's listings, and folders may be other people's too. Descriptors of folders are kept, paths never are.
//! The folder itself, and a file that the user named, may be reached through links: that was the user's choice.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::doubt::Doubt;
use super::file;
use crate::error::{Error, ErrorKind, Result};

/// Folders kept open: listings come folder by folder, and jobs in the order of listings.
const KEPT: usize = 64;

/// Who may read and write; what else a mode says is not taken over.
pub(super) const PERMISSIONS: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);

/// What to do where a folder is to be made.
pub(super) const FILE_IN_THE_WAY: &str = "a file has the name that a folder needs; rename or remove it";

/// To search a folder takes no right to list it.
const SEARCH: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Which links are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Follow {
    /// None below the folder.
    #[default]
    Nothing,
    /// Only the last one of this key, which the user named.
    Named(String),
    /// All, wherever they lead, because the user asked for it.
    All,
}

/// A folder and all that is below it.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    root: Arc<Path>,
    follow: Follow,
    folders: Folders,
}

/// Open folders, of however many trees, the last one used first. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Folders(Arc<Mutex<VecDeque<Known>>>);

/// A folder by its tree and its key in it.
#[derive(Debug)]
struct Known {
    root: Arc<Path>,
    follows_all: bool,
    key: String,
    folder: Arc<Folder>,
}

impl Known {
    fn is(&self, tree: &Tree, key: &str, follows_all: bool) -> bool {
        self.key == key && self.root == tree.root && self.follows_all == follows_all
    }
}

/// What may be made on the way to a file or a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Make<'a> {
    Nothing,
    Folders,
    /// Folders, each with no more permissions than the one in its place above this file or folder.
    Like(&'a Path),
}

impl Make<'_> {
    /// The same of the folder above.
    fn above(self) -> Self {
        match self {
            Self::Like(path) => path.parent().map_or(Self::Folders, Self::Like),
            other => other,
        }
    }

    /// The permissions of what is made.
    fn mode(self) -> Mode {
        let like = match self {
            Self::Like(path) => rustix::fs::stat(path).ok().map(|found| Mode::from_raw_mode(found.st_mode)),
            _ => None,
        };
        // Its owner has yet to write in it.
        like.map_or(PERMISSIONS, |like| (like & PERMISSIONS) | Mode::RWXU)
    }
}

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    /// For messages only.
    path: PathBuf,
    doubt: Doubt,
    /// In which phase of flushing it was written to last; 0 for never.
    written: AtomicU32,
    /// Nothing tells after a power failure that files in it were not flushed: each of them is, before it has its name.
    unmarked: AtomicBool,
}

/// A name in an open folder.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) folder: Arc<Folder>,
    pub(super) name: String,
}

/// An entry of a folder.
pub(super) struct Entry {
    /// `None` where it is not UTF-8, which no object's name is.
    pub(super) name: Option<String>,
    /// For messages.
    pub(super) path: PathBuf,
    pub(super) kind: FileType,
}

impl Tree {
    pub(super) fn new(root: &Path, follow: Follow) -> Self {
        Self { root: root.into(), follow, folders: Folders::default() }
    }

    /// The same tree, with other links followed.
    pub(super) fn following(self, follow: Follow) -> Self {
        Self { follow, ..self }
    }

    /// The same tree, which keeps its folders open beside those of others.
    pub(super) fn sharing(self, folders: Folders) -> Self {
        Self { folders, ..self }
    }

    /// The folder, as the user named it.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn follows_all(&self) -> bool {
        self.follow == Follow::All
    }

    /// Whether the last link of this key is followed.
    pub(super) fn follows(&self, key: &str) -> bool {
        match &self.follow {
            Follow::Nothing => false,
            Follow::Named(named) => named == key,
            Follow::All => true,
        }
    }

    /// The folder of this key (empty for the root, else without a `/` at its end); made where `make` says so. Where
    /// something may be made, no link below the root is followed, whatever is followed for reading.
    pub(super) fn folder(&self, key: &str, make: bool) -> Result<Arc<Folder>> {
        self.folder_like(key, if make { Make::Folders } else { Make::Nothing })
    }

    fn folder_like(&self, key: &str, make: Make<'_>) -> Result<Arc<Folder>> {
        let follows_all = self.follows_all() && make == Make::Nothing;
        if let Some(known) = self.find(key, follows_all) {
            return Ok(known);
        }
        let folder = match key.rsplit_once('/') {
            _ if key.is_empty() => self.open_root(make)?,
            Some((parent, name)) => self.open_below(&*self.folder_like(parent, make.above())?, name, make)?,
            None => self.open_below(&*self.folder_like("", make.above())?, key, make)?,
        };
        let folder = Arc::new(folder);
        let root = Arc::clone(&self.root);
        let known = Known { root, follows_all, key: key.to_owned(), folder: Arc::clone(&folder) };
        let mut open = self.lock();
        open.push_front(known);
        // Not closed while others wait.
        let old = if open.len() > KEPT { open.pop_back() } else { None };
        drop(open);
        drop(old);
        Ok(folder)
    }

    /// Where the file of this key is; the folders above it are made where `make` says so.
    pub(super) fn place(&self, key: &str, make: bool) -> Result<Place> {
        self.place_like(key, if make { Make::Folders } else { Make::Nothing })
    }

    /// The same; `make` is of the file.
    pub(super) fn place_like(&self, key: &str, make: Make<'_>) -> Result<Place> {
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
        let folder = self.folder_like(folder, make.above()).map_err(|error| match error.kind() {
            // What was asked for is named, not the folder that it would be in.
            ErrorKind::NotFound => error.object(self.root.join(key).display().to_string()),
            _ => error,
        })?;
        Ok(Place { folder, name: name.to_owned() })
    }

    /// Where the file of this key is, if its folder is open.
    pub(super) fn known(&self, key: &str) -> Option<Place> {
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
        Some(Place { folder: self.find(folder, self.follows_all())?, name: name.to_owned() })
    }

    /// Forgets folders that may have been removed by somebody.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    fn find(&self, key: &str, follows_all: bool) -> Option<Arc<Folder>> {
        let mut open = self.lock();
        let at = open.iter().position(|known| known.is(self, key, follows_all))?;
        let folder = Arc::clone(&open[at].folder);
        if at > 0
            && let Some(known) = open.remove(at)
        {
            open.push_front(known);
        }
        Some(folder)
    }

    fn open_root(&self, make: Make<'_>) -> Result<Folder> {
        let path = if self.root.as_os_str().is_empty() { Path::new(".") } else { &*self.root };
        let open = || retry_on_intr(|| rustix::fs::openat(CWD, path, SEARCH, Mode::empty()));
        let fd = match open() {
            Err(Errno::NOENT) if make != Make::Nothing => {
                let all = || {
                    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                    std::fs::DirBuilder::new().recursive(true).mode(make.mode().bits()).create(path)
                };
                all().map_err(|e| file::io("create", path, e))?;
                open()
            }
            other => other,
        };
        let fd = fd.map_err(|e| file::io("open", path, e.into()))?;
        let folder = Folder::new(fd, self.root.to_path_buf(), Doubt::default());
        let doubt = folder.above().fold(Doubt::default(), |doubt, folder| doubt.and_of(folder.fd()));
        Ok(Folder { doubt, ..folder })
    }

    fn open_below(&self, parent: &Folder, name: &str, make: Make<'_>) -> Result<Folder> {
        let path = parent.path.join(name);
        let makes = make != Make::Nothing;
        let flags = if self.follows_all() && !makes { SEARCH } else { SEARCH | OFlags::NOFOLLOW };
        let open = || retry_on_intr(|| rustix::fs::openat(&parent.fd, name, flags, Mode::empty()));
        let fd = match open() {
            Err(Errno::NOENT) if makes => {
                match parent.make_folder(name, make.mode()) {
                    // Somebody else was quicker.
                    Ok(()) | Err(Errno::EXIST) => open(),
                    Err(error) => Err(error),
                }
            }
            other => other,
        };
        match fd {
            Ok(fd) => {
                let doubt = parent.doubt.and_of(fd.as_fd());
                Ok(Folder::new(fd, path, doubt))
            }
            Err(Errno::NOTDIR | Errno::LOOP) => Err(match parent.kind(name) {
                Some(FileType::Symlink) => link_in_the_way(&path),
                _ if !makes => file::io("open", &path, Errno::NOTDIR.into())
                    .hint("this is a file, where a folder is expected; check the path"),
                _ => file::io("open", &path, Errno::NOTDIR.into()).hint(FILE_IN_THE_WAY),
            }),
            Err(error) => Err(file::io("open", &path, error.into())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Known>> {
        self.folders.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Folder {
    fn new(fd: OwnedFd, path: PathBuf, doubt: Doubt) -> Self {
        Self { fd, path, doubt, written: AtomicU32::new(0), unmarked: AtomicBool::new(false) }
    }

    /// This folder and those that it lies in, as far as they can be opened.
    pub(super) fn above(&self) -> impl Iterator<Item = Self> {
        let inode = move |fd: &OwnedFd| rustix::fs::fstat(fd).ok().map(|found| (found.st_dev, found.st_ino));
        let open = move |fd: BorrowedFd<'_>, name| {
            let fd = retry_on_intr(|| rustix::fs::openat(fd, name, SEARCH, Mode::empty())).ok()?;
            Some((inode(&fd)?, fd))
        };
        let first = open(self.fd(), ".");
        let folders = std::iter::successors(first, move |(here, fd)| {
            open(fd.as_fd(), "..").filter(|(above, _)| above != here)
        });
        let mut path = self.path.clone();
        folders.map(move |(_, fd)| {
            let folder = Self::new(fd, path.clone(), Doubt::default());
            path.push("..");
            folder
        })
    }

    /// Which files in it a power failure may have emptied.
    pub(super) fn doubt(&self) -> &Doubt {
        &self.doubt
    }

    /// True the first time that it is asked in a phase.
    pub(super) fn is_first_written(&self, phase: u32) -> bool {
        self.written.load(Ordering::Relaxed) != phase && self.written.swap(phase, Ordering::Relaxed) != phase
    }

    /// Notes whether something tells that files in it are not flushed.
    pub(super) fn set_marked(&self, marked: bool) {
        self.unmarked.store(!marked, Ordering::Relaxed);
    }

    pub(super) fn is_unmarked(&self) -> bool {
        self.unmarked.load(Ordering::Relaxed)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Its path, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of an entry, for messages.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What is at a name, by itself: a link is a link.
    pub(super) fn stat(&self, name: &str) -> rustix::io::Result<Stat> {
        rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Whether what is open still has this name.
    pub(super) fn still_has(&self, name: &str, open: impl AsFd) -> bool {
        let both = rustix::fs::fstat(open).and_then(|ours| Ok((ours, self.stat(name)?)));
        both.is_ok_and(|(ours, there)| (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino))
    }

    /// What a name leads to.
    pub(super) fn stat_followed(&self, name: &str) -> rustix::io::Result<Stat> {
        rustix::fs::statat(&self.fd, name, AtFlags::empty())
    }

    fn kind(&self, name: &str) -> Option<FileType> {
        self.stat(name).ok().map(|found| FileType::from_raw_mode(found.st_mode))
    }

    /// Opens an entry; never waits for the other end of a pipe, and follows no link unless the flags leave that out.
    pub(super) fn open(&self, name: &str, flags: OFlags) -> rustix::io::Result<File> {
        self.open_as(name, flags, Mode::from_raw_mode(0o666))
    }

    /// The same; what is made has no more than these permissions.
    pub(super) fn open_as(&self, name: &str, flags: OFlags, mode: Mode) -> rustix::io::Result<File> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        retry_on_intr(|| rustix::fs::openat(&self.fd, name, flags, mode)).map(File::from)
    }

    /// Makes a folder in it.
    fn make_folder(&self, name: &str, mode: Mode) -> rustix::io::Result<()> {
        rustix::fs::mkdirat(&self.fd, name, mode)
    }

    /// Removes an entry that is no folder.
    pub(super) fn remove(&self, name: &str) -> rustix::io::Result<()> {
        rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())
    }

    /// Removes an entry that is an empty folder.
    pub(super) fn remove_folder(&self, name: &str) -> rustix::io::Result<()> {
        rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)
    }

    /// The folder for reading, where that is allowed.
    pub(super) fn readable(&self) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        retry_on_intr(|| rustix::fs::openat(&self.fd, ".", flags, Mode::empty()))
    }

    /// All entries. An error means that they are not all.
    pub(super) fn entries(&self) -> rustix::io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in Dir::new(self.readable()?)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => FileType::from_raw_mode(found.st_mode),
                    // Removed since.
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error),
                },
                kind => kind,
            };
            let path = self.path.join(os_str(name.to_bytes()));
            entries.push(Entry { name: name.to_str().ok().map(str::to_owned), path, kind });
        }
        Ok(entries)
    }
}

impl Place {
    /// For messages.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path_of(&self.name)
    }
}

/// Refuses to write where something is that is no regular file: it may be a device, a pipe, or lead elsewhere. Returns the
/// permissions of the file that is replaced.
pub(super) fn may_be_replaced(place: &Place) -> Result<Option<Mode>> {
    let refuse = |cause: &str, hint: &str| {
        Err(Error::new(ErrorKind::Unsupported, "write", place.path().display().to_string(), cause).hint(hint))
    };
    let Ok(found) = place.folder.stat(&place.name) else { return Ok(None) };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(Some(Mode::from_raw_mode(found.st_mode) & PERMISSIONS)),
        FileType::Symlink => {
            refuse("a symbolic link is there", "remove the link, or copy to the file it points to")
        }
        FileType::Directory => refuse(
            "a folder is there",
            "remove it, or choose another name; to copy into it add a / to its name",
        ),
        _ => refuse(
            "what is there is no regular file",
            "it is never replaced; to write into it, use it as the destination of a single object",
        ),
    }
}

fn link_in_the_way(path: &Path) -> Error {
    let cause = "a symbolic link is in the way, and links below the folder are not followed";
    Error::new(ErrorKind::Unsupported, "open", path.display().to_string(), cause)
        .hint("replace the link with a folder, or use its target")
}

fn os_str(bytes: &[u8]) -> &OsStr {
    use std::os::unix::ffi::OsStrExt as _;
    OsStr::from_bytes(bytes)
}

/// The system's error as the standard library has it.
pub(super) fn os(error: Errno) -> io::Error {
    error.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_below_the_folder_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        symlink("real", root.join("within")).unwrap();
        symlink(&outside, root.join("out")).unwrap();
        symlink("../outside", root.join("real/up")).unwrap();
        symlink(outside.join("not-there"), root.join("dangling")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let tree = Tree::new(&root, Follow::Nothing);
        for key in ["", "real", "real/deep", "new/folder", "real/new"] {
            tree.folder(key, true).unwrap();
        }
        assert!(root.join("new/folder").is_dir() && root.join("real/new").is_dir());
        for key in ["out", "out/new", "real/up", "within", "within/deep", "dangling", "dangling/x", "round"] {
            assert_eq!(tree.folder(key, true).unwrap_err().kind(), ErrorKind::Unsupported, "{key}");
        }
        assert_eq!(tree.folder("file/x", true).unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(tree.folder("nothing", false).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
        let all = Tree::new(&root, Follow::All);
        all.folder("within/deep", false).unwrap();
        all.folder("out", false).unwrap();
        // Not where something is written.
        assert_eq!(all.folder("out", true).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(all.place("within/new", true).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn a_folder_that_was_opened_stays_the_same_whatever_takes_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        std::fs::create_dir_all(root.join("a")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        let tree = Tree::new(&root, Follow::Nothing);
        let place = tree.place("a/x", true).unwrap();
        std::fs::rename(root.join("a"), root.join("b")).unwrap();
        symlink(&outside, root.join("a")).unwrap();
        place.folder.open("x", OFlags::CREATE | OFlags::WRONLY).unwrap();
        assert!(root.join("b/x").exists());
        tree.place("a/y", true).unwrap().folder.open("y", OFlags::CREATE | OFlags::WRONLY).unwrap();
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
        tree.forget();
        assert!(tree.place("a/y", true).is_err());
    }

    #[test]
    fn only_regular_files_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        symlink("file", dir.path().join("link")).unwrap();
        rustix::fs::mknodat(CWD, dir.path().join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        let tree = Tree::new(dir.path(), Follow::Nothing);
        for (name, allowed) in
            [("file", true), ("new", true), ("folder", false), ("link", false), ("pipe", false)]
        {
            assert_eq!(may_be_replaced(&tree.place(name, false).unwrap()).is_ok(), allowed, "{name}");
        }
        let pipe = may_be_replaced(&tree.place("pipe", false).unwrap()).unwrap_err();
        let hint = "it is never replaced; to write into it, use it as the destination of a single object";
        assert_eq!(pipe.hint_text(), Some(hint));
    }
}
