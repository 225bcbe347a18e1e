//! Uploads in parts: begun, filled, completed or aborted.

pub(super) mod complete;
pub(super) mod list;
pub(super) mod part;

use std::collections::BTreeMap;

use http::StatusCode;

use super::Reply;
use super::checksum::{Algorithm, Scope};
use super::error::{INVALID_REQUEST, NO_SUCH_UPLOAD};
use super::headers::Kept;
use super::request::Call;
use super::xml::Document;
use crate::change::{container, container_mut};
use crate::service::Service;
use crate::store::{Container, MultipartUpload, UploadKey};
use crate::wire::error::{Answer, ServiceError};
use crate::wire::reply::{reply, set};
use crate::wire::time::Stamp;

pub(super) async fn create(service: &Service, call: &Call<'_>) -> Reply {
    let kept = Kept::of(call)?;
    let declared = declared(call)?;
    let upload = MultipartUpload {
        key: call.key().into(),
        begun: Stamp::now(),
        content: kept.content,
        expires: kept.expires,
        metadata: kept.metadata,
        tags: kept.tags,
        tier: kept.tier,
        declared,
        parts: BTreeMap::new(),
    };
    // Later ones sort behind, as the service lists them.
    let id = format!("{:016x}{:016x}", service.next_etag(), fastrand::u64(..));
    container(&service.read(), call.bucket())?;
    let _lock = service.lock(call.blob()).await;
    let key = UploadKey { container: call.bucket(), id: &id };
    service.store.keep_upload(key, &upload).await.map_err(|error| ServiceError::internal(&error))?;
    let place = (call.key().into(), id.as_str().into());
    container_mut(&mut service.write(), call.bucket())?.uploads.insert(place, upload);
    let mut document = Document::new("InitiateMultipartUploadResult");
    document.element("Bucket", call.bucket()).element("Key", call.key()).element("UploadId", &id);
    let mut response = document.reply();
    if let Some((algorithm, scope)) = declared {
        set(response.headers_mut(), "x-amz-checksum-algorithm", algorithm.name());
        set(response.headers_mut(), "x-amz-checksum-type", scope.name());
    }
    Ok(response)
}

/// The checksum that the client announces for the object.
fn declared(call: &Call<'_>) -> Answer<Option<(Algorithm, Scope)>> {
    let refuse = |message: String| Err(INVALID_REQUEST.saying(message));
    let scope = match call.header("x-amz-checksum-type") {
        None => None,
        Some(text) => match Scope::parse(text) {
            Some(scope) => Some(scope),
            None => return refuse("Value for x-amz-checksum-type header is invalid.".to_owned()),
        },
    };
    let Some(text) = call.header("x-amz-checksum-algorithm") else {
        return match scope {
            None => Ok(None),
            Some(_) => refuse(
                "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header."
                    .to_owned(),
            ),
        };
    };
    let Some(algorithm) = Algorithm::parse(text) else {
        return refuse("Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]".to_owned());
    };
    let scope = scope.unwrap_or(algorithm.usual_scope());
    if !algorithm.allows(scope) {
        let (scope, algorithm) = (scope.name(), algorithm.name().to_ascii_lowercase());
        return refuse(format!(
            "The {scope} checksum type cannot be used with the {algorithm} checksum algorithm."
        ));
    }
    Ok(Some((algorithm, scope)))
}

/// The id of the upload that a request is about.
fn upload_id<'a>(call: &'a Call<'_>) -> &'a str {
    call.query.get("uploadId").unwrap_or_default()
}

/// Where the upload that a request is about is found.
fn place(call: &Call<'_>) -> (Box<str>, Box<str>) {
    (call.key().into(), upload_id(call).into())
}

/// The upload that a request is about.
fn upload<'a>(container: &'a Container, call: &Call<'_>) -> Answer<&'a MultipartUpload> {
    container.uploads.get(&place(call)).ok_or_else(|| NO_SUCH_UPLOAD.detail("UploadId", upload_id(call)))
}

pub(super) async fn abort(service: &Service, call: &Call<'_>) -> Reply {
    let _lock = service.lock(call.blob()).await;
    upload(container(&service.read(), call.bucket())?, call)?;
    forget(service, call).await?;
    Ok(reply(StatusCode::NO_CONTENT))
}

/// Drops the upload with its parts. To be called with the key's lock held.
async fn forget(service: &Service, call: &Call<'_>) -> Answer<()> {
    container_mut(&mut service.write(), call.bucket())?.uploads.remove(&place(call));
    let key = UploadKey { container: call.bucket(), id: upload_id(call) };
    service.store.drop_upload(key).await.map_err(|error| ServiceError::internal(&error))
}
