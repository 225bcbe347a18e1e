//! The heads of answers, and errors. Input: the status, a line for each header, an empty line, the body.

#![no_main]

use std::time::Duration;

use haulage::checksum::{Crc64, Md5};
use haulage::error::Retry;
use haulage::fuzz::azure;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use libfuzzer_sys::fuzz_target;

/// What a signature looks like in an answer.
const SECRET: &str = "c2VjcmV0c2VjcmV0";

fuzz_target!(|data: &[u8]| {
    let (status, headers, body) = answer(data);
    properties(&headers);
    checksums(data);
    let error = azure::error(status, &headers, body, &String::from_utf8_lossy(data));
    if let Retry::After(wait) = error.retry_advice() {
        assert!(wait <= Duration::from_secs(3600));
    }
    // A word, to be compared and shown: nothing else that a server may send.
    let word = error.service_code().unwrap_or_default();
    assert!(word.len() <= 100 && word.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{word:?}");
    let body = format!(
        "<Error><Code>A</Code><Message>{}?sig={SECRET}</Message></Error>",
        String::from_utf8_lossy(body)
    );
    let error = azure::error(status, &headers, body.as_bytes(), "se=2099-01-01&sp=r");
    assert!(!format!("{error} {error:?}").contains(SECRET), "{error}");
    assert!(error.cause().len() <= 2000, "{} bytes of cause", error.cause().len());
});

fn answer(data: &[u8]) -> (StatusCode, HeaderMap, &[u8]) {
    let end = data.windows(2).position(|two| two == b"\n\n");
    let (head, body) = end.map_or((data, &b""[..]), |end| (&data[..end], &data[end + 2..]));
    let mut lines = head.split(|byte| *byte == b'\n');
    let status = lines.next().and_then(|line| StatusCode::from_bytes(line).ok());
    let mut headers = HeaderMap::new();
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) =
            (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(&line[colon + 1..]));
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    (status.unwrap_or(StatusCode::OK), headers, body)
}

fn properties(headers: &HeaderMap) {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let meta = azure::meta(headers);
    let whole = text("content-range").rsplit_once('/').map_or(text("content-length"), |(_, whole)| whole);
    assert_eq!(meta.size, whole.parse::<u64>().unwrap_or_default());
    assert!(!meta.etag.starts_with('"') && !meta.etag.ends_with('"'));
    if let Some(md5) = meta.md5 {
        assert!(headers.values().any(|value| *value == *md5.to_base64()));
    }
    assert!(meta.modified_ns >= 0);
}

/// A checksum is the one that was written, in its own form and no other.
fn checksums(data: &[u8]) {
    for text in String::from_utf8_lossy(data).split(['\n', ':']) {
        if let Some(crc64) = Crc64::from_hex(text) {
            assert!(crc64.to_string().eq_ignore_ascii_case(text), "{text:?} became {crc64}");
        }
        if let Some(md5) = Md5::from_hex(text) {
            assert!(md5.to_string().eq_ignore_ascii_case(text), "{text:?} became {md5}");
        }
        assert!(Crc64::from_azure(text).is_none_or(|crc64| crc64.to_azure() == text));
        assert!(Md5::from_base64(text).is_none_or(|md5| md5.to_base64() == text));
    }
}
