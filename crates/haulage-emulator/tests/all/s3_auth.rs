//! Who gets in through the S3 interface, and whose bytes are taken for true.

use std::time::Duration;

use haulage_emulator::Emulator;
use http::Method;
use time::OffsetDateTime;

use crate::support::s3::{S3, crc32, element, elements, escaped, failure, now, sha256, stamp};
use crate::support::{memory, serve};

async fn endpoint() -> (Emulator, S3) {
    let (emulator, _) = memory().await;
    let s3 = S3::connect(&emulator).await;
    (emulator, s3)
}

#[tokio::test]
async fn nobody_gets_in_without_a_signature() {
    let (_emulator, mut s3) = endpoint().await;
    let host = ("host".to_owned(), s3.host.clone());
    let anonymous = s3.raw(Method::GET, "/box/a", &[host], "").await.unwrap();
    assert_eq!(failure(&anonymous), (403, "AccessDenied"));
    assert_eq!(anonymous.header("x-amz-request-id"), element(&anonymous, "RequestId"));
    assert!(anonymous.header("x-ms-request-id").is_empty());
    s3.access.secret_access_key.push('x');
    let wrong = s3.get("/box?list-type=2").await;
    assert_eq!(failure(&wrong), (403, "SignatureDoesNotMatch"));
    assert!(
        element(&wrong, "StringToSign").starts_with("AWS4-HMAC-SHA256\n") || wrong.text().contains("&#xA;")
    );
    s3.access.access_key_id = "other".to_owned();
    assert_eq!(failure(&s3.get("/box?list-type=2").await), (403, "InvalidAccessKeyId"));
}

#[tokio::test]
async fn another_region_is_told_the_right_one() {
    let (_emulator, mut s3) = endpoint().await;
    s3.access.region = "eu-west-1".to_owned();
    let wrong = s3.get("/box?list-type=2").await;
    assert_eq!(failure(&wrong), (400, "AuthorizationHeaderMalformed"));
    assert_eq!(element(&wrong, "Region"), "us-east-1");
    assert_eq!(wrong.header("x-amz-bucket-region"), "us-east-1");
    let head = s3.head("/box").await;
    assert_eq!((head.status.as_u16(), head.header("x-amz-bucket-region")), (400, "us-east-1"));
}

#[tokio::test]
async fn awkward_names_and_queries_are_signed_as_they_are_meant() {
    let (_emulator, mut s3) = endpoint().await;
    for name in ["a b", "a+b", "%41", "ünï/☃", "//x", "/", "a//b/", "~-._", "=&?#:@!$'()*,;[]", "\u{1}\n"]
    {
        s3.put(name, name.to_owned()).await;
        assert_eq!(s3.get(&format!("/box/{}", escaped(name))).await.text(), name);
    }
    let list = s3.get("/box?list-type=2&prefix=a%2Bb&delimiter=%2F&encoding-type=url").await;
    assert_eq!(elements(&list, "Key"), ["a%2Bb"]);
}

#[tokio::test]
async fn a_url_may_carry_the_signature() {
    let (_emulator, mut s3) = endpoint().await;
    let host = [("host".to_owned(), s3.host.clone())];
    let length = [host[0].clone(), ("content-length".to_owned(), "5".to_owned())];
    let put = s3.presigned(&Method::PUT, "/box/a%20b", 60, &now());
    assert_eq!(s3.raw(Method::PUT, &put, &length, "hello").await.unwrap().status, 200);
    let uri = "/box/a%20b?response-content-type=text%2Fplain";
    let get = s3.presigned(&Method::GET, uri, 60, &now());
    let got = s3.raw(Method::GET, &get, &host, "").await.unwrap();
    assert_eq!((got.text(), got.header("content-type")), ("hello", "text/plain"));
    let other = s3.raw(Method::DELETE, &get, &host, "").await.unwrap();
    assert_eq!(failure(&other), (403, "SignatureDoesNotMatch"));
    let past = OffsetDateTime::now_utc() - Duration::from_secs(100);
    let late = s3.presigned(&Method::GET, uri, 60, &stamp(past));
    let late = s3.raw(Method::GET, &late, &host, "").await.unwrap();
    assert_eq!((failure(&late), element(&late, "Message")), ((403, "AccessDenied"), "Request has expired"));
}

#[tokio::test]
async fn an_old_request_is_refused() {
    let (_emulator, mut s3) = endpoint().await;
    let past = stamp(OffsetDateTime::now_utc() - Duration::from_secs(16 * 60));
    let mut headers = vec![
        ("host".to_owned(), s3.host.clone()),
        ("x-amz-date".to_owned(), past.clone()),
        ("x-amz-content-sha256".to_owned(), "UNSIGNED-PAYLOAD".to_owned()),
    ];
    let signed = s3.sign(&Method::GET, "/", &headers, "UNSIGNED-PAYLOAD", &past);
    headers.push(("authorization".to_owned(), signed.authorization));
    let late = s3.raw(Method::GET, "/", &headers, "").await.unwrap();
    assert_eq!(failure(&late), (403, "RequestTimeTooSkewed"));
    assert_eq!(element(&late, "MaxAllowedSkewMilliseconds"), "900000");
}

#[tokio::test]
async fn the_body_must_be_the_one_that_was_signed() {
    let (_emulator, mut s3) = endpoint().await;
    let timestamp = now();
    let mut headers = vec![
        ("host".to_owned(), s3.host.clone()),
        ("x-amz-date".to_owned(), timestamp.clone()),
        ("x-amz-content-sha256".to_owned(), sha256(b"right")),
    ];
    let signed = s3.sign(&Method::PUT, "/box/a", &headers, &headers[2].1.clone(), &timestamp);
    headers.push(("authorization".to_owned(), signed.authorization));
    headers.push(("content-length".to_owned(), "5".to_owned()));
    let wrong = s3.raw(Method::PUT, "/box/a", &headers, "wrong").await.unwrap();
    assert_eq!(failure(&wrong), (400, "XAmzContentSHA256Mismatch"));
    assert_eq!(s3.raw(Method::PUT, "/box/a", &headers, "right").await.unwrap().status, 200);
    headers.push(("x-amz-meta-more".to_owned(), "x".to_owned()));
    let more = s3.raw(Method::PUT, "/box/a", &headers, "right").await.unwrap();
    assert_eq!(failure(&more), (403, "AccessDenied"));
    assert_eq!(element(&more, "HeadersNotSigned"), "x-amz-meta-more");
}

#[tokio::test]
async fn chunks_are_signed_one_after_the_other() {
    let (_emulator, mut s3) = endpoint().await;
    let body: Vec<u8> = (0..70_000_u32).map(|at| at as u8).collect();
    let (chunks, checksum) = (body.chunks(16 << 10).collect::<Vec<_>>(), crc32(&body));
    let trailer = Some(("x-amz-checksum-crc32", &*checksum));
    for (sign, trailer) in [(true, None), (true, trailer), (false, trailer)] {
        let put = s3.put_chunks("/box/a", &chunks, sign, trailer, |_| {}).await;
        assert_eq!(put.status, 200, "{}", put.text());
        assert_eq!(put.header("x-amz-checksum-crc32"), trailer.map_or("", |(_, value)| value));
        let got = s3.get("/box/a").await;
        assert_eq!((got.body[..] == *body, got.header("content-encoding")), (true, ""));
    }
    let flip = |wire: &mut Vec<u8>| wire[40_000] ^= 1;
    let damaged = s3.put_chunks("/box/b", &chunks, true, None, flip).await;
    assert_eq!(failure(&damaged), (403, "SignatureDoesNotMatch"));
    let damaged = s3.put_chunks("/box/b", &chunks, false, trailer, flip).await;
    assert_eq!(failure(&damaged), (400, "BadDigest"));
    let odd = Some(("x-amz-checksum-crc32", "AAAA"));
    assert_eq!(failure(&s3.put_chunks("/box/b", &chunks, false, odd, |_| {}).await), (400, "InvalidRequest"));
    let unknown = Some(("x-amz-meta-a", "b"));
    let refused = s3.put_chunks("/box/b", &chunks, false, unknown, |_| {}).await;
    assert_eq!(failure(&refused), (400, "InvalidRequest"));
    let short = s3.put_chunks("/box/b", &chunks, true, None, |wire| wire.truncate(30_000)).await;
    assert_eq!(failure(&short), (400, "IncompleteBody"));
    let small: Vec<&[u8]> = body.chunks(4 << 10).collect();
    assert_eq!(
        failure(&s3.put_chunks("/box/b", &small, true, None, |_| {}).await),
        (403, "InvalidChunkSizeError")
    );
    assert_eq!(s3.head("/box/b").await.status, 404);
}

#[tokio::test]
async fn a_bucket_may_stand_in_the_host() {
    let (emulator, mut s3) = endpoint().await;
    let port = emulator.address().port();
    s3.put("a/b", "hello").await;
    for host in [format!("box.localhost:{port}"), format!("box.127.0.0.1:{port}")] {
        s3.host = host;
        assert_eq!(s3.get("/a/b").await.text(), "hello");
        // Below the account's name lies a key, not the account.
        let put = s3.send(Method::PUT, "/devstoreaccount1/box/c", &[], "x").await;
        assert_eq!(put.status, 200, "{}", put.text());
        assert_eq!(s3.send(Method::PUT, "//a", &[], "slash").await.status, 200);
    }
    s3.host = "localhost".to_owned();
    assert_eq!(s3.get("/box/devstoreaccount1/box/c").await.text(), "x");
    assert_eq!(s3.get("/box//a").await.text(), "slash");
}

#[tokio::test]
async fn another_account_and_key_are_those_of_s3_too() {
    let emulator = serve(|config| {
        config.account = "mine".to_owned();
        config.key = "c2VjcmV0".to_owned();
    })
    .await;
    let mut s3 = S3::connect(&emulator).await;
    assert_eq!((&*s3.access.access_key_id, &*s3.access.secret_access_key), ("mine", "c2VjcmV0"));
    assert_eq!(s3.send(Method::PUT, "/box", &[], "").await.status, 200);
    assert_eq!(elements(&s3.get("/").await, "Name"), ["box"]);
}
