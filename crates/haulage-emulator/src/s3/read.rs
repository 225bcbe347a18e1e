//! GetObject and HeadObject.

use http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use http::{Response, StatusCode};

use super::checksum::Scope;
use super::condition::Conditions;
use super::headers::{describe, set_checksum};
use super::range::Slice;
use super::request::Call;
use super::{Reply, object};
use crate::service::Service;
use crate::store::Blob;
use crate::wire::body::ResponseBody;
use crate::wire::error::ServiceError;
use crate::wire::reply::{reply, set};

/// Parameters that put other headers into the answer.
const OVERRIDES: [(&str, &str); 6] = [
    ("response-content-type", "content-type"),
    ("response-content-language", "content-language"),
    ("response-expires", "expires"),
    ("response-cache-control", "cache-control"),
    ("response-content-disposition", "content-disposition"),
    ("response-content-encoding", "content-encoding"),
];

pub(super) async fn get(service: &Service, call: &Call<'_>) -> Reply {
    // A file must not be replaced between the look at its size and its opening.
    let lock = service.lock(call.blob()).await;
    let blob = object(service, call.blob())?;
    Conditions::of(call).check_read(&blob)?;
    let slice = Slice::asked(call, &blob)?;
    let opened = service.store.open(&blob.data, slice.bytes.clone()).await;
    drop(lock);
    let chunks = opened.map_err(|error| ServiceError::internal(&error))?;
    let mut response = Response::new(ResponseBody::stored(chunks, slice.len()));
    tell(&mut response, call, &blob, &slice);
    Ok(response)
}

pub(super) fn head(service: &Service, call: &Call<'_>) -> Reply {
    let blob = object(service, call.blob())?;
    Conditions::of(call).check_read(&blob)?;
    let slice = Slice::asked(call, &blob)?;
    let mut response = reply(StatusCode::OK);
    tell(&mut response, call, &blob, &slice);
    Ok(response)
}

/// Status and headers of what is read.
fn tell(response: &mut Response<ResponseBody>, call: &Call<'_>, blob: &Blob, slice: &Slice<'_>) {
    if slice.is_partial {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    let headers = response.headers_mut();
    describe(headers, blob);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(slice.len()));
    if slice.is_partial {
        let text = format!("bytes {}-{}/{}", slice.bytes.start, slice.bytes.end - 1, blob.size);
        set(headers, "content-range", &text);
    }
    let parts = blob.s3.as_ref().map_or(0, |facts| facts.parts.len());
    if parts > 0 && call.parameter("partNumber").is_some() {
        set(headers, "x-amz-mp-parts-count", &parts.to_string());
    }
    if call.header("x-amz-checksum-mode").is_some_and(|mode| mode.eq_ignore_ascii_case("enabled")) {
        tell_checksum(headers, blob, slice);
    }
    for (parameter, name) in OVERRIDES {
        if let Some(value) = call.parameter(parameter) {
            set(headers, name, value);
        }
    }
}

/// The checksum of all of it, or that of the part asked for. Of other stretches nothing is known.
fn tell_checksum(headers: &mut HeaderMap, blob: &Blob, slice: &Slice<'_>) {
    let Some(checksum) = blob.s3.as_ref().and_then(|facts| facts.checksum.as_ref()) else { return };
    match slice.part {
        None if slice.len() == blob.size => set_checksum(headers, checksum),
        Some(part) if checksum.scope == Scope::Composite => {
            if let Some(value) = &part.checksum {
                set(headers, checksum.algorithm.header(), value);
                set(headers, "x-amz-checksum-type", checksum.scope.name());
            }
        }
        _ => {}
    }
}
