//! Reads from the object that was listed, and from no other.

use bytes::{Bytes, BytesMut};

use super::verify::check_crc64;
use crate::checksum::{Crc64, Crc64Stream};
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
        up_to: false,
        if_match: (!listed.etag.is_empty() || listed.modified_ns != 0).then(|| listed.version()),
        size: Some(listed.size),
        range_checksum: range.is_some_and(|range| range.len <= most),
    };
    let got = store.get(key, &options, trace).await?;
    if got.meta.size == listed.size {
        return Ok(got);
    }
    let cause = format!("it had {} bytes when listed and has {} now", listed.size, got.meta.size);
    let error = |kind| Error::new(kind, "read", store.name(key), cause);
    // The same version has the same size: then it is the answer that is wrong.
    if !listed.etag.is_empty() && !listed.weak && listed.etag == got.meta.etag {
        return Err(error(ErrorKind::Integrity).retry(Retry::Backoff));
    }
    Err(error(ErrorKind::SourceChanged))
}

/// A range that was read into one piece.
pub(crate) struct Gathered {
    pub(crate) bytes: Bytes,
    pub(crate) crc64: Crc64,
    /// The store has vouched for all of it.
    pub(crate) vouched: bool,
}

/// Reads a range into one piece, in as many requests as it takes for the store to vouch for all of it. Only a destination that wants
/// large parts asks for more than the store vouches for at once.
///
/// # Errors
/// As [`open`]; `Integrity` where what arrived is not what the store says.
pub(crate) async fn gather(
    store: &dyn Store,
    key: &str,
    listed: &ObjectMeta,
    range: BlockRange,
    trace: &Trace,
) -> Result<Gathered> {
    let most = store.capabilities().range_checksum_max;
    let mut pieces = if most > 0 { range.len.div_ceil(most).max(1) } else { 1 };
    if pieces == 1 {
        let got = open(store, key, listed, Some(range), trace).await?;
        let stated = got.crc64;
        let (bytes, crc64) = got.payload.collect_hashed().await?;
        check_crc64(&store.name(key), crc64, stated)?;
        return Ok(Gathered { bytes, crc64, vouched: stated.is_some() });
    }
    let (mut whole, mut crc64, mut vouched) =
        (BytesMut::with_capacity(range.len as usize), Crc64::EMPTY, true);
    let mut offset = range.offset;
    while offset < range.end() {
        let left = range.end() - offset;
        let piece = BlockRange { offset, len: left.div_ceil(pieces) };
        let mut got = open(store, key, listed, Some(piece), trace).await?;
        let mut arrived = Crc64Stream::default();
        while let Some(bytes) = got.payload.next().await {
            let bytes = bytes?;
            arrived.update(&bytes);
            whole.extend_from_slice(&bytes);
        }
        check_crc64(&store.name(key), arrived.value(), got.crc64)?;
        crc64 = crc64.combine(arrived.value(), piece.len);
        vouched &= got.crc64.is_some();
        offset = piece.end();
        // A server that does not vouch need not be asked so often.
        pieces = if vouched { (pieces - 1).max(1) } else { 1 };
    }
    Ok(Gathered { bytes: whole.freeze(), crc64, vouched })
}

/// Whether the store vouches for an object of this size, but not for all of it at once.
pub(crate) fn is_vouched_in_pieces(store: &dyn Store, size: u64) -> bool {
    (1..size).contains(&store.capabilities().range_checksum_max)
}

/// All of the object as one range, where the store vouches for one of that size.
pub(crate) fn vouched_whole(store: &dyn Store, size: u64) -> Option<BlockRange> {
    let vouched = (1..=store.capabilities().range_checksum_max).contains(&size);
    vouched.then_some(BlockRange { offset: 0, len: size })
}
