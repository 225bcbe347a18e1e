//! The link keeps the rates and round trips that it is told.

use std::time::Duration;

use haulage_emulator::{Emulator, StoreKind};
use http::Method;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::support::{Client, serve};

async fn over(link: &str) -> Emulator {
    let link = link.parse().unwrap();
    serve(|config| (config.store, config.link) = (StoreKind::Null, link)).await
}

/// Uploads `blocks` blocks of `len` bytes on each of `connections`; how long it took, without
/// setting up.
async fn upload(emulator: &Emulator, connections: usize, blocks: usize, len: usize) -> Duration {
    let mut clients = Vec::new();
    for _ in 0..connections {
        let mut client = Client::connect(emulator).await;
        client.send(Method::PUT, "/box?restype=container", &[], "").await;
        clients.push(client);
    }
    let body = bytes::Bytes::from(vec![7; len]);
    let mut work = JoinSet::new();
    let began = Instant::now();
    for mut client in clients {
        let body = body.clone();
        work.spawn(async move {
            for _ in 0..blocks {
                assert_eq!(client.put_block("a", "QUFB", body.clone()).await.status, 201);
            }
        });
    }
    while let Some(done) = work.join_next().await {
        done.unwrap();
    }
    began.elapsed()
}

/// How far, in percent, the rate is from what it should be.
fn error(bytes: usize, took: Duration, bits_per_second: f64) -> f64 {
    (bytes as f64 * 8.0 / took.as_secs_f64() / bits_per_second - 1.0) * 100.0
}

/// The clock stands still while anything can be done, so that what is left is what the link takes.
fn assert_accurate(what: &str, error: f64) {
    assert!(error.abs() < 2.0, "{what}: off by {error:+.2} %");
}

#[tokio::test(start_paused = true)]
async fn the_total_is_kept_from_5_to_500_mbit() {
    for (spec, bits, connections, len) in [
        ("total=5mbit", 5e6, 4, 250_000),
        ("total=50mbit", 50e6, 4, 2_500_000),
        ("total=500mbit", 500e6, 8, 6_250_000),
    ] {
        let emulator = over(spec).await;
        let took = upload(&emulator, connections, 1, len).await;
        assert_accurate(spec, error(connections * len, took, bits));
    }
}

#[tokio::test(start_paused = true)]
async fn each_connection_has_its_own_rate() {
    let emulator = over("conn=20mbit").await;
    let took = upload(&emulator, 3, 2, 2_500_000).await;
    assert_accurate("conn=20mbit", error(2 * 2_500_000, took, 20e6));
}

#[tokio::test(start_paused = true)]
async fn downloads_are_shaped_too() {
    let emulator = over("total=80mbit").await;
    let mut client = Client::connect(&emulator).await;
    client.make_container().await;
    client.put("a", vec![0; 10_000_000]).await;
    let began = Instant::now();
    assert_eq!(client.get("/box/a").await.body.len(), 10_000_000);
    assert_accurate("download", error(10_000_000, began.elapsed(), 80e6));
}

#[tokio::test(start_paused = true)]
async fn a_round_trip_is_paid_for_the_connection_and_for_each_answer() {
    let emulator = over("rtt=50ms").await;
    let began = Instant::now();
    let mut client = Client::connect(&emulator).await;
    client.make_container().await;
    let first = began.elapsed().as_millis();
    assert!((100..110).contains(&first), "{first} ms for connecting and one request");
    let began = Instant::now();
    for _ in 0..4 {
        client.put("a", "abc").await;
    }
    let four = began.elapsed().as_millis();
    assert!((200..220).contains(&four), "{four} ms for four requests");
}

#[tokio::test(start_paused = true)]
async fn the_link_changes_on_time() {
    // One second at 40 Mbit/s is 5 MB; the other 2.5 MB take one second at 20 Mbit/s. At a much lower rate the 10 ms of the past that
    // a pipe may make up for would weigh more than what is measured.
    let emulator = over("total=40mbit,at=1s:total=20mbit").await;
    let took = upload(&emulator, 2, 1, 3_750_000).await;
    // The set-up of the connections, which starts the count, is part of the first second.
    assert_accurate("2 s worth", (took.as_secs_f64() / 2.0 - 1.0) * 100.0);
}
