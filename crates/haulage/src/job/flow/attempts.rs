//! The row of an attempt at a step.

use std::time::Duration;

use super::flights::{Flight, Landed};
use crate::budget::Share;
use crate::event::AttemptRecord;
use crate::gate::{Attempted, attempt};
use crate::stage::schedule::Step;
use crate::stage::transfer::Done;

impl Landed {
    /// The record of the attempt, with the wait before the next one.
    pub(super) fn record(&self, wait: Option<Duration>) -> AttemptRecord {
        let Landed { flight: Flight { unit, share, api, trace, len, pair, .. }, ended_ns, result } = self;
        // Read and compared, but not sent.
        let staged = matches!(result, Some(Ok(Done::Block { resumed: true, .. })));
        attempt(Attempted {
            object_id: Some(unit.object),
            object: pair.source.name(),
            api: if staged { "StagedBlock" } else { api },
            offset_bytes: offset(unit.step),
            size_bytes: *len,
            attempt: unit.attempt,
            lane: share.as_ref().map_or(0, Share::lane),
            seen: trace.take(),
            ended_ns: *ended_ns,
            error: result.as_ref().and_then(|result| result.as_ref().err()),
            overtaken: result.is_none(),
            wait,
        })
    }
}

fn offset(step: Step) -> u64 {
    match step {
        Step::Block(range) | Step::Compare(Some(range)) => range.offset,
        _ => 0,
    }
}
