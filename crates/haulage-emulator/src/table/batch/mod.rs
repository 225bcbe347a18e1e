//! Entity group transactions: up to 100 changes of one partition, done together or not at all. A batch may hold one
//! query instead.

mod multipart;
mod transaction;

pub(crate) use self::multipart::{Batch, Part, parse};

use http::header::HeaderValue;
use http::{Response, StatusCode};

use super::auth::Grants;
use super::error::{INVALID_INPUT, document};
use super::format::Format;
use super::reply::Outcome;
use super::request::Call;
use crate::service::Service;
use crate::wire::body::ResponseBody;
use crate::wire::error::{Answer, ServiceError};

/// A failure, and which of the changes it is of.
pub(super) struct Failure {
    error: ServiceError,
    index: usize,
}

/// Answers a batch.
pub(super) async fn handle(
    service: &Service,
    call: &Call<'_>,
    body: &[u8],
    grants: &Grants,
) -> Answer<Response<ResponseBody>> {
    let kind = call.header("content-type").unwrap_or_default();
    let account = &service.config.account;
    let batch = parse(body, kind, account).ok_or_else(|| INVALID_INPUT.saying("The body is no batch."))?;
    let id = service.request_id();
    match batch {
        Batch::Query(part) => {
            let outcome = super::read(service, &part.call(account)?, grants).await;
            let outcome = outcome.unwrap_or_else(|error| told(&error, &part, &id, None));
            Ok(answer(&id, None, &[outcome]))
        }
        Batch::Changes(parts) => {
            let outcomes = transaction::run(service, &parts, account, grants).unwrap_or_else(|failure| {
                // A failure stands alone in the place of all answers.
                let part = parts.get(failure.index).or(parts.last());
                part.map(|part| told(&failure.error, part, &id, Some(failure.index))).into_iter().collect()
            });
            Ok(answer(&id, Some("changesetresponse"), &outcomes))
        }
    }
}

/// A failure as a part of the answer.
fn told(error: &ServiceError, part: &Part, request_id: &str, index: Option<usize>) -> Outcome {
    let status = StatusCode::from_u16(error.kind.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let format = Format::of_error(&part.parts);
    let body = document(error, format, request_id, index);
    Outcome::new(status).header("x-ms-error-code", error.kind.code).body(format.error_type(), body)
}

/// Puts the answers together.
fn answer(id: &str, changes: Option<&str>, outcomes: &[Outcome]) -> Response<ResponseBody> {
    let outer = format!("batchresponse_{id}");
    let mut out = format!("--{outer}\r\n").into_bytes();
    let inner = match changes {
        Some(name) => {
            let inner = format!("{name}_{id}");
            out.extend_from_slice(
                format!("Content-Type: multipart/mixed; boundary={inner}\r\n\r\n").as_bytes(),
            );
            Some(inner)
        }
        None => None,
    };
    for outcome in outcomes {
        if let Some(inner) = &inner {
            out.extend_from_slice(format!("--{inner}\r\n").as_bytes());
        }
        push_part(&mut out, outcome);
    }
    if let Some(inner) = &inner {
        out.extend_from_slice(format!("--{inner}--\r\n").as_bytes());
    }
    out.extend_from_slice(format!("--{outer}--\r\n").as_bytes());
    let kind = HeaderValue::from_str(&format!("multipart/mixed; boundary={outer}"));
    let kind = kind.unwrap_or(HeaderValue::from_static("multipart/mixed"));
    Outcome::new(StatusCode::ACCEPTED).body(kind, out).into_response()
}

fn push_part(out: &mut Vec<u8>, outcome: &Outcome) {
    let reason = outcome.status.canonical_reason().unwrap_or_default();
    let mut head = format!(
        "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 {} {reason}\r\n",
        outcome.status.as_u16()
    );
    for (name, value) in &outcome.headers {
        head.push_str(&format!("{}: {value}\r\n", spelt(name)));
    }
    if let Some((kind, _)) = &outcome.body {
        head.push_str(&format!("Content-Type: {}\r\n", kind.to_str().unwrap_or_default()));
    }
    head.push_str("\r\n");
    out.extend_from_slice(head.as_bytes());
    if let Some((_, body)) = &outcome.body {
        out.extend_from_slice(body);
    }
    out.extend_from_slice(b"\r\n");
}

/// A header's name as the service writes it: there are clients that read a part by hand.
fn spelt(name: &str) -> &str {
    match name {
        "etag" => "ETag",
        "location" => "Location",
        "dataserviceid" => "DataServiceId",
        "dataserviceversion" => "DataServiceVersion",
        "preference-applied" => "Preference-Applied",
        "cache-control" => "Cache-Control",
        "x-content-type-options" => "X-Content-Type-Options",
        other => other,
    }
}
