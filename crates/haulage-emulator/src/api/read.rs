//! Get Blob and Get Blob Properties.

use std::ops::Range;

use bytes::Bytes;
use haulage::checksum::{Crc64Stream, Md5Stream};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderValue};
use http::{Response, StatusCode};

use super::condition::Conditions;
use super::headers::{describe, reply, set};
use super::{Reply, blob, tier};
use crate::request::Call;
use crate::service::Service;
use crate::store::Blob;
use crate::wire::body::ResponseBody;
use crate::wire::error::{Answer, INVALID_HEADER_VALUE, INVALID_RANGE, ServiceError};

/// The service computes checksums of ranges up to here.
const LARGEST_CHECKED_RANGE: u64 = 4 << 20;

pub(super) async fn get_blob(service: &Service, call: &Call<'_>) -> Reply {
    let conditions = Conditions::of(call)?;
    // A file must not be replaced between the look at its size and its opening.
    let lock = service.lock(call.key()).await;
    let blob = blob(&service.read(), call.key())?;
    conditions.check_read(&blob)?;
    tier::check_online(&blob)?;
    let asked = range(call, blob.size)?;
    let checksum = Checksum::asked(call, asked.as_ref())?;
    let range = asked.clone().unwrap_or(0..blob.size);
    let opened = service.store.open(&blob.data, range.clone()).await;
    drop(lock);
    let failed = |error| ServiceError::internal(&error);
    let chunks = opened.map_err(failed)?;
    let len = range.end - range.start;
    let (body, checked) = match checksum {
        None => (ResponseBody::stored(chunks, len), None),
        Some(checksum) => {
            let pieces = chunks.collect().await.map_err(failed)?;
            let value = checksum.of(&pieces);
            (ResponseBody::pieces(pieces), Some((checksum.header(), value)))
        }
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    describe(headers, &blob);
    set_resource(service, headers, &blob);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(len));
    let md5_header = if asked.is_some() { "x-ms-blob-content-md5" } else { "content-md5" };
    add_md5(headers, md5_header, &blob);
    if asked.is_some() {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let text = format!("bytes {}-{}/{}", range.start, range.end - 1, blob.size);
        set(response.headers_mut(), "content-range", &text);
    }
    if let Some((name, value)) = checked {
        set(response.headers_mut(), name, &value);
    }
    Ok(response)
}

pub(super) fn head_blob(service: &Service, call: &Call<'_>) -> Reply {
    let blob = blob(&service.read(), call.key())?;
    Conditions::of(call)?.check_read(&blob)?;
    let mut response = reply(StatusCode::OK);
    let headers = response.headers_mut();
    describe(headers, &blob);
    set_resource(service, headers, &blob);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(blob.size));
    add_md5(headers, "content-md5", &blob);
    if blob.append.is_none() {
        set(headers, "x-ms-access-tier", tier::of(&blob));
        if tier::is_inferred(&blob) {
            set(headers, "x-ms-access-tier-inferred", "true");
        }
    }
    Ok(response)
}

fn set_resource(service: &Service, headers: &mut http::HeaderMap, blob: &Blob) {
    if service.config.hierarchical {
        set(headers, "x-ms-resource-type", blob.resource());
    }
}

fn add_md5(headers: &mut http::HeaderMap, name: &'static str, blob: &Blob) {
    if let Some(md5) = blob.content.as_ref().and_then(|content| content.md5.as_deref()) {
        set(headers, name, md5);
    }
}

/// The stretch that the client asks for; `None` for all of it. What is not of the form
/// `bytes=A-` or `bytes=A-B` is ignored, as HTTP would have it.
fn range(call: &Call<'_>, size: u64) -> Answer<Option<Range<u64>>> {
    let Some(text) = call.header("x-ms-range").or_else(|| call.header("range")) else { return Ok(None) };
    within(text, size)
}

/// A range's text for a blob of `size` bytes.
pub(super) fn within(text: &str, size: u64) -> Answer<Option<Range<u64>>> {
    let Some((start, last)) = parse_range(text) else { return Ok(None) };
    if start >= size {
        let error = ServiceError::from(&INVALID_RANGE);
        return Err(match HeaderValue::try_from(format!("bytes */{size}")) {
            Ok(value) => error.header(CONTENT_RANGE, value),
            Err(_) => error,
        });
    }
    Ok(Some(start..last.map_or(size, |last| last.saturating_add(1).min(size))))
}

fn parse_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (start, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    let start = start.trim().parse().ok()?;
    let last = match last.trim() {
        "" => None,
        last => Some(last.parse().ok().filter(|last| *last >= start)?),
    };
    Some((start, last))
}

/// The checksum of a range, where one is asked for.
#[derive(Clone, Copy)]
enum Checksum {
    Md5,
    Crc64,
}

impl Checksum {
    fn asked(call: &Call<'_>, range: Option<&Range<u64>>) -> Answer<Option<Self>> {
        let asks = |name| call.header(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let names = ["x-ms-range-get-content-md5", "x-ms-range-get-content-crc64"];
        let asked = match names.map(asks) {
            [false, false] => return Ok(None),
            [true, false] => Self::Md5,
            [false, true] => Self::Crc64,
            [true, true] => return Err(refuse(names[1], "Only one checksum may be asked for.")),
        };
        let name = if matches!(asked, Self::Md5) { names[0] } else { names[1] };
        match range {
            None => Err(refuse(name, "A range must be given.")),
            Some(range) if range.end - range.start > LARGEST_CHECKED_RANGE => {
                Err(refuse(name, "The range is larger than 4 MiB."))
            }
            Some(_) => Ok(Some(asked)),
        }
    }

    fn header(self) -> &'static str {
        match self {
            Self::Md5 => "content-md5",
            Self::Crc64 => "x-ms-content-crc64",
        }
    }

    fn of(self, pieces: &[Bytes]) -> String {
        match self {
            Self::Md5 => {
                let mut stream = Md5Stream::default();
                pieces.iter().for_each(|piece| stream.update(piece));
                stream.value().to_base64()
            }
            Self::Crc64 => {
                let mut stream = Crc64Stream::default();
                pieces.iter().for_each(|piece| stream.update(piece));
                stream.value().to_azure()
            }
        }
    }
}

fn refuse(header: &str, reason: &str) -> ServiceError {
    INVALID_HEADER_VALUE.detail("HeaderName", header).detail("HeaderValue", "true").detail("Reason", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_or_ignored() {
        assert_eq!(parse_range("bytes=5-9"), Some((5, Some(9))));
        assert_eq!(parse_range("bytes=5-"), Some((5, None)));
        for ignored in ["bytes=-5", "bytes=9-5", "5-9", "bytes=a-b", "bytes=1-2,4-5"] {
            assert_eq!(parse_range(ignored), None, "{ignored}");
        }
    }
}
