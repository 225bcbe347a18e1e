//! Gives an object another version.
//!
//! An ETag of S3 may be that of the bytes, so that writing them once more leaves it as it is. But it also tells in how many parts they
//! came: an object is copied onto itself in one part, and what came in one part in two, for completing parts takes a condition
//! everywhere. What came in one that is too small to be cut is copied at once.

use bytes::Bytes;

use super::writer::S3Writer;
use super::{S3Store, object};
use crate::error::{ErrorKind, Result};
use crate::store::{
    Attributes, BlockRange, BlockSizes, BlockWriter as _, CopySource, ObjectMeta, Precondition, Properties,
    PutOptions, PutResult, Tags, Trace, changed_since,
};

/// The largest part, and what one request copies, in bytes; and the smallest part but the last.
const AT_ONCE: u64 = 5 << 30;
const LEAST: u64 = 5 << 20;

pub(super) async fn claim(store: &S3Store, key: &str, etag: &str, trace: &Trace) -> Result<String> {
    match claimed(store, key, etag, trace).await {
        Ok(put) => Ok(put.etag),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Exists) => {
            Err(changed_since(store.display(key)))
        }
        Err(error) => Err(error),
    }
}

async fn claimed(store: &S3Store, key: &str, etag: &str, trace: &Trace) -> Result<PutResult> {
    let there = object::head(store, key, trace).await?;
    if there.etag != etag {
        return Err(changed_since(store.display(key)));
    }
    let (size, crc64) = (there.size, there.crc64);
    let attributes = as_it_is(store, there, trace).await?;
    let precondition = Precondition::IfMatch(etag.to_owned());
    let is_one_part = etag.trim_matches('"').ends_with("-1");
    let wanted = if is_one_part { size.div_ceil(2).max(LEAST) } else { AT_ONCE };
    let blocks = BlockSizes { wanted, ..BlockSizes::default() };
    let options = PutOptions { attributes, precondition, blocks, by_service: true, ..PutOptions::default() };
    if size == 0 {
        // Nothing of it can be lost.
        return object::put(store, key, Bytes::new().into(), &options, trace).await;
    }
    let from = (store, key, Some(etag));
    if is_one_part && size <= LEAST {
        let stored = (Some(&options.attributes), false);
        return object::copy(from, store, key, stored, options.checksum, trace).await;
    }
    in_parts(store, CopySource { store, key, size, etag, crc64 }, &options, trace).await
}

/// Copies an object onto itself, in as few parts as there can be.
async fn in_parts(
    store: &S3Store,
    from: CopySource<'_>,
    options: &PutOptions,
    trace: &Trace,
) -> Result<PutResult> {
    let CopySource { key, size, .. } = from;
    let writer = S3Writer::anew(store.clone(), key, size, options, trace).await?;
    let copy = async {
        let (mut parts, mut offset) = (Vec::new(), 0);
        while let Some(len) = writer.block_len(offset).filter(|_| offset < size) {
            let range = BlockRange { offset, len }.within(size);
            parts.push(writer.copy_block(range, &from, trace).await?.part);
            offset = range.end();
        }
        writer.commit(&parts, &options.attributes, trace).await
    };
    let copied = copy.await;
    if copied.is_err() {
        writer.abandon().await;
    }
    copied
}

/// What is stored with an object, to be stored with it again.
async fn as_it_is(store: &S3Store, there: ObjectMeta, trace: &Trace) -> Result<Attributes> {
    let ObjectMeta { key, crc64, md5, source_modified_ns, content_type, mut properties, posix, .. } = there;
    if let Some(known) = properties.as_ref().filter(|known| known.tags == Tags::Unread) {
        let tags = Tags::Known(object::tags(store, &key, trace).await?);
        properties = Properties { tags, ..Properties::clone(known) }.kept();
    }
    Ok(Attributes {
        crc64,
        md5,
        source_modified_ns,
        content_type,
        properties,
        posix,
        ..Attributes::default()
    })
}
