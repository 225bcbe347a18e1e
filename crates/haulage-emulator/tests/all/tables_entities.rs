//! Entities of tables: inserted, read, changed and deleted, one at a time.

use http::{Method, StatusCode};
use serde_json::json;

use crate::support::Client;
use crate::support::tables::{FULL, JSON, PLAIN, SENT, tables};

const ALICE: &str = "/People(PartitionKey='p',RowKey='alice')";

#[tokio::test]
async fn tables_are_made_listed_and_taken_away() {
    let (emulator, mut client) = tables("").await;
    assert_eq!(client.make_table("people").await.refusal(), (409, "TableAlreadyExists"));
    assert_eq!(client.make_table("no").await.refusal(), (400, "OutOfRangeInput"));
    assert_eq!(client.make_table("not_good").await.refusal(), (400, "InvalidResourceName"));
    let quiet = [JSON, SENT, ("prefer", "return-no-content")];
    let made = client.send(Method::POST, "/Tables", &quiet, "{\"TableName\":\"Animals\"}").await;
    assert_eq!(
        (made.status, made.header("preference-applied")),
        (StatusCode::NO_CONTENT, "return-no-content")
    );
    client.make_table("Zebras").await;
    let page = client.send(Method::GET, "/Tables?$top=2", &[PLAIN], "").await;
    assert_eq!(page.json(), json!({"value": [{"TableName": "Animals"}, {"TableName": "People"}]}));
    let next = page.header("x-ms-continuation-nexttablename").to_owned();
    let path = format!("/Tables?$top=2&NextTableName={next}");
    let page = client.send(Method::GET, &path, &[PLAIN], "").await;
    assert_eq!(page.json(), json!({"value": [{"TableName": "Zebras"}]}));
    assert_eq!(page.header("x-ms-continuation-nexttablename"), "");
    let filtered = "/Tables?$filter=TableName%20ge%20%27B%27%20and%20TableName%20lt%20%27Q%27";
    let page = client.send(Method::GET, filtered, &[PLAIN], "").await;
    assert_eq!(page.json(), json!({"value": [{"TableName": "People"}]}));
    let gone = client.send(Method::DELETE, "/Tables('People')", &[JSON], "").await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    let again = client.send(Method::DELETE, "/Tables('People')", &[JSON], "").await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    assert_eq!(client.insert("p", "r", "").await.refusal(), (404, "TableNotFound"));
    assert_eq!(emulator.stats().requests("CreateTable"), 6);
}

#[tokio::test]
async fn every_type_comes_back_as_it_went() {
    let (_emulator, mut client) = tables("").await;
    let members = r#""S":"a\"b\u0001é😀","B":true,"I":-5,"D":0.1,"N@odata.type":"Edm.Double","N":"NaN",
        "M@odata.type":"Edm.Double","M":"-Infinity","W":2.0,"L@odata.type":"Edm.Int64","L":"-9223372036854775808",
        "T@odata.type":"Edm.DateTime","T":"2026-01-02T03:04:05.1234567Z","G@odata.type":"Edm.Guid",
        "G":"C9DA6455-213D-42C9-9A79-3E9149A57833","R@odata.type":"Edm.Binary","R":"AP8=","Z":null"#;
    let made = client.insert("p", "alice", members).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let mut expected = json!({
        "PartitionKey": "p", "RowKey": "alice", "S": "a\"b\u{1}é😀", "B": true, "I": -5, "D": 0.1, "N": "NaN",
        "M": "-Infinity", "W": 2.0, "L": "-9223372036854775808", "T": "2026-01-02T03:04:05.1234567Z",
        "G": "c9da6455-213d-42c9-9a79-3e9149a57833", "R": "AP8=",
    });
    let got = client.entity("p", "alice").await;
    let time = got.json()["Timestamp"].clone();
    expected["Timestamp"] = time.clone();
    assert_eq!(got.json(), expected);
    assert!(got.text().contains("\"W\":2.0"), "a double is told from a whole number");
    assert_eq!(time.as_str().unwrap().len(), "2026-01-02T03:04:05.1234567Z".len());
    let tag = format!("W/\"datetime'{}'\"", time.as_str().unwrap().replace(':', "%3A"));
    assert_eq!((got.header("etag"), made.header("etag")), (&*tag, &*tag));

    let root = "http://localhost/devstoreaccount1";
    let minimal = client.send(Method::GET, ALICE, &[JSON], "").await.json();
    for (name, value) in [
        ("odata.metadata", format!("{root}/$metadata#People/@Element")),
        ("odata.etag", tag),
        ("N@odata.type", "Edm.Double".to_owned()),
        ("L@odata.type", "Edm.Int64".to_owned()),
        ("T@odata.type", "Edm.DateTime".to_owned()),
        ("G@odata.type", "Edm.Guid".to_owned()),
        ("R@odata.type", "Edm.Binary".to_owned()),
    ] {
        assert_eq!(minimal[name], value, "{name}");
        assert!(expected.get(name).is_none());
    }
    for name in ["S", "B", "I", "D", "W", "Timestamp"] {
        assert!(minimal.get(format!("{name}@odata.type")).is_none(), "{name}");
    }
    let full = client.send(Method::GET, ALICE, &[FULL], "").await.json();
    assert_eq!(full["odata.type"], "devstoreaccount1.People");
    assert_eq!(full["odata.id"], format!("{root}{ALICE}"));
    assert_eq!(full["odata.editLink"], ALICE[1..]);
    assert_eq!(full["Timestamp@odata.type"], "Edm.DateTime");

    // What a client reads it can write again.
    client.send(Method::DELETE, ALICE, &[JSON, ("if-match", "*")], "").await;
    let again = client.send(Method::POST, "/People", &[JSON, SENT], full.to_string()).await;
    assert_eq!(again.status, StatusCode::CREATED, "{}", again.text());
    let again = client.entity("p", "alice").await.json();
    expected["Timestamp"] = again["Timestamp"].clone();
    assert_eq!(again, expected);
}

#[tokio::test]
async fn atom_says_the_same() {
    let (_emulator, mut client) = tables("").await;
    client.insert("p", "alice", r#""A":" <&>","L@odata.type":"Edm.Int64","L":"5""#).await;
    let old = [("x-ms-version", "2013-08-15"), ("accept", "application/atom+xml")];
    let entry = client.send(Method::GET, ALICE, &old, "").await;
    assert_eq!(entry.header("content-type"), "application/atom+xml;type=entry;charset=utf-8");
    for part in [
        "<d:PartitionKey>p</d:PartitionKey>",
        "<d:A xml:space=\"preserve\"> &lt;&amp;&gt;</d:A>",
        "<d:L m:type=\"Edm.Int64\">5</d:L>",
        "<d:Timestamp m:type=\"Edm.DateTime\">",
    ] {
        assert!(entry.text().contains(part), "{part} is not in {}", entry.text());
    }
    let text = entry.text().replace("alice", "bob");
    let sent = [old[0], old[1], ("content-type", "application/atom+xml")];
    let made = client.send(Method::POST, "/People", &sent, text).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let bob = client.entity("p", "bob").await.json();
    assert_eq!((&bob["A"], &bob["L"]), (&json!(" <&>"), &json!("5")));
    let feed = client.send(Method::GET, "/People()", &old, "").await;
    assert_eq!(feed.text().matches("<entry m:etag=").count(), 2);
    let list = client.send(Method::GET, "/Tables", &old, "").await;
    assert!(list.text().contains("<d:TableName>People</d:TableName>"), "{}", list.text());
    let missing = client.send(Method::GET, "/Nobody()", &old, "").await;
    assert_eq!(missing.refusal(), (404, "TableNotFound"));
    assert!(missing.text().contains("<code>TableNotFound</code>"), "{}", missing.text());
    let none = client.send(Method::GET, "/People()", &[("x-ms-version", "2019-02-02")], "").await;
    assert_eq!(none.refusal(), (415, "AtomFormatNotSupported"));
}

async fn write(client: &mut Client, method: &str, condition: &str, members: &str) -> (u16, String) {
    let mut headers = vec![JSON, SENT];
    if !condition.is_empty() {
        headers.push(("if-match", condition));
    }
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let done = client.send(method, ALICE, &headers, format!("{{{members}}}")).await;
    (done.status.as_u16(), if done.code().is_empty() { done.header("etag") } else { done.code() }.to_owned())
}

#[tokio::test]
async fn changes_keep_to_their_conditions() {
    let (emulator, mut client) = tables("").await;
    let missing = (404, "ResourceNotFound".to_owned());
    for method in ["PUT", "MERGE", "PATCH", "DELETE"] {
        assert_eq!(write(&mut client, method, "*", "").await, missing, "{method}");
    }
    let (status, first) = write(&mut client, "PUT", "", r#""A":1,"B":2"#).await;
    assert_eq!(status, 204);
    assert_eq!(write(&mut client, "MERGE", "", r#""B":3,"C":4,"A":null"#).await.0, 204);
    let alice = client.entity("p", "alice").await.json();
    assert_eq!((&alice["A"], &alice["B"], &alice["C"]), (&json!(1), &json!(3), &json!(4)));
    let stale = (412, "UpdateConditionNotSatisfied".to_owned());
    for method in ["PUT", "MERGE", "DELETE"] {
        assert_eq!(write(&mut client, method, &first, r#""A":9"#).await, stale, "{method}");
    }
    let (status, fresh) = write(&mut client, "PUT", "*", r#""D":5"#).await;
    assert_eq!(status, 204);
    let alice = client.entity("p", "alice").await.json();
    assert_eq!((alice.get("A"), &alice["D"]), (None, &json!(5)));
    assert_eq!(client.insert("p", "alice", "").await.refusal(), (409, "EntityAlreadyExists"));
    assert_eq!(write(&mut client, "PUT", "nonsense", "").await, (400, "InvalidInput".to_owned()));
    assert_eq!(write(&mut client, "DELETE", "", "").await, (400, "MissingRequiredHeader".to_owned()));
    let tunnelled = [JSON, SENT, ("x-http-method", "MERGE"), ("if-match", "*")];
    let merged = client.send(Method::POST, ALICE, &tunnelled, "{\"E\":6}").await;
    assert_eq!(merged.status, StatusCode::NO_CONTENT, "{}", merged.text());
    assert_eq!(write(&mut client, "DELETE", &fresh, "").await, stale);
    assert_eq!(write(&mut client, "DELETE", merged.header("etag"), "").await.0, 204);
    assert_eq!(client.entity("p", "alice").await.refusal(), (404, "ResourceNotFound"));
    assert_eq!(emulator.stats().rows_written, 5);
}

#[tokio::test]
async fn what_is_too_much_is_refused() {
    let (_emulator, mut client) = tables("").await;
    let many = |count: usize| (0..count).map(|n| format!("\"P{n}\":{n}")).collect::<Vec<_>>().join(",");
    assert_eq!(client.insert("p", "a", &many(252)).await.status, StatusCode::CREATED);
    assert_eq!(client.insert("p", "b", &many(253)).await.refusal(), (400, "TooManyProperties"));
    let more = write(&mut client, "PUT", "", &many(252)).await;
    assert_eq!(more.0, 204);
    assert_eq!(write(&mut client, "MERGE", "*", "\"More\":1").await, (400, "TooManyProperties".to_owned()));
    let text = |len: usize| format!("\"T\":\"{}\"", "x".repeat(len));
    assert_eq!(client.insert("p", "c", &text(32_768)).await.status, StatusCode::CREATED);
    assert_eq!(client.insert("p", "d", &text(32_769)).await.refusal(), (400, "PropertyValueTooLarge"));
    let large: Vec<_> = (0..16).map(|n| format!("\"T{n}\":\"{}\"", "x".repeat(32_768))).collect();
    assert_eq!(client.insert("p", "e", &large.join(",")).await.refusal(), (400, "EntityTooLarge"));
    assert_eq!(client.insert("p", "f", &large[..15].join(",")).await.status, StatusCode::CREATED);
    for (partition, code) in [("a/b", "OutOfRangeInput"), ("a\\u0085", "OutOfRangeInput")] {
        assert_eq!(client.insert(partition, "r", "").await.refusal(), (400, code), "{partition}");
    }
    assert_eq!(client.insert(&"k".repeat(513), "r", "").await.refusal(), (400, "OutOfRangeInput"));
    assert_eq!(client.insert("p", "g", "\"a-b\":1").await.refusal(), (400, "PropertyNameInvalid"));
    assert_eq!(
        client.insert("p", "g", "\"A\":1,\"A\":2").await.refusal(),
        (400, "DuplicatePropertiesSpecified")
    );
    let keyless = client.send(Method::POST, "/People", &[JSON, SENT], "{\"PartitionKey\":\"p\"}").await;
    assert_eq!(keyless.refusal(), (400, "PropertiesNeedValue"));
    for body in ["", "[]", "{", "{\"A\":{}}", &"[".repeat(100_000)] {
        let broken = client.send(Method::POST, "/People", &[JSON, SENT], body.to_owned()).await;
        assert_eq!(broken.refusal(), (400, "InvalidInput"), "{body:.20}");
    }
    let huge = client.send(Method::POST, "/People", &[JSON, SENT], vec![b' '; (4 << 20) + 1]).await;
    assert_eq!(huge.refusal(), (413, "RequestBodyTooLarge"));
    let error = huge.json();
    assert_eq!(error["odata.error"]["code"], "RequestBodyTooLarge");
    assert!(error["odata.error"]["message"]["value"].as_str().unwrap().contains("\nRequestId:"));
}
