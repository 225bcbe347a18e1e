//! Faults strike as often as told, in their own way, and are counted.

use std::time::Duration;

use haulage::checksum::Crc64;
use haulage_emulator::{Emulator, FaultSpec, StoreKind};
use http::Method;
use tokio::time::Instant;

use crate::support::{Client, serve};

async fn faulty(spec: &str) -> (Emulator, Client) {
    let faults: FaultSpec = spec.parse().unwrap();
    let emulator = serve(|config| (config.store, config.faults) = (StoreKind::Memory, faults)).await;
    let mut client = Client::connect(&emulator).await;
    client.make_container().await;
    (emulator, client)
}

/// Which of 200 uploads failed, and with which code.
async fn run(spec: &str) -> Vec<String> {
    let (emulator, mut client) = faulty(spec).await;
    let crc64 = Crc64::of(b"some bytes").to_azure();
    let headers = [("x-ms-blob-type", "BlockBlob"), ("x-ms-content-crc64", &*crc64)];
    let mut codes = Vec::new();
    for _ in 0..200 {
        match client.try_send(Method::PUT, "/box/a", &headers, "some bytes").await {
            Ok(answer) => codes.push(answer.code().to_owned()),
            Err(_) => {
                codes.push("broken".to_owned());
                client = Client::connect(&emulator).await;
            }
        }
    }
    let count = |code: &str| codes.iter().filter(|found| *found == code).count() as u64;
    let faults = emulator.stats().faults;
    assert_eq!(
        (faults.busy, faults.cut, faults.flip),
        (count("ServerBusy"), count("broken"), count("Crc64Mismatch"))
    );
    codes
}

#[tokio::test]
async fn the_same_seed_meets_the_same_faults() {
    let first = run("busy=10%,cut=10%,flip=10%,seed=3").await;
    for code in ["ServerBusy", "broken", "Crc64Mismatch", ""] {
        assert!(first.iter().any(|found| found == code), "no {code:?} in 200 requests");
    }
    assert_eq!(first, run("busy=10%,cut=10%,flip=10%,seed=3").await);
    assert_ne!(first, run("busy=10%,cut=10%,flip=10%,seed=4").await);
}

#[tokio::test]
async fn busy_may_say_when_to_come_back() {
    let (_emulator, mut client) = faulty("busy=100%").await;
    let mut waits = Vec::new();
    for _ in 0..20 {
        let path = "/box?restype=container&comp=list";
        let answer = client.get(path).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (503, "ServerBusy"));
        waits.push(answer.header("retry-after").to_owned());
    }
    assert!(waits.contains(&"1".to_owned()) && waits.contains(&String::new()), "{waits:?}");
}

#[tokio::test]
async fn downloads_are_flipped_in_one_bit_after_their_checksum() {
    let (emulator, mut client) = faulty("flip=100%,seed=1").await;
    // Flipped on its way in, unnoticed for want of a checksum, and again on its way out.
    client.put("a", vec![0; 100_000]).await;
    let headers = [("range", "bytes=0-99999"), ("x-ms-range-get-content-crc64", "true")];
    let got = client.send(Method::GET, "/box/a", &headers, "").await;
    assert_ne!(got.header("x-ms-content-crc64"), Crc64::of(&got.body).to_azure());
    assert_eq!(got.body.iter().map(|byte| byte.count_ones()).sum::<u32>(), 2);
    assert_eq!(emulator.stats().faults.flip, 2);
    let list = client.get("/box?restype=container&comp=list").await;
    assert_eq!((list.status.as_u16(), emulator.stats().faults.flip), (200, 2));
}

#[tokio::test]
async fn cuts_reset_the_connection_in_the_midst() {
    let (emulator, mut client) = faulty("cut=100%").await;
    let broken =
        client.try_send(Method::PUT, "/box/a", &[("x-ms-blob-type", "BlockBlob")], vec![1; 1 << 20]).await;
    assert!(broken.is_err());
    assert_eq!(emulator.stats().faults.cut, 1);
}

#[tokio::test]
async fn stalls_last_until_the_client_gives_up() {
    let (emulator, mut client) = faulty("stall=100%").await;
    let put = client.try_send(Method::PUT, "/box/a", &[("x-ms-blob-type", "BlockBlob")], vec![1; 1 << 20]);
    assert!(tokio::time::timeout(Duration::from_millis(300), put).await.is_err());
    assert_eq!(emulator.stats().faults.stall, 1);
    tokio::time::pause();
    let began = Instant::now();
    emulator.shutdown().await;
    assert!(began.elapsed() < Duration::from_secs(2), "a stalled connection held up the end");
}

#[tokio::test]
async fn a_lost_answer_has_had_its_effect() {
    let (emulator, mut client) = faulty("lost=100%").await;
    let put = client.try_send(Method::PUT, "/box/a", &[("x-ms-blob-type", "BlockBlob")], "bytes").await;
    assert!(put.is_err());
    assert_eq!(emulator.stats().faults.lost, 1);
    let mut client = Client::connect(&emulator).await;
    let head = client.send(Method::HEAD, "/box/a", &[], "").await;
    assert_eq!((head.status.as_u16(), head.header("content-length")), (200, "5"));
}

#[tokio::test]
async fn a_truncated_body_is_shorter_than_its_length() {
    let (emulator, mut client) = faulty("truncate=100%").await;
    client.put("a", vec![7; 1 << 20]).await;
    assert!(client.try_send(Method::GET, "/box/a", &[], "").await.is_err());
    assert_eq!(emulator.stats().faults.truncate, 1, "an upload has no answer to cut short");
}

#[tokio::test]
async fn a_short_answer_says_so() {
    let (emulator, mut client) = faulty("short=100%").await;
    client.put("a", vec![7; 1 << 20]).await;
    let got = client.send(Method::GET, "/box/a", &[], "").await;
    assert!(got.body.len() < 1 << 20);
    assert_eq!(got.header("content-length"), got.body.len().to_string());
    assert_eq!(emulator.stats().faults.short, 1);
}

#[tokio::test]
async fn a_wrong_checksum_is_stated_for_right_bytes() {
    let (emulator, mut client) = faulty("checksum=100%").await;
    client.put("a", vec![7; 1000]).await;
    let headers = [("range", "bytes=0-999"), ("x-ms-range-get-content-crc64", "true")];
    let got = client.send(Method::GET, "/box/a", &headers, "").await;
    assert_eq!(got.body, vec![7; 1000]);
    assert_ne!(got.header("x-ms-content-crc64"), Crc64::of(&got.body).to_azure());
    assert!(emulator.stats().faults.checksum > 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_service_takes_its_time() {
    let (_emulator, mut client) = faulty("commit=60ms,serial=20ms").await;
    let began = Instant::now();
    client.put("a", vec![7; 1000]).await;
    assert!((80..90).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    let began = Instant::now();
    client.get("/box/a").await;
    assert!((20..30).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
}
