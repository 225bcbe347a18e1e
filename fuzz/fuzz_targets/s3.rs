//! What S3 answers, and where addresses and configuration files lead.

#![no_main]

use std::time::Duration;

use haulage::error::Retry;
use haulage::fuzz::s3;
use haulage::store::s3::S3Address;
use haulage::store::{Address, StoreOptions};
use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;

/// Several of the smallest parts, so that parts of many sizes fit.
const SIZE: u64 = 23 << 20;

fuzz_target!(|data: &[u8]| {
    any_document(data);
    errors(data);
    if let Ok(text) = std::str::from_utf8(data) {
        names_read_back(text);
        headers(text);
        settings(text);
        requests(text);
    }
});

/// Whatever a document is, what comes of it is no longer than it.
fn any_document(page: &[u8]) {
    if let Some((list, next)) = s3::objects(page) {
        let of_objects = list.objects.iter().chain(&list.markers).map(|object| object.key.len() + object.etag.len());
        let held: usize = of_objects.chain(list.prefixes.iter().map(String::len)).sum();
        assert!(held + next.map_or(0, |next| next.len()) <= page.len());
        assert!(list.objects.iter().all(|object| object.md5.is_none() && object.crc64.is_none()));
    }
    let uploads = s3::uploads(page).unwrap_or_default();
    assert!(uploads.iter().map(|(key, id)| key.len() + id.len()).sum::<usize>() <= page.len());
    assert!(s3::buckets(page).is_none_or(|(names, _)| names.iter().all(|name| !name.contains('/'))));
    let mut end = 0;
    for range in s3::parts(page, SIZE).unwrap_or_default() {
        assert!(range.offset >= end && range.len > 0, "{range:?}");
        end = range.end();
    }
    assert!(end <= SIZE);
    let _ = (s3::completed(page), s3::deleted(page));
}

fn errors(body: &[u8]) {
    let status = 200 + u16::from(body.first().copied().unwrap_or_default());
    let error = s3::error(status, &HeaderMap::new(), body);
    if let Retry::After(wait) = error.retry_advice() {
        assert!(wait <= Duration::from_secs(3600));
    }
    let word = error.service_code().unwrap_or_default();
    assert!(word.len() <= 100 && word.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{word:?}");
    assert!(error.cause().len() <= 2000, "{} bytes of cause", error.cause().len());
}

/// Names come back as they were, as a service writes them.
fn names_read_back(text: &str) {
    let encoded = |name: &str| {
        let byte = |byte: u8| match byte {
            b' ' => "+".to_owned(),
            byte if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        };
        name.bytes().map(byte).collect::<String>()
    };
    let names: Vec<&str> = text.split('|').filter(|name| !name.is_empty()).collect();
    let object = |name: &&str| format!("<Contents><Key>{}</Key><ETag>e</ETag><Size>1</Size></Contents>", encoded(name));
    let page = format!(
        "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>{}</ListBucketResult>",
        names.iter().map(object).collect::<String>()
    );
    let Some((list, _)) = s3::objects(page.as_bytes()) else { panic!("unreadable: {page:?}") };
    assert!(list.objects.iter().map(|object| object.key.as_str()).eq(names.iter().copied()), "{page:?}");
}

fn headers(text: &str) {
    let mut headers = HeaderMap::new();
    for name in ["content-length", "x-amz-checksum-crc64nvme", "x-amz-meta-mtime", "x-amz-meta-md5chksum", "etag"] {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    }
    let meta = s3::meta(&headers);
    assert_eq!(meta.size, text.parse::<u64>().ok().filter(|_| !headers.is_empty()).unwrap_or_default());
    if let Some(crc64) = meta.crc64 {
        assert_eq!(crc64.to_s3(), text);
    }
}

/// A region stands in hosts and in what is signed.
fn settings(text: &str) {
    let (first, config) = text.split_once('\n').unwrap_or((text, ""));
    if let Ok((_, region)) = s3::settings(|name| (name == "AWS_PROFILE").then(|| first.to_owned()), config) {
        assert!(region.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{region:?}");
    }
}

/// What we print, people paste; and a key is in the path as it is in the name, escaped once.
fn requests(text: &str) {
    let Ok(Address::S3(address)) = Address::parse(text, &StoreOptions::default()) else { return };
    assert_eq!(S3Address::parse(&s3::name(&address)).ok(), Some(address.clone()), "{text:?}");
    if let Ok(request) = s3::request(&address, "https://store.example", &[("prefix", text)]) {
        let path = request.uri().path();
        let key = path.strip_prefix(&format!("/{}", address.bucket)).unwrap_or(path).trim_start_matches('/');
        let decoded = key.split('%').enumerate().flat_map(|(number, part)| match number {
            0 => part.as_bytes().to_vec(),
            _ => [&[u8::from_str_radix(&part[..2], 16).expect("an escape")], &part.as_bytes()[2..]].concat(),
        });
        assert_eq!(decoded.collect::<Vec<u8>>(), address.key.trim_start_matches('/').as_bytes(), "{text:?}");
    }
}
