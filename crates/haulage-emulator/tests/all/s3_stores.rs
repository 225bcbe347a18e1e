//! One catalogue for both interfaces, in every store, over every link and fault.

use std::time::{Duration, Instant};

use haulage::checksum::Md5;
use haulage_emulator::{FaultSpec, StoreKind};
use http::Method;

use crate::support::s3::{S3, crc64, element, elements, escaped, failure};
use crate::support::{Client, memory, serve};

#[tokio::test]
async fn what_one_interface_writes_the_other_reads() {
    let (emulator, mut azure) = memory().await;
    let mut s3 = S3::connect(&emulator).await;
    let headers =
        [("x-ms-blob-type", "BlockBlob"), ("x-ms-blob-content-type", "text/x"), ("x-ms-meta-kind", "test")];
    azure.send(Method::PUT, "/box/from%20azure", &headers, "hello").await;
    let got = s3.get("/box/from%20azure").await;
    assert_eq!((got.text(), got.header("content-type")), ("hello", "text/x"));
    assert_eq!(got.header("x-amz-meta-kind"), "test");
    let etag = got.header("etag").to_owned();
    assert!(etag.ends_with("-1\""), "an ETag of Azure's is no MD5: {etag}");
    assert_eq!(s3.send(Method::GET, "/box/from%20azure", &[("if-match", &etag)], "").await.status, 200);
    azure.put_block("blocks", "QUFB", "one ").await;
    azure.put_block("blocks", "QkJC", "two").await;
    azure.commit("blocks", &[("Latest", "QUFB"), ("Latest", "QkJC")]).await;
    assert_eq!(s3.get("/box/blocks").await.text(), "one two");
    let copied = s3.send(Method::PUT, "/box/copied", &[("x-amz-copy-source", "box/blocks")], "").await;
    assert_eq!(element(&copied, "ETag"), format!("&quot;{}&quot;", Md5::of(b"one two")));
    assert_eq!(element(&copied, "ChecksumCRC64NVME"), crc64(b"one two"));

    let headers = [("content-type", "text/y"), ("x-amz-meta-kind", "s3"), ("cache-control", "no-cache")];
    s3.send(Method::PUT, "/box/from%20s3", &headers, "bye").await;
    let got = azure.get("/box/from%20s3").await;
    assert_eq!((got.text(), got.header("content-type")), ("bye", "text/y"));
    assert_eq!((got.header("x-ms-meta-kind"), got.header("cache-control")), ("s3", "no-cache"));
    assert_eq!(got.header("content-md5"), Md5::of(b"bye").to_base64());
    let id = s3.begin("/box/parts", &[]).await;
    let part = s3.part("/box/parts", &id, 1, &[], "all").await.header("etag").to_owned();
    s3.complete("/box/parts", &id, &[], &[(1, &part, "")]).await;
    assert_eq!(azure.get("/box/parts").await.text(), "all");
    // New metadata is a new version to Azure, and the same content to S3.
    let etag = s3.head("/box/from%20s3").await.header("etag").to_owned();
    azure.send(Method::PUT, "/box/from%20s3?comp=metadata", &[("x-ms-meta-new", "1")], "").await;
    let head = s3.head("/box/from%20s3").await;
    assert_eq!((head.header("etag"), head.header("x-amz-meta-new")), (&*etag, "1"));
    azure.put("from%20s3", "bye").await;
    assert_ne!(s3.head("/box/from%20s3").await.header("etag"), etag);

    assert_eq!(s3.send(Method::PUT, "/made-by-s3", &[], "").await.status, 200);
    let containers = azure.get("?comp=list").await;
    assert!(
        containers.text().contains("<Name>box</Name>")
            && containers.text().contains("<Name>made-by-s3</Name>")
    );
    let list = azure.get("/box?restype=container&comp=list").await;
    assert_eq!(elements(&list, "Name"), elements(&s3.get("/box").await, "Key"));
    assert_eq!(s3.send(Method::DELETE, "/box/from%20azure", &[], "").await.status, 204);
    assert_eq!(azure.get("/box/from%20azure").await.code(), "BlobNotFound");
}

#[tokio::test]
async fn an_azure_client_of_another_account_is_told_so_in_azures_words() {
    let (emulator, _) = memory().await;
    let mut s3 = S3::connect(&emulator).await;
    let headers = [("host", "localhost"), ("x-ms-version", "2025-11-05")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let other = s3.raw(Method::GET, "/other/box/a", &headers, "").await.unwrap();
    assert_eq!((other.status.as_u16(), other.code()), (404, "ResourceNotFound"));
}

#[tokio::test]
async fn a_directory_keeps_objects_and_uploads() {
    let directory = tempfile::tempdir().unwrap();
    let open = async || {
        let store = StoreKind::Directory(directory.path().to_owned());
        let emulator = serve(|config| config.store = store).await;
        let s3 = S3::connect(&emulator).await;
        (emulator, s3)
    };
    let (emulator, mut s3) = open().await;
    let long = "é/".repeat(300) + &"y".repeat(124);
    assert_eq!(long.len(), 1024);
    let names = ["plain", "with space", "a+b%", "ünï/☃", "//x", "/lead", "a", "a/b", "..", &long];
    assert_eq!(s3.send(Method::PUT, "/box", &[], "").await.status, 200);
    assert_eq!(s3.send(Method::PUT, "/my.bucket", &[], "").await.status, 200);
    for name in names {
        s3.put(name, name.to_owned()).await;
    }
    let headers = [
        ("x-amz-checksum-crc32", "NhCmhg=="),
        ("x-amz-tagging", "a=b"),
        ("x-amz-storage-class", "GLACIER_IR"),
    ];
    s3.send(Method::PUT, "/box/facts", &headers, "hello").await;
    let etag = s3.head("/box/facts").await.header("etag").to_owned();
    let declared = [("x-amz-checksum-algorithm", "CRC64NVME"), ("x-amz-meta-a", "1")];
    let id = s3.begin("/box/parts", &declared).await;
    let big = vec![7_u8; 5 << 20];
    let one = s3.part("/box/parts", &id, 1, &[], big.clone()).await.header("etag").to_owned();
    let two = s3.part("/box/parts", &id, 2, &[], "tail").await.header("etag").to_owned();
    let gone = s3.begin("/box/parts", &[]).await;
    s3.part("/box/parts", &gone, 1, &[], "x").await;
    assert_eq!(s3.send(Method::DELETE, &format!("/box/parts?uploadId={gone}"), &[], "").await.status, 204);
    emulator.shutdown().await;

    let (_emulator, mut s3) = open().await;
    assert_eq!(elements(&s3.get("/").await, "Name"), ["box", "my.bucket"]);
    for name in names {
        assert_eq!(s3.get(&format!("/box/{}", escaped(name))).await.text(), name);
    }
    let head = s3.send(Method::HEAD, "/box/facts", &[("x-amz-checksum-mode", "ENABLED")], "").await;
    assert_eq!((head.header("etag"), head.header("x-amz-checksum-crc32")), (&*etag, "NhCmhg=="));
    assert_eq!((head.header("x-amz-tagging-count"), head.header("x-amz-storage-class")), ("1", "GLACIER_IR"));
    assert_eq!(elements(&s3.get("/box?uploads=").await, "UploadId"), [&*id]);
    let listed = s3.get(&format!("/box/parts?uploadId={id}")).await;
    assert_eq!(elements(&listed, "ChecksumCRC64NVME"), [crc64(&big), crc64(b"tail")]);
    let done = s3.complete("/box/parts", &id, &[], &[(1, &one, ""), (2, &two, "")]).await;
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(s3.get("/box/parts?partNumber=2").await.text(), "tail");
    assert_eq!(s3.head("/box/parts").await.header("x-amz-meta-a"), "1");
    let left = std::fs::read_dir(directory.path().join(".haul/uploads/box")).unwrap().count();
    assert_eq!(left, 0, "an upload that has ended leaves nothing");
    assert_eq!(s3.send(Method::DELETE, "/my.bucket", &[], "").await.status, 204);
    assert!(!directory.path().join("my.bucket").exists());
}

#[tokio::test]
async fn the_null_store_states_no_checksum_of_what_it_threw_away() {
    let emulator = serve(|config| config.store = StoreKind::Null).await;
    let mut s3 = S3::connect(&emulator).await;
    s3.send(Method::PUT, "/box", &[], "").await;
    let sums =
        [("x-amz-meta-haulage-crc64", "1"), ("x-amz-meta-md5chksum", "2"), ("x-amz-meta-kind", "test")];
    let put = s3.send(Method::PUT, "/box/a", &sums, "hello").await;
    assert_eq!(put.header("x-amz-checksum-crc64nvme"), crc64(b"hello"));
    let mode = [("x-amz-checksum-mode", "ENABLED")];
    let head = s3.send(Method::HEAD, "/box/a", &mode, "").await;
    assert_eq!((head.header("content-length"), head.header("etag")), ("5", put.header("etag")));
    assert!(head.header("x-amz-checksum-crc64nvme").is_empty());
    assert_eq!(head.header("x-amz-meta-kind"), "test");
    for (sum, _) in &sums[..2] {
        assert!(head.header(sum).is_empty(), "clients compare {sum} with what they read");
    }
    assert!(head.header("etag").ends_with("-1\""), "the MD5 would call the pattern corrupt");
    let id = s3.begin("/box/b", &[("x-amz-checksum-algorithm", "CRC64NVME")]).await;
    let part = s3.part("/box/b", &id, 1, &[], "all").await.header("etag").to_owned();
    let done = s3.complete("/box/b", &id, &[], &[(1, &part, "")]).await;
    assert_eq!(element(&done, "ChecksumCRC64NVME"), crc64(b"all"), "{}", done.text());
}

/// An endpoint with faults and the bucket `box`.
async fn faulty(spec: &str) -> (haulage_emulator::Emulator, S3) {
    let faults: FaultSpec = spec.parse().unwrap();
    let emulator = serve(|config| config.faults = faults).await;
    let mut s3 = S3::connect(&emulator).await;
    s3.send(Method::PUT, "/box", &[], "").await;
    (emulator, s3)
}

#[tokio::test]
async fn faults_strike_as_they_strike_azure() {
    let (emulator, mut s3) = faulty("busy=100%").await;
    let busy = s3.send(Method::PUT, "/box/a", &[], "x").await;
    assert_eq!(failure(&busy), (503, "SlowDown"));
    assert_eq!(s3.head("/box").await.status, 200, "only what moves data is struck");
    assert_eq!((emulator.stats().faults.busy, emulator.stats().requests("PutObject")), (1, 1));

    let (emulator, mut s3) = faulty("flip=100%").await;
    let put = s3.send(Method::PUT, "/box/a", &[], "some bytes").await;
    assert_eq!(failure(&put), (400, "XAmzContentSHA256Mismatch"));
    let chunks = s3.put_chunks("/box/a", &[&[7; 100]], true, None, |_| {}).await;
    assert_eq!(failure(&chunks), (403, "SignatureDoesNotMatch"));
    assert_eq!(emulator.stats().faults.flip, 2);

    let (emulator, mut s3) = faulty("cut=100%").await;
    assert!(s3.try_send(Method::PUT, "/box/a", &[], vec![1; 1 << 20]).await.is_err());
    assert_eq!(emulator.stats().faults.cut, 1);

    let (emulator, mut s3) = faulty("stall=100%").await;
    let put = s3.try_send(Method::PUT, "/box/a", &[], vec![1; 1 << 20]);
    assert!(tokio::time::timeout(Duration::from_millis(300), put).await.is_err());
    assert_eq!(emulator.stats().faults.stall, 1);

    let (emulator, mut s3) = faulty("lost=100%").await;
    assert!(s3.try_send(Method::PUT, "/box/a", &[], "bytes").await.is_err());
    let mut s3 = S3::connect(&emulator).await;
    assert_eq!(s3.head("/box/a").await.header("content-length"), "5", "it has had its effect");
}

#[tokio::test]
async fn answers_are_spoilt_as_those_of_azure() {
    let (emulator, mut s3) = faulty("truncate=100%").await;
    s3.put("a", vec![7; 1 << 20]).await;
    assert!(s3.try_send(Method::GET, "/box/a", &[], "").await.is_err());
    assert_eq!(emulator.stats().faults.truncate, 1);

    let (_emulator, mut s3) = faulty("short=100%").await;
    s3.put("a", vec![7; 1 << 20]).await;
    let got = s3.get("/box/a").await;
    assert!(got.body.len() < 1 << 20 && got.header("content-length") == got.body.len().to_string());

    let (_emulator, mut s3) = faulty("checksum=100%").await;
    s3.put("a", vec![7; 1000]).await;
    let got = s3.send(Method::GET, "/box/a", &[("x-amz-checksum-mode", "ENABLED")], "").await;
    assert_eq!(got.body, vec![7; 1000]);
    assert_ne!(got.header("x-amz-checksum-crc64nvme"), crc64(&got.body));
}

#[tokio::test]
async fn a_slow_service_takes_its_time() {
    let (emulator, mut s3) = faulty("commit=60ms,serial=20ms").await;
    let began = Instant::now();
    s3.put("a", vec![7; 1000]).await;
    assert!(began.elapsed() >= Duration::from_millis(80), "{:?}", began.elapsed());
    assert_eq!(emulator.stats().requests["PutObject"], 1);
    assert_eq!(emulator.stats().requests["CreateBucket"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_as_slow_for_both() {
    let link = "rtt=50ms".parse().unwrap();
    let emulator = serve(|config| config.link = link).await;
    let mut s3 = S3::connect(&emulator).await;
    s3.send(Method::PUT, "/box", &[], "").await;
    let began = Instant::now();
    s3.put("a", "abc").await;
    assert!(began.elapsed() >= Duration::from_millis(50), "{:?}", began.elapsed());
    let mut azure = Client::connect(&emulator).await;
    assert_eq!(azure.get("/box/a").await.text(), "abc");
}
