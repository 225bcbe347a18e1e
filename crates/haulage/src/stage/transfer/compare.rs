//! Attempts that compare: the contents of both ends, or what is known of them.

use super::attempt::{Task, told};
use super::object::Done;
use crate::checksum::{Crc64, Crc64Stream};
use crate::error::{Error, ErrorKind, Result};
use crate::stage::plan::{Existing, Pair, Place};
use crate::stage::read;
use crate::stage::taking::retract;
use crate::stage::verify::check_crc64;
use crate::store::{BlockId, BlockRange, ObjectMeta, Trace};

/// Compares a range, or the whole.
pub(super) async fn compare(task: &Task, range: Option<BlockRange>, trace: &Trace) -> Result<Done> {
    let Pair { source, destination, meta, existing, .. } = &*task.pair;
    let (Existing::Present(there) | Existing::Listed(there)) = existing else {
        return Err(Error::new(
            ErrorKind::Integrity,
            "verify",
            &*source.name(),
            "missing at the destination",
        ));
    };
    let from = source.store.capabilities();
    let trusted = task.purpose.trusts(&from);
    if !from.contents
        && let Some(range) = range
    {
        let (crc64, _) = crc64_of(destination, there, Some(range), false, trace).await?;
        return Ok(Done::Seen(BlockId { range, crc64 }.into()));
    }
    let ((ours, ours_sure), (theirs, theirs_sure)) = tokio::try_join!(
        crc64_of(source, meta, range, trusted, trace),
        crc64_of(destination, there, range, trusted, trace),
    )?;
    if ours == theirs {
        let len = range.map_or(meta.size, |range| range.len);
        return Ok(Done::Equal { crc64: range.is_none().then_some(ours), len });
    }
    let (at, len) = range.map_or((0, meta.size), |range| (range.offset, range.len));
    let cause = format!("contents differ within bytes {at} to {}: CRC64 {ours} and {theirs}", at + len);
    // Under this name the next run would take it for the copy.
    let removed = task.retracts && retract(&*destination.store, &destination.key, &there.etag, trace).await;
    Ok(Done::Differs { range, cause, sure: ours_sure && theirs_sure, removed })
}

/// The CRC64 of one side, and whether that is certain: the stored one where it is trusted and there, else of its bytes.
async fn crc64_of(
    place: &Place,
    meta: &ObjectMeta,
    range: Option<BlockRange>,
    trusted: bool,
    trace: &Trace,
) -> Result<(Crc64, bool)> {
    let contents = place.store.capabilities().contents;
    let told = if trusted && range.is_none() { told(place, meta, trace).await? } else { None };
    let meta = told.as_ref().unwrap_or(meta);
    if let Some(stored) = meta.crc64.filter(|_| (trusted || !contents) && range.is_none()) {
        return Ok((stored, true));
    }
    if !contents {
        let cause = "the receipt has no checksum of it, and the object has been written anew since";
        return Err(Error::new(ErrorKind::Integrity, "verify", &*place.name(), cause)
            .hint("compare it with its source"));
    }
    let range = range.or_else(|| read::vouched_whole(&*place.store, meta.size));
    let got = read::open(&*place.store, &place.key, meta, range, trace).await?;
    let stated = got.crc64;
    let mut payload = got.payload;
    let mut crc = Crc64Stream::default();
    while let Some(piece) = payload.next().await {
        crc.update(&piece?);
    }
    check_crc64(&place.name(), crc.value(), stated)?;
    Ok((crc.value(), stated.is_some() || !place.store.capabilities().keeps_checksums))
}
