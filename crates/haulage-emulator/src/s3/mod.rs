//! The S3 interface to the same containers and blobs: a bucket is a container, an object is a blob.
//!
//! 1. `request` and `operation`: which bucket and key, and what is asked for;
//! 2. `auth`: signature version 4, in a header or in the query;
//! 3. `body`: chunks with signatures, and checksums of every kind;
//! 4. a file for each family of operations, which write to the same catalogue and stores as `api` does.

mod access;
mod acl;
mod attributes;
mod auth;
mod body;
mod bucket;
pub(crate) mod checksum;
mod condition;
mod copy;
mod delete;
mod error;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod headers;
mod list;
mod multipart;
mod operation;
mod put;
mod range;
mod read;
mod request;
pub(crate) mod sums;
mod tagging;
mod xml;

use std::sync::Arc;
use std::time::SystemTime;

use http::Response;
use http::request::Parts;

use self::body::Upload;
use self::error::NO_SUCH_KEY;
use self::operation::Operation as Op;
use self::request::Call;
use crate::change::find;
use crate::server::Connection;
use crate::service::Service;
use crate::store::{Blob, Key};
use crate::wire::body::ResponseBody;
use crate::wire::error::Answer;
use crate::wire::incoming::{Content as _, RequestBody};

pub use self::access::S3Access;
pub(crate) use self::bucket::is_bucket_name;
pub(crate) use self::error::refuse;
pub(crate) use self::operation::Operation;
pub(crate) use self::request::bucket_of_host;

/// The second name of every request, which is the same for all.
pub(crate) const HOST_ID: &str = "aGF1bGFnZS1lbXVsYXRvcg==";
/// The account that owns every bucket, in twelve digits.
const OWNER_ACCOUNT: &str = "000000000000";

/// What every operation gives back.
type Reply = Answer<Response<ResponseBody>>;

/// Answers a request.
pub(crate) async fn handle(
    service: &Service,
    parts: &Parts,
    body: &mut RequestBody,
    connection: &Arc<Connection>,
) -> Reply {
    let call = Call::parse(parts, &service.s3)?;
    service.counters.s3_request(call.operation);
    let payload = auth::authorize(parts, &call.query, &service.s3, SystemTime::now())?;
    let nature = call.operation.nature();
    let mut upload = Upload::new(body, &call, payload)?;
    let len = upload.len();
    let fault = service.begin(nature, upload.raw(), len, connection)?;
    let response = dispatch(service, &call, &mut upload).await?;
    Ok(service.finish(nature, fault, response, connection).await)
}

async fn dispatch(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    let operation = call.operation;
    if !operation.takes_content() && !operation.takes_document() {
        // What there is of a body must be what was signed.
        upload.document().await?;
    }
    match operation {
        Op::ListBuckets => bucket::list(service, call),
        Op::CreateBucket => bucket::create(service, call, upload).await,
        Op::DeleteBucket => bucket::delete(service, call).await,
        Op::HeadBucket => bucket::head(service, call),
        Op::GetBucketLocation => bucket::location(service, call),
        Op::GetBucketVersioning => bucket::versioning(service, call),
        Op::GetBucketAcl => acl::of_bucket(service, call),
        Op::ListObjects => list::first_version(service, call),
        Op::ListObjectsV2 => list::second_version(service, call),
        Op::ListMultipartUploads => multipart::list::uploads(service, call),
        Op::DeleteObjects => delete::many(service, call, upload).await,
        Op::PutObject => put::object(service, call, upload).await,
        Op::GetObject => read::get(service, call).await,
        Op::HeadObject => read::head(service, call),
        Op::DeleteObject => delete::one(service, call).await,
        Op::CopyObject => copy::object(service, call).await,
        Op::GetObjectAttributes => attributes::get(service, call),
        Op::GetObjectAcl => acl::of_object(service, call),
        Op::PutObjectAcl => acl::put(service, call, upload).await,
        Op::GetObjectTagging => tagging::get(service, call),
        Op::PutObjectTagging => tagging::put(service, call, upload).await,
        Op::DeleteObjectTagging => tagging::delete(service, call).await,
        Op::CreateMultipartUpload => multipart::create(service, call).await,
        Op::UploadPart => multipart::part::upload(service, call, upload).await,
        Op::UploadPartCopy => multipart::part::copy(service, call).await,
        Op::CompleteMultipartUpload => multipart::complete::complete(service, call, upload).await,
        Op::AbortMultipartUpload => multipart::abort(service, call).await,
        Op::ListParts => multipart::list::parts(service, call),
    }
}

/// The object of this name.
fn object(service: &Service, key: Key<'_>) -> Answer<Arc<Blob>> {
    find(service, key)?.ok_or_else(|| NO_SUCH_KEY.detail("Key", key.blob))
}
