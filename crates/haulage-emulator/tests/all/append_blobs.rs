//! Append blobs, asked for over the wire.

use haulage::checksum::Crc64;
use haulage_emulator::StoreKind;
use http::Method;

use crate::support::{Answer, Client, memory, serve};

const APPEND_BLOB: (&str, &str) = ("x-ms-blob-type", "AppendBlob");
const POSITION: &str = "x-ms-blob-condition-appendpos";
const VERSION: (&str, &str) = ("x-ms-version", "2025-01-05");

async fn create(client: &mut Client, name: &str) -> Answer {
    client.send(Method::PUT, &format!("/box/{name}"), &[APPEND_BLOB], "").await
}

async fn append(client: &mut Client, name: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    client.send(Method::PUT, &format!("/box/{name}?comp=appendblock"), headers, body.to_owned()).await
}

fn refused(answer: &Answer) -> (u16, &str) {
    (answer.status.as_u16(), answer.code())
}

#[tokio::test]
async fn blocks_are_added_one_after_another() {
    let (_emulator, mut client) = memory().await;
    assert_eq!(refused(&append(&mut client, "log", &[], "x").await), (404, "BlobNotFound"));
    assert_eq!(create(&mut client, "log").await.status, 201);
    for (number, (offset, text)) in [("0", "one "), ("4", "two "), ("8", "three")].into_iter().enumerate() {
        let added = append(&mut client, "log", &[(POSITION, offset)], text).await;
        assert_eq!(added.status, 201, "{}", added.text());
        assert_eq!(added.header("x-ms-blob-append-offset"), offset);
        assert_eq!(added.header("x-ms-blob-committed-block-count"), (number + 1).to_string());
        assert_eq!(added.header("x-ms-content-crc64"), Crc64::of(text.as_bytes()).to_azure());
    }
    let got = client.get("/box/log").await;
    assert_eq!((got.text(), got.header("x-ms-blob-type")), ("one two three", "AppendBlob"));
    assert_eq!(got.header("x-ms-blob-committed-block-count"), "3");
    let part = client.send(Method::GET, "/box/log", &[("range", "bytes=2-8")], "").await;
    assert_eq!(part.text(), "e two t");
    let list = client.get("/box?restype=container&comp=list").await;
    assert!(list.text().contains("<BlobType>AppendBlob</BlobType>"), "{}", list.text());
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_adds_nothing() {
    let (_emulator, mut client) = memory().await;
    assert_eq!(client.send(Method::PUT, "/box/log", &[APPEND_BLOB], "x").await.code(), "InvalidOperation");
    create(&mut client, "log").await;
    let first = append(&mut client, "log", &[], "first").await;
    let etag = first.header("etag").to_owned();
    let wrong = Crc64::of(b"other").to_azure();
    let odd = append(&mut client, "log", &[("x-ms-content-crc64", &wrong)], "more").await;
    assert_eq!(refused(&odd), (400, "Crc64Mismatch"));
    for (header, value, body, expected) in [
        (POSITION, "4", "more", (412, "AppendPositionConditionNotMet")),
        (POSITION, "6", "more", (412, "AppendPositionConditionNotMet")),
        (POSITION, "five", "more", (400, "InvalidHeaderValue")),
        ("x-ms-blob-condition-maxsize", "8", "more", (412, "MaxBlobSizeConditionNotMet")),
        ("if-match", "\"0x1\"", "more", (412, "ConditionNotMet")),
        (POSITION, "5", "", (400, "InvalidHeaderValue")),
    ] {
        let answer = append(&mut client, "log", &[(header, value)], body).await;
        assert_eq!(refused(&answer), expected, "{header}: {value}");
    }
    let head = client.send(Method::HEAD, "/box/log", &[], "").await;
    assert_eq!((head.header("content-length"), head.header("etag")), ("5", &*etag));
    let fits = [("x-ms-blob-condition-maxsize", "9"), ("if-match", &etag)];
    assert_eq!(append(&mut client, "log", &fits, "more").await.status, 201);
    let large = "x".repeat((4 << 20) + 1);
    let before = append(&mut client, "log", &[("x-ms-version", "2021-12-02")], &large).await;
    assert_eq!(refused(&before), (413, "RequestBodyTooLarge"));
    assert_eq!(append(&mut client, "log", &[VERSION], &large).await.status, 201);
}

#[tokio::test]
async fn kinds_of_blobs_do_not_mix() {
    let (_emulator, mut client) = memory().await;
    create(&mut client, "log").await;
    client.put("plain", "plain").await;
    let wrong = (409, "InvalidBlobType");
    assert_eq!(refused(&append(&mut client, "plain", &[], "x").await), wrong);
    assert_eq!(refused(&client.put_block("log", "QUFB", "x").await), wrong);
    assert_eq!(refused(&client.commit("log", &[]).await), wrong);
    assert_eq!(refused(&client.get("/box/log?comp=blocklist").await), wrong);
    let tier = [("x-ms-access-tier", "Cool")];
    assert_eq!(refused(&client.send(Method::PUT, "/box/log?comp=tier", &tier, "").await), wrong);
    let source = [("x-ms-copy-source", "http://localhost/devstoreaccount1/box/plain")];
    assert_eq!(refused(&client.send(Method::PUT, "/box/log", &source, "").await), wrong);
    // One takes the place of the other all the same.
    client.put("log", "now a block blob").await;
    assert_eq!(client.get("/box/log").await.header("x-ms-blob-type"), "BlockBlob");
}

#[tokio::test]
async fn a_sealed_blob_grows_no_more() {
    let (_emulator, mut client) = memory().await;
    create(&mut client, "log").await;
    append(&mut client, "log", &[], "all").await;
    let seal = async |client: &mut Client, position| {
        client.send(Method::PUT, "/box/log?comp=seal", &[(POSITION, position)], "").await
    };
    assert_eq!(refused(&seal(&mut client, "2").await), (412, "AppendPositionConditionNotMet"));
    let sealed = seal(&mut client, "3").await;
    assert_eq!((sealed.status.as_u16(), sealed.header("x-ms-blob-sealed")), (200, "true"));
    let again = seal(&mut client, "3").await;
    assert_eq!((again.status.as_u16(), again.header("etag")), (200, sealed.header("etag")));
    assert_eq!(refused(&append(&mut client, "log", &[], "x").await), (409, "BlobIsSealed"));
    assert_eq!(client.get("/box/log").await.header("x-ms-blob-sealed"), "true");
    assert!(client.get("/box?restype=container&comp=list").await.text().contains("<Sealed>true</Sealed>"));
    assert_eq!(client.send(Method::DELETE, "/box/log", &[], "").await.status, 202);
}

#[tokio::test]
async fn a_stretch_of_another_blob_is_added() {
    let (emulator, mut client) = memory().await;
    client.put("plain", "0123456789").await;
    create(&mut client, "log").await;
    let source = format!("{}/box/plain?{}", emulator.endpoint(), sas(&emulator));
    let headers = [("x-ms-copy-source", &*source), ("x-ms-source-range", "bytes=2-5")];
    let added = append(&mut client, "log", &headers, "").await;
    assert_eq!(
        (added.status.as_u16(), added.header("x-ms-blob-append-offset")),
        (201, "0"),
        "{}",
        added.text()
    );
    assert_eq!(append(&mut client, "log", &[], "!").await.status, 201);
    assert_eq!(client.get("/box/log").await.text(), "2345!");
}

fn sas(emulator: &haulage_emulator::Emulator) -> String {
    emulator.sas("r", std::time::SystemTime::now() + std::time::Duration::from_secs(600))
}

#[tokio::test]
async fn many_small_blocks_become_few_pieces_and_stay_whole() {
    let (_emulator, mut client) = memory().await;
    create(&mut client, "log").await;
    let line = |number: usize| format!("{number:07}\n").repeat(1 + number % 300);
    for number in 0..700 {
        assert_eq!(append(&mut client, "log", &[], &line(number)).await.status, 201);
    }
    let whole: String = (0..700).map(line).collect();
    assert!(client.get("/box/log").await.body == whole.as_bytes());
    let range = [("range", "bytes=262140-262150")];
    assert_eq!(client.send(Method::GET, "/box/log", &range, "").await.text(), &whole[262_140..=262_150]);
}

#[tokio::test]
async fn a_directory_keeps_them_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = StoreKind::Directory(folder.path().to_owned());
    {
        let emulator = serve(|config| config.store = store.clone()).await;
        let mut client = Client::connect(&emulator).await;
        client.make_container().await;
        create(&mut client, "runs/log").await;
        append(&mut client, "runs/log", &[], "before ").await;
    }
    assert_eq!(std::fs::read(folder.path().join("box/runs/log")).unwrap(), b"before ");
    let emulator = serve(|config| config.store = store).await;
    let mut client = Client::connect(&emulator).await;
    let added = append(&mut client, "runs/log", &[(POSITION, "7")], "after").await;
    assert_eq!((added.status.as_u16(), added.header("x-ms-blob-committed-block-count")), (201, "2"));
    assert_eq!(client.get("/box/runs/log").await.text(), "before after");
}
