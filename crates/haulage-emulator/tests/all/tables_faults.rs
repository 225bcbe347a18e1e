//! Faults strike requests for tables as they strike those for blobs.

use std::time::Duration;

use haulage_emulator::{Emulator, StoreKind};
use http::{Method, StatusCode};

use crate::support::tables::{JSON, tables};
use crate::support::{Client, serve};

/// Sends inserts until one meets the fault; which.
async fn until_broken(emulator: &Emulator, client: &mut Client) -> usize {
    for row in 0..100 {
        let body =
            format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row:03}\",\"A\":\"{}\"}}", "x".repeat(1000));
        let headers = [JSON, ("content-type", "application/json")];
        let sent = client.try_send(Method::POST, "/People", &headers, body);
        match tokio::time::timeout(Duration::from_secs(1), sent).await {
            Ok(Ok(answer)) if answer.status == StatusCode::CREATED => {}
            Ok(Ok(answer)) => assert_eq!(answer.refusal(), (503, "ServerBusy")),
            Ok(Err(_)) | Err(_) => {
                *client = Client::connect(emulator).await;
                return row;
            }
        }
    }
    panic!("nothing broke");
}

#[tokio::test]
async fn an_answer_may_be_lost_after_the_change_was_made() {
    let (emulator, mut client) = tables("lost=20%,seed=3").await;
    let row = until_broken(&emulator, &mut client).await;
    assert_eq!((emulator.stats().faults.lost, emulator.stats().rows_written), (1, row as u64 + 1));
    let again = client.insert("p", &format!("{row:03}"), "").await;
    assert_eq!(again.refusal(), (409, "EntityAlreadyExists"));
}

#[tokio::test]
async fn a_change_may_be_cut_before_it_is_made() {
    for fault in ["cut=20%,seed=3", "stall=20%,seed=3"] {
        let (emulator, mut client) = tables(fault).await;
        let row = until_broken(&emulator, &mut client).await;
        assert_eq!(emulator.stats().rows_written, row as u64, "{fault}");
    }
}

#[tokio::test]
async fn pages_are_busy_or_cut_short() {
    let (emulator, mut client) = tables("busy=100%").await;
    let busy = client.insert("p", "r", "").await;
    assert_eq!(busy.refusal(), (503, "ServerBusy"));
    assert_eq!(busy.json()["odata.error"]["code"], "ServerBusy");
    assert_eq!(emulator.stats().rows_written, 0);

    let (emulator, mut client) = tables("truncate=100%").await;
    assert_eq!(
        client.insert("p", "r", &format!("\"A\":\"{}\"", "x".repeat(30_000))).await.status,
        StatusCode::CREATED
    );
    assert!(client.try_send(Method::GET, "/People()", &[JSON], "").await.is_err());
    assert_eq!(emulator.stats().faults.truncate, 1);
}

#[tokio::test]
async fn a_bounded_service_refuses_what_is_too_much() {
    let (emulator, mut client) = tables("rate=20").await;
    let mut refused = 0;
    for row in 0..60 {
        refused += usize::from(
            client.insert("p", &row.to_string(), "").await.status == StatusCode::SERVICE_UNAVAILABLE,
        );
    }
    assert!(refused > 10, "{refused} of 60");
    assert_eq!(emulator.stats().faults.busy, refused as u64);
}

#[tokio::test]
async fn blobs_and_tables_share_an_address() {
    let folder = tempfile::tempdir().unwrap();
    for store in [StoreKind::Memory, StoreKind::Null, StoreKind::Directory(folder.path().into())] {
        let emulator = serve(|config| config.store = store).await;
        let mut client = Client::connect(&emulator).await;
        client.make_container().await;
        client.put("People", "blob").await;
        assert_eq!(client.make_table("People").await.status, StatusCode::CREATED);
        assert_eq!(client.insert("p", "r", "").await.status, StatusCode::CREATED);
        assert_eq!(client.entity("p", "r").await.status, StatusCode::OK);
        assert_eq!(client.get("/box?restype=container&comp=list").await.status, StatusCode::OK);
        assert_eq!(client.get("/?restype=service&comp=properties").await.status, StatusCode::OK);
        let stats = emulator.stats();
        assert_eq!((stats.requests("PutBlob"), stats.requests("ServiceProperties")), (1, 1));
        assert!(emulator.connection_string().contains(&format!("TableEndpoint={};", emulator.endpoint())));
    }
}
