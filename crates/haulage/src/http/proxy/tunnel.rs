//! A tunnel through a proxy: CONNECT, and the judgement of its answer.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use http::header::{HOST, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Proxy;
use super::refusal::{no_proxy, refused};
use crate::error::{ErrorKind, Result};
use crate::http::failure::{self, Call};
use crate::http::origin::Origin;

/// The answer is a line and a few headers; one that is longer is none.
const HEAD_MAX: usize = 16 << 10;

const AGENT: HeaderValue = HeaderValue::from_static(concat!("haulage/", env!("CARGO_PKG_VERSION")));

/// Asks `proxy`, at the other end of `stream`, for a tunnel to `origin`, and gives the stream back as its near end.
///
/// Only status 200 makes one, and not a byte may follow its head: whoever is at the far end waits for us to speak.
pub(in crate::http) async fn open<S>(stream: S, proxy: &Proxy, origin: &Origin, call: Call<'_>) -> Result<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let lost = |error| failure::tunnel(call, proxy, error);
    let io = TokioIo::new(stream);
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(HEAD_MAX).handshake(io).await.map_err(lost)?;
    let mut answer = pin!(sender.send_request(request(proxy, origin, call)?));
    let mut parting = pin!(connection.without_shutdown());
    let mut parts = None;
    let answer = poll_fn(|cx| {
        if parts.is_none()
            && let Poll::Ready(parted) = parting.as_mut().poll(cx)
        {
            parts = Some(parted);
        }
        answer.as_mut().poll(cx)
    });
    let answer = answer.await.map_err(lost)?;
    if answer.status() != StatusCode::OK {
        return Err(refused(call, proxy, origin, answer.status(), answer.headers()));
    }
    let parts = match parts {
        Some(parts) => parts,
        None => parting.await,
    };
    let parts = parts.map_err(lost)?;
    if !parts.read_buf.is_empty() {
        return Err(no_proxy(call, proxy, "more than an answer came"));
    }
    Ok(parts.io.into_inner())
}

fn request(proxy: &Proxy, origin: &Origin, call: Call<'_>) -> Result<Request<Empty<Bytes>>> {
    let target = origin.authority();
    let odd = || call.error(ErrorKind::Usage, format!("{origin} does not fit into a proxy's request"));
    let mut request = Request::new(Empty::new());
    *request.method_mut() = Method::CONNECT;
    *request.uri_mut() = target.parse::<Uri>().map_err(|_| odd())?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::try_from(target).map_err(|_| odd())?);
    headers.insert(USER_AGENT, AGENT);
    if let Some(value) = proxy.authorization() {
        headers.insert(PROXY_AUTHORIZATION, value.clone());
    }
    Ok(request)
}
