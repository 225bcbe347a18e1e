//! One object into memory.

use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::in_order;
use crate::checksum::{Crc64, Md5};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::options::CopyOptions;
use crate::stage::verify::{agreed, check_crc64, check_md5};
use crate::store::{GetOptions, GetResult, Location, ObjectMeta, Request, StoreOpener, Trace};

/// More than this is taken only as it comes: what an answer says of its length may be anything.
const AT_ONCE: u64 = 64 << 20;

/// Reads the object that `url` names, and compares it with the checksum that is stored with it.
///
/// That is one request. For an object that is stored without a checksum, ranges are read in its place, for which the
/// service computes one; where it does not, the length alone is compared.
///
/// # Errors
/// `Integrity` where the bytes are not those of the checksum, however often they are read.
pub fn get<'a>(
    opener: &'a StoreOpener,
    url: &'a str,
    options: &'a CopyOptions,
) -> BoxFuture<'a, Result<Bytes>> {
    Box::pin(async move {
        let location = opener.open_object(url, "read")?;
        let (api, name) = (location.store.api(Request::Get), location.store.name(&location.key));
        let read = through!(location.gate, api, name, trace => whole(&location, trace).await)?;
        let meta = match read {
            Read::Whole(bytes) => return Ok(bytes),
            Read::Unstated(meta) => meta,
        };
        let limits = in_order::limits(options)?;
        let (mut bytes, name) = (Vec::new(), location.store.name(&location.key));
        in_order::read_all(&location, &meta, &mut bytes, &name, &limits).await?;
        Ok(bytes.into())
    })
}

enum Read {
    Whole(Bytes),
    /// Nothing is stored that the whole could be compared with.
    Unstated(Box<ObjectMeta>),
}

async fn whole(from: &Location, trace: &Trace) -> Result<Read> {
    let Location { store, key, .. } = from;
    let got = store.get(key, &GetOptions::default(), trace).await?;
    let name = store.name(key);
    let crc64 = agreed(&name, "CRC64", [got.meta.crc64, got.crc64])?;
    let md5 = agreed(&name, "MD5", [got.meta.md5, got.md5])?;
    let unstated = crc64.is_none() && md5.is_none();
    if unstated && store.capabilities().range_checksum_max > 0 && !got.payload.is_empty() {
        return Ok(Read::Unstated(Box::new(got.meta)));
    }
    let bytes = collect(got, &name).await?;
    check_crc64(&name, Crc64::of(&bytes), crc64)?;
    check_md5(&name, (crc64.is_none() && md5.is_some()).then(|| Md5::of(&bytes)), md5)?;
    Ok(Read::Whole(bytes))
}

async fn collect(got: GetResult, name: &str) -> Result<Bytes> {
    let mut payload = got.payload;
    if payload.len() <= AT_ONCE {
        return payload.collect().await;
    }
    let mut bytes = Vec::new();
    while let Some(piece) = payload.next().await {
        let piece = piece?;
        if bytes.try_reserve(piece.len()).is_err() {
            return Err(does_not_fit(name));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.into())
}

pub(super) fn does_not_fit(name: &str) -> Error {
    Error::new(ErrorKind::Io, "read", name, "it does not fit into memory")
        .hint("read it in parts with haulage.open(url, \"rb\"), or copy it to a file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_to_be_read_in_parts() {
        let hint = "read it in parts with haulage.open(url, \"rb\"), or copy it to a file";
        assert_eq!(does_not_fit("a").hint_text(), Some(hint));
    }
}
