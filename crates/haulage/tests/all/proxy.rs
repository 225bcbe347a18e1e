//! The HTTP client behind proxies, right and wrong: small ones of the tests' own, and servers that no name leads to but theirs.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use haulage::error::Retry;
use haulage::http::{HttpClient, HttpOptions, Origin, ProxyChoice};
use haulage::store::Trace;
use haulage::{Error, ErrorKind, Result};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The size of what is sent, and of what comes back.
const BODY: usize = 3 << 20;
const OPEN: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// What a server or a proxy was told: the heads of requests.
type Heads = Arc<Mutex<Vec<String>>>;

/// A certificate for these names, and who shows it.
fn certificate(names: &[&str]) -> (TlsAcceptor, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), made.cert.pem())
}

/// Reads until the end of a head; gives it and what has come after it.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> Option<(String, usize)> {
    let mut seen = Vec::new();
    loop {
        if let Some(end) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
            return Some((String::from_utf8_lossy(&seen[..end]).into_owned(), seen.len() - end - 4));
        }
        let mut piece = vec![0; 16 << 10];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => seen.extend_from_slice(&piece[..read]),
        }
    }
}

/// Answers requests that send [`BODY`] bytes with as many.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, heads: Heads) {
    while let Some((head, mut came)) = head(&mut stream).await {
        heads.lock().unwrap().push(head);
        let mut piece = vec![0; 64 << 10];
        while came < BODY {
            came += stream.read(&mut piece).await.unwrap();
        }
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {BODY}\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.write_all(&vec![7; BODY]).await.unwrap();
        stream.flush().await.unwrap();
    }
}

/// A server of https that shows this certificate; its port.
async fn server(tls: TlsAcceptor, heads: Heads) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (tls, heads) = (tls.clone(), heads.clone());
            tokio::spawn(async move {
                if let Ok(stream) = tls.accept(stream).await {
                    serve(stream, heads).await;
                }
            });
        }
    });
    port
}

/// Lets through to this port of the machine, whatever it was asked for.
async fn pass(mut stream: impl AsyncRead + AsyncWrite + Unpin, port: u16, heads: Heads) {
    let Some((head, came)) = head(&mut stream).await else { return };
    assert_eq!(came, 0, "nothing follows CONNECT before its answer");
    heads.lock().unwrap().push(head);
    stream.write_all(OPEN).await.unwrap();
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    // Whoever has got what he wanted hangs up.
    let _ = copy_bidirectional(&mut stream, &mut server).await;
}

/// A proxy, https with a certificate; its address.
async fn proxy(tls: Option<TlsAcceptor>, port: u16, heads: Heads) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (tls, heads) = (tls.clone(), heads.clone());
            tokio::spawn(async move {
                match tls {
                    None => pass(stream, port, heads).await,
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            pass(stream, port, heads).await;
                        }
                    }
                }
            });
        }
    });
    address
}

/// A proxy that says this to whoever comes, and closes where it says so; its address.
async fn saying(answer: &'static [u8], closes: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                head(&mut stream).await;
                // The client may not wait for the end of it.
                let _ = stream.write_all(answer).await;
                if !closes {
                    tokio::time::sleep(Duration::from_secs(20)).await;
                }
            });
        }
    });
    address
}

/// A server that says this before it is asked anything, and closes; its port.
async fn speaking_first(words: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(words).await.unwrap();
        }
    });
    port
}

fn client(proxy: &str, roots: Option<&std::path::Path>) -> HttpClient {
    let choice: ProxyChoice = proxy.parse().unwrap();
    HttpClient::new(HttpOptions {
        insecure_http: true,
        stall_timeout: Duration::from_secs(5),
        extra_roots: roots.map(Into::into),
        proxies: choice.proxies(),
        ..HttpOptions::default()
    })
    .unwrap()
}

async fn put(client: &HttpClient, origin: &Origin, trace: &Trace) -> Result<Bytes> {
    let body = Bytes::from(vec![7; BODY]);
    let request = http::Request::put("/c/key?sig=x").header("content-length", BODY).body(body).unwrap();
    client.send(origin, request, "write", "thing", trace).await?.into_body().collect(8 << 20).await
}

fn store() -> Origin {
    Origin::parse("https", "store.test").unwrap()
}

#[tokio::test]
async fn https_goes_through_a_tunnel_of_either_kind_of_proxy() {
    let (shows, pem) = certificate(&["store.test"]);
    let (proxy_shows, proxy_pem) = certificate(&["127.0.0.1"]);
    let folder = tempfile::tempdir().unwrap();
    let roots = folder.path().join("roots.pem");
    std::fs::write(&roots, pem + &proxy_pem).unwrap();
    for tls in [None, Some(proxy_shows)] {
        let (at_server, at_proxy) = (Heads::default(), Heads::default());
        let port = server(shows.clone(), at_server.clone()).await;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let address = proxy(tls, port, at_proxy.clone()).await;
        let client = client(&format!("{scheme}://me:secret%2001@{address}"), Some(&roots));
        for round in 0..3 {
            let trace = Trace::detached();
            let body = put(&client, &store(), &trace).await.unwrap();
            assert!(body.len() == BODY && body.iter().all(|byte| *byte == 7));
            let seen = trace.take();
            assert_eq!((seen.connection, seen.connection_reused), (1, round > 0), "{scheme}");
            let route = seen.route;
            assert_eq!((route.remote.unwrap().to_string(), route.proxied), (address.clone(), true));
            // Told once, by the request that the connection was made for. An address is not looked up.
            assert_eq!((route.proxy_ns.is_some(), route.tls_ns.is_some()), (round == 0, round == 0));
            assert_eq!(route.dns_ns, None);
            let phases = seen.phases;
            let marks = [phases.connected_ns, phases.sent_ns, phases.first_byte_ns, phases.last_byte_ns];
            assert!(marks.map(|mark| mark.expect("every phase is marked")).is_sorted(), "{marks:?}");
        }
        let (at_server, at_proxy) = (at_server.lock().unwrap(), at_proxy.lock().unwrap());
        let asked = at_proxy.concat().to_lowercase();
        assert!(asked.starts_with("connect store.test:443 http/1.1\r\nhost: store.test:443"), "{asked}");
        // me:secret 01
        assert!(asked.contains("\r\nproxy-authorization: basic bwu6c2vjcmv0idax"), "{asked}");
        assert_eq!((at_proxy.len(), at_server.len()), (1, 3));
        for head in at_server.iter().map(|head| head.to_lowercase()) {
            assert!(head.starts_with("put /c/key?sig=x http/1.1\r\n"), "{head}");
            assert!(head.contains("\r\nhost: store.test") && !head.contains("proxy"), "{head}");
        }
    }
}

#[tokio::test]
async fn http_is_handed_to_the_proxy_with_its_whole_url() {
    let heads = Heads::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let told = heads.clone();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        serve(stream, told).await;
    });
    let client = client(&format!("me:secret01@{address}"), None);
    let origin = Origin::parse("http", "store.test").unwrap();
    for _ in 0..2 {
        let trace = Trace::detached();
        assert_eq!(put(&client, &origin, &trace).await.unwrap().len(), BODY);
        let route = trace.take().route;
        assert_eq!((route.remote, route.proxied, route.proxy_ns), (Some(address), true, None));
    }
    for head in heads.lock().unwrap().iter().map(|head| head.to_lowercase()) {
        assert!(head.starts_with("put http://store.test/c/key?sig=x http/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nhost: store.test\r\n"), "{head}");
        assert!(head.contains("\r\nproxy-authorization: basic bwu6c2vjcmv0mde="), "{head}");
    }
    assert_eq!(heads.lock().unwrap().len(), 2);
}

async fn fails(proxy: &str, origin: &Origin) -> Error {
    let error = put(&client(proxy, None), origin, &Trace::detached()).await.unwrap_err();
    assert_eq!((error.operation(), error.object_name()), ("write", "thing"));
    assert!(error.hint_text().is_some() && !error.to_string().contains("secret01"), "{error}");
    error
}

#[tokio::test]
async fn answers_that_open_no_tunnel_are_failures_with_a_name() {
    use ErrorKind::{Connection, Permission, Protocol};
    let endless = [b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'a'; 64 << 10]].concat().leak();
    let cases: [(&[u8], bool, ErrorKind, Retry, &str); 14] = [
        (b"HTTP/1.1 407 Who\r\n\r\n", false, Permission, Retry::Never, "does not accept"),
        (
            b"HTTP/1.0 403 No\r\ncontent-length: 3\r\n\r\nno!",
            true,
            Permission,
            Retry::Never,
            "does not allow",
        ),
        (
            b"HTTP/1.1 502 Bad\r\n\r\n",
            true,
            Connection,
            Retry::Never,
            "cannot reach store.test:443 (HTTP 502)",
        ),
        (b"HTTP/1.1 405 Not\r\n\r\n", true, Protocol, Retry::Few, "(HTTP 405)"),
        (
            b"HTTP/1.1 302 There\r\nlocation: https://evil.test/\r\n\r\n",
            false,
            Protocol,
            Retry::Few,
            "(HTTP 302)",
        ),
        (b"HTTP/1.1 204 Nothing\r\n\r\n", false, Protocol, Retry::Few, "(HTTP 204)"),
        (b"HTTP/1.1 101 Switch\r\n\r\n", false, Protocol, Retry::Few, "(HTTP 101)"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", false, Protocol, Retry::Few, "does not answer as a proxy does"),
        (
            b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
            false,
            Protocol,
            Retry::Few,
            "does not answer as a proxy does",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nmore", false, Protocol, Retry::Few, "more than an answer came"),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
            false,
            Protocol,
            Retry::Few,
            "more than an answer",
        ),
        (endless, false, Protocol, Retry::Few, "does not answer as a proxy does"),
        (b"", true, Connection, Retry::Never, "the proxy 127.0.0.1:"),
        (b"HTTP/1.1 200 OK\r\n", true, Connection, Retry::Never, "the proxy 127.0.0.1:"),
    ];
    for (answer, closes, kind, retry, why) in cases {
        let began = Instant::now();
        let address = saying(answer, closes).await;
        let error = fails(&format!("http://me:secret01@{address}"), &store()).await;
        let answer = String::from_utf8_lossy(&answer[..answer.len().min(40)]);
        assert_eq!((error.kind(), error.retry_advice()), (kind, retry), "{answer}: {error}");
        assert!(error.cause().contains(why), "{answer}: {error}");
        assert!(error.cause().contains(&format!("the proxy {address} (--proxy)")), "{answer}: {error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{answer}");
    }
}

#[tokio::test]
async fn a_tunnel_that_is_cut_or_leads_elsewhere_is_a_failure_of_the_way() {
    // Cut as soon as it is open, and one behind which nobody speaks TLS.
    for (answer, closes, why) in [
        (OPEN, true, "while TLS was agreed on: https://store.test, through the proxy"),
        (OPEN, false, "through the proxy"),
    ] {
        let address = if closes {
            saying(answer, true).await
        } else {
            proxy(None, speaking_first(b"220 mail.test ready\r\n").await, Heads::default()).await
        };
        let error = fails(&format!("http://{address}"), &store()).await;
        assert_eq!((error.kind(), error.retry_advice()), (ErrorKind::Connection, Retry::Never), "{error}");
        assert!(error.cause().contains(why), "{error}");
    }
    // The certificate of somebody else: the proxy opens TLS, or leads elsewhere.
    let (shows, _) = certificate(&["store.test"]);
    let port = server(shows, Heads::default()).await;
    let address = proxy(None, port, Heads::default()).await;
    let error = fails(&address, &store()).await;
    assert!(error.cause().contains("the certificate of https://store.test is not valid"), "{error}");
    assert!(error.hint_text().unwrap().contains("--ca"), "{error}");
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = fails(&format!("http://me:secret01@{gone}"), &store()).await;
    assert_eq!((error.kind(), error.retry_advice()), (ErrorKind::Connection, Retry::Never));
    assert_eq!(error.cause(), format!("connection refused: the proxy {gone} (--proxy)"));
    let error = fails("no-such-proxy.invalid", &store()).await;
    assert_eq!(error.cause(), "host not found: the proxy no-such-proxy.invalid:80 (--proxy)");
    assert!(error.hint_text().unwrap().starts_with("check the proxy's address"), "{error}");
    // Plain http where the proxy is said to speak https.
    let address = format!("127.0.0.1:{}", speaking_first(b"HTTP/1.1 400 Bad\r\n\r\n").await);
    let error = fails(&format!("https://{address}"), &store()).await;
    assert!(error.cause().contains(&format!("the proxy https://{address} (--proxy)")), "{error}");
}

#[tokio::test]
async fn a_proxy_that_is_handed_requests_may_want_to_know_who_we_are() {
    let address =
        saying(b"HTTP/1.1 407 Who\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n", false).await;
    let origin = Origin::parse("http", "store.test").unwrap();
    let error = fails(&address, &origin).await;
    assert_eq!(error.kind(), ErrorKind::Permission);
    assert!(error.cause().contains("asks for a user name and a password (HTTP 407)"), "{error}");
    // Another cut than that of a server is told as one on the way.
    let error = fails(&saying(b"", true).await, &origin).await;
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.cause().contains("through the proxy 127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn this_machine_is_reached_without_a_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heads = Heads::default();
    let told = heads.clone();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        serve(stream, told).await;
    });
    let client = client("http://no-such-proxy.invalid:1", None);
    let origin = Origin::parse("http", &address.to_string()).unwrap();
    let trace = Trace::detached();
    put(&client, &origin, &trace).await.unwrap();
    assert!(!trace.take().route.proxied);
    assert!(heads.lock().unwrap()[0].starts_with("PUT /c/key?sig=x HTTP/1.1"));
}
