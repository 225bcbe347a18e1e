//! Requests as our endpoint reads them: any, and those that our engine signs.
//! Input: method and target in the first line, then a line for each header, an empty line, a body.

#![no_main]

use haulage::fuzz::azure;
use haulage_emulator::{WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, fuzz as emulator};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let end = data.windows(2).position(|two| two == b"\n\n").unwrap_or(data.len());
    let text = String::from_utf8_lossy(&data[..end]);
    let (line, headers) = text.split_once('\n').unwrap_or((&text, ""));
    any_request(line, headers);
    signed_requests_pass(line, headers);
    block_lists(&data[end..]);
    s3_bodies(&data[(end + 2).min(data.len())..]);
    tags(line, &data[end..]);
    if let Some((time, written)) = emulator::signature_time(line) {
        assert!(
            emulator::signature_time(&written)
                .is_some_and(|(again, _)| again <= time || time < std::time::UNIX_EPOCH)
        );
    }
    if let Some(written) = emulator::condition_time(line) {
        assert_eq!(emulator::condition_time(&written), Some(written));
    }
});

/// Without the key nobody gets in.
fn any_request(line: &str, headers: &str) {
    let (method, target) = line.split_once(' ').unwrap_or(("GET", line));
    for target in [target.to_owned(), format!("/{WELL_KNOWN_ACCOUNT}{target}")] {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers.lines().filter_map(|line| line.split_once(':')) {
            request = request.header(name, value);
        }
        let Ok(request) = request.body(()) else { continue };
        let parts = request.into_parts().0;
        if let Some((container, _, allowed)) = emulator::call(&parts, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY) {
            assert!(!allowed, "{line:?} {headers:?}");
            assert!(!container.contains(['/', '.']));
        }
        if let Some((_, key, allowed)) = emulator::s3_call(&parts) {
            assert!(!allowed, "{line:?} {headers:?}");
            assert!(key.len() <= 1024);
        }
    }
}

/// What the engine signs the endpoint lets in, under the name that was meant.
fn signed_requests_pass(name: &str, rest: &str) {
    let address = format!("az://box/{name}");
    let endpoint = format!("http://127.0.0.1:1/{WELL_KNOWN_ACCOUNT}");
    let Ok(address) = azure::address(&address, Some(endpoint), |_| None) else { return };
    let value = rest.lines().next().unwrap_or_default();
    let mut headers = HeaderMap::new();
    for (name, value) in rest.lines().filter_map(|line| line.split_once(':')) {
        let name = HeaderName::try_from(format!("x-ms-meta-{name}"));
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    let queries: [&[(&str, &str)]; 3] =
        [&[], &[("blockid", value), ("comp", "block")], &[("comp", "metadata")]];
    for query in queries {
        let request = azure::request(&address, WELL_KNOWN_KEY, Method::PUT, query, headers.clone());
        let Ok(request) = request else { continue };
        let parts = request.into_parts().0;
        if address.key.is_empty() || address.key.chars().count() > 1024 {
            continue;
        }
        let call = emulator::call(&parts, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY);
        assert_eq!(call, Some(("box".to_owned(), address.key.clone(), true)), "{}", parts.uri);
        for (name, value) in query {
            assert_eq!(emulator::query(parts.uri.query().unwrap_or_default(), name).as_deref(), Some(*value));
        }
    }
}

/// Chunks are the same however they come.
fn s3_bodies(body: &[u8]) {
    let whole = emulator::s3_content(body, body.len().max(1));
    assert_eq!(emulator::s3_content(body, 3), whole);
    for root in ["Delete", "Tagging", "CompleteMultipartUpload"] {
        emulator::s3_document(body, root);
    }
}

/// Tags that are read read back, and no condition upsets the endpoint.
fn tags(condition: &str, body: &[u8]) {
    let read = emulator::tags(body);
    let tags = read.as_ref().map_or(&[][..], |(tags, _)| tags);
    let _ = emulator::tags_meet(condition, tags);
    if let Some((tags, written)) = &read {
        assert_eq!(emulator::tags(written.as_bytes()).map(|(again, _)| again).as_ref(), Some(tags));
    }
}

fn block_lists(body: &[u8]) {
    let Some(ids) = emulator::block_list(body) else { return };
    assert!(ids.iter().map(|id| id.len() + 10).sum::<usize>() <= body.len());
    let plain = |id: &String| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
    if ids.iter().all(plain) {
        assert_eq!(emulator::block_list(azure::block_list(&ids).as_bytes()), Some(ids));
    }
}
