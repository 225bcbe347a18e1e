//! Copies of which a job moves a portion: several machines move one object together.

use super::{Copying, Subject};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Portion;
use crate::stage::transfer::staged::Unclaimed;
use crate::store::{BlockId, BlockRange, Joining};

impl Copying {
    /// Whether the source is the version that is to be moved: several jobs must not join two.
    pub(super) fn check_version(&self, it: &Subject) -> Result<()> {
        let (name, etag) = (it.pair.source.name(), &it.pair.meta.etag);
        if self.source_etag.as_ref().is_some_and(|wanted| wanted != etag) {
            let cause = "this is not the version that was asked for";
            return Err(Error::new(ErrorKind::SourceChanged, "read", &*name, cause)
                .hint("start over with the version that is there"));
        }
        if self.portion != Portion::All && etag.is_empty() {
            let cause = "its store tells no version from another";
            return Err(Error::new(ErrorKind::Unsupported, "stage", &*name, cause).hint("copy it whole"));
        }
        Ok(())
    }

    /// How it is to be begun, where the service keeps uploads.
    pub(crate) fn joining(&self) -> Joining {
        match &self.portion {
            Portion::All => Joining::Alone,
            Portion::Stretch(stretch) if stretch.len == 0 => Joining::First,
            Portion::Stretch(_) | Portion::Commit(_) => Joining::Joins,
        }
    }

    /// Bytes of an object of `size` that this job is to move.
    pub(super) fn to_move(&self, size: u64) -> u64 {
        match &self.portion {
            Portion::All => size,
            Portion::Stretch(stretch) => stretch.len.min(size),
            Portion::Commit(_) => 0,
        }
    }

    /// Has only this job's portion cut, or takes the parts that others have staged. The object has been begun.
    pub(super) fn take_portion(&mut self, it: &mut Subject) -> Result<()> {
        let name = it.pair.destination.name();
        match &self.portion {
            Portion::All => Ok(()),
            Portion::Stretch(stretch) => match it.cutter.as_mut().is_some_and(|cutter| cutter.only(*stretch))
            {
                true => Ok(()),
                false => {
                    let (first, end) = (stretch.offset, stretch.offset.saturating_add(stretch.len));
                    let cause = format!("its parts cannot be cut at the bytes {first} and {end}");
                    Err(Error::new(ErrorKind::Usage, "stage", &*name, cause)
                        .hint("fix the block size, and let each stretch begin at a multiple of it"))
                }
            },
            Portion::Commit(claimed) => {
                for claim in claimed.iter().map(|part| BlockId::from(*part)) {
                    let part = self.staged.claimed(&claim).map_err(|why| missing(&name, claim.range, why))?;
                    if it.cutter.as_mut().is_some_and(|cutter| cutter.put(part)) {
                        self.bytes_resumed += claim.range.len;
                    }
                }
                if it.ranges_left() > 0 {
                    let cause = format!("{} bytes of it are in none of the parts", it.ranges_left());
                    return Err(Error::new(ErrorKind::Usage, "commit", &*name, cause)
                        .hint("name the parts of all stretches"));
                }
                Ok(())
            }
        }
    }
}

/// A part that was to be committed, and cannot be.
fn missing(name: &str, range: BlockRange, why: Unclaimed) -> Error {
    let part = format!("the part from byte {} to {}", range.offset, range.offset.saturating_add(range.len));
    let (kind, cause, hint) = match why {
        Unclaimed::Missing => {
            (ErrorKind::NotFound, "is not staged (any more)", "stage that stretch again, then commit")
        }
        Unclaimed::Unknown => {
            (ErrorKind::Unsupported, "is staged, but the service states no CRC64 of it", "copy it whole")
        }
    };
    Error::new(kind, "commit", name, format!("{part} {cause}")).hint(hint)
}
