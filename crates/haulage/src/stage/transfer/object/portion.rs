//! Copies of which a job moves a portion: several machines move one object together.

use super::{Copying, Subject};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Portion;
use crate::store::BlockId;

impl Copying {
    /// Has only this job's portion cut, or takes the parts that others have staged. The object has been begun.
    pub(super) fn take_portion(&self, it: &mut Subject) -> Result<()> {
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
                    let Some(part) = self.staged.claimed(&claim) else {
                        let (first, end) = (claim.range.offset, claim.range.end());
                        let cause = format!("the part from byte {first} to {end} is not staged (any more)");
                        return Err(Error::new(ErrorKind::NotFound, "commit", &*name, cause)
                            .hint("stage that stretch again, then commit"));
                    };
                    it.take(part);
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
