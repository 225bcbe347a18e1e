//! How fast the endpoint is by itself: `load ADDRESS SAS SECONDS`, against a running `serve` with
//! the null store. It must never be the bottleneck of what is measured over it.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, sas, seconds] = &arguments[..] else { return Err("load ADDRESS SAS SECONDS".into()) };
    let time = Duration::from_secs_f64(seconds.parse()?);
    run(address, sas, Method::PUT, "box?restype=container", 0, 1, Duration::ZERO).await?;
    for (what, method, path, len, connections) in [
        ("Put Block 8 MiB", Method::PUT, "box/a?comp=block&blockid=QUFB", 8 << 20, 4),
        ("Put Blob 64 MiB", Method::PUT, "box/b?x=1", 64 << 20, 1),
        ("Get Blob 64 MiB", Method::GET, "box/b?x=1", 0, 4),
        ("Put Blob 1 KiB", Method::PUT, "box/c?x=1", 1 << 10, 8),
        ("Get Blob 1 KiB", Method::GET, "box/c?x=1", 0, 8),
    ] {
        let (requests, bytes) = run(address, sas, method, path, len, connections, time).await?;
        let seconds = time.as_secs_f64();
        println!(
            "{what}: {:.2} GB/s, {:.0} requests/s",
            bytes as f64 / seconds / 1e9,
            requests as f64 / seconds
        );
    }
    Ok(())
}

/// Repeats one request on some connections; how many requests and bytes.
async fn run(
    address: &str,
    sas: &str,
    method: Method,
    path: &str,
    len: usize,
    connections: usize,
    time: Duration,
) -> Result<(u64, u64), Failure> {
    let uri = format!("/devstoreaccount1/{path}&{sas}");
    let body = Bytes::from(vec![7; len]);
    let end = Instant::now() + time;
    let mut work = JoinSet::new();
    for _ in 0..connections {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let (uri, body, method) = (uri.clone(), body.clone(), method.clone());
        work.spawn(async move {
            let (mut requests, mut bytes) = (0, 0);
            loop {
                let request = Request::builder().method(&method).uri(&uri).header("host", "localhost");
                let request =
                    request.header("x-ms-blob-type", "BlockBlob").header("content-length", body.len());
                let mut response = sender.send_request(request.body(Full::new(body.clone()))?).await?;
                while let Some(frame) = response.frame().await {
                    bytes += frame?.data_ref().map_or(0, Bytes::len) as u64;
                }
                (requests, bytes) = (requests + 1, bytes + body.len() as u64);
                if Instant::now() >= end {
                    return Ok::<_, Failure>((requests, bytes));
                }
            }
        });
    }
    let mut sum = (0, 0);
    while let Some(done) = work.join_next().await {
        let (requests, bytes) = done??;
        sum = (sum.0 + requests, sum.1 + bytes);
    }
    Ok(sum)
}
