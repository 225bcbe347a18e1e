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
        let cause = format!("not committed, because {failed} of its collection failed");
        let failure = Failure {
            kind: ErrorKind::Cancelled,
            operation: "commit",
            object: String::new(),
            cause,
            hint: Some(
                "mend what failed and run the same command again: what is staged is not sent again".into(),
            ),
        };
        self.objects.fail_waiting(&failure, self.clock.now_ns());
    }

    /// Stops before a collection is larger than can be held.
    pub(super) fn check_collection(&mut self) {
        if self.options.atomic && self.stop.is_none() && self.objects.len() > OBJECTS_MAX {
            let error = Error::new(
                ErrorKind::Unsupported,
                "copy",
                "the collection",
                format!("more than {OBJECTS_MAX} objects cannot be committed together"),
            );
            let failure = Failure::from(&error.hint("copy it in parts, or without --atomic"));
            self.objects.fail_waiting(&not_started(&failure), self.clock.now_ns());
            self.recorder.failure(failure.clone());
            self.stop = Some(failure);
        }
    }
}
