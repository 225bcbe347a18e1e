//! A small client: signs with the account's signature, one connection, reads whole bodies.

pub(crate) mod s3;
pub(crate) mod tables;

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use haulage_emulator::{Emulator, EmulatorConfig, StoreKind, start};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// A connection to the endpoint.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    sas: String,
}

/// An answer with its whole body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The service's word for the failure.
    pub(crate) fn code(&self) -> &str {
        self.header("x-ms-error-code")
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

pub(crate) async fn serve(configure: impl FnOnce(&mut EmulatorConfig)) -> Emulator {
    let mut config = EmulatorConfig::default();
    configure(&mut config);
    start(config).await.unwrap()
}

/// An endpoint in memory with the container `box`, and a client of it.
pub(crate) async fn memory() -> (Emulator, Client) {
    let emulator = serve(|config| config.store = StoreKind::Memory).await;
    let mut client = Client::connect(&emulator).await;
    client.make_container().await;
    (emulator, client)
}

impl Client {
    pub(crate) async fn connect(emulator: &Emulator) -> Self {
        let sas = emulator.sas("rwdlacut", SystemTime::now() + Duration::from_secs(600));
        Self::connect_with(emulator.address(), sas).await
    }

    pub(crate) async fn connect_with(address: SocketAddr, sas: String) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self { sender, sas }
    }

    pub(crate) async fn make_container(&mut self) {
        let made = self.send(Method::PUT, "/box?restype=container", &[], "").await;
        assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    }

    /// Sends a request below the account; fails where the connection breaks.
    pub(crate) async fn try_send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, hyper::Error> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let mut request =
            Request::builder().method(method).uri(format!("/devstoreaccount1{path}{joint}{}", self.sas));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.into();
        let request = request.header("host", "localhost").header("content-length", body.len());
        self.sender.ready().await?;
        let response = self.sender.send_request(request.body(Full::new(body)).unwrap()).await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    }

    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        self.try_send(method, path, headers, body).await.unwrap()
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    /// Put Blob; must succeed.
    pub(crate) async fn put(&mut self, name: &str, body: impl Into<Bytes>) -> Answer {
        let path = format!("/box/{name}");
        let put = self.send(Method::PUT, &path, &[("x-ms-blob-type", "BlockBlob")], body).await;
        assert_eq!(put.status, StatusCode::CREATED, "{}", put.text());
        put
    }

    pub(crate) async fn put_block(&mut self, name: &str, id: &str, body: impl Into<Bytes>) -> Answer {
        let id = id.replace('=', "%3D");
        self.send(Method::PUT, &format!("/box/{name}?comp=block&blockid={id}"), &[], body).await
    }

    /// Put Block List of (where, id).
    pub(crate) async fn commit(&mut self, name: &str, blocks: &[(&str, &str)]) -> Answer {
        let entries: String = blocks.iter().map(|(list, id)| format!("<{list}>{id}</{list}>")).collect();
        let body = format!("<?xml version=\"1.0\"?><BlockList>{entries}</BlockList>");
        self.send(Method::PUT, &format!("/box/{name}?comp=blocklist"), &[], body).await
    }
}
