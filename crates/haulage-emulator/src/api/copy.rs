//! Copy Blob, Put Blob From URL and Put Block From URL within the account: done before the answer, so never pending.
//!
//! A copy of a blob needs no more than the account's key. The others read the source as anybody would, so that a signature must come
//! with its URL.

use std::ops::Range;
use std::sync::Arc;

use haulage::checksum::{Crc64, Md5};
use http::{StatusCode, Uri};

use super::block::{LARGEST_BLOCK, check_id, stage};
use super::condition::Conditions;
use super::headers::{content, metadata, set, written};
use super::put::{LARGEST_PUT, store_md5};
use super::read::within;
use super::{Reply, blob, commit, find, tags, tier};
use crate::auth::authorize;
use crate::request::{Call, Operation};
use crate::s3::sums::Sums as Summed;
use crate::service::Service;
use crate::store::{Blob, Data, Key, Part};
use crate::wire::error::{
    Answer, CANNOT_READ_COPY_SOURCE, CANNOT_VERIFY_COPY_SOURCE, CRC64_MISMATCH, INVALID_BLOB_TYPE,
    INVALID_HEADER_VALUE, MD5_MISMATCH, NOT_IMPLEMENTED, REQUEST_BODY_TOO_LARGE, SOURCE_CONDITION_NOT_MET,
    ServiceError,
};
use crate::wire::time::Stamp;
use crate::wire::upload::Sums;

const SOURCE_MD5: &str = "x-ms-source-content-md5";

pub(super) async fn copy_blob(service: &Service, call: &Call<'_>) -> Reply {
    let source = source(service, call, false)?;
    let conditions = Conditions::of(call)?;
    let sent_metadata = metadata(call)?;
    let tags = tags::of_copy(call, &source.blob)?;
    let tier = tier::sent(call)?;
    tier::check_copied(&source.blob, tier)?;
    let data = source.take(service, 0..source.blob.size).await?;
    let source = (*source.blob).clone();

    let _lock = service.lock(call.key()).await;
    let old = find(service, call.key())?;
    conditions.check_write(old.as_deref())?;
    if old.as_ref().is_some_and(|old| old.kind() != source.kind()) {
        return Err((&INVALID_BLOB_TYPE).into());
    }
    let tier = tier::of_new(tier, old.as_deref())?;
    let now = Stamp::now();
    let new = Blob {
        etag: service.next_etag(),
        created: old.map_or(now, |old| old.created),
        modified: now,
        metadata: if sent_metadata.is_empty() { source.metadata.clone() } else { sent_metadata },
        tags,
        tier,
        data,
        ..source
    };
    let new = commit(service, call.key(), new, true).await?;
    let mut response = written(StatusCode::ACCEPTED, Some(&new), &Sums::default());
    set(response.headers_mut(), "x-ms-copy-id", &format!("{:032x}", new.etag));
    set(response.headers_mut(), "x-ms-copy-status", "success");
    Ok(response)
}

/// Makes a blob of another. With its properties, unless they are to stay behind; its metadata always do.
pub(super) async fn put_blob(service: &Service, call: &Call<'_>) -> Reply {
    let source = source(service, call, true)?;
    let size = source.blob.size;
    if size > LARGEST_PUT {
        return Err(REQUEST_BODY_TOO_LARGE.detail("MaxLimit", LARGEST_PUT.to_string()));
    }
    tier::check_online(&source.blob)?;
    let (tags, tier) = (tags::of_copy(call, &source.blob)?, tier::sent(call)?);
    let (conditions, metadata) = (Conditions::of(call)?, metadata(call)?);
    conditions.check_write(find(service, call.key())?.as_deref())?;
    let mut content = match call.header("x-ms-copy-source-blob-properties") {
        Some("false") => content(call),
        _ => content(call).or_else(|| source.blob.content.clone()),
    };
    let with_md5 = service.store.computes_md5();
    let (data, sums) = copied(service, call, &source, 0..size, with_md5).await?;
    store_md5(&mut content, &sums)?;

    let _lock = service.lock(call.key()).await;
    let old = find(service, call.key())?;
    conditions.check_write(old.as_deref())?;
    let tier = tier::of_new(tier, old.as_deref())?;
    let now = Stamp::now();
    let new = Blob {
        size,
        etag: service.next_etag(),
        created: old.map_or(now, |old| old.created),
        modified: now,
        content,
        metadata,
        blocks: Box::default(),
        tags,
        tier,
        append: None,
        s3: None,
        data,
    };
    let new = commit(service, call.key(), new, false).await?;
    Ok(written(StatusCode::CREATED, Some(&new), &stated(call, sums)))
}

/// Stages a stretch of another blob; rclone copies large blobs so.
pub(super) async fn put_block(service: &Service, call: &Call<'_>) -> Reply {
    let id = call.query.get("blockid").unwrap_or_default();
    check_id(id)?;
    let source = source(service, call, true)?;
    let range = source.stretch(call)?;
    let len = range.end - range.start;
    check_block(len)?;
    let (data, sums) = copied(service, call, &source, range, false).await?;
    stage(service, call, id, len, data).await?;
    Ok(written(StatusCode::CREATED, None, &stated(call, sums)))
}

fn check_block(len: u64) -> Answer<()> {
    match len > LARGEST_BLOCK {
        true => Err(REQUEST_BODY_TOO_LARGE.detail("MaxLimit", LARGEST_BLOCK.to_string())),
        false => Ok(()),
    }
}

/// A copy of a stretch, and what it comes to, which must be what the client expects. Without an MD5 where nobody wants it.
pub(super) async fn copied(
    service: &Service,
    call: &Call<'_>,
    source: &Source,
    range: Range<u64>,
    with_md5: bool,
) -> Answer<(Data, Sums)> {
    let len = range.end - range.start;
    let data = source.take(service, range).await?;
    let with_md5 = with_md5 || call.header(SOURCE_MD5).is_some();
    let Summed { md5, crc64, .. } = Summed::for_azure(service, &data, 0..len, with_md5).await?;
    let bad = |name| INVALID_HEADER_VALUE.detail("HeaderName", name);
    if let Some(text) = call.header("x-ms-source-content-crc64") {
        let given = Crc64::from_azure(text).ok_or_else(|| bad("x-ms-source-content-crc64"))?;
        if given != crc64 {
            return Err((&CRC64_MISMATCH).into());
        }
    }
    if let Some(text) = call.header(SOURCE_MD5) {
        let given = Md5::from_base64(text).ok_or_else(|| bad(SOURCE_MD5))?;
        if md5.is_some_and(|md5| md5 != given) {
            return Err((&MD5_MISMATCH).into());
        }
    }
    Ok((data, Sums { crc64: Some(crc64), md5 }))
}

/// What the answer states: the MD5 to who has sent one, else the CRC64.
pub(super) fn stated(call: &Call<'_>, sums: Sums) -> Sums {
    match call.header(SOURCE_MD5) {
        Some(_) => Sums { crc64: None, ..sums },
        None => Sums { md5: None, ..sums },
    }
}

/// The blob that a copy is made of.
pub(super) struct Source {
    container: String,
    name: String,
    blob: Arc<Blob>,
}

impl Source {
    fn key(&self) -> Key<'_> {
        Key { container: &self.container, blob: &self.name }
    }

    /// The stretch of it that the request names.
    pub(super) fn stretch(&self, call: &Call<'_>) -> Answer<Range<u64>> {
        tier::check_online(&self.blob)?;
        let asked = call.header("x-ms-source-range").map(|text| within(text, self.blob.size)).transpose()?;
        Ok(asked.flatten().unwrap_or(0..self.blob.size))
    }

    /// A copy of its bytes, which nobody else has.
    async fn take(&self, service: &Service, range: Range<u64>) -> Answer<Data> {
        // A file must not be replaced while it is copied.
        let _lock = service.lock(self.key()).await;
        let now = blob(&service.read(), self.key()).map_err(|_| &CANNOT_VERIFY_COPY_SOURCE)?;
        if now.etag != self.blob.etag {
            return Err((&SOURCE_CONDITION_NOT_MET).into());
        }
        let part = Part { data: now.data.clone(), range };
        service.store.assemble(vec![part]).await.map_err(|error| ServiceError::internal(&error))
    }
}

/// The blob that the source URL names, if it is as the request wants it. `by_url`: it is read as anybody would, who needs a signature
/// for it; else as this account.
pub(super) fn source(service: &Service, call: &Call<'_>, by_url: bool) -> Answer<Source> {
    let text = call.required("x-ms-copy-source")?;
    // The query may be a signature.
    let shown = text.split('?').next().unwrap_or_default();
    let bad = || INVALID_HEADER_VALUE.detail("HeaderName", "x-ms-copy-source").detail("HeaderValue", shown);
    let uri: Uri = text.parse().map_err(|_| bad())?;
    let account = &service.config.account;
    if !text.starts_with(&format!("{}/", service.endpoint()))
        && uri.authority().map(http::uri::Authority::as_str) != call.header("host")
    {
        return Err(NOT_IMPLEMENTED.detail("Reason", "Copies come from this account only."));
    }
    let request = http::Request::get(uri).body(()).map_err(|_| bad())?.into_parts().0;
    let asked = Call::parse(&request, account)?;
    if asked.operation != Operation::GetBlob {
        return Err(bad());
    }
    if by_url && authorize(&asked, account, &service.key, || false).is_err() {
        return Err((&CANNOT_READ_COPY_SOURCE).into());
    }
    let found = blob(&service.read(), asked.key()).map_err(|_| &CANNOT_VERIFY_COPY_SOURCE)?;
    Conditions::of_source(call)?.check_read(&found).map_err(|_| &SOURCE_CONDITION_NOT_MET)?;
    let (container, name) = (asked.key().container.to_owned(), asked.key().blob.to_owned());
    Ok(Source { container, name, blob: found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_holds_4000_mib_and_no_more() {
        assert!(check_block(4_000 << 20).is_ok() && check_block((4_000 << 20) + 1).is_err());
    }
}
