//! Collection-level commit: the blocks of all objects are staged first, then all are committed in one short burst.

use super::{Flow, not_started};
use crate::error::{Error, ErrorKind};
use crate::event::Failure;

/// Objects that may be committed together: each is held in memory until then, at about 2 KiB.
const OBJECTS_MAX: usize = 100_000;

impl Flow {
    /// Commits all objects, now that every block is there; none where one object has failed.
    pub(super) fn commit_together(&mut self) {
        let failed = self.recorder.summary().objects_failed;
        if failed == 0 {
            self.objects.release_commits(self.clock.now_ns());
            return;
        }
        self.objects.fail_staged(&uncommitted(failed), self.clock.now_ns());
    }

    /// Stops before a collection is larger than can be held.
    pub(super) fn check_collection(&mut self) {
        let failed = self.recorder.summary().objects_failed;
        if self.options.atomic && self.stop.is_none() && is_too_large(self.objects.len(), failed) {
            let failure = too_large();
            self.objects.fail_waiting(&not_started(&failure), self.clock.now_ns());
            self.recorder.failure(failure.clone());
            self.stop = Some(failure);
        }
    }
}

/// Whether a collection is larger than can be held: `failed` of its objects were to be committed too.
pub(in crate::job) fn is_too_large(waiting: usize, failed: u64) -> bool {
    waiting as u64 + failed > OBJECTS_MAX as u64
}

/// Why objects are not committed that could have been.
pub(in crate::job) fn uncommitted(failed: u64) -> Failure {
    let cause = format!("not committed, because {failed} of its collection failed");
    let error = Error::new(ErrorKind::Cancelled, "commit", "", cause);
    let hint = "fix what failed and run the same command again; staged data is not sent again";
    Failure::from(&error.hint(hint))
}

/// Why a collection is not committed together.
pub(in crate::job) fn too_large() -> Failure {
    let cause = format!("more than {OBJECTS_MAX} objects cannot be committed together");
    let error = Error::new(ErrorKind::Unsupported, "copy", "the collection", cause);
    Failure::from(&error.hint("copy it in parts, or without --atomic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_failed_counts_towards_a_collection_too() {
        assert!(!is_too_large(OBJECTS_MAX, 0) && !is_too_large(OBJECTS_MAX - 1, 1));
        assert!(is_too_large(OBJECTS_MAX + 1, 0) && is_too_large(1, OBJECTS_MAX as u64));
    }
}
