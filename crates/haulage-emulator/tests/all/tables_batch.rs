//! Transactions: together or not at all.

use http::{Method, StatusCode};

use crate::support::tables::{JSON, tables};

fn insert(partition: &str, row: &str) -> (&'static str, String, &'static str, String) {
    let body = format!("{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\",\"A\":1}}");
    ("POST", "/People".to_owned(), "", body)
}

fn change(
    method: &'static str,
    row: &str,
    headers: &'static str,
    body: &str,
) -> (&'static str, String, &'static str, String) {
    (method, format!("/People(PartitionKey='p',RowKey='{row}')"), headers, body.to_owned())
}

#[tokio::test]
async fn changes_are_done_together() {
    let (emulator, mut client) = tables("").await;
    client.insert("p", "old", "\"A\":1").await;
    client.insert("p", "gone", "").await;
    let done = client
        .transaction(&[
            insert("p", "new"),
            change("MERGE", "old", "", "{\"B\":2}"),
            change("PUT", "other", "", "{\"C\":3}"),
            change("DELETE", "gone", "If-Match: *\r\n", ""),
        ])
        .await;
    assert_eq!(done.status, StatusCode::ACCEPTED);
    assert!(done.header("content-type").starts_with("multipart/mixed; boundary=batchresponse_"));
    assert_eq!(done.text().matches("HTTP/1.1 204 No Content").count(), 3, "{}", done.text());
    assert_eq!(done.text().matches("HTTP/1.1 201 Created").count(), 1);
    assert_eq!(done.text().matches("ETag: W/\"datetime'").count(), 3);
    let (keys, _) = client.all("").await;
    assert_eq!(keys, ["p/new", "p/old", "p/other"]);
    assert_eq!(client.entity("p", "old").await.json()["B"], 2);
    assert_eq!((emulator.stats().requests("EntityGroupTransaction"), emulator.stats().rows_written), (1, 6));
}

#[tokio::test]
async fn one_failure_undoes_all() {
    let (_emulator, mut client) = tables("").await;
    client.insert("p", "old", "\"A\":1").await;
    let before = client.entity("p", "old").await;
    let mut hundred: Vec<_> = (0..100).map(|n| insert("p", &format!("{n:03}"))).collect();
    hundred.push(insert("p", "more"));
    for (changes, index, status, code) in [
        (
            vec![insert("p", "new"), change("PUT", "old", "", "{}"), insert("p", "x"), insert("p", "x")],
            3,
            400,
            "InvalidDuplicateRow",
        ),
        (
            vec![
                change("DELETE", "old", "If-Match: *\r\n", ""),
                change("MERGE", "none", "If-Match: *\r\n", "{}"),
            ],
            1,
            404,
            "ResourceNotFound",
        ),
        (
            vec![
                change("MERGE", "old", "", "{\"A\":2}"),
                insert("p", "new"),
                change("PUT", "new2", "If-Match: *\r\n", "{}"),
            ],
            2,
            404,
            "ResourceNotFound",
        ),
        (vec![insert("p", "new"), insert("q", "new")], 1, 400, "CommandsInBatchActOnDifferentPartitions"),
        (vec![insert("p", "new"), insert("p", "old")], 1, 409, "EntityAlreadyExists"),
        (vec![insert("p", "new"), insert("p", "a/b")], 1, 400, "OutOfRangeInput"),
        (hundred, 99, 400, "InvalidInput"),
    ] {
        let failed = client.transaction(&changes).await;
        assert_eq!(failed.status, StatusCode::ACCEPTED);
        let text = failed.text();
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{text}");
        assert!(text.contains(&format!("HTTP/1.1 {status} ")), "{text}");
        assert!(text.contains(&format!("\"code\":\"{code}\"")), "{text}");
        assert!(text.contains(&format!("\"value\":\"{index}:")), "{text}");
        assert_eq!(client.all("").await.0, ["p/old"]);
        assert_eq!(client.entity("p", "old").await.json(), before.json());
    }
    let hundred: Vec<_> = (0..100).map(|n| insert("p", &format!("{n:03}"))).collect();
    client.transaction(&hundred).await;
    assert_eq!(client.all("").await.0.len(), 101);
}

#[tokio::test]
async fn a_batch_may_be_one_query() {
    let (_emulator, mut client) = tables("").await;
    client.insert("p", "r", "\"A\":1").await;
    let kind = ("content-type", "multipart/mixed; boundary=b");
    for (path, expected) in [
        ("People()?$filter=A%20eq%201", "\"RowKey\":\"r\""),
        ("People(PartitionKey='p',RowKey='r')", "\"A\":1"),
        ("People(PartitionKey='p',RowKey='s')", "HTTP/1.1 404 Not Found"),
    ] {
        let body = format!(
            "--b\r\nContent-Type: application/http\r\n\r\nGET http://localhost/devstoreaccount1/{path} HTTP/1.1\r\n\
             Accept: application/json;odata=nometadata\r\n\r\n\r\n--b--\r\n"
        );
        let got = client.send(Method::POST, "/$batch", &[JSON, kind], body).await;
        assert_eq!(got.status, StatusCode::ACCEPTED);
        assert!(got.text().contains(expected), "{}", got.text());
    }
    for body in ["", "--b--\r\n", "--b\r\n\r\n--b--\r\n", "nonsense"] {
        let refused = client.send(Method::POST, "/$batch", &[JSON, kind], body).await;
        assert_eq!(refused.refusal(), (400, "InvalidInput"), "{body}");
    }
}
