//! One object from bytes at hand, in one request.

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::checksum::{Crc64, Md5};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Written;
use crate::gate::through;
use crate::options::{CopyOptions, Overwrite};
use crate::secret::redacted;
use crate::stage::verify::{Ends, proof};
use crate::store::{
    Attributes, Location, ObjectMeta, Payload, Precondition, PutOptions, PutResult, Request, StoreOpener,
    Trace,
};

/// Writes `content` to the object that `url` names: exactly one request where none has to be repeated.
///
/// Of `options` those for stores count, `checksum`, `content_md5` and `overwrite`, of which only `Never` keeps what is there.
///
/// # Errors
/// `Exists` where something is there that is to be kept; `Unsupported` for more than one request may carry.
pub fn put<'a>(
    opener: &'a StoreOpener,
    url: &'a str,
    content: impl AsRef<[u8]> + Send + 'static,
    options: &'a CopyOptions,
) -> BoxFuture<'a, Result<Written>> {
    put_bytes(opener, url, Bytes::from_owner(content), options)
}

fn put_bytes<'a>(
    opener: &'a StoreOpener,
    url: &'a str,
    bytes: Bytes,
    options: &'a CopyOptions,
) -> BoxFuture<'a, Result<Written>> {
    Box::pin(async move {
        let Location { store, key, gate } = opener.open_object(url, "write")?;
        let name = store.name(&key);
        let size_bytes = bytes.len() as u64;
        if size_bytes > store.capabilities().put_max {
            return Err(too_large(name, size_bytes));
        }
        let crc64 = Crc64::of(&bytes);
        let md5 = options.content_md5.then(|| Md5::of(&bytes));
        let to_put = PutOptions {
            attributes: Attributes { crc64: Some(crc64), md5, ..Attributes::default() },
            precondition: match options.overwrite {
                Overwrite::Never => Precondition::IfAbsent,
                Overwrite::Always | Overwrite::IfDifferent => Precondition::None,
            },
            checksum: options.checksum,
            ..PutOptions::default()
        };
        let mut requests = 0;
        let (api, name) = (store.api(Request::Put), store.name(&key));
        let put = through!(gate, api, name, trace => {
            requests += 1;
            store.put(&key, Payload::Hashed(bytes.clone(), crc64), &to_put, trace).await
        });
        let put = match put {
            // Our own, of an attempt whose answer was lost.
            Err(error) if error.kind() == ErrorKind::Exists && requests > 1 => {
                let there = store.head(&key, &Trace::detached()).await.ok();
                let ours = there.filter(|there| there.size == size_bytes && there.crc64 == Some(crc64));
                let meta = ours.ok_or(error)?;
                PutResult {
                    etag: meta.etag,
                    crc64: Some(crc64),
                    md5: meta.md5,
                    confirmed: false,
                    not_kept: None,
                }
            }
            other => other?,
        };
        opener.flush(None).await?;
        let to_plain = !store.capabilities().keeps_checksums;
        let ends = Ends { from_plain: true, to_plain, vouched: true, confirmed: put.confirmed };
        Ok(Written {
            object: redacted(name),
            size_bytes,
            etag: redacted(put.etag),
            crc64: Some(crc64),
            md5: put.md5,
            proof: proof(&ObjectMeta::default(), ends, options.checksum),
        })
    })
}

fn too_large(name: String, size_bytes: u64) -> Error {
    let cause = format!("{size_bytes} bytes are more than one request may carry");
    Error::new(ErrorKind::Unsupported, "write", name, cause)
        .hint("write it in blocks: haulage.open(url, \"wb\"), or copy a file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_to_be_written_in_blocks() {
        let error = too_large("az://c/a".to_owned(), 6_000 << 20);
        assert_eq!(error.hint_text(), Some("write it in blocks: haulage.open(url, \"wb\"), or copy a file"));
    }
}
