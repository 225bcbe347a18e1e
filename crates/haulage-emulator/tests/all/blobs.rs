//! The service's rules, asked for over the wire.

use std::time::{Duration, SystemTime};

use haulage::checksum::{Crc64, Md5};
use haulage_emulator::StoreKind;
use http::Method;

use crate::support::{Client, memory, serve};

const BLOCK_BLOB: (&str, &str) = ("x-ms-blob-type", "BlockBlob");

#[tokio::test]
async fn a_blob_comes_back_with_its_properties() {
    let (_emulator, mut client) = memory().await;
    let headers = [
        BLOCK_BLOB,
        ("x-ms-blob-content-type", "text/x"),
        ("x-ms-meta-kind", "test"),
        ("x-ms-client-request-id", "mine"),
    ];
    let put = client.send(Method::PUT, "/box/a", &headers, "hello").await;
    assert_eq!(put.header("x-ms-content-crc64"), Crc64::of(b"hello").to_azure());
    assert_eq!(put.header("x-ms-client-request-id"), "mine");
    let got = client.get("/box/a").await;
    assert_eq!(
        (&got.body[..], got.header("content-type"), got.header("x-ms-meta-kind")),
        (&b"hello"[..], "text/x", "test")
    );
    assert_eq!(got.header("content-md5"), Md5::of(b"hello").to_base64());
    assert_eq!(got.header("etag"), put.header("etag"));
    let head = client.send(Method::HEAD, "/box/a", &[], "").await;
    assert_eq!((head.header("content-length"), head.header("x-ms-blob-type")), ("5", "BlockBlob"));
}

#[tokio::test]
async fn ranges_are_kept_and_checked() {
    let (_emulator, mut client) = memory().await;
    client.put("a", "0123456789").await;
    let headers = [("x-ms-range", "bytes=2-4"), ("x-ms-range-get-content-crc64", "true")];
    let part = client.send(Method::GET, "/box/a", &headers, "").await;
    assert_eq!((part.status.as_u16(), &part.body[..]), (206, &b"234"[..]));
    assert_eq!(part.header("content-range"), "bytes 2-4/10");
    assert_eq!(part.header("x-ms-content-crc64"), Crc64::of(b"234").to_azure());
    let beyond = client.send(Method::GET, "/box/a", &[("range", "bytes=10-")], "").await;
    assert_eq!((beyond.status.as_u16(), beyond.code()), (416, "InvalidRange"));
}

#[tokio::test]
async fn bodies_must_match_their_checksum() {
    let (_emulator, mut client) = memory().await;
    let (md5, crc64) = (Md5::of(b"right").to_base64(), Crc64::of(b"right").to_azure());
    for (header, value, code) in
        [("content-md5", &*md5, "Md5Mismatch"), ("x-ms-content-crc64", &*crc64, "Crc64Mismatch")]
    {
        let wrong = client.send(Method::PUT, "/box/a", &[BLOCK_BLOB, (header, value)], "wrong").await;
        assert_eq!((wrong.status.as_u16(), wrong.code()), (400, code));
        let right = client.send(Method::PUT, "/box/a", &[BLOCK_BLOB, (header, value)], "right").await;
        assert_eq!(right.status, 201);
        assert_eq!(right.header(header), value);
    }
    let both = [BLOCK_BLOB, ("content-md5", &*md5), ("x-ms-content-crc64", &*crc64)];
    assert_eq!(client.send(Method::PUT, "/box/a", &both, "right").await.status, 400);
    let odd = client.send(Method::PUT, "/box/a", &[BLOCK_BLOB, ("content-md5", "abc")], "right").await;
    assert_eq!(odd.code(), "InvalidMd5");
}

#[tokio::test]
async fn blocks_of_any_size_make_a_blob() {
    let (_emulator, mut client) = memory().await;
    client.put_block("a", "QUFB", "one ").await;
    client.put_block("a", "QkJC", "second ").await;
    client.put_block("a", "QUFB", "first ").await;
    assert_eq!(client.put_block("a", "QUFBQUFB", "x").await.code(), "InvalidBlobOrBlock");
    assert_eq!(client.put_block("a", "not~base64", "x").await.status, 400);
    let staged = client.get("/box/a?comp=blocklist&blocklisttype=all").await;
    assert!(staged.text().contains("<UncommittedBlocks><Block><Name>QUFB</Name><Size>6</Size></Block>"));
    assert_eq!(client.get("/box/a").await.code(), "BlobNotFound");
    assert_eq!(client.commit("a", &[("Latest", "QQQQ")]).await.code(), "InvalidBlockList");
    assert_eq!(client.commit("a", &[("Committed", "QUFB")]).await.code(), "InvalidBlockList");
    assert_eq!(client.commit("a", &[("Latest", "QUFB"), ("Uncommitted", "QkJC")]).await.status, 201);
    assert_eq!(client.get("/box/a").await.text(), "first second ");
    let committed = client.get("/box/a?comp=blocklist&blocklisttype=all").await;
    assert!(committed.text().contains("<UncommittedBlocks></UncommittedBlocks>"));

    client.put_block("a", "Q0ND", "third").await;
    let again = [("Committed", "QkJC"), ("Latest", "Q0ND"), ("Latest", "QUFB")];
    assert_eq!(client.commit("a", &again).await.status, 201);
    assert_eq!(client.get("/box/a").await.text(), "second thirdfirst ");
}

#[tokio::test]
async fn a_copied_block_is_no_larger_than_a_sent_one() {
    let (emulator, mut client) = memory().await;
    client.put_block("a", "QUFB", vec![0; 1 << 20]).await;
    // A name may stand in the list as often as it likes: 4,001 MiB that take one.
    assert_eq!(client.commit("a", &[("Latest", "QUFB"); 4001]).await.status, 201);
    let sas = emulator.sas("r", SystemTime::now() + Duration::from_secs(600));
    let url = format!("http://localhost/devstoreaccount1/box/a?{sas}");
    let source = ("x-ms-copy-source", &*url);
    let path = "/box/b?comp=block&blockid=QUFB";
    let whole = client.send(Method::PUT, path, &[source], "").await;
    assert_eq!((whole.status.as_u16(), whole.code()), (413, "RequestBodyTooLarge"));
    let unsigned = ("x-ms-copy-source", "http://localhost/devstoreaccount1/box/a");
    let refused = client.send(Method::PUT, path, &[unsigned], "").await;
    assert_eq!((refused.status.as_u16(), refused.code()), (403, "CannotVerifyCopySource"));
    let part = [source, ("x-ms-source-range", "bytes=1048576-2097151")];
    assert_eq!(client.send(Method::PUT, path, &part, "").await.status, 201);
}

#[tokio::test]
async fn conditions_guard_reads_and_writes() {
    let (_emulator, mut client) = memory().await;
    let etag = client.put("a", "x").await.header("etag").to_owned();
    let new_only = [BLOCK_BLOB, ("if-none-match", "*")];
    let exists = client.send(Method::PUT, "/box/a", &new_only, "y").await;
    assert_eq!((exists.status.as_u16(), exists.code()), (409, "BlobAlreadyExists"));
    assert_eq!(client.send(Method::PUT, "/box/b", &new_only, "y").await.status, 201);
    let same = client.send(Method::GET, "/box/a", &[("if-none-match", &etag)], "").await;
    assert_eq!((same.status.as_u16(), same.body.len()), (304, 0));
    client.put("a", "z").await;
    let changed = client.send(Method::GET, "/box/a", &[("if-match", &etag)], "").await;
    assert_eq!((changed.status.as_u16(), changed.code()), (412, "ConditionNotMet"));
    let delete = client.send(Method::DELETE, "/box/a", &[("if-match", &etag)], "").await;
    assert_eq!(delete.status, 412);
    assert_eq!(client.send(Method::DELETE, "/box/a", &[], "").await.status, 202);
}

#[tokio::test]
async fn lists_come_in_pages() {
    let (_emulator, mut client) = memory().await;
    for name in ["a/1", "a/2", "b%26%3C", "c/1"] {
        client.put(name, "x").await;
    }
    let first = client.get("/box?restype=container&comp=list&delimiter=/&maxresults=2").await;
    assert!(
        first.text().contains("<BlobPrefix><Name>a/</Name></BlobPrefix><Blob><Name>b&amp;&lt;</Name>"),
        "{}",
        first.text()
    );
    let marker = first.text().split("<NextMarker>").nth(1).unwrap().split('<').next().unwrap();
    let path = format!(
        "/box?restype=container&comp=list&delimiter=/&maxresults=2&marker={}",
        marker.replace('=', "%3D")
    );
    let second = client.get(&path).await;
    assert!(
        second.text().contains("<Blobs><BlobPrefix><Name>c/</Name></BlobPrefix></Blobs><NextMarker />"),
        "{}",
        second.text()
    );
    assert_eq!(
        client.get("/box?restype=container&comp=list&maxresults=0").await.code(),
        "OutOfRangeQueryParameterValue"
    );
    assert_eq!(client.get("/none?restype=container&comp=list").await.code(), "ContainerNotFound");
}

#[tokio::test]
async fn what_is_not_known_is_refused_in_the_services_words() {
    let (_emulator, mut client) = memory().await;
    let odd = client.send(Method::PUT, "/box/a?comp=lease", &[], "").await;
    assert_eq!((odd.status.as_u16(), odd.code()), (501, "NotImplemented"));
    assert!(
        odd.text()
            .starts_with("<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>NotImplemented</Code>")
    );
    let again = client.send(Method::PUT, "/box?restype=container", &[], "").await;
    assert_eq!((again.status.as_u16(), again.code()), (409, "ContainerAlreadyExists"));
    let page = client.send(Method::PUT, "/box/a", &[("x-ms-blob-type", "PageBlob")], "").await;
    assert_eq!(page.status, 501);
}

#[tokio::test]
async fn the_null_store_gives_back_a_pattern_by_position() {
    let emulator = serve(|config| (config.store, config.seed) = (StoreKind::Null, 9)).await;
    let mut client = Client::connect(&emulator).await;
    client.make_container().await;
    client.put("a", vec![0; 3_000_000]).await;
    let whole = client.get("/box/a").await.body;
    assert_eq!(whole.len(), 3_000_000);
    let range = [("range", "bytes=2097152-2097251")];
    let part = client.send(Method::GET, "/box/a", &range, "").await.body;
    assert_eq!(part, whole[2_097_152..2_097_252]);
    assert_ne!(part, whole[1_048_576..1_048_676], "blocks of one size must differ");
}
