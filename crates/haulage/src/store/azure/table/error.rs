//! From an answer of the tables to an error that says what to do.

use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderMap;

use super::super::auth::Credential;
use super::super::error::{Asked, service_error};
use super::address::NAMES;
use crate::error::{Error, ErrorKind};
use crate::store::answer::{code_of, told};

/// An answer that is no success.
pub(super) struct Refused<'a> {
    pub(super) status: StatusCode,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a Bytes,
}

/// Makes an error of it. What is not of tables alone is said as for blobs.
pub(super) fn table_error(asked: Asked<'_>, credential: &Credential, refused: &Refused<'_>) -> Error {
    let Refused { status, headers, body } = refused;
    let told = json_told(body).unwrap_or_else(|| {
        let told = told(body);
        (told.code, told.message)
    });
    let header = headers.get("x-ms-error-code").and_then(|value| code_of(value.to_str().ok()?));
    let code = header.or(told.0);
    classify(asked, status.as_u16(), code.as_deref().unwrap_or_default(), told.1.as_deref())
        .map(|error| error.service(status.as_u16(), code.clone()))
        .unwrap_or_else(|| {
            let mut headers = (*headers).clone();
            // Where the body alone says the word, it is JSON, which nobody else reads.
            if let Some(code) = code.as_deref().and_then(|code| code.parse().ok()) {
                headers.insert("x-ms-error-code", code);
            }
            service_error(asked, credential, *status, &headers, body)
        })
}

fn classify(asked: Asked<'_>, status: u16, code: &str, message: Option<&str>) -> Option<Error> {
    use ErrorKind::{Exists, NotFound, Service, SourceChanged, Usage};
    let with = |cause: &str| match message {
        Some(message) => format!("{cause}: {message}"),
        None => cause.to_owned(),
    };
    Some(match (status, code) {
        (_, "TableNotFound") => asked
            .error(NotFound, "no such table")
            .hint("check the name; haul table import --create creates the table"),
        (_, "TableAlreadyExists") => asked
            .error(Exists, "the table exists already")
            .hint("haul table import adds rows to it; haul table rm removes it"),
        (_, "TableBeingDeleted") => asked
            .error(Service, "the table is still being deleted")
            .retry(crate::error::Retry::Backoff)
            .hint("the service needs about a minute for that; try again then"),
        (_, "EntityAlreadyExists") => asked.error(Exists, "a row with these keys exists already"),
        (400, "InvalidResourceName") => asked
            .error(Usage, "the service does not take this name")
            .hint(format!("{NAMES}; `tables` is taken")),
        (404, _) => asked.error(NotFound, "no such row or table").hint("check the name of account and table"),
        (412, _) => {
            asked.error(SourceChanged, "the row changed meanwhile").hint("run the same command again")
        }
        (400, "InvalidInput" | "InvalidQuery") => {
            asked.error(Usage, with("the service does not take this query or row")).hint("check the filter")
        }
        (413, _) | (_, "RequestBodyTooLarge" | "EntityTooLarge" | "PropertyValueTooLarge") => {
            asked.error(Usage, with("too large for the service"))
        }
        (
            400,
            "TooManyProperties"
            | "PropertyNameTooLong"
            | "PropertyNameInvalid"
            | "KeyValueTooLarge"
            | "OutOfRangeInput"
            | "InvalidValueType"
            | "PropertiesNeedValue"
            | "DuplicatePropertiesSpecified"
            | "CommandsInBatchActOnDifferentPartitions"
            | "InvalidDuplicateRow"
            | "KeyContainsInvalidCharacters"
            | "JsonFormatNotSupported"
            | "NotImplemented",
        ) => asked.error(Usage, with(code)),
        _ => return None,
    })
}

/// Code and first line of the message of `{"odata.error": {"code": ..., "message": {"value": ...}}}`.
fn json_told(body: &[u8]) -> Option<(Option<String>, Option<String>)> {
    let told: serde_json::Value = serde_json::from_slice(body).ok()?;
    let error = told.get("odata.error")?;
    let code = error.get("code").and_then(|code| code_of(code.as_str()?));
    let message = error.pointer("/message/value").and_then(serde_json::Value::as_str);
    let line = message.and_then(|text| text.lines().next()).unwrap_or_default();
    let line: String = line.chars().filter(|char| !char.is_control()).take(200).collect();
    Some((code, (!line.is_empty() && !line.contains("sig=")).then_some(line)))
}

#[cfg(test)]
mod tests {
    use super::super::super::auth::SharedKey;
    use super::*;

    #[test]
    fn the_words_of_the_service_become_kinds() {
        use ErrorKind::*;
        let key = Credential::SharedKey(SharedKey::new("a", "a2V5").unwrap());
        let asked = Asked {
            operation: "query",
            object: "az-table://rows",
            container: "",
            permission: 'r',
            unmet: Service,
        };
        for (status, code, kind) in [
            (404, "TableNotFound", NotFound),
            (404, "ResourceNotFound", NotFound),
            (409, "EntityAlreadyExists", Exists),
            (409, "TableAlreadyExists", Exists),
            (409, "TableBeingDeleted", Service),
            (412, "UpdateConditionNotSatisfied", SourceChanged),
            (400, "InvalidInput", Usage),
            (400, "InvalidResourceName", Usage),
            (413, "RequestBodyTooLarge", Usage),
            (403, "AuthenticationFailed", Permission),
            (503, "ServerBusy", Busy),
            (500, "OperationTimedOut", Busy),
            (500, "InternalError", Service),
        ] {
            let body = format!(
                "{{\"odata.error\":{{\"code\":\"{code}\",\"message\":{{\"lang\":\"en-US\",\"value\":\"It is.\\nRequestId:1\"}}}}}}"
            );
            let refused = Refused {
                status: StatusCode::from_u16(status).unwrap(),
                headers: &HeaderMap::new(),
                body: &Bytes::from(body),
            };
            let error = table_error(asked, &key, &refused);
            assert_eq!((error.kind(), error.service_code()), (kind, Some(code)), "{error}");
            let hint = match code {
                "TableBeingDeleted" => "the service needs about a minute for that; try again then",
                "ResourceNotFound" => "check the name of account and table",
                _ => continue,
            };
            assert_eq!(error.hint_text(), Some(hint));
        }
    }
}
