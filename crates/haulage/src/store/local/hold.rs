//! A second name for a file, so that it outlives the deletion of what may be the same file under another name.

use rustix::fs::{AtFlags, OFlags, RenameFlags};
use rustix::io::Errno;

use super::blocking;
use super::file::io;
use super::partial::rename_new;
use super::tree::{Place, os};
use crate::error::Result;

/// A file with a second name in its folder. Dropped, it has its own alone again.
#[derive(Debug)]
pub struct Hold {
    place: Place,
    second: Option<String>,
    /// It has the second name instead of its own, on a file system where a file has but one.
    aside: bool,
}

impl Hold {
    /// Gives the file at a place a second name. Blocks.
    pub(super) fn new(place: Place) -> Result<Self> {
        let second = second_name();
        match beside(&place, &second) {
            Ok(()) => Ok(Self { place, second: Some(second), aside: false }),
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK | Errno::INVAL) => {
                aside(&place, &second).map_err(|e| io("hold", &place.path(), os(e)))?;
                Ok(Self { place, second: Some(second), aside: true })
            }
            Err(error) => Err(io("hold", &place.path(), os(error))),
        }
    }

    /// Gives the file at a place a second name in place of its own. Blocks.
    pub(super) fn aside(place: Place) -> Result<Self> {
        let second = second_name();
        aside(&place, &second).map_err(|e| io("delete", &place.path(), os(e)))?;
        Ok(Self { place, second: Some(second), aside: true })
    }

    /// Removes a file that stands aside.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) where that cannot be done; it has its own name again then.
    pub(crate) async fn remove(self) -> Result<()> {
        blocking(move || {
            let mut hold = self;
            let Some(second) = hold.second.take() else { return Ok(()) };
            let removed = hold.place.folder.remove(&second);
            if removed.is_err() {
                hold.second = Some(second);
            }
            removed.map_err(|e| io("delete", &hold.place.path(), os(e)))
        })
        .await
    }

    /// Takes the second name away: true where the file still has its own. Where it had lost that, it gets it back.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) where neither can be done; the file keeps its second name then.
    pub async fn release(self) -> Result<bool> {
        blocking(move || {
            let mut hold = self;
            hold.let_go().map_err(|e| io("hold", &hold.place.path(), os(e)))
        })
        .await
    }

    fn let_go(&mut self) -> rustix::io::Result<bool> {
        let Some(second) = self.second.take() else { return Ok(true) };
        if self.aside {
            // Whatever was deleted by its name was not this file.
            return rename_new(&self.place, &second).map(|()| true);
        }
        let Place { folder, name } = &self.place;
        // Not a look: over a network that may be told what was true a while ago.
        match folder.open(name, OFlags::RDONLY | OFlags::NOFOLLOW) {
            Err(Errno::NOENT | Errno::STALE) => rename_new(&self.place, &second).map(|()| false),
            _ => folder.remove(&second).map(|()| true),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // What cannot be done is left: a name more, and nothing lost.
        let _left = self.let_go();
    }
}

fn second_name() -> String {
    format!(".haul-{:016x}.held", fastrand::u64(..))
}

/// Gives a file this name too.
fn beside(place: &Place, second: &str) -> rustix::io::Result<()> {
    let fd = place.folder.fd();
    rustix::fs::linkat(fd, &*place.name, fd, second, AtFlags::empty())
}

/// Gives a file this name in place of its own.
fn aside(place: &Place, second: &str) -> rustix::io::Result<()> {
    let fd = place.folder.fd();
    match rustix::fs::renameat_with(fd, &*place.name, fd, second, RenameFlags::NOREPLACE) {
        // Nobody else has this name.
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(fd, &*place.name, fd, second),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tree::{Follow, Tree};
    use super::*;

    fn place(folder: &Path) -> Place {
        Tree::new(folder, Follow::Nothing).place("f", false).unwrap()
    }

    #[tokio::test]
    async fn a_file_that_is_held_outlives_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        std::fs::write(&file, "the only copy").unwrap();
        assert!(Hold::new(place(folder.path())).unwrap().release().await.unwrap());
        let hold = Hold::new(place(folder.path())).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(!hold.release().await.unwrap(), "it was the same file");
        let dropped = Hold::new(place(folder.path())).unwrap();
        std::fs::remove_file(&file).unwrap();
        drop(dropped);
        // Where a file has one name only it stands aside.
        let place = place(folder.path());
        aside(&place, "second").unwrap();
        assert!(!file.exists());
        let hold = Hold { place, second: Some("second".to_owned()), aside: true };
        assert!(hold.release().await.unwrap());
        assert_eq!(std::fs::read(&file).unwrap(), b"the only copy");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_file_that_stands_aside_comes_back_unless_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        std::fs::write(&file, "the only copy").unwrap();
        let hold = Hold::aside(place(folder.path())).unwrap();
        assert!(!file.exists());
        drop(hold);
        assert_eq!(std::fs::read(&file).unwrap(), b"the only copy");
        // Where somebody has taken its name meanwhile both stay.
        let hold = Hold::aside(place(folder.path())).unwrap();
        std::fs::write(&file, "another").unwrap();
        hold.release().await.unwrap_err();
        assert_eq!(std::fs::read(&file).unwrap(), b"another");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "a copy").unwrap();
        Hold::aside(place(folder.path())).unwrap().remove().await.unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only what stayed before");
    }
}
