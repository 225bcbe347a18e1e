//! Reads from the object that was listed, and from no other.

use crate::error::{Error, ErrorKind, Result, Retry};
use crate::store::{BlockRange, GetOptions, GetResult, ObjectMeta, Store, Trace};

/// Opens the object that `listed` tells of, or a range of it, for which the store then vouches where it can.
///
/// # Errors
/// `SourceChanged` for another version; `Integrity` for an answer that gives this version another size.
pub(crate) async fn open(
    store: &dyn Store,
    key: &str,
    listed: &ObjectMeta,
    range: Option<BlockRange>,
    trace: &Trace,
) -> Result<GetResult> {
    let most = store.capabilities().range_checksum_max;
    let options = GetOptions {
        range,
        if_match: (!listed.etag.is_empty()).then(|| listed.etag.clone()),
        range_checksum: range.is_some_and(|range| range.len <= most),
    };
    let got = store.get(key, &options, trace).await?;
    if got.meta.size == listed.size {
        return Ok(got);
    }
    let cause = format!("it had {} bytes when listed and has {} now", listed.size, got.meta.size);
    let error = |kind| Error::new(kind, "read", store.name(key), cause);
    // The same version has the same size: then it is the answer that is wrong.
    if !listed.etag.is_empty() && listed.etag == got.meta.etag {
        return Err(error(ErrorKind::Integrity).retry(Retry::Backoff));
    }
    Err(error(ErrorKind::SourceChanged))
}

/// All of the object as one range, where the store vouches for one of that size.
pub(crate) fn vouched_whole(store: &dyn Store, size: u64) -> Option<BlockRange> {
    let vouched = (1..=store.capabilities().range_checksum_max).contains(&size);
    vouched.then_some(BlockRange { offset: 0, len: size })
}
