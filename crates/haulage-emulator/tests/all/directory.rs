//! The directory store: plain files, awkward names, and a restart.

use std::fs;
use std::path::Path;

use haulage_emulator::{Emulator, StoreKind};
use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::support::{Client, serve};

const NAMES: [&str; 14] = [
    "plain.nc",
    "with space",
    "a#?%+:b",
    "ünï/☃",
    ".hidden",
    "dots...",
    "trailing/",
    "/leading",
    "a//b",
    "../../escape",
    "..",
    "%2e%2e/x",
    "x",
    "x/y",
];

async fn open(directory: &Path) -> (Emulator, Client) {
    let store = StoreKind::Directory(directory.to_owned());
    let emulator = serve(|config| config.store = store).await;
    let client = Client::connect(&emulator).await;
    (emulator, client)
}

fn escaped(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}

#[tokio::test]
async fn everything_survives_a_restart() {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("store");
    let (emulator, mut client) = open(&root).await;
    client.make_container().await;
    let long = "é/".repeat(200) + &"y".repeat(300);
    for name in NAMES.into_iter().chain([&*long]) {
        client.put(&escaped(name), name.to_owned()).await;
    }
    let headers = [("x-ms-meta-k", "v")];
    client.send(Method::PUT, "/box/plain%2Enc?comp=metadata", &headers, "").await;
    client.put_block("blocks", "QUFB", vec![1; 2_500_000]).await;
    client.put_block("blocks", "QkIv", "tail").await;
    let etag = client.send(Method::HEAD, "/box/plain%2Enc", &[], "").await.header("etag").to_owned();
    emulator.shutdown().await;

    assert_eq!(fs::read_to_string(root.join("box/plain.nc")).unwrap(), "plain.nc");
    let beside: Vec<_> =
        fs::read_dir(outside.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside, ["store"], "a name escaped");

    let (_emulator, mut client) = open(&root).await;
    for name in NAMES.into_iter().chain([&*long]) {
        let got = client.get(&format!("/box/{}", escaped(name))).await;
        assert_eq!(got.text(), name);
    }
    let list = client.get("/box?restype=container&comp=list").await;
    assert_eq!(list.text().matches("<Blob>").count(), NAMES.len() + 1);
    let head = client.send(Method::HEAD, "/box/plain%2Enc", &[], "").await;
    assert_eq!((head.header("etag"), head.header("x-ms-meta-k")), (&*etag, "v"));
    let committed = client.commit("blocks", &[("Uncommitted", "QUFB"), ("Uncommitted", "QkIv")]).await;
    assert_eq!(committed.status, 201);
    let tail = client.send(Method::GET, "/box/blocks", &[("range", "bytes=2499999-")], "").await;
    assert_eq!(&tail.body[..], b"\x01tail");
}

#[tokio::test]
async fn files_put_there_by_hand_are_served() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("photos/2026")).unwrap();
    fs::write(directory.path().join("photos/2026/a b.jpg"), "bytes").unwrap();
    let (_emulator, mut client) = open(directory.path()).await;
    assert_eq!(client.get("/photos/2026/a%20b.jpg").await.text(), "bytes");
}

#[tokio::test]
async fn deleting_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let (_emulator, mut client) = open(directory.path()).await;
    client.make_container().await;
    client.put("a/b/c", "x").await;
    client.put_block("a/b/c", "QUFB", "y").await;
    assert_eq!(client.send(Method::DELETE, "/box/a/b/c", &[], "").await.status, 202);
    assert!(!directory.path().join("box/a").exists());
    assert_eq!(client.send(Method::DELETE, "/box?restype=container", &[], "").await.status, 202);
    assert!(!directory.path().join("box").exists());
    assert_eq!(client.get("/box/a/b/c").await.code(), "ContainerNotFound");
}
