//! How fast the endpoint writes and reads entities, and what they weigh: `tables [ROWS]`, in one process.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use haulage_emulator::{EmulatorConfig, start};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const ROWS_IN_PARTITION: usize = 10_000;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let emulator = start(EmulatorConfig::default()).await?;
    let sas = emulator.sas("rwdlacut", SystemTime::now() + Duration::from_secs(86_400));
    let mut client = Client::connect(emulator.address(), &sas).await?;
    client.send(Method::POST, "/Tables?", "application/json", "{\"TableName\":\"People\"}".into()).await?;
    let before = resident();
    let (began, cpu) = (Instant::now(), cpu_seconds());
    for first in (0..rows).step_by(100) {
        let body = transaction(first, (first + 100).min(rows));
        let (_, answer) = client.send(Method::POST, "/$batch?", "multipart/mixed; boundary=b", body).await?;
        assert!(!answer.is_empty());
    }
    let seconds = began.elapsed().as_secs_f64();
    let weight = (resident() - before) as f64 / rows as f64;
    println!(
        "{rows} rows written: {:.0} rows/s, {weight:.0} bytes a row, {:.0} rows per CPU second (client included)",
        rows as f64 / seconds,
        rows as f64 / (cpu_seconds() - cpu)
    );
    for (what, query, accept) in [
        ("all, no metadata", "", "application/json;odata=nometadata"),
        ("all, minimal metadata", "", "application/json;odata=minimalmetadata"),
        ("all, full metadata", "", "application/json;odata=fullmetadata"),
        ("all, Atom", "", "application/atom+xml"),
        ("one in a hundred", "&$filter=Small%20eq%205", "application/json;odata=nometadata"),
        ("two of twelve", "&$select=Small,Text", "application/json;odata=nometadata"),
    ] {
        let (read, began, cpu) = (emulator.stats().rows_read, Instant::now(), cpu_seconds());
        let (returned, bytes) = client.read_all(query, accept).await?;
        let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        let read = emulator.stats().rows_read - read;
        println!(
            "{what}: {returned} rows in {seconds:.2} s, {:.0} rows/s read, {:.0} bytes a row, {:.0} rows per CPU second \
             (client included)",
            read as f64 / seconds,
            bytes as f64 / returned as f64,
            read as f64 / cpu
        );
    }
    emulator.shutdown().await;
    Ok(())
}

/// A hundred entities of twelve properties of every type.
fn transaction(first: usize, end: usize) -> String {
    let mut body = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n".to_owned();
    for row in first..end {
        let partition = row / ROWS_IN_PARTITION;
        let entity = format!(
            "{{\"PartitionKey\":\"station-{partition:06}\",\"RowKey\":\"{row:012}\",\"Small\":{},\"Whole\":{row},\
             \"Long@odata.type\":\"Edm.Int64\",\"Long\":\"{}\",\"Rate\":{},\"Level\":{},\"Good\":{},\
             \"When@odata.type\":\"Edm.DateTime\",\"When\":\"2026-01-02T03:04:05.{:07}Z\",\
             \"Id@odata.type\":\"Edm.Guid\",\"Id\":\"00000000-0000-0000-0000-{row:012}\",\
             \"Raw@odata.type\":\"Edm.Binary\",\"Raw\":\"AAECAwQFBgcICQoLDA0ODw==\",\"Text\":\"text number {row}\",\
             \"Name\":\"North Sea, platform {}\",\"Unit\":\"degrees\"}}",
            row % 100,
            row * 1_000_003,
            row as f64 / 7.0,
            row as f64 / 8.0,
            row.is_multiple_of(2),
            row % 10_000_000,
            row % 1000,
        );
        // Writing to a String cannot fail.
        let _ = write!(
            body,
            "--c\r\nContent-Type: application/http\r\n\r\nPOST http://localhost/devstoreaccount1/People HTTP/1.1\r\n\
             Content-Type: application/json\r\nPrefer: return-no-content\r\n\r\n{entity}\r\n"
        );
    }
    body.push_str("--c--\r\n--b--\r\n");
    body
}

struct Client {
    sender: SendRequest<Full<Bytes>>,
    sas: String,
}

impl Client {
    async fn connect(address: SocketAddr, sas: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, sas: sas.to_owned() })
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        kind: &str,
        body: String,
    ) -> Result<(HeaderMap, Bytes), Failure> {
        let accept = if method == Method::GET { kind } else { "application/json" };
        let request = Request::builder()
            .method(method)
            .uri(format!("/devstoreaccount1{path}&{}", self.sas))
            .header("host", "localhost")
            .header("accept", accept)
            .header("content-type", kind)
            .header("content-length", body.len());
        self.sender.ready().await?;
        let response = self.sender.send_request(request.body(Full::new(body.into()))?).await?;
        let status = response.status();
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        if !status.is_success() || body.windows(11).any(|part| part == b"odata.error") {
            return Err(String::from_utf8_lossy(&body).into());
        }
        Ok((parts.headers, body))
    }

    /// Reads all pages; how many entities and bytes.
    async fn read_all(&mut self, query: &str, accept: &str) -> Result<(usize, usize), Failure> {
        let (mut rows, mut bytes, mut next) = (0, 0, String::new());
        // What stands in each entity once, in JSON and in Atom.
        let mark: &[u8] = if accept.contains("atom") { b"<content" } else { b"\"Text\"" };
        loop {
            let path = format!("/People()?x=1{query}{next}");
            let (headers, page) = self.send(Method::GET, &path, accept, String::new()).await?;
            bytes += page.len();
            rows += memchr_count(&page, mark);
            let token =
                |name: &str| headers.get(format!("x-ms-continuation-{name}")).map(|value| value.to_str());
            let (Some(partition), Some(row)) = (token("nextpartitionkey"), token("nextrowkey")) else {
                return Ok((rows, bytes));
            };
            next = format!("&NextPartitionKey={}&NextRowKey={}", partition?, row?);
        }
    }
}

/// How often a text is in another.
fn memchr_count(text: &[u8], part: &[u8]) -> usize {
    let mut count = 0;
    let mut at = 0;
    while let Some(found) = text[at..].windows(part.len()).position(|window| window == part) {
        (count, at) = (count + 1, at + found + part.len());
    }
    count
}

/// The memory that is in use.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// The time that all threads have worked.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields[11..13].iter().filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
