//! A client of tables.

use haulage_emulator::Emulator;
use http::{Method, StatusCode};
use serde_json::Value;

use super::{Answer, Client, serve};

pub(crate) const JSON: (&str, &str) = ("accept", "application/json;odata=minimalmetadata");
pub(crate) const PLAIN: (&str, &str) = ("accept", "application/json;odata=nometadata");
pub(crate) const FULL: (&str, &str) = ("accept", "application/json;odata=fullmetadata");
pub(crate) const SENT: (&str, &str) = ("content-type", "application/json");

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Status and code of a failure.
    pub(crate) fn refusal(&self) -> (u16, &str) {
        (self.status.as_u16(), self.code())
    }
}

/// An endpoint with the table `People`, and a client of it.
pub(crate) async fn tables(faults: &str) -> (Emulator, Client) {
    let emulator = serve(|config| config.faults = faults.parse().unwrap()).await;
    let mut client = Client::connect(&emulator).await;
    let made = client.make_table("People").await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    (emulator, client)
}

impl Client {
    pub(crate) async fn make_table(&mut self, name: &str) -> Answer {
        let body = format!("{{\"TableName\":\"{name}\"}}");
        self.send(Method::POST, "/Tables", &[JSON, SENT], body).await
    }

    /// Inserts an entity with these members.
    pub(crate) async fn insert(&mut self, partition: &str, row: &str, members: &str) -> Answer {
        let comma = if members.is_empty() { "" } else { "," };
        let body = format!("{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\"{comma}{members}}}");
        self.send(Method::POST, "/People", &[JSON, SENT], body).await
    }

    /// Reads an entity.
    pub(crate) async fn entity(&mut self, partition: &str, row: &str) -> Answer {
        let path = format!("/People(PartitionKey='{partition}',RowKey='{row}')");
        self.send(Method::GET, &path, &[PLAIN], "").await
    }

    /// A page of entities.
    pub(crate) async fn page(&mut self, query: &str) -> Answer {
        let page = self.send(Method::GET, &format!("/People()?{}", escaped(query)), &[PLAIN], "").await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text());
        page
    }

    /// All pages of a query: both keys of each entity, and how many entities each page had.
    pub(crate) async fn all(&mut self, query: &str) -> (Vec<String>, Vec<usize>) {
        let (mut keys, mut pages, mut next) = (Vec::new(), Vec::new(), String::new());
        loop {
            let page = self.page(&format!("{query}{next}")).await;
            let entities = page.json()["value"].as_array().unwrap().clone();
            pages.push(entities.len());
            for entity in &entities {
                let text = |name: &str| entity[name].as_str().unwrap_or_default().to_owned();
                keys.push(format!("{}/{}", text("PartitionKey"), text("RowKey")));
            }
            let token = |name: &str| page.header(&format!("x-ms-continuation-{name}")).to_owned();
            let (partition, row) = (token("nextpartitionkey"), token("nextrowkey"));
            if partition.is_empty() {
                return (keys, pages);
            }
            next = format!("&NextPartitionKey={partition}");
            if !row.is_empty() {
                next.push_str(&format!("&NextRowKey={row}"));
            }
        }
    }

    /// A transaction of (method, path below the account, headers, body).
    pub(crate) async fn transaction(&mut self, changes: &[(&str, String, &str, String)]) -> Answer {
        let mut body = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n".to_owned();
        for (method, path, headers, content) in changes {
            body.push_str(&format!(
                "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                 {method} http://localhost/devstoreaccount1{path} HTTP/1.1\r\nAccept: application/json\r\n\
                 Content-Type: application/json\r\n{headers}\r\n{content}\r\n"
            ));
        }
        body.push_str("--c--\r\n--b--\r\n");
        self.send(Method::POST, "/$batch", &[JSON, ("content-type", "multipart/mixed; boundary=b")], body)
            .await
    }
}

/// A query as a URL has it.
pub(crate) fn escaped(query: &str) -> String {
    query.replace(' ', "%20").replace('\'', "%27").replace('+', "%2B")
}
