//! What a request to the S3 interface asks for.

use http::Method;

use super::error::{INVALID_ARGUMENT, METHOD_NOT_ALLOWED, NOT_IMPLEMENTED};
use crate::fault::Nature;
use crate::request::{Query, operations};
use crate::wire::error::Answer;

operations! {
    ListBuckets CreateBucket DeleteBucket HeadBucket GetBucketLocation GetBucketVersioning GetBucketAcl
    ListObjects ListObjectsV2 ListMultipartUploads DeleteObjects
    PutObject GetObject HeadObject DeleteObject CopyObject GetObjectAttributes GetObjectAcl PutObjectAcl
    GetObjectTagging PutObjectTagging DeleteObjectTagging
    CreateMultipartUpload UploadPart UploadPartCopy CompleteMultipartUpload AbortMultipartUpload ListParts
}

impl Operation {
    /// How it moves data.
    pub(crate) fn nature(self) -> Nature {
        let carries_blob_bytes = matches!(self, Self::PutObject | Self::UploadPart | Self::GetObject);
        let commits = matches!(self, Self::PutObject | Self::CompleteMultipartUpload);
        Nature {
            moves_data: carries_blob_bytes
                || commits
                || matches!(self, Self::CopyObject | Self::UploadPartCopy)
                || matches!(self, Self::ListObjects | Self::ListObjectsV2),
            carries_blob_bytes,
            commits,
            is_upload: commits || self == Self::UploadPart,
        }
    }

    /// Whether its body is an object's bytes.
    pub(super) fn takes_content(self) -> bool {
        matches!(self, Self::PutObject | Self::UploadPart)
    }

    /// Whether its body is a document.
    pub(super) fn takes_document(self) -> bool {
        matches!(
            self,
            Self::CreateBucket
                | Self::DeleteObjects
                | Self::PutObjectAcl
                | Self::PutObjectTagging
                | Self::CompleteMultipartUpload
        )
    }
}

/// Words in a query that make a request about something beside the bucket or object itself; those that
/// are known here come first, as far as a request may have two.
const SUBRESOURCES: [&str; 33] = [
    "uploadId",
    "uploads",
    "location",
    "versioning",
    "acl",
    "delete",
    "tagging",
    "attributes",
    "accelerate",
    "analytics",
    "cors",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "logging",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "session",
    "torrent",
    "versions",
    "website",
];

/// What the request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Service,
    Bucket,
    Object,
}

/// Which operation the request's form stands for. `copies` where it names a source.
pub(super) fn operation(method: &Method, level: Level, query: &Query<'_>, copies: bool) -> Answer<Operation> {
    use Operation as Op;
    let about = SUBRESOURCES.into_iter().find(|name| query.get(name).is_some());
    Ok(match (level, method.as_str(), about) {
        (Level::Service, "GET", None) => Op::ListBuckets,
        (Level::Bucket, "GET", None) if query.get("list-type") == Some("2") => Op::ListObjectsV2,
        (Level::Bucket, "GET", None) => Op::ListObjects,
        (Level::Bucket, "GET", Some("location")) => Op::GetBucketLocation,
        (Level::Bucket, "GET", Some("versioning")) => Op::GetBucketVersioning,
        (Level::Bucket, "GET", Some("uploads")) => Op::ListMultipartUploads,
        (Level::Bucket, "GET", Some("acl")) => Op::GetBucketAcl,
        (Level::Bucket, "PUT", None) => Op::CreateBucket,
        (Level::Bucket, "DELETE", None) => Op::DeleteBucket,
        (Level::Bucket, "HEAD", None) => Op::HeadBucket,
        (Level::Bucket, "POST", Some("delete")) => Op::DeleteObjects,
        (Level::Object, "GET", None) => Op::GetObject,
        (Level::Object, "GET", Some("uploadId")) => Op::ListParts,
        (Level::Object, "GET", Some("tagging")) => Op::GetObjectTagging,
        (Level::Object, "GET", Some("acl")) => Op::GetObjectAcl,
        (Level::Object, "GET", Some("attributes")) => Op::GetObjectAttributes,
        (Level::Object, "HEAD", None) => Op::HeadObject,
        (Level::Object, "PUT", None) if query.get("partNumber").is_some() => {
            return Err(INVALID_ARGUMENT.saying("A part number needs an upload id."));
        }
        (Level::Object, "PUT", None) if copies => Op::CopyObject,
        (Level::Object, "PUT", None) => Op::PutObject,
        (Level::Object, "PUT", Some("uploadId")) if copies => Op::UploadPartCopy,
        (Level::Object, "PUT", Some("uploadId")) => Op::UploadPart,
        (Level::Object, "PUT", Some("tagging")) => Op::PutObjectTagging,
        (Level::Object, "PUT", Some("acl")) => Op::PutObjectAcl,
        (Level::Object, "DELETE", None) => Op::DeleteObject,
        (Level::Object, "DELETE", Some("uploadId")) => Op::AbortMultipartUpload,
        (Level::Object, "DELETE", Some("tagging")) => Op::DeleteObjectTagging,
        (Level::Object, "POST", Some("uploads")) => Op::CreateMultipartUpload,
        (Level::Object, "POST", Some("uploadId")) => Op::CompleteMultipartUpload,
        (_, "GET" | "HEAD" | "PUT" | "POST" | "DELETE", Some(name)) => {
            return Err(NOT_IMPLEMENTED.saying(format!("{method} ?{name} is not known here.")));
        }
        _ => return Err(METHOD_NOT_ALLOWED.detail("Method", method.as_str())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, level: Level, query: &str) -> Result<Operation, &'static str> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        operation(&method, level, &Query::parse(query), false).map_err(|error| error.kind.code)
    }

    #[test]
    fn requests_are_told_apart() {
        use Level::{Bucket, Object, Service};
        assert_eq!(asked("GET", Service, ""), Ok(Operation::ListBuckets));
        assert_eq!(asked("GET", Bucket, "list-type=2&prefix=a"), Ok(Operation::ListObjectsV2));
        assert_eq!(asked("GET", Bucket, "prefix=uploads"), Ok(Operation::ListObjects));
        assert_eq!(asked("PUT", Object, "partNumber=1&uploadId=x"), Ok(Operation::UploadPart));
        assert_eq!(asked("GET", Object, "partNumber=1"), Ok(Operation::GetObject));
        assert_eq!(asked("POST", Object, "uploads="), Ok(Operation::CreateMultipartUpload));
        assert_eq!(asked("GET", Bucket, "lifecycle"), Err("NotImplemented"));
        assert_eq!(asked("PUT", Bucket, "versioning"), Err("NotImplemented"));
        assert_eq!(asked("PUT", Object, "partNumber=1"), Err("InvalidArgument"));
        assert_eq!(asked("PATCH", Object, ""), Err("MethodNotAllowed"));
        assert_eq!(asked("POST", Bucket, ""), Err("MethodNotAllowed"));
    }
}
