//! A second name for a file, so that it outlives the deletion of what may be the same file under another name.

use rustix::fs::{AtFlags, OFlags};
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
}

impl Hold {
    /// Gives the file at a place a second name. Blocks.
    pub(super) fn new(place: Place) -> Result<Self> {
        let second = format!(".haul-{:016x}.held", fastrand::u64(..));
        let fd = place.folder.fd();
        rustix::fs::linkat(fd, &*place.name, fd, &*second, AtFlags::empty())
            .map_err(|e| io("hold", &place.path(), os(e)))?;
        Ok(Self { place, second: Some(second) })
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
        // Not a look: over a network that may be told what was true a while ago.
        match folder.open(name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK) {
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
