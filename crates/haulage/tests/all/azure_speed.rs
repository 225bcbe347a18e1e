//! What the client costs: CPU time of this process alone, against a server in another one that discards and
//! invents bytes. Run by hand:
//!
//!     cargo test -p haulage --release --test all -- --ignored --nocapture azure_speed::measure

// A child process reports to its parent, and a person reads the figures, by what is printed.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Instant;

use bytes::Bytes;
use haulage::checksum::ChecksumMode;
use haulage::http::{HttpClient, HttpOptions};
use haulage::store::azure::{AzureAddress, AzureStore};
use haulage::store::{BlockRange, GetOptions, ListRequest, Payload, PutOptions, Store, StoreOptions, Trace};

const BODY: usize = 8 << 20;

/// CPU time of this process in seconds.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn serve(stream: TcpStream, page: &str) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(256 << 10, stream);
    let zeroes = vec![0; BODY];
    loop {
        let (mut length, mut range, mut list) = (0_u64, false, false);
        let mut line = String::new();
        let mut get = false;
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line.starts_with("GET") {
                (get, list) = (true, line.contains("comp=list"));
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            range |= line.starts_with("x-ms-range");
            if line == "\r\n" {
                break;
            }
        }
        std::io::copy(&mut (&mut reader).take(length), &mut std::io::sink())?;
        let out = reader.get_mut();
        if list {
            write!(out, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len())?;
        } else if get && range {
            write!(
                out,
                "HTTP/1.1 206 OK\r\ncontent-length: {BODY}\r\ncontent-range: bytes 0-{}/{BODY}\r\n\r\n",
                BODY - 1
            )?;
            out.write_all(&zeroes)?;
        } else {
            out.write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\netag: \"1\"\r\n\r\n")?;
        }
    }
}

#[test]
#[ignore = "the server of the measurement below"]
fn child_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("port {}", listener.local_addr().unwrap().port());
    let mut page = "<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults><Blobs>".to_owned();
    for i in 0..5000 {
        page.push_str(&format!(
            "<Blob><Name>folder/sub/file-{i:07}.nc</Name><Properties><Creation-Time>Thu, 01 Jan 2026 00:00:02 GMT</Creation-Time>\
             <Last-Modified>Thu, 01 Jan 2026 00:00:02 GMT</Last-Modified><Etag>0x8D123456789ABCD</Etag><Content-Length>4096</Content-Length>\
             <Content-Type>application/netcdf</Content-Type><Content-Encoding /><Content-Language /><Content-CRC64 />\
             <Content-MD5>1B2M2Y8AsgTpgAmY7PhCfg==</Content-MD5><Cache-Control /><Content-Disposition /><BlobType>BlockBlob</BlobType>\
             <AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred><LeaseStatus>unlocked</LeaseStatus>\
             <LeaseState>available</LeaseState><ServerEncrypted>true</ServerEncrypted></Properties><Metadata>\
             <haulage_crc64>00000000000000ff</haulage_crc64><haulage_mtime_ns>1700000000000000000</haulage_mtime_ns></Metadata><OrMetadata /></Blob>"
        ));
    }
    page.push_str("</Blobs><NextMarker>next</NextMarker></EnumerationResults>");
    let page: &str = page.leak();
    for stream in listener.incoming() {
        std::thread::spawn(move || serve(stream.unwrap(), page));
    }
}

async fn many<F: Future<Output = ()> + Send + 'static>(
    workers: usize,
    each: usize,
    work: impl Fn(usize) -> F + Clone + Send + 'static,
) {
    let workers = (0..workers).map(|_| {
        let work = work.clone();
        tokio::spawn(async move {
            for i in 0..each {
                work(i).await;
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
}

async fn timed(what: &str, units: f64, unit: &str, work: impl Future<Output = ()>) {
    let (wall, before) = (Instant::now(), cpu());
    work.await;
    let (wall, used) = (wall.elapsed().as_secs_f64(), cpu() - before);
    println!("{what:28} {:9.0} {unit}/s  {:9.3} CPU us/{unit}", units / wall, used / units * 1e6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn measure() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "azure_speed::child_server", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port =
        lines.map_while(Result::ok).find_map(|line| line.split("port ").nth(1).map(str::to_owned)).unwrap();
    let options = StoreOptions::default();
    let address =
        AzureAddress::parse(&format!("http://127.0.0.1:{port}/devstoreaccount1/c"), &options).unwrap();
    let store =
        AzureStore::open(address, &options, HttpClient::new(HttpOptions::default()).unwrap()).unwrap();

    for checksum in [ChecksumMode::None, ChecksumMode::Crc64] {
        let options = PutOptions { checksum, ..PutOptions::default() };
        let writer = store.begin("k", Some(1 << 40), &options, &Trace::detached()).await.unwrap();
        let body = Bytes::from(vec![1; BODY]);
        for workers in [2, 8] {
            let (writer, body) = (writer.clone(), body.clone());
            let what = format!("put block 8 MiB x{workers} {checksum:?}");
            timed(
                &what,
                (512 / workers * workers * 8) as f64,
                "MiB",
                many(workers, 512 / workers, move |i| {
                    let (writer, body) = (writer.clone(), body.clone());
                    async move {
                        let range = BlockRange { offset: (i * BODY) as u64, len: BODY as u64 };
                        writer.put_block(range, body.into(), &Trace::detached()).await.unwrap();
                    }
                }),
            )
            .await;
        }
    }
    for workers in [2, 8] {
        let store = store.clone();
        timed(
            &format!("get 8 MiB x{workers}"),
            (512 / workers * workers * 8) as f64,
            "MiB",
            many(workers, 512 / workers, move |_| {
                let store = store.clone();
                async move {
                    let range = Some(BlockRange { offset: 0, len: BODY as u64 });
                    let options = GetOptions { range, ..GetOptions::default() };
                    let mut payload = store.get("k", &options, &Trace::detached()).await.unwrap().payload;
                    let mut got = 0;
                    while let Some(piece) = payload.next().await {
                        got += piece.unwrap().len();
                    }
                    assert_eq!(got, BODY);
                }
            }),
        )
        .await;
    }
    for workers in [1, 8] {
        let store = store.clone();
        let body = Bytes::from(vec![1; 1024]);
        timed(
            &format!("put 1 KiB x{workers}"),
            100_000.0,
            "put",
            many(workers, 100_000 / workers, move |_| {
                let (store, body) = (store.clone(), body.clone());
                async move {
                    store
                        .put("k", Payload::from(body), &PutOptions::default(), &Trace::detached())
                        .await
                        .unwrap();
                }
            }),
        )
        .await;
    }
    let mut lister = store.list(ListRequest::default());
    timed("list", 250_000.0, "name", async {
        for _ in 0..50 {
            assert_eq!(lister.next_page(&Trace::detached()).await.unwrap().unwrap().objects.len(), 5000);
        }
    })
    .await;
    child.kill().unwrap();
    child.wait().unwrap();
}
