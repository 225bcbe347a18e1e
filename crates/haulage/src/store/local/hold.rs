//! A second name for a file, so that it outlives the deletion of what may be the same file under another name.

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::blocking;
use super::file::io;
use super::held::Held;
use super::tree::{Place, os};
use crate::error::Result;

/// A file with a second name, in a folder beside it. Dropped, it has its own alone again.
#[derive(Debug)]
pub struct Hold {
    place: Place,
    second: Option<Held>,
    /// It has the second name instead of its own.
    aside: bool,
}

impl Hold {
    /// Gives the file at a place a second name. Blocks.
    pub(super) fn new(place: Place) -> Result<Self> {
        let aside = |held: &Held| match held.link(&place.name) {
            // A file has but one name here, or not one in another folder.
            Err(
                Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK | Errno::INVAL | Errno::XDEV,
            ) => held.take(&place.name).map(|()| true),
            other => other.map(|()| false),
        };
        let (second, aside) = hold(&place, aside).map_err(|e| io("hold", &place.path(), os(e)))?;
        Ok(Self { place, second: Some(second), aside })
    }

    /// Gives the file at a place a second name in place of its own. Blocks.
    pub(super) fn aside(place: Place) -> Result<Self> {
        let held = hold(&place, |held| held.take(&place.name));
        let (second, ()) = held.map_err(|e| io("delete", &place.path(), os(e)))?;
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
            if let Err(error) = second.remove(&hold.place.name) {
                hold.second = Some(second);
                return Err(io("delete", &hold.place.path(), os(error)));
            }
            second.close();
            Ok(())
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
        let Place { folder, name } = &self.place;
        let had_own = if self.aside {
            // Whatever was deleted by its name was not this file.
            second.give(name).map(|()| true)
        } else {
            // Not a look: over a network that may be told what was true a while ago.
            match folder.open(name, OFlags::RDONLY | OFlags::NOFOLLOW) {
                Err(Errno::NOENT | Errno::STALE) => second.give(name).map(|()| false),
                _ => second.remove(name).map(|()| true),
            }
        }?;
        second.close();
        Ok(had_own)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // What cannot be done is left: a name more, and nothing lost.
        let _left = self.let_go();
    }
}

/// Holds a file in a folder that is made for it.
fn hold<T>(
    place: &Place,
    give: impl FnOnce(&Held) -> rustix::io::Result<T>,
) -> rustix::io::Result<(Held, T)> {
    let held = Held::make(&place.folder)?;
    match give(&held) {
        Ok(given) => Ok((held, given)),
        Err(error) => {
            held.close();
            Err(error)
        }
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
        let held = Held::make(&place.folder).unwrap();
        held.take("f").unwrap();
        assert!(!file.exists());
        let hold = Hold { place, second: Some(held), aside: true };
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
