//! Whole requests to our endpoint, one after the other on one connection, all with a signature that lets them in.
//! Input: requests with `--` between them, each a line of method and target, headers, an empty line, a body.

#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use haulage_emulator::EmulatorConfig;
use haulage_emulator::fuzz::Server;
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));

/// Of what is answered so much is read.
const ANSWER_MAX: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let server = Server::new(EmulatorConfig::default()).expect("an endpoint in memory");
    let sas = server.sas();
    let mut sent = written(b"PUT /box?restype=container", &sas);
    for request in
        data.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>().split(|line| *line == b"--\n")
    {
        sent.extend(written(&request.concat(), &sas));
    }
    RUNTIME.block_on(async {
        let (client, stream) = tokio::io::duplex(64 << 10);
        let (reader, mut writer) = tokio::io::split(client);
        let (mut answers, mut reader) = (Vec::new(), reader.take(ANSWER_MAX));
        let talk = async {
            let write = async {
                // A server that has heard enough closes.
                let _ = writer.write_all(&sent).await;
                let _ = writer.shutdown().await;
            };
            tokio::join!(write, reader.read_to_end(&mut answers)).1
        };
        let served = tokio::time::timeout(Duration::from_secs(10), async {
            tokio::select! {
                _ = talk => {}
                () = async { server.serve(stream).await; std::future::pending().await } => {}
            }
        });
        assert!(served.await.is_ok(), "no end");
        assert!(answers.starts_with(b"HTTP/1.1 201"), "no container");
        let marks: [&[u8]; 1] = [b"\r\nx-ms-error-code: InternalError"];
        assert!(
            !marks.iter().any(|mark| answers.windows(mark.len()).any(|part| part == *mark)),
            "an internal error"
        );
    });
});

/// A request as it goes over the wire.
fn written(request: &[u8], sas: &str) -> Vec<u8> {
    let end = request.windows(2).position(|two| two == b"\n\n");
    let (head, body) = end.map_or((request, &b""[..]), |end| (&request[..end], &request[end + 2..]));
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let (method, target) = lines.next().and_then(|line| line.split_once(' ')).unwrap_or(("GET", "/box"));
    let joint = if target.contains('?') { '&' } else { '?' };
    let mut text = format!("{method} /devstoreaccount1{target}{joint}{sas} HTTP/1.1\r\nhost: localhost\r\n");
    for line in lines {
        text += line;
        text += "\r\n";
    }
    if !text.to_ascii_lowercase().contains("\r\ncontent-length:") {
        text += &format!("content-length: {}\r\n", body.len());
    }
    [text.as_bytes(), b"\r\n", body].concat()
}
