//! What became of objects, in words, for whoever listens to decisions.

use crate::event::{Method, ObjectRecord, Outcome};
use crate::units::ByteSize;
use crate::verbose::verbose;

/// Says what became of an object to whoever wants to hear of decisions.
pub(super) fn tell(record: &ObjectRecord) {
    let ObjectRecord { source, destination, size_bytes, attempts, .. } = record;
    let why = record.reason.map(|why| format!(": {why}")).unwrap_or_default();
    let size = ByteSize::new(*size_bytes);
    match record.outcome {
        Outcome::Copied | Outcome::BackedUp | Outcome::Staged => {
            let how = match (record.by_service, record.method) {
                (true, _) => "by the service",
                (false, Method::Blocks) => "in blocks",
                (false, _) => "whole",
            };
            verbose!(Info, "copied {source} to {destination}{why} ({size} {how}, {attempts} requests)");
        }
        Outcome::Deleted => verbose!(Info, "deleted {source}{destination}{why}"),
        Outcome::Skipped => verbose!(Debug, "skipped {source}{why}"),
        Outcome::Equal => verbose!(Debug, "equal: {source} and {destination}"),
        // The command says these itself.
        _ => {}
    }
}
