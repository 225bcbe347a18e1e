//! Queries of tables: filters, selections, pages, and how much of a table they read.

use haulage_emulator::Emulator;
use http::Method;
use serde_json::json;

use crate::support::Client;
use crate::support::tables::{JSON, PLAIN, escaped, tables};

/// `count` entities in each of the partitions a, b and c; `N` counts through all.
async fn filled(faults: &str, count: usize) -> (Emulator, Client) {
    let (emulator, mut client) = tables(faults).await;
    for (index, partition) in ["a", "b", "c"].into_iter().enumerate() {
        let rows: Vec<usize> = (0..count).collect();
        for some in rows.chunks(100) {
            let changes: Vec<_> = some
                .iter()
                .map(|row| {
                    let n = index * count + row;
                    let body =
                        format!("{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row:04}\",\"N\":{n},\"T\":\"t{n}\"}}");
                    ("POST", "/People".to_owned(), "Prefer: return-no-content\r\n", body)
                })
                .collect();
            let done = client.transaction(&changes).await;
            assert!(done.text().matches("204 No Content").count() == some.len(), "{}", done.text());
        }
    }
    (emulator, client)
}

#[tokio::test]
async fn pages_hold_a_thousand_and_go_on() {
    let (emulator, mut client) = filled("", 800).await;
    let (keys, pages) = client.all("").await;
    assert_eq!(pages, [1000, 1000, 400]);
    assert_eq!((keys.len(), &*keys[0], &*keys[2399]), (2400, "a/0000", "c/0799"));
    assert!(keys.is_sorted());
    assert_eq!((emulator.stats().rows_read, emulator.stats().rows_returned), (2400, 2400));
    let (again, pages) = client.all("$top=700&$filter=N ge 100").await;
    assert_eq!((again.len(), pages), (2300, vec![700, 700, 700, 200]));
    assert_eq!(again, keys[100..]);
    for bad in ["$top=0", "$top=1001", "$top=x", "NextPartitionKey=a"] {
        let refused = client.send(Method::GET, &format!("/People()?{bad}"), &[PLAIN], "").await;
        assert_eq!(refused.refusal(), (400, "InvalidInput"), "{bad}");
    }
}

#[tokio::test]
async fn bounds_on_keys_are_sought() {
    let (emulator, mut client) = filled("", 800).await;
    for (filter, read, returned) in [
        ("PartitionKey eq 'b' and RowKey eq '0007'", 1, 1),
        ("PartitionKey eq 'b'", 800, 800),
        ("PartitionKey eq 'b' and RowKey ge '0100' and RowKey lt '0200'", 100, 100),
        ("PartitionKey eq 'b' and RowKey ge '0100' and N lt 950", 700, 50),
        ("PartitionKey gt 'a' and PartitionKey lt 'c'", 800, 800),
        ("PartitionKey ge 'b'", 1600, 1600),
        ("RowKey eq '0007'", 2400, 3),
        ("PartitionKey eq 'a' or PartitionKey eq 'c'", 2400, 1600),
        ("not (PartitionKey ne 'b')", 2400, 800),
        ("PartitionKey eq 'd'", 0, 0),
        ("PartitionKey gt 'b' and PartitionKey lt 'a'", 0, 0),
        ("T eq 't7' and Missing eq 1", 2400, 0),
    ] {
        let before = emulator.stats();
        let (keys, _) = client.all(&format!("$filter={filter}")).await;
        let after = emulator.stats();
        assert_eq!(
            (after.rows_read - before.rows_read, after.rows_returned - before.rows_returned, keys.len()),
            (read, returned, returned as usize),
            "{filter}"
        );
    }
    let refused = client.send(Method::GET, "/People()?$filter=N%20is%201", &[PLAIN], "").await;
    assert_eq!(refused.refusal(), (400, "InvalidInput"));
}

#[tokio::test]
async fn a_page_reads_no_further_than_it_must() {
    let (emulator, mut client) = filled("", 800).await;
    client.page("$top=5").await;
    client.page("$top=5&$filter=PartitionKey ge 'b'").await;
    assert_eq!(emulator.stats().rows_read, 10);
}

#[tokio::test]
async fn a_list_goes_on_where_its_entity_has_gone() {
    let (_emulator, mut client) = filled("", 5).await;
    let page = client.page("$top=3").await;
    let gone = client
        .send(Method::DELETE, "/People(PartitionKey='a',RowKey='0003')", &[("if-match", "*")], "")
        .await;
    assert_eq!(gone.status.as_u16(), 204);
    let token = |name: &str| page.header(&format!("x-ms-continuation-{name}")).to_owned();
    let (partition, row) = (token("nextpartitionkey"), token("nextrowkey"));
    let next = client.page(&format!("$top=1&NextPartitionKey={partition}&NextRowKey={row}")).await;
    assert_eq!(next.json()["value"][0]["RowKey"], "0004");
}

#[tokio::test]
async fn selections_show_what_is_named_and_null_for_what_is_not_there() {
    let (_emulator, mut client) = filled("", 1).await;
    client.insert("b", "0", "\"Odd\":true").await;
    let page = client.page("$select=N,Odd,RowKey,Never&$filter=PartitionKey eq 'b'").await;
    assert_eq!(
        page.json(),
        json!({"value": [
            {"RowKey": "0", "Odd": true, "N": null, "Never": null},
            {"RowKey": "0000", "N": 1, "Odd": null, "Never": null},
        ]})
    );
    let path = format!("/People()?{}", escaped("$select=N&$filter=PartitionKey eq 'a'"));
    let page = client.send(Method::GET, &path, &[JSON], "").await.json();
    let entity = page["value"][0].as_object().unwrap();
    assert_eq!(entity.keys().collect::<Vec<_>>(), ["N", "odata.etag"]);
    assert_eq!(page["odata.metadata"], "http://localhost/devstoreaccount1/$metadata#People");
    let path = "/People(PartitionKey='a',RowKey='0000')?$select=T,Never";
    let one = client.send(Method::GET, path, &[PLAIN], "").await;
    assert_eq!(one.json(), json!({"T": "t0", "Never": null}));
    let all = client.page("$select=*&$top=1").await.json();
    assert_eq!(all["value"][0].as_object().unwrap().len(), 5);
}

#[tokio::test]
async fn keys_sort_by_utf16() {
    let (_emulator, mut client) = tables("").await;
    for row in ["\u{ff5e}", "\u{10400}", "z", "", "Z", "é", "a\u{7fff}"] {
        client.insert("p", row, "").await;
    }
    let (keys, _) = client.all("").await;
    assert_eq!(keys, ["p/", "p/Z", "p/a\u{7fff}", "p/z", "p/é", "p/\u{10400}", "p/\u{ff5e}"]);
}

#[tokio::test]
async fn pages_end_early_where_faults_say_so() {
    let (_emulator, mut client) = filled("scan=50", 60).await;
    let (keys, pages) = client.all("$filter=N ge 55").await;
    assert_eq!((keys.len(), pages), (125, vec![0, 45, 50, 30]));

    let (_emulator, mut client) = filled("boundary=100%", 60).await;
    let (keys, pages) = client.all("").await;
    assert_eq!((keys.len(), pages), (180, vec![60, 60, 60]));
    let (keys, pages) = client.all("$top=40").await;
    assert_eq!((keys.len(), pages), (180, vec![40, 20, 40, 20, 40, 20]));

    let (_emulator, mut client) = filled("empty=50%,seed=2", 60).await;
    let (keys, pages) = client.all("$top=10").await;
    assert_eq!(keys.len(), 180);
    assert!(pages.iter().filter(|entities| **entities == 0).count() > 3, "{pages:?}");

    let (_emulator, mut client) = filled("page=1us", 100).await;
    let (keys, pages) = client.all("").await;
    assert!(keys.len() == 300 && pages.len() > 2, "{pages:?}");
}

#[tokio::test]
async fn a_partition_may_begin_without_its_row_key() {
    let (_emulator, mut client) = filled("boundary=100%", 3).await;
    let mut bare = 0;
    for _ in 0..20 {
        let page = client.page("").await;
        assert!(!page.header("x-ms-continuation-nextpartitionkey").is_empty());
        bare += usize::from(page.header("x-ms-continuation-nextrowkey").is_empty());
    }
    assert!((1..20).contains(&bare), "{bare} of 20");
}
