//! S3's failures, in its words.

use http::Response;
use http::request::Parts;

use super::HOST_ID;
use crate::wire::body::ResponseBody;
use crate::wire::error::{self as shared, Kind, ServiceError, kinds};
use crate::wire::xml::Escaped;

kinds! {
    ACCESS_DENIED 403 "AccessDenied" "Access Denied";
    BAD_DIGEST 400 "BadDigest" "The Content-MD5 you specified did not match what we received.";
    BUCKET_ALREADY_OWNED_BY_YOU 409 "BucketAlreadyOwnedByYou" "Your previous request to create the named bucket succeeded and you already own it.";
    BUCKET_NOT_EMPTY 409 "BucketNotEmpty" "The bucket you tried to delete is not empty.";
    CHUNK_TOO_SMALL 403 "InvalidChunkSizeError" "Only the last chunk is allowed to have a size less than 8192 bytes.";
    CONTENT_SHA256_MISMATCH 400 "XAmzContentSHA256Mismatch" "The provided 'x-amz-content-sha256' header does not match what was computed.";
    ENTITY_TOO_LARGE 400 "EntityTooLarge" "Your proposed upload exceeds the maximum allowed size.";
    ENTITY_TOO_SMALL 400 "EntityTooSmall" "Your proposed upload is smaller than the minimum allowed size.";
    HEADER_MALFORMED 400 "AuthorizationHeaderMalformed" "The authorization header that you provided is not valid.";
    ILLEGAL_LOCATION 400 "IllegalLocationConstraintException" "The location constraint is incompatible for the region specific endpoint this request was sent to.";
    INCOMPLETE_BODY 400 "IncompleteBody" "The request body ended before all announced bytes had arrived.";
    INTERNAL_ERROR 500 "InternalError" "We encountered an internal error. Please try again.";
    INVALID_ACCESS_KEY_ID 403 "InvalidAccessKeyId" "The AWS access key ID that you provided does not exist in our records.";
    INVALID_ARGUMENT 400 "InvalidArgument" "An argument of the request is invalid.";
    INVALID_BUCKET_NAME 400 "InvalidBucketName" "The specified bucket is not valid.";
    INVALID_DIGEST 400 "InvalidDigest" "The Content-MD5 you specified is not valid.";
    INVALID_PART 400 "InvalidPart" "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.";
    INVALID_PART_NUMBER 416 "InvalidPartNumber" "The requested partnumber is not satisfiable.";
    INVALID_PART_ORDER 400 "InvalidPartOrder" "The list of parts was not in ascending order. Parts must be ordered by part number.";
    INVALID_RANGE 416 "InvalidRange" "The requested range is not satisfiable.";
    INVALID_REQUEST 400 "InvalidRequest" "The request is not valid.";
    INVALID_STORAGE_CLASS 400 "InvalidStorageClass" "The storage class you specified is not valid.";
    INVALID_TAG 400 "InvalidTag" "A tag provided was not valid.";
    INVALID_URI 400 "InvalidURI" "The specified URI could not be parsed.";
    KEY_TOO_LONG 400 "KeyTooLongError" "Your key is too long.";
    MALFORMED_TRAILER 400 "MalformedTrailerError" "The request contained trailing data that was not well formed or that was not announced.";
    MALFORMED_XML 400 "MalformedXML" "The XML you provided was not well formed or did not conform to the published schema.";
    METADATA_TOO_LARGE 400 "MetadataTooLarge" "Your metadata headers exceed the maximum allowed metadata size.";
    METHOD_NOT_ALLOWED 405 "MethodNotAllowed" "The specified method is not allowed against this resource.";
    MISSING_CONTENT_LENGTH 411 "MissingContentLength" "You must provide the Content-Length HTTP header.";
    NOT_IMPLEMENTED 501 "NotImplemented" "A header or query you provided implies functionality that is not implemented.";
    NOT_MODIFIED 304 "NotModified" "Not Modified";
    NO_SUCH_BUCKET 404 "NoSuchBucket" "The specified bucket does not exist.";
    NO_SUCH_KEY 404 "NoSuchKey" "The specified key does not exist.";
    NO_SUCH_UPLOAD 404 "NoSuchUpload" "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.";
    PRECONDITION_FAILED 412 "PreconditionFailed" "At least one of the preconditions you specified did not hold.";
    QUERY_PARAMETERS_ERROR 400 "AuthorizationQueryParametersError" "The query parameters of the signature are not valid.";
    REQUEST_TIME_TOO_SKEWED 403 "RequestTimeTooSkewed" "The difference between the request time and the server's time is too large.";
    SIGNATURE_DOES_NOT_MATCH 403 "SignatureDoesNotMatch" "The request signature that the server calculated does not match the signature that you provided. Check your secret access key and signing method.";
    SLOW_DOWN 503 "SlowDown" "Please reduce your request rate.";
}

/// What the layers below both interfaces say, in S3's words.
fn in_s3_words(kind: &'static Kind) -> &'static Kind {
    let words = [
        (&shared::CONTAINER_NOT_FOUND, &NO_SUCH_BUCKET),
        (&shared::INTERNAL_ERROR, &INTERNAL_ERROR),
        (&shared::REQUEST_CUT, &INCOMPLETE_BODY),
        (&shared::SERVER_BUSY, &SLOW_DOWN),
    ];
    words.into_iter().find(|(theirs, _)| *theirs == kind).map_or(kind, |(_, ours)| ours)
}

/// The answer that a failure is.
pub(crate) fn refuse(mut error: ServiceError, request_id: &str, parts: &Parts) -> Response<ResponseBody> {
    error.kind = in_s3_words(error.kind);
    error.into_response_with(parts.method == http::Method::HEAD, |error, details| {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code><Message>{}</Message>{details}\
             <Resource>{}</Resource><RequestId>{request_id}</RequestId><HostId>{HOST_ID}</HostId></Error>",
            error.kind.code,
            Escaped(error.message()),
            Escaped(parts.uri.path()),
        )
    })
}

/// One element of a failure by a name that S3 uses for many.
pub(super) fn bad_argument(name: &str, value: &str, message: impl Into<String>) -> ServiceError {
    INVALID_ARGUMENT.saying(message).detail("ArgumentName", name).detail("ArgumentValue", value)
}
