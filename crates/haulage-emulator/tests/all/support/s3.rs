//! A small S3 client with a signer of its own: nothing of it is shared with what it tests.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use haulage_emulator::{Emulator, S3Access};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::net::TcpStream;

use super::Answer;

const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const PATH: AsciiSet = UNRESERVED.remove(b'/');
pub(crate) const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A connection to the endpoint's S3 side.
pub(crate) struct S3 {
    sender: SendRequest<Full<Bytes>>,
    pub(crate) access: S3Access,
    pub(crate) host: String,
}

/// What a signature is made for.
pub(crate) struct Signed {
    pub(crate) authorization: String,
    pub(crate) key: Vec<u8>,
    pub(crate) signature: String,
    pub(crate) timestamp: String,
    pub(crate) scope: String,
}

pub(crate) fn escaped(name: &str) -> String {
    utf8_percent_encode(name, &PATH).to_string()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

pub(crate) fn crc32(bytes: &[u8]) -> String {
    let value = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, bytes) as u32;
    BASE64_STANDARD.encode(value.to_be_bytes())
}

pub(crate) fn crc64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(haulage::checksum::Crc64::of(bytes).to_u64().to_be_bytes())
}

pub(crate) fn sha256_base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(Sha256::digest(bytes))
}

/// The text of the first element of this name; empty where there is none.
pub(crate) fn element<'a>(answer: &'a Answer, name: &str) -> &'a str {
    let text = answer.text();
    let start = text.find(&format!("<{name}>")).map(|at| at + name.len() + 2);
    start.map_or("", |start| &text[start..start + text[start..].find('<').unwrap()])
}

/// All texts of elements of this name.
pub(crate) fn elements<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    let opening = format!("<{name}>");
    let parts = answer.text().split(opening.as_str()).skip(1);
    parts.map(|part| part.split('<').next().unwrap()).collect()
}

/// Status and code of a failure.
pub(crate) fn failure(answer: &Answer) -> (u16, &str) {
    (answer.status.as_u16(), element(answer, "Code"))
}

pub(crate) fn now() -> String {
    stamp(OffsetDateTime::now_utc())
}

pub(crate) fn stamp(time: OffsetDateTime) -> String {
    time.format(format_description!("[year][month][day]T[hour][minute][second]Z")).unwrap()
}

/// Pairs of a query that is escaped already, sorted.
fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| if pair.contains('=') { pair.to_owned() } else { format!("{pair}=") })
        .collect();
    pairs.sort_unstable();
    pairs.join("&")
}

impl S3 {
    pub(crate) async fn connect(emulator: &Emulator) -> Self {
        let stream = TcpStream::connect(emulator.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self { sender, access: emulator.s3(), host: emulator.address().to_string() }
    }

    fn key(&self, date: &str) -> Vec<u8> {
        let key = mac(format!("AWS4{}", self.access.secret_access_key).as_bytes(), date);
        mac(&mac(&mac(&key, &self.access.region), "s3"), "aws4_request")
    }

    /// Signs a request whose path and query are escaped; all headers are signed.
    pub(crate) fn sign(
        &self,
        method: &Method,
        uri: &str,
        headers: &[(String, String)],
        payload: &str,
        timestamp: &str,
    ) -> Signed {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let mut headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.trim())).collect();
        headers.sort_unstable();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let names = names.join(";");
        let canonical = format!("{method}\n{path}\n{}\n{lines}\n{names}\n{payload}", canonical_query(query));
        let date = &timestamp[..8];
        let scope = format!("{date}/{}/s3/aws4_request", self.access.region);
        let text = format!("AWS4-HMAC-SHA256\n{timestamp}\n{scope}\n{}", sha256(canonical.as_bytes()));
        let key = self.key(date);
        let signature = hex(&mac(&key, &text));
        let id = &self.access.access_key_id;
        let authorization =
            format!("AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}");
        Signed { authorization, key, signature, timestamp: timestamp.to_owned(), scope }
    }

    /// A URL's path and query that lets whoever has it do this.
    pub(crate) fn presigned(&self, method: &Method, path: &str, seconds: u32, timestamp: &str) -> String {
        let scope = format!("{}/{}/s3/aws4_request", &timestamp[..8], self.access.region);
        let credential = format!("{}/{scope}", self.access.access_key_id);
        let joint = if path.contains('?') { '&' } else { '?' };
        let uri = format!(
            "{path}{joint}X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={}&X-Amz-Date={timestamp}\
             &X-Amz-Expires={seconds}&X-Amz-SignedHeaders=host",
            utf8_percent_encode(&credential, &UNRESERVED),
        );
        let headers = [("host".to_owned(), self.host.clone())];
        let signed = self.sign(method, &uri, &headers, "UNSIGNED-PAYLOAD", timestamp);
        format!("{uri}&X-Amz-Signature={}", signed.signature)
    }

    /// Sends a request with headers as they are; fails where the connection breaks.
    pub(crate) async fn raw(
        &mut self,
        method: Method,
        uri: &str,
        headers: &[(String, String)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, hyper::Error> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        self.sender.ready().await?;
        let response = self.sender.send_request(request.body(Full::new(body.into())).unwrap()).await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    }

    /// The headers that a signed request has besides its own.
    fn dressed(&self, headers: &[(&str, &str)], payload: &str, timestamp: &str) -> Vec<(String, String)> {
        let own = [("host", &*self.host), ("x-amz-date", timestamp), ("x-amz-content-sha256", payload)];
        let all = own.iter().chain(headers);
        all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    pub(crate) async fn try_send(
        &mut self,
        method: Method,
        uri: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, hyper::Error> {
        let body = body.into();
        let (payload, timestamp) = (sha256(&body), now());
        let mut headers = self.dressed(headers, &payload, &timestamp);
        let signed = self.sign(&method, uri, &headers, &payload, &timestamp);
        headers.push(("authorization".to_owned(), signed.authorization));
        headers.push(("content-length".to_owned(), body.len().to_string()));
        self.raw(method, uri, &headers, body).await
    }

    pub(crate) async fn send(
        &mut self,
        method: Method,
        uri: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        self.try_send(method, uri, headers, body).await.unwrap()
    }

    /// Puts a body in chunks, each signed unless told otherwise, with a trailer perhaps.
    pub(crate) async fn put_chunks(
        &mut self,
        uri: &str,
        chunks: &[&[u8]],
        sign: bool,
        trailer: Option<(&str, &str)>,
        damage: impl FnOnce(&mut Vec<u8>),
    ) -> Answer {
        let payload = match (sign, trailer) {
            (true, None) => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
            (true, Some(_)) => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
            (false, _) => "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        };
        let len = chunks.iter().map(|chunk| chunk.len()).sum::<usize>().to_string();
        let mut headers = vec![("content-encoding", "aws-chunked"), ("x-amz-decoded-content-length", &*len)];
        headers.extend(trailer.map(|(name, _)| ("x-amz-trailer", name)));
        let timestamp = now();
        let mut headers = self.dressed(&headers, payload, &timestamp);
        let mut signed = self.sign(&Method::PUT, uri, &headers, payload, &timestamp);
        headers.push(("authorization".to_owned(), signed.authorization.clone()));
        let mut wire = Vec::new();
        for chunk in chunks.iter().copied().chain([&[][..]]) {
            wire.extend(format!("{:x}", chunk.len()).bytes());
            if sign {
                let hashes = format!("{EMPTY}\n{}", sha256(chunk));
                wire.extend(format!(";chunk-signature={}", signed.next("PAYLOAD", &hashes)).bytes());
            }
            wire.extend(b"\r\n");
            wire.extend(chunk);
            if !chunk.is_empty() {
                wire.extend(b"\r\n");
            }
        }
        if let Some((name, value)) = trailer {
            wire.extend(format!("{name}:{value}\r\n").bytes());
            if sign {
                let hash = sha256(format!("{name}:{value}\n").as_bytes());
                wire.extend(format!("x-amz-trailer-signature:{}\r\n", signed.next("TRAILER", &hash)).bytes());
            }
        }
        wire.extend(b"\r\n");
        damage(&mut wire);
        headers.push(("content-length".to_owned(), wire.len().to_string()));
        self.raw(Method::PUT, uri, &headers, wire).await.unwrap()
    }

    pub(crate) async fn get(&mut self, uri: &str) -> Answer {
        self.send(Method::GET, uri, &[], "").await
    }

    pub(crate) async fn head(&mut self, uri: &str) -> Answer {
        self.send(Method::HEAD, uri, &[], "").await
    }

    /// Puts an object; must succeed.
    pub(crate) async fn put(&mut self, name: &str, body: impl Into<Bytes>) -> Answer {
        let put = self.send(Method::PUT, &format!("/box/{}", escaped(name)), &[], body).await;
        assert_eq!(put.status, 200, "{}", put.text());
        put
    }

    /// Begins a multipart upload; its id.
    pub(crate) async fn begin(&mut self, uri: &str, headers: &[(&str, &str)]) -> String {
        let begun = self.send(Method::POST, &format!("{uri}?uploads="), headers, "").await;
        assert_eq!(begun.status, 200, "{}", begun.text());
        element(&begun, "UploadId").to_owned()
    }

    pub(crate) async fn part(
        &mut self,
        uri: &str,
        id: &str,
        number: u32,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let uri = format!("{uri}?partNumber={number}&uploadId={id}");
        self.send(Method::PUT, &uri, headers, body).await
    }

    /// Completes an upload of (number, ETag, other elements).
    pub(crate) async fn complete(
        &mut self,
        uri: &str,
        id: &str,
        headers: &[(&str, &str)],
        parts: &[(u32, &str, &str)],
    ) -> Answer {
        let entries: String = parts
            .iter()
            .map(|(number, etag, more)| {
                format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag>{more}</Part>")
            })
            .collect();
        let body = format!("<CompleteMultipartUpload>{entries}</CompleteMultipartUpload>");
        self.send(Method::POST, &format!("{uri}?uploadId={id}"), headers, body).await
    }
}

impl Signed {
    /// The signature of the next chunk or of the trailers.
    fn next(&mut self, what: &str, hashes: &str) -> String {
        let Self { key, signature, timestamp, scope, .. } = self;
        let text = format!("AWS4-HMAC-SHA256-{what}\n{timestamp}\n{scope}\n{signature}\n{hashes}");
        *signature = hex(&mac(key, &text));
        signature.clone()
    }
}
