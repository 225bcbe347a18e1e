//! The table service's failures, in its words.

use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use std::time::SystemTime;

use super::format::{Format, push_string};
use crate::wire::body::ResponseBody;
use crate::wire::error::{self as shared, Kind, ServiceError, kinds};
use crate::wire::time::iso8601;
use crate::wire::xml::Escaped;

kinds! {
    ATOM_NOT_SUPPORTED 415 "AtomFormatNotSupported" "Atom format is not supported.";
    BATCH_PARTITIONS 400 "CommandsInBatchActOnDifferentPartitions" "All commands in a batch must operate on same entity group.";
    BATCH_TOO_LONG 400 "InvalidInput" "The batch request operation exceeds the maximum 100 changes per change set.";
    CORS_FAILURE 403 "CorsPreflightFailure" "CORS not enabled or no matching rule found for this request.";
    DUPLICATE_PROPERTIES 400 "DuplicatePropertiesSpecified" "A property is specified more than one time.";
    DUPLICATE_ROW 400 "InvalidDuplicateRow" "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.";
    ENTITY_EXISTS 409 "EntityAlreadyExists" "The specified entity already exists.";
    ENTITY_TOO_LARGE 400 "EntityTooLarge" "The entity is larger than the maximum allowed size (1MB).";
    INVALID_INPUT 400 "InvalidInput" "One of the request inputs is not valid.";
    JSON_NOT_SUPPORTED 415 "JsonFormatNotSupported" "JSON format is not supported.";
    METHOD_NOT_ALLOWED 405 "MethodNotAllowed" "The requested method is not allowed on the specified resource.";
    MISSING_CONDITION 400 "MissingRequiredHeader" "An HTTP header that's mandatory for this request is not specified.";
    NO_AUTHENTICATION 401 "NoAuthenticationInformation" "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    OUT_OF_RANGE 400 "OutOfRangeInput" "One of the request inputs is out of range.";
    PROPERTIES_NEED_VALUE 400 "PropertiesNeedValue" "The values are not specified for all properties in the entity.";
    PROPERTY_NAME_INVALID 400 "PropertyNameInvalid" "The property name is invalid.";
    PROPERTY_NAME_TOO_LONG 400 "PropertyNameTooLong" "The property name exceeds the maximum allowed length (255).";
    PROPERTY_TOO_LARGE 400 "PropertyValueTooLarge" "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.";
    RESOURCE_NOT_FOUND 404 "ResourceNotFound" "The specified resource does not exist.";
    TABLE_EXISTS 409 "TableAlreadyExists" "The table specified already exists.";
    TABLE_NOT_FOUND 404 "TableNotFound" "The table specified does not exist.";
    TOO_MANY_PROPERTIES 400 "TooManyProperties" "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.";
    UPDATE_CONDITION 412 "UpdateConditionNotSatisfied" "The update condition specified in the request was not satisfied.";
}

/// What the layers below all interfaces say, in this service's words.
fn in_table_words(kind: &'static Kind) -> &'static Kind {
    static FAILED: Kind = Kind {
        status: 500,
        code: "InternalError",
        message: "The server encountered an internal error. Please retry the request.",
    };
    if *kind == shared::INTERNAL_ERROR { &FAILED } else { kind }
}

/// A failure's document in the format that the client reads.
pub(super) fn document(
    error: &ServiceError,
    format: Format,
    request_id: &str,
    index: Option<usize>,
) -> Vec<u8> {
    let code = error.kind.code;
    let detail: String = error.texts().map(|text| format!("\n{text}")).collect();
    let index = index.map(|index| format!("{index}:")).unwrap_or_default();
    let time = iso8601(SystemTime::now());
    let message = format!("{index}{}{detail}\nRequestId:{request_id}\nTime:{time}", error.message());
    if format.is_atom() {
        return format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\
             <error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><code>{code}</code>\
             <message xml:lang=\"en-US\">{}</message></error>",
            Escaped(&message)
        )
        .into_bytes();
    }
    let mut out =
        format!("{{\"odata.error\":{{\"code\":\"{code}\",\"message\":{{\"lang\":\"en-US\",\"value\":");
    let mut bytes = std::mem::take(&mut out).into_bytes();
    push_string(&mut bytes, &message);
    bytes.extend_from_slice(b"}}}");
    bytes
}

/// The answer that a failure is.
pub(crate) fn refuse(mut error: ServiceError, request_id: &str, parts: &Parts) -> Response<ResponseBody> {
    error.kind = in_table_words(error.kind);
    let format = Format::of_error(parts);
    let code = HeaderValue::from_static(error.kind.code);
    let body = document(&error, format, request_id, None);
    let head = parts.method == http::Method::HEAD;
    let mut response = error.into_response_with(head, |_, _| String::from_utf8(body).unwrap_or_default());
    response.headers_mut().insert("x-ms-error-code", code);
    if response.headers().contains_key(CONTENT_TYPE) {
        response.headers_mut().insert(CONTENT_TYPE, format.error_type());
    }
    response
}
