//! The HTTP client against servers that misbehave on purpose.

// A child process reports to its parent, and a person reads the figures, by what is printed.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use haulage::error::Retry;
use haulage::http::{Connections, HttpClient, HttpOptions, Origin, ResponseBody};
use haulage::store::Trace;
use haulage::units::ByteRate;
use haulage::{Error, ErrorKind, Result};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, advance, pause, resume};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn client(stall: Duration) -> HttpClient {
    HttpClient::new(HttpOptions { stall_timeout: stall, ..HttpOptions::default() }).unwrap()
}

async fn listen() -> (TcpListener, Origin) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = Origin::parse("http", &listener.local_addr().unwrap().to_string()).unwrap();
    (listener, origin)
}

async fn send(
    client: &HttpClient,
    origin: &Origin,
    body: Bytes,
    trace: &Trace,
) -> Result<http::Response<ResponseBody>> {
    let request = http::Request::put("/x").header("content-length", body.len()).body(body).unwrap();
    client.send(origin, request, "write", "thing", trace).await
}

async fn exchange(client: &HttpClient, origin: &Origin, trace: &Trace) -> Result<Bytes> {
    send(client, origin, Bytes::from_static(b"body"), trace).await?.into_body().collect(1 << 20).await
}

/// Reads one request whose body has `len` bytes.
async fn take_request(stream: &mut (impl AsyncRead + Unpin), len: usize) {
    let mut seen = Vec::new();
    loop {
        let head = seen.windows(4).position(|window| window == b"\r\n\r\n");
        if head.is_some_and(|head| seen.len() >= head + 4 + len) {
            return;
        }
        let mut piece = vec![0; 64 << 10];
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "the request ended early");
        seen.extend_from_slice(&piece[..read]);
    }
}

async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    take_request(stream, 4).await;
    stream.write_all(OK).await.unwrap();
}

#[tokio::test]
async fn a_connection_is_used_again_and_its_phases_are_in_order() {
    let (listener, origin) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for _ in 0..3 {
            take_request(&mut stream, 4).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            stream.write_all(&OK[..OK.len() - 1]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            stream.write_all(&OK[OK.len() - 1..]).await.unwrap();
        }
    });
    let client = client(Duration::from_secs(5));
    for round in 0..3 {
        let trace = Trace::detached();
        assert_eq!(exchange(&client, &origin, &trace).await.unwrap(), "ok");
        let seen = trace.take();
        assert_eq!((seen.connection, seen.connection_reused), (1, round > 0));
        let phases = seen.phases;
        let marks = [phases.connected_ns, phases.sent_ns, phases.first_byte_ns, phases.last_byte_ns];
        let marks = marks.map(|mark| mark.expect("every phase is marked"));
        assert!(marks.is_sorted(), "{marks:?}");
        assert!(marks[2] - marks[1] > 15_000_000 && marks[3] - marks[2] > 15_000_000, "{marks:?}");
    }
    assert_eq!(client.meter().received(), 3 * OK.len() as u64);
    assert!(client.meter().sent() > 3 * 4);
    server.await.unwrap();
}

#[tokio::test]
async fn a_connection_closed_while_idle_is_replaced() {
    /// So long that a connection is not trusted any more.
    const IDLE: Duration = Duration::from_millis(1_100);
    for under_the_request in [true, false] {
        let (listener, origin) = listen().await;
        let server = tokio::spawn(async move {
            let (mut first, _) = listener.accept().await.unwrap();
            answer(&mut first).await;
            if under_the_request {
                // Looks alive when it is taken.
                first.read_exact(&mut [0]).await.unwrap();
            }
            drop(first);
            let (mut second, _) = listener.accept().await.unwrap();
            answer(&mut second).await;
        });
        let client = client(Duration::from_secs(5));
        exchange(&client, &origin, &Trace::detached()).await.unwrap();
        if under_the_request {
            pause();
            advance(IDLE).await;
            resume();
        } else {
            // The end of the connection has to arrive.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let trace = Trace::detached();
        assert_eq!(exchange(&client, &origin, &trace).await.unwrap(), "ok");
        assert_eq!((trace.take().connection, trace.take().connection_reused), (2, false));
        server.await.unwrap();
    }
}

#[tokio::test]
async fn a_connection_that_breaks_in_use_is_a_failure() {
    let (listener, origin) = listen().await;
    let server = tokio::spawn(async move {
        let (mut first, _) = listener.accept().await.unwrap();
        answer(&mut first).await;
        first.read_exact(&mut [0]).await.unwrap();
    });
    let client = client(Duration::from_secs(5));
    exchange(&client, &origin, &Trace::detached()).await.unwrap();
    let trace = Trace::detached();
    let error = exchange(&client, &origin, &trace).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_advice()), (ErrorKind::Connection, Retry::Backoff));
    assert!(trace.take().connection_reused, "it is not sent a second time behind the record's back");
    server.await.unwrap();
}

#[tokio::test]
async fn silence_is_a_stall_before_and_within_the_answer() {
    // Where nobody has ever answered, nobody is likely to.
    for (answered, retry) in [(&b""[..], Retry::Few), (&OK[..OK.len() - 1], Retry::Backoff)] {
        let (listener, origin) = listen().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            take_request(&mut stream, 4).await;
            // Not before: to connect takes its time.
            pause();
            stream.write_all(answered).await.unwrap();
            // The client closes: that ends the silence.
            assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
        });
        let began = Instant::now();
        let error =
            exchange(&client(Duration::from_millis(400)), &origin, &Trace::detached()).await.unwrap_err();
        assert_eq!((error.kind(), error.retry_advice()), (ErrorKind::Stalled, retry));
        assert!((350..1500).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
        resume();
        server.await.unwrap();
    }
}

/// What a server sends, a little at a time, for as long as the client takes it; what the client makes of it.
async fn trickled(begin: &'static [u8], piece: &'static [u8], every: Duration) -> Error {
    let (listener, origin) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        take_request(&mut stream, 4).await;
        pause();
        let _ = stream.write_all(begin).await;
        while stream.write_all(piece).await.is_ok() {
            tokio::time::sleep(every).await;
        }
    });
    let client = client(Duration::from_millis(400));
    let error = exchange(&client, &origin, &Trace::detached()).await.unwrap_err();
    resume();
    server.abort();
    error
}

#[tokio::test]
async fn an_exchange_that_would_never_end_is_given_up() {
    const BODY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
    const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    const SOON: Duration = Duration::from_millis(50);
    for (begin, piece, every, kind) in [
        // Bytes come, but too few.
        (BODY, &b"ab"[..], SOON, ErrorKind::Stalled),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"2\r\nab\r\n", SOON, ErrorKind::Stalled),
        // A head without an end: slowly, by answers that announce another one, and at once.
        (b"HTTP/1.1 200 OK\r\nX: ", b"a", SOON, ErrorKind::Protocol),
        (b"", CONTINUE, SOON, ErrorKind::Protocol),
        (b"", CONTINUE, Duration::ZERO, ErrorKind::Protocol),
        (b"HTTP/1.1 200 OK\r\nX: ", &[b'a'; 1000], Duration::ZERO, ErrorKind::Protocol),
    ] {
        let began = Instant::now();
        let error = trickled(begin, piece, every).await;
        let shown = String::from_utf8_lossy(piece);
        assert_eq!((error.kind(), error.retry_advice()), (kind, Retry::Few), "{shown}: {error}");
        assert!(began.elapsed() < Duration::from_secs(3), "{shown}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_document_is_no_larger_than_any_such_document() {
    for head in ["Content-Length: 3000000", "Connection: close"] {
        let (listener, origin) = listen().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            take_request(&mut stream, 4).await;
            let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(&vec![b'x'; 3_000_000]).await;
        });
        let error = exchange(&client(Duration::from_secs(5)), &origin, &Trace::detached()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        assert!(error.cause().contains("larger than 1 MiB"), "{error}");
        server.await.unwrap();
    }
}

/// Our kernel holds the end of the body long before it arrives: only the acknowledgements show that it moves.
#[tokio::test]
async fn a_slow_reader_is_no_stall() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 << 10).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let origin = Origin::parse("http", &listener.local_addr().unwrap().to_string()).unwrap();
    let body = Bytes::from(vec![7; 2 << 20]);
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (mut piece, mut got) = (vec![0; 64 << 10], 0);
        while got < 2 << 20 {
            got += stream.read(&mut piece).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        stream.write_all(OK).await.unwrap();
    });
    let began = Instant::now();
    let client = client(Duration::from_millis(500));
    let trace = Trace::detached();
    let answer = send(&client, &origin, body, &trace).await.unwrap();
    assert_eq!(answer.into_body().collect(1 << 20).await.unwrap(), "ok");
    assert!(began.elapsed() > Duration::from_millis(1000), "{:?}", began.elapsed());
    server.await.unwrap();
}

#[tokio::test]
async fn broken_connections_say_how() {
    let port = listen().await.1;
    let refused = exchange(&client(Duration::from_secs(1)), &port, &Trace::detached()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection);
    assert!(refused.cause().starts_with("connection refused"), "{refused}");
    // Nothing has ever answered there, and it was tried four times: a wrong address, not a passing fault.
    assert_eq!(refused.retry_advice(), haulage::error::Retry::Never);
    assert!(refused.hint_text().is_some_and(|hint| hint.contains("right address")), "{refused}");

    for answered in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", b"HTTP/1.1 200 O"] {
        let (listener, origin) = listen().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            take_request(&mut stream, 4).await;
            stream.write_all(answered).await.unwrap();
        });
        let error = exchange(&client(Duration::from_secs(5)), &origin, &Trace::detached()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert!(error.cause().contains("closed before the answer was complete"), "{error}");
        server.await.unwrap();
    }
    let nowhere = Origin::parse("https", "no-such-host.invalid").unwrap();
    let error = exchange(&client(Duration::from_secs(1)), &nowhere, &Trace::detached()).await.unwrap_err();
    assert!(error.cause().starts_with("host not found"), "{error}");
}

#[tokio::test]
async fn what_fails_after_the_first_contact_says_what_to_check() {
    let (listener, origin) = listen().await;
    let server = tokio::spawn(async move {
        let (mut first, _) = listener.accept().await.unwrap();
        answer(&mut first).await;
        drop(first);
        let (mut second, _) = listener.accept().await.unwrap();
        take_request(&mut second, 4).await;
        second.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").await.unwrap();
    });
    let client = client(Duration::from_secs(5));
    exchange(&client, &origin, &Trace::detached()).await.unwrap();
    let gone = listen().await.1;
    let nowhere = Origin::parse("https", "no-such-host.invalid").unwrap();
    for (origin, kind, hint) in [
        (&origin, ErrorKind::Protocol, "check the endpoint and its port: an object store answers in HTTP"),
        (&gone, ErrorKind::Connection, "check that the server is running and the port is right"),
        (&nowhere, ErrorKind::Connection, "check the account name, the endpoint and the network"),
    ] {
        let error = exchange(&client, origin, &Trace::detached()).await.unwrap_err();
        assert_eq!((error.kind(), error.hint_text()), (kind, Some(hint)), "{error}");
    }
    server.await.unwrap();
}

#[tokio::test]
async fn an_answer_before_the_body_is_read_arrives() {
    let (listener, origin) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; 100]).await.unwrap();
        let busy = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        stream.write_all(busy).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    });
    let body = Bytes::from(vec![0; 32 << 20]);
    let client = client(Duration::from_secs(2));
    let answer = send(&client, &origin, body, &Trace::detached()).await.unwrap();
    assert_eq!(answer.status(), 503);
    drop(answer);
    server.await.unwrap();
}

#[tokio::test]
async fn the_cap_holds_over_all_connections() {
    let (listener, origin) = listen().await;
    let _server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                for len in [4, 200_000] {
                    take_request(&mut stream, len).await;
                    stream.write_all(OK).await.unwrap();
                }
            });
        }
    });
    let cap = Some(ByteRate::bits_per_second(8_000_000));
    let options = HttpOptions { cap, stall_timeout: Duration::from_millis(200), ..HttpOptions::default() };
    let client = HttpClient::new(options).unwrap();
    let all_send = async |len| {
        let sending = (0..4).map(|_| {
            let (client, origin) = (client.clone(), origin.clone());
            tokio::spawn(async move {
                let answer = send(&client, &origin, Bytes::from(vec![0; len]), &Trace::detached()).await;
                answer.unwrap().into_body().collect(1 << 20).await.unwrap()
            })
        });
        for sent in sending.collect::<Vec<_>>() {
            assert_eq!(sent.await.unwrap(), "ok");
        }
    };
    // To connect takes its time; to wait for the cap, that of a clock which stands still.
    all_send(4).await;
    pause();
    let began = Instant::now();
    all_send(200_000).await;
    // 800 kB at 1 MB/s.
    assert!((0.75..0.85).contains(&began.elapsed().as_secs_f64()), "{:?}", began.elapsed());
}

#[tokio::test]
async fn plain_http_stays_on_this_machine() {
    let origin = Origin::parse("http", "192.0.2.1").unwrap();
    let error = exchange(&client(Duration::from_secs(1)), &origin, &Trace::detached()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.hint_text().unwrap().contains("--insecure-http"));
}

/// A server with a certificate of its own for `localhost`; the PEM of the certificate.
async fn tls_server() -> (Origin, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(serve_tls(acceptor, stream));
        }
    });
    (Origin::parse("https", &format!("localhost:{port}")).unwrap(), made.cert.pem())
}

async fn serve_tls(acceptor: tokio_rustls::TlsAcceptor, stream: TcpStream) {
    // A client that does not trust us hangs up.
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    take_request(&mut stream, 3 << 20).await;
    stream.write_all(OK).await.unwrap();
    stream.shutdown().await.unwrap();
}

#[tokio::test]
async fn tls_needs_a_certificate_that_holds() {
    let (origin, pem) = tls_server().await;
    let body = Bytes::from(vec![1; 3 << 20]);
    let error =
        send(&client(Duration::from_secs(5)), &origin, body.clone(), &Trace::detached()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_advice()), (ErrorKind::Connection, haulage::error::Retry::Never));
    assert!(error.hint_text().unwrap().contains("SSL_CERT_FILE"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("root.pem");
    std::fs::write(&path, pem).unwrap();
    let options = HttpOptions { extra_roots: Some(path.clone()), ..HttpOptions::default() };
    let trusting = HttpClient::new(options).unwrap();
    let trace = Trace::detached();
    let answer = send(&trusting, &origin, body.clone(), &trace).await.unwrap();
    assert_eq!(answer.into_body().collect(1 << 20).await.unwrap(), "ok");
    let phases = trace.take().phases;
    assert!(phases.sent_ns.is_some() && phases.sent_ns <= phases.first_byte_ns);

    // So does a bundle in place of the system's, and no other.
    let only = |path: &Path| client(Duration::from_secs(5)).by(Connections::trusting_only(path.into()));
    for bundle in [path.as_path(), folder.path()] {
        send(&only(bundle), &origin, body.clone(), &Trace::detached()).await.unwrap();
    }
    let empty = tempfile::tempdir().unwrap();
    let error = send(&only(empty.path()), &origin, body, &Trace::detached()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);

    // Variables do the same, in a process whose environment is its own.
    for variable in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"] {
        let (url, path) = (origin.to_string(), path.clone());
        let child = tokio::task::spawn_blocking(move || {
            let child = std::env::current_exe().unwrap();
            let mut child = std::process::Command::new(child);
            child.args(["--exact", "azure_http::child_tls", "--ignored", "--nocapture"]);
            child.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
            child.env("HAUL_TEST_URL", url).env(variable, path).output().unwrap()
        });
        let output = child.await.unwrap();
        let output = String::from_utf8_lossy(&output.stdout);
        assert!(output.contains("outcome: 200"), "{variable}: {output}");
    }
}

#[tokio::test]
#[ignore = "run as a child process by the test above"]
async fn child_tls() {
    let url: http::Uri = std::env::var("HAUL_TEST_URL").unwrap().parse().unwrap();
    let origin = Origin::of(&url).unwrap();
    let body = Bytes::from(vec![1; 3 << 20]);
    let answer = send(&client(Duration::from_secs(5)), &origin, body, &Trace::detached()).await.unwrap();
    println!("outcome: {}", answer.status().as_u16());
}
