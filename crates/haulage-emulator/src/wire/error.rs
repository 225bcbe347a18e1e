//! The service's own failures: status, code and sentence as clients know them.

use std::time::SystemTime;

use http::header::{HeaderName, HeaderValue};
use http::{Response, StatusCode};

use super::body::ResponseBody;
use super::reply::{self, reply};
use super::time::iso8601;
use super::xml;

/// What a handler returns.
pub(crate) type Answer<T> = Result<T, ServiceError>;

/// One row of the service's table of errors.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
}

/// A failure as the service words it, with its extra elements and headers.
#[derive(Debug)]
pub(crate) struct ServiceError {
    pub(crate) kind: &'static Kind,
    /// In place of the kind's own, where the service says more.
    message: Option<String>,
    details: Vec<(&'static str, String)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// A table of errors: name, status, code, message.
macro_rules! kinds {
    ($($name:ident $status:literal $code:literal $message:literal;)*) => {
        $(pub(crate) static $name: $crate::wire::error::Kind =
            $crate::wire::error::Kind { status: $status, code: $code, message: $message };)*
    };
}
pub(crate) use kinds;

kinds! {
    ACCOUNT_NOT_FOUND 404 "ResourceNotFound" "The specified resource does not exist.";
    APPEND_POSITION_NOT_MET 412 "AppendPositionConditionNotMet" "The append position condition specified was not met.";
    AUTHENTICATION_FAILED 403 "AuthenticationFailed" "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.";
    AUTHORIZATION_FAILURE 403 "AuthorizationFailure" "This request is not authorized to perform this operation.";
    BLOB_ARCHIVED 409 "BlobArchived" "This operation is not permitted on an archived blob.";
    BLOB_EXISTS 409 "BlobAlreadyExists" "The specified blob already exists.";
    BLOB_IS_SEALED 409 "BlobIsSealed" "The specified blob is sealed and its contents can't be modified unless the blob is re-created after a delete.";
    BLOB_NOT_FOUND 404 "BlobNotFound" "The specified blob does not exist.";
    BLOCK_COUNT_EXCEEDS_LIMIT 409 "BlockCountExceedsLimit" "The committed block count cannot exceed the maximum limit of 50,000 blocks.";
    BOTH_TAGS 400 "BothUserTagsAndSourceTagsCopyPresentException" "x-ms-tags header must not be present with x-ms-copy-source-tag-option as COPY.";
    CANNOT_VERIFY_COPY_SOURCE 404 "CannotVerifyCopySource" "The specified blob does not exist.";
    CANNOT_READ_COPY_SOURCE 403 "CannotVerifyCopySource" "This request is not authorized to perform this operation.";
    CONDITION_NOT_MET 412 "ConditionNotMet" "The condition specified using HTTP conditional header(s) is not met.";
    CONTAINER_EXISTS 409 "ContainerAlreadyExists" "The specified container already exists.";
    CONTAINER_NOT_FOUND 404 "ContainerNotFound" "The specified container does not exist.";
    CRC64_MISMATCH 400 "Crc64Mismatch" "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.";
    DIRECTORY_NOT_EMPTY 409 "DirectoryIsNotEmpty" "This operation is not permitted on a non-empty directory.";
    DUPLICATE_TAG_NAMES 400 "DuplicateTagNames" "The tags specified contain duplicate names.";
    EMPTY_TAG_NAME 400 "EmptyTagName" "The name of one of the tag key-value pairs is empty.";
    INTERNAL_ERROR 500 "InternalError" "The server encountered an internal error. Please retry the request.";
    INVALID_BLOB_OR_BLOCK 400 "InvalidBlobOrBlock" "The specified blob or block content is invalid.";
    INVALID_BLOB_TYPE 409 "InvalidBlobType" "The blob type is invalid for this operation.";
    INVALID_BLOCK_ID 400 "InvalidBlockId" "The specified block ID is invalid. The block ID must be Base64-encoded.";
    INVALID_BLOCK_LIST 400 "InvalidBlockList" "The specified block list is invalid.";
    INVALID_HEADER_VALUE 400 "InvalidHeaderValue" "The value for one of the HTTP headers is not in the correct format.";
    INVALID_MD5 400 "InvalidMd5" "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded.";
    INVALID_OPERATION 400 "InvalidOperation" "Invalid operation.";
    INVALID_QUERY_VALUE 400 "InvalidQueryParameterValue" "Value for one of the query parameters specified in the request URI is invalid.";
    INVALID_RANGE 416 "InvalidRange" "The range specified is invalid for the current size of the resource.";
    INVALID_RESOURCE_NAME 400 "InvalidResourceName" "The specified resource name contains invalid characters.";
    INVALID_TAG 400 "InvalidTag" "The tags specified are invalid. It contains characters that are not permitted.";
    INVALID_URI 400 "InvalidUri" "The requested URI does not represent any resource on the server.";
    INVALID_XML 400 "InvalidXmlDocument" "XML specified is not syntactically valid.";
    MAX_BLOB_SIZE_NOT_MET 412 "MaxBlobSizeConditionNotMet" "The max blob size condition specified was not met.";
    MD5_MISMATCH 400 "Md5Mismatch" "The MD5 value specified in the request did not match with the MD5 value calculated by the server.";
    MISSING_CONTENT_LENGTH 411 "MissingContentLengthHeader" "Content-Length HTTP header is missing.";
    MISSING_HEADER 400 "MissingRequiredHeader" "An HTTP header that's mandatory for this request is not specified.";
    NOT_IMPLEMENTED 501 "NotImplemented" "The requested operation is not implemented on the specified resource.";
    NOT_OF_A_DIRECTORY 400 "OperationNotSupportedOnDirectory" "The requested operation is not supported on a directory.";
    NOT_MODIFIED 304 "ConditionNotMet" "The condition specified using HTTP conditional header(s) is not met.";
    OUT_OF_RANGE_NAME 400 "OutOfRangeInput" "The specified resource name length is not within the permissible limits.";
    OUT_OF_RANGE_QUERY 400 "OutOfRangeQueryParameterValue" "One of the query parameters specified in the request URI is outside the permissible range.";
    PERMISSION_MISMATCH 403 "AuthorizationPermissionMismatch" "This request is not authorized to perform this operation using this permission.";
    PROTOCOL_MISMATCH 403 "AuthorizationProtocolMismatch" "This request is not authorized to perform this operation using this protocol.";
    REQUEST_BODY_TOO_LARGE 413 "RequestBodyTooLarge" "The request body is too large and exceeds the maximum permissible limit.";
    REQUEST_CUT 400 "RequestIncomplete" "The connection ended before the whole request body had arrived.";
    RESOURCE_TYPE_MISMATCH 403 "AuthorizationResourceTypeMismatch" "This request is not authorized to perform this operation using this resource type.";
    SERVER_BUSY 503 "ServerBusy" "The server is busy.";
    SERVICE_MISMATCH 403 "AuthorizationServiceMismatch" "This request is not authorized to perform this operation using this service.";
    SOURCE_CONDITION_NOT_MET 412 "SourceConditionNotMet" "The source condition specified using HTTP conditional header(s) is not met.";
    TAGS_TOO_LARGE 400 "TagsTooLarge" "The tags specified exceed the maximum permissible limit.";
    UNSUPPORTED_VERB 405 "UnsupportedHttpVerb" "The resource doesn't support specified Http Verb.";
}

impl From<&'static Kind> for ServiceError {
    fn from(kind: &'static Kind) -> Self {
        Self { kind, message: None, details: Vec::new(), headers: Vec::new() }
    }
}

impl Kind {
    /// This failure in other words.
    pub(crate) fn saying(&'static self, message: impl Into<String>) -> ServiceError {
        ServiceError { message: Some(message.into()), ..self.into() }
    }

    /// This failure with an extra element in its body, as the service adds them.
    pub(crate) fn detail(&'static self, name: &'static str, value: impl Into<String>) -> ServiceError {
        ServiceError::from(self).detail(name, value)
    }
}

impl ServiceError {
    /// Adds an element to the body.
    pub(crate) fn detail(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.details.push((name, value.into()));
        self
    }

    /// Adds a header to the answer.
    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// A failure of the disk beneath the directory store. Its cause goes to the log, not to the client.
    pub(crate) fn internal(error: &std::io::Error) -> Self {
        tracing::warn!(%error, "the store failed");
        (&INTERNAL_ERROR).into()
    }

    /// What went wrong, in a sentence.
    pub(crate) fn message(&self) -> &str {
        self.message.as_deref().unwrap_or(self.kind.message)
    }

    /// The texts of its extra elements.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.details.iter().map(|(_, text)| &**text)
    }

    /// The answer in Azure's form. A HEAD gets the code in its header alone, as HTTP has no body there.
    pub(crate) fn into_response(self, request_id: &str, head: bool) -> Response<ResponseBody> {
        let code = HeaderValue::from_static(self.kind.code);
        let mut response = self.into_response_with(head, |error, details| error.xml(request_id, details));
        response.headers_mut().insert("x-ms-error-code", code);
        response
    }

    /// The answer with the document that `write` makes of the failure and its extra elements. There is none
    /// where HTTP has no body.
    pub(crate) fn into_response_with(
        self,
        head: bool,
        write: impl FnOnce(&Self, &str) -> String,
    ) -> Response<ResponseBody> {
        let status = StatusCode::from_u16(self.kind.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = if head || status == StatusCode::NOT_MODIFIED {
            reply(status)
        } else {
            reply::xml(write(&self, &self.extra_elements()))
        };
        *response.status_mut() = status;
        response.headers_mut().extend(self.headers.into_iter().map(|(name, value)| (Some(name), value)));
        response
    }

    fn extra_elements(&self) -> String {
        let element = |(name, value): &(&str, String)| format!("<{name}>{}</{name}>", xml::Escaped(value));
        self.details.iter().map(element).collect()
    }

    fn xml(&self, request_id: &str, details: &str) -> String {
        let (code, message) = (self.kind.code, self.message());
        let time = iso8601(SystemTime::now());
        format!(
            "{}<Error><Code>{code}</Code><Message>{message}\nRequestId:{request_id}\nTime:{time}</Message>\
             {details}</Error>",
            xml::DECLARATION
        )
    }
}
