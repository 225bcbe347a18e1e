//! A fault in an answer as a whole: lost, too short, or with a checksum that is not true.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use http::Response;
use http::header::{CONTENT_LENGTH, HeaderValue};

use super::body::ResponseBody;
use crate::fault::{Fault, Nature};
use crate::server::Connection;
use crate::stats::FaultCounters;

/// Where an answer states the checksum of what moved.
const CHECKSUMS: [&str; 7] = [
    "x-ms-content-crc64",
    "content-md5",
    "x-amz-checksum-crc64nvme",
    "x-amz-checksum-crc32",
    "x-amz-checksum-crc32c",
    "x-amz-checksum-sha1",
    "x-amz-checksum-sha256",
];

/// Does to an answer what `fault` says, where it can. A lost answer never comes.
pub(crate) async fn spoil(
    response: &mut Response<ResponseBody>,
    fault: Option<Fault>,
    nature: Nature,
    connection: &Arc<Connection>,
    counters: &FaultCounters,
) {
    match fault {
        Some(Fault::Lost) => {
            counters.lost.fetch_add(1, Relaxed);
            connection.reset();
            pending::<()>().await;
        }
        Some(Fault::Short { position }) if nature.is_download() => {
            let len = response.body().len();
            if len > 0 {
                counters.short.fetch_add(1, Relaxed);
                let kept = (len as f64 * position) as u64;
                response.body_mut().shorten(kept);
                response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(kept));
            }
        }
        Some(Fault::Checksum) => {
            let stated = CHECKSUMS.iter().find(|name| response.headers().contains_key(**name));
            if let Some(name) = stated
                && let Some(wrong) = wrong(response.headers()[*name].as_bytes())
            {
                counters.checksum.fetch_add(1, Relaxed);
                response.headers_mut().insert(*name, wrong);
            }
        }
        _ => {}
    }
}

/// Another value of the same form: the first character of its Base64 is exchanged.
fn wrong(stated: &[u8]) -> Option<HeaderValue> {
    let mut text = stated.to_vec();
    let first = text.first_mut()?;
    *first = if *first == b'A' { b'B' } else { b'A' };
    HeaderValue::from_bytes(&text).ok()
}
