//! A folder beside a file, for it to stand in under its own name.
//!
//! A move gives a file a second name while it deletes what may be the same file. If it is killed meanwhile, somebody has to know
//! whose file that is: so the second name is the first one, in a folder that nobody takes for content and that is locked as long as
//! the move lives. A walk reports a file that nobody holds and that has no other name; a cleaning, and a move of its folder, put it
//! back.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FlockOperation, OFlags, Stat};
use rustix::io::Errno;

use super::file::{self, io};
use super::leftover::{held_name, is_for_held};
use super::not_utf8;
use super::partial::rename_new;
use super::tree::{Folder, Place, os};
use crate::error::{Error, ErrorKind, Result};
use crate::store::Leftover;

/// A request to a service takes its effect sooner than this, in seconds.
const FRESH_S: i64 = 60;

/// How often, and after how long again, a lock is tried that somebody may have who only looks, or puts something back.
const TRIES: u32 = 3;
const MOMENT: Duration = Duration::from_millis(5);

/// A folder for one file, which stays locked while this is open.
#[derive(Debug)]
pub(super) struct Held {
    beside: Arc<Folder>,
    name: String,
    folder: Folder,
}

impl Held {
    /// Makes such a folder in a folder.
    pub(super) fn make(beside: &Arc<Folder>) -> rustix::io::Result<Self> {
        // Between making and locking it somebody may have cleared it away.
        for _ in 0..3 {
            let name = held_name(fastrand::u64(..));
            beside.make_folder(&name)?;
            match Self::open(beside, &name) {
                Ok(held)
                    if held.locks(FlockOperation::NonBlockingLockExclusive)
                        && beside.still_has(&name, held.folder.fd()) =>
                {
                    return Ok(held);
                }
                Ok(held) => held.close(),
                Err(Errno::NOENT) => {}
                Err(error) => {
                    let _ = beside.remove_folder(&name);
                    return Err(error);
                }
            }
        }
        Err(Errno::AGAIN)
    }

    fn open(beside: &Arc<Folder>, name: &str) -> rustix::io::Result<Self> {
        let folder = beside.open_folder(name)?;
        Ok(Self { beside: Arc::clone(beside), name: name.to_owned(), folder })
    }

    /// Locks it: alone to change what is in it, else beside others who only look. False where somebody else has it, and not just
    /// for a moment. Where there are no locks, it is nobody's: two names may be given back, and nothing is lost.
    fn locks(&self, how: FlockOperation) -> bool {
        (0..TRIES).any(|tries| {
            if tries > 0 {
                std::thread::sleep(MOMENT);
            }
            rustix::fs::flock(self.folder.fd(), how) != Err(Errno::WOULDBLOCK)
        })
    }

    /// Whether whoever made it still has it.
    fn is_live(&self) -> bool {
        !self.locks(FlockOperation::NonBlockingLockShared)
    }

    /// Gives a file this second name too.
    pub(super) fn link(&self, file: &str) -> rustix::io::Result<()> {
        rustix::fs::linkat(self.beside.fd(), file, self.folder.fd(), file, AtFlags::empty())
    }

    /// Gives a file this second name in place of its own.
    pub(super) fn take(&self, file: &str) -> rustix::io::Result<()> {
        rustix::fs::renameat(self.beside.fd(), file, self.folder.fd(), file)
    }

    /// Gives a file its own name in place of this one, unless something has that.
    pub(super) fn give(&self, file: &str) -> rustix::io::Result<()> {
        let place = Place { folder: Arc::clone(&self.beside), name: file.to_owned() };
        match rename_new(&self.folder, file, &place) {
            // It can neither refuse an existing name nor give a second one: the name is claimed first.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                let claim = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                self.beside.open(file, claim)?;
                let renamed = rustix::fs::renameat(self.folder.fd(), file, self.beside.fd(), file);
                renamed.inspect_err(|_| _ = self.beside.remove(file))
            }
            other => other,
        }
    }

    /// Takes this name away.
    pub(super) fn remove(&self, file: &str) -> rustix::io::Result<()> {
        self.folder.remove(file)
    }

    /// Removes the folder, which is empty.
    pub(super) fn close(self) {
        // An empty one stays at worst, until somebody cleans.
        let _ = self.beside.remove_folder(&self.name);
    }

    /// The files in it: there is one, or none.
    fn files(&self) -> Result<Vec<(String, Stat)>> {
        let failed = |e| io("list", self.folder.path(), os(e));
        let mut files = Vec::new();
        for entry in self.folder.entries().map_err(failed)? {
            let name = entry.name.ok_or_else(|| not_utf8(&entry.path))?;
            match self.folder.stat(&name) {
                Ok(found) => files.push((name, found)),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(files)
    }

    /// Who has the own name of a file: `None` where nobody has.
    fn has_own_name(&self, file: &str, found: &Stat) -> Result<Option<bool>> {
        match self.beside.stat(file) {
            Ok(there) => Ok(Some((there.st_dev, there.st_ino) == (found.st_dev, found.st_ino))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(io("list", &self.beside.path_of(file), os(error))),
        }
    }

    /// Gives a file its own name back, or takes this one away where it has that.
    fn settle(&self, file: String, found: &Stat) -> Result<bool> {
        let settled = match self.has_own_name(&file, found)? {
            None if file::is_regular(found) => self.give(&file),
            // What was asked of a service by the move that was killed may still take the own name.
            Some(true) if self.is_fresh() => return Ok(false),
            Some(true) => self.remove(&file),
            other => return Err(self.error("clean", &Aside { size: 0, taken: other.is_some(), file })),
        };
        settled.map(|()| true).map_err(|e| io("clean", &self.beside.path_of(&file), os(e)))
    }

    /// What is said of a file that stands in it while a move deletes it: it may yet get its name back.
    fn moving(&self, aside: &Aside) -> Error {
        let name = self.beside.path_of(&aside.file).display().to_string();
        Error::new(ErrorKind::SourceChanged, "list", name, "it is being moved away")
            .hint("run the same command again when the move has ended")
    }

    /// Whether it was changed a moment ago, by this clock or one that is ahead.
    fn is_fresh(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
        rustix::fs::fstat(self.folder.fd()).is_ok_and(|found| found.st_mtime + FRESH_S > now)
    }

    /// What is said of a file that stood in it a moment ago and has its own name now: a list of its folder may have missed it.
    fn gone_back(&self, before: &[(String, Stat)]) -> Option<Error> {
        let back = |file: &str| self.folder.stat(file).is_err() && self.beside.stat(file).is_ok();
        let (file, _) = before.iter().find(|(file, _)| back(file))?;
        let name = self.beside.path_of(file).display().to_string();
        let cause = "it got its name back while its folder was listed";
        Some(Error::new(ErrorKind::SourceChanged, "list", name, cause).hint("run the same command again"))
    }

    /// A file in it that has no other name.
    fn aside(&self) -> Result<Option<Aside>> {
        for (file, found) in self.files()? {
            match self.has_own_name(&file, &found)? {
                Some(true) => {}
                other => return Ok(Some(Aside { file, size: found.st_size as u64, taken: other.is_some() })),
            }
        }
        Ok(None)
    }

    /// What is said of a file that stands in it.
    fn error(&self, operation: &'static str, aside: &Aside) -> Error {
        let second = format!("{}/{}", self.name, aside.file);
        let mut cause = format!("a move that was killed has left it as {second}");
        if aside.taken {
            cause += ", and another file has its name now";
        }
        let name = self.beside.path_of(&aside.file).display().to_string();
        Error::new(ErrorKind::Io, operation, name, cause).hint(if aside.taken {
            "compare the two files, and move the one to keep to this name"
        } else {
            "run haul clean on its folder: that gives the file its name back"
        })
    }
}

/// A file whose own name is gone.
struct Aside {
    file: String,
    size: u64,
    /// Another file has its own name.
    taken: bool,
}

/// What a folder of this name is.
pub(super) fn state(place: &Place) -> Result<Leftover> {
    let Some(held) = find(place)? else { return Ok(Leftover::Spare) };
    if held.is_live() {
        return Ok(Leftover::InUse);
    }
    match held.aside()? {
        Some(aside) if aside.taken => Err(held.error("clean", &aside)),
        Some(_) => Ok(Leftover::Aside),
        None if held.is_fresh() => Ok(Leftover::InUse),
        None => Ok(Leftover::Spare),
    }
}

/// Size of the file that stands there, in bytes, and what a list says of it: nothing where it has its own name.
pub(super) fn look(place: &Place) -> (u64, Option<Error>) {
    let looked = find(place).and_then(|held| {
        let Some(held) = held else { return Ok((0, None)) };
        let before = held.files()?;
        if held.is_live() {
            return Ok((0, held.aside()?.map(|aside| held.moving(&aside))));
        }
        match held.aside()? {
            Some(aside) => Ok((aside.size, Some(held.error("list", &aside)))),
            None => Ok((0, held.gone_back(&before))),
        }
    });
    looked.unwrap_or_else(|error| (0, Some(error)))
}

/// Gives a file its own name back, or takes the second away where it has that, and removes the folder. False where somebody holds
/// it, or there is none.
///
/// # Errors
/// `Io` where another file has its name, or it cannot be done; the file keeps its second name then.
pub(super) fn put_back(place: &Place) -> Result<bool> {
    let Some(held) = find(place)? else { return Ok(false) };
    if !held.locks(FlockOperation::NonBlockingLockExclusive) {
        return Ok(false);
    }
    let mut outcome = Ok(true);
    for (file, found) in held.files()? {
        match held.settle(file, &found) {
            Ok(true) => {}
            unsettled => outcome = unsettled,
        }
    }
    held.close();
    outcome
}

/// Looks for a file that has no other name than one in such a folder, beside which it was called `name`. It is told of, or put back:
/// true then.
pub(super) fn find_aside(folder: &Arc<Folder>, name: &str, puts_back: bool) -> Result<bool> {
    // Who may not list it learns that there is no such file.
    let Ok(entries) = folder.entries() else { return Ok(false) };
    for second in entries.into_iter().filter_map(|entry| entry.name).filter(|name| is_for_held(name)) {
        let place = Place { folder: Arc::clone(folder), name: second };
        let Some(held) = find(&place).ok().flatten().filter(|held| !held.is_live()) else { continue };
        match held.aside()?.filter(|aside| aside.file == name) {
            Some(_) if puts_back => {
                drop(held);
                return put_back(&place);
            }
            Some(aside) => return Err(held.error("open", &aside)),
            None => {}
        }
    }
    Ok(false)
}

/// `None` where there is no such folder.
fn find(place: &Place) -> Result<Option<Held>> {
    match Held::open(&place.folder, &place.name) {
        Ok(held) => Ok(Some(held)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(io("list", &place.path(), os(error))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tree::{Follow, Tree};
    use super::*;

    /// Folders for held files in a folder, as places.
    fn left_in(folder: &Path) -> Vec<Place> {
        let tree = Tree::new(folder, Follow::Nothing);
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let held = names.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".held"));
        held.map(|name| tree.place(&name, false).unwrap()).collect()
    }

    #[test]
    fn what_nobody_holds_is_told_of_and_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let beside = Tree::new(dir.path(), Follow::Nothing).folder("", false).unwrap();
        let file = dir.path().join("f");
        std::fs::write(&file, "the only copy").unwrap();
        let held = Held::make(&beside).unwrap();
        held.take("f").unwrap();
        let [place] = &*left_in(dir.path()) else { panic!("one folder") };
        assert_eq!(state(place).unwrap(), Leftover::InUse);
        let moving = look(place).1.unwrap();
        assert_eq!(moving.hint_text(), Some("run the same command again when the move has ended"));
        assert!(!put_back(place).unwrap() && !file.exists());
        // As after a kill.
        drop(held);
        assert_eq!(state(place).unwrap(), Leftover::Aside);
        // Who only looks hides it from nobody.
        let other = find(place).unwrap().unwrap();
        assert!(!other.is_live());
        assert_eq!(state(place).unwrap(), Leftover::Aside);
        assert!(look(place).1.is_some());
        drop(other);
        let error = find_aside(&beside, "f", false).unwrap_err();
        assert_eq!(
            error.hint_text(),
            Some("run haul clean on its folder: that gives the file its name back")
        );
        assert!(!find_aside(&beside, "g", true).unwrap() && !file.exists());
        let (size, error) = look(place);
        let error = error.unwrap();
        assert_eq!((size, error.kind(), error.object_name()), (13, ErrorKind::Io, file.to_str().unwrap()));
        assert_eq!(
            error.hint_text(),
            Some("run haul clean on its folder: that gives the file its name back")
        );
        // Not over what has its name now.
        std::fs::write(&file, "another").unwrap();
        state(place).unwrap_err();
        let error = put_back(place).unwrap_err();
        assert_eq!(
            error.hint_text(),
            Some("compare the two files, and move the one to keep to this name"),
            "{error}"
        );
        assert_eq!(std::fs::read(&file).unwrap(), b"another");
        std::fs::remove_file(&file).unwrap();
        let (stood, before) = (find(place).unwrap().unwrap(), find(place).unwrap().unwrap().files().unwrap());
        assert!(stood.gone_back(&before).is_none());
        assert!(find_aside(&beside, "f", true).unwrap());
        assert_eq!(std::fs::read(&file).unwrap(), b"the only copy");
        let back = stood.gone_back(&before).unwrap();
        assert_eq!(back.hint_text(), Some("run the same command again"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(!put_back(place).unwrap(), "there is none any more");
    }

    #[test]
    fn a_second_name_goes_where_the_file_has_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let beside = Tree::new(dir.path(), Follow::Nothing).folder("", false).unwrap();
        std::fs::write(dir.path().join("f"), "1").unwrap();
        let held = Held::make(&beside).unwrap();
        held.link("f").unwrap();
        drop(held);
        drop(Held::make(&beside).unwrap());
        let left = left_in(dir.path());
        assert_eq!(left.len(), 2);
        for place in &left {
            // The own name may still be taken by what was asked for.
            assert_eq!((state(place).unwrap(), look(place).1.is_none()), (Leftover::InUse, true));
            let folder = std::fs::File::open(dir.path().join(&place.name)).unwrap();
            folder.set_modified(SystemTime::now() - Duration::from_secs(61)).unwrap();
            assert_eq!((state(place).unwrap(), look(place).1.is_none()), (Leftover::Spare, true));
            assert!(put_back(place).unwrap());
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
