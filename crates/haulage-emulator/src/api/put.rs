//! Put Blob and Delete Blob.

use http::StatusCode;

use super::condition::Conditions;
use super::headers::{content, metadata, reply, written};
use super::{Reply, blob, commit, container, find, tags, tier};
use crate::change::remove;
use crate::request::Call;
use crate::service::Service;
use crate::store::{Appendable, Blob, ContentHeaders};
use crate::wire::error::{
    DIRECTORY_NOT_EMPTY, INVALID_HEADER_VALUE, INVALID_MD5, INVALID_OPERATION, NOT_IMPLEMENTED,
    NOT_OF_A_DIRECTORY, ServiceError,
};
use crate::wire::incoming::Content as _;
use crate::wire::time::Stamp;
use crate::wire::upload::{Sums, Upload};
use haulage::checksum::Md5;

/// The most that one Put Blob may carry: 5,000 MiB.
pub(super) const LARGEST_PUT: u64 = 5_000 << 20;

pub(super) async fn put_blob(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    let append = match call.required("x-ms-blob-type")? {
        "BlockBlob" => None,
        "AppendBlob" if upload.len() > 0 => {
            return Err(INVALID_OPERATION.saying("Content-Length must be 0 for Create Append Blob request."));
        }
        "AppendBlob" => Some(Appendable::default()),
        "PageBlob" => {
            return Err(NOT_IMPLEMENTED.detail("Reason", "Page blobs are not kept here."));
        }
        other => {
            let error = INVALID_HEADER_VALUE.detail("HeaderName", "x-ms-blob-type");
            return Err(error.detail("HeaderValue", other));
        }
    };
    upload.expect(&call.parts.headers, LARGEST_PUT, service.store.computes_md5())?;
    let (conditions, metadata, mut content) = (Conditions::of(call)?, metadata(call)?, content(call));
    let (tags, tier) = (tags::sent(call)?, tier::sent(call)?);
    // Refused before the body is taken in, and looked at again when it is there.
    let old = find(service, call.key())?;
    conditions.check_write(old.as_deref())?;
    tier::of_new(tier, old.as_deref())?;
    fill_defaults(&mut content, call);
    let data = service.store.receive(upload).await?;
    let sums = upload.verify()?;
    if append.is_none() {
        store_md5(&mut content, &sums)?;
    }

    let _lock = service.lock(call.key()).await;
    let old = find(service, call.key())?;
    conditions.check_write(old.as_deref())?;
    let tier = tier::of_new(tier, old.as_deref())?;
    let now = Stamp::now();
    let new = Blob {
        size: upload.len(),
        etag: service.next_etag(),
        created: old.map_or(now, |old| old.created),
        modified: now,
        content,
        metadata,
        blocks: Box::default(),
        tags,
        tier,
        append,
        s3: None,
        data,
    };
    let new = commit(service, call.key(), new, false).await?;
    Ok(written(StatusCode::CREATED, Some(&new), &sums))
}

/// Without headers of its own a blob is served as it was sent.
pub(super) fn fill_defaults(content: &mut Option<Box<ContentHeaders>>, call: &Call<'_>) {
    let sent = |name| call.header(name).filter(|text| !text.is_empty());
    let mut fill = |name, field: fn(&mut ContentHeaders) -> &mut Option<Box<str>>| {
        if let Some(text) = sent(name) {
            field(content.get_or_insert_default()).get_or_insert_with(|| text.into());
        }
    };
    fill("content-type", |content| &mut content.kind);
    fill("content-encoding", |content| &mut content.encoding);
    fill("content-language", |content| &mut content.language);
    fill("cache-control", |content| &mut content.cache_control);
}

/// The blob's MD5 is the one given for keeping, else the one that the bytes came to. Put Blob has
/// all the bytes at hand, so one given for keeping must be right.
pub(super) fn store_md5(content: &mut Option<Box<ContentHeaders>>, sums: &Sums) -> Result<(), ServiceError> {
    let given = content.as_ref().and_then(|content| content.md5.as_deref());
    if let Some(given) = given {
        let given = Md5::from_base64(given).ok_or(&INVALID_MD5)?;
        return match sums.md5 {
            Some(computed) if computed != given => Err(crate::wire::error::MD5_MISMATCH
                .detail("UserSpecifiedMd5", given.to_base64())
                .detail("ServerCalculatedMd5", computed.to_base64())),
            _ => Ok(()),
        };
    }
    if let Some(md5) = sums.md5 {
        content.get_or_insert_default().md5 = Some(md5.to_base64().into());
    }
    Ok(())
}

pub(super) async fn delete_blob(service: &Service, call: &Call<'_>) -> Reply {
    let conditions = Conditions::of(call)?;
    let _lock = service.lock(call.key()).await;
    let old = blob(&service.read(), call.key())?;
    conditions.check_existing(Some(&old))?;
    if service.config.hierarchical && old.resource() == "directory" {
        if call.header("x-ms-delete-snapshots").is_some() {
            return Err((&NOT_OF_A_DIRECTORY).into());
        }
        if container(&service.read(), call.container())?.holds_below(call.key().blob) {
            return Err((&DIRECTORY_NOT_EMPTY).into());
        }
    }
    remove(service, call.key(), &old).await?;
    container(&service.read(), call.container())?;
    let mut response = reply(StatusCode::ACCEPTED);
    super::headers::set(response.headers_mut(), "x-ms-delete-type-permanent", "true");
    Ok(response)
}
