//! One request to the service: its URL, its headers, its credential, and the judgement of its answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::sync::Semaphore;

use super::auth::{Credential, Unsigned};
use super::endpoint::Endpoint;
use super::error::{Asked, service_error};
use super::rules;
use crate::error::{ErrorKind, Result};
use crate::http::{HttpClient, ResponseBody};
use crate::secret::Signature;
use crate::store::answer::{Body, Broken, Rule};
use crate::store::headers::{by_proxy, request_id};
use crate::store::{Phase, Trace};

/// The version of the service's interface that we speak: the oldest that has all we use (CRC64 since
/// 2019-02-02, blobs of 5,000 MiB in one put since 2019-12-12, names that XML cannot hold since 2021-02-12), because
/// emulators and private clouds lag behind.
pub(super) const VERSION: HeaderValue = HeaderValue::from_static("2021-12-02");
pub(super) const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("haulage/", env!("CARGO_PKG_VERSION")));

/// Everything but what a URL never escapes; `/` stays, as it parts folders in names.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
pub(super) const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Whatever the service answers has an id.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");

/// An error's text is short; more of an answer is not read.
pub(super) const ERROR_MAX: usize = 64 << 10;

/// Lists of many blocks that are read at once: one may have 24 MiB.
const BLOCK_LISTS_MAX: usize = 2;

/// An account and the way in. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Service(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    endpoint: Endpoint,
    credential: Credential,
    http: HttpClient,
    date: DateHeader,
    /// Lists of blocks that are being read, one for each upload that begins.
    block_lists: Semaphore,
}

/// What to send.
#[derive(Clone, Debug)]
pub(super) struct Operation<'a> {
    /// What an answer must be like to be believed.
    pub(super) rule: Rule,
    pub(super) method: Method,
    /// Empty for the account.
    pub(super) container: &'a str,
    /// Empty for the container.
    pub(super) key: &'a str,
    /// Not escaped.
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Service {
    pub(super) fn new(endpoint: Endpoint, credential: Credential, http: HttpClient) -> Self {
        let (date, block_lists) = (DateHeader::default(), Semaphore::new(BLOCK_LISTS_MAX));
        Self(Arc::new(Shared { endpoint, credential, http, date, block_lists }))
    }

    /// Where it is.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.0.endpoint
    }

    /// Who asks.
    pub(super) fn credential(&self) -> &Credential {
        &self.0.credential
    }

    /// A blob's URL without anything that lets somebody in.
    pub(super) fn url(&self, container: &str, key: &str) -> String {
        format!("{}{}", self.0.endpoint.origin, self.path(container, key))
    }

    /// How the service itself may read a blob of this account: a query, and the header of a token.
    pub(super) async fn for_copies(
        &self,
        container: &str,
        key: &str,
        asked: Asked<'_>,
    ) -> Result<(Option<String>, Option<HeaderValue>)> {
        self.0.credential.for_copies(container, key, (asked.operation, asked.object)).await
    }

    /// Opens connections for requests to come.
    pub(super) fn prepare(&self, requests: usize) {
        self.0.http.prepare(&self.0.endpoint.origin, requests);
    }

    /// Sends the operation; any answer but the one of its rule is an error.
    pub(super) async fn send(
        &self,
        operation: Operation<'_>,
        asked: Asked<'_>,
        trace: &Trace,
    ) -> Result<Response<ResponseBody>> {
        let rule = operation.rule;
        let request = self.request(operation, asked).await?;
        self.exchange(rule, request, asked, trace).await
    }

    async fn exchange(
        &self,
        rule: Rule,
        request: Request<Bytes>,
        asked: Asked<'_>,
        trace: &Trace,
    ) -> Result<Response<ResponseBody>> {
        let shared = &*self.0;
        let response =
            shared.http.send(&shared.endpoint.origin, request, asked.operation, asked.object, trace).await?;
        let status = response.status();
        trace.answer(status.as_u16(), request_id(response.headers(), &REQUEST_ID));
        if status.is_success() {
            let judged = rule.judge(status.as_u16(), response.headers());
            judged.map_err(|broken| asked.not_believed(broken))?;
            if rule.body != Body::Nothing {
                return Ok(response);
            }
            // In chunks, nothing may come as well as something: only its end tells.
            let (head, body) = response.into_parts();
            body.collect(0).await?;
            return Ok(Response::from_parts(head, ResponseBody::default()));
        }
        let (head, body) = response.into_parts();
        if let Some(refusal) = by_proxy(asked, &head, &REQUEST_ID) {
            return Err(refusal);
        }
        // The status says enough, should the rest get lost.
        let body = body.collect_up_to(ERROR_MAX).await.unwrap_or_default();
        Err(service_error(asked, &shared.credential, status, &head.headers, &body))
    }

    /// Sends an operation that is answered by a document, and gives the document.
    pub(super) async fn document(
        &self,
        operation: Operation<'_>,
        asked: Asked<'_>,
        trace: &Trace,
    ) -> Result<Bytes> {
        let (document, signature) = self.document_unread(operation, asked, trace).await?;
        match signature {
            Some(signature) if signature.is_in(&document) => Err(asked.not_believed(Broken::echo())),
            _ => Ok(document),
        }
    }

    /// A document, and the signature of its request, for which the caller looks in what it takes from it: a page of a list has
    /// megabytes of which little is kept.
    pub(super) async fn document_unread(
        &self,
        operation: Operation<'_>,
        asked: Asked<'_>,
        trace: &Trace,
    ) -> Result<(Bytes, Option<Signature>)> {
        let rule = operation.rule;
        let largest = match rule.body {
            Body::Document(document) => document.largest,
            Body::Nothing | Body::Headers | Body::Content => 0,
        };
        let request = self.request(operation, asked).await?;
        let signature = request.headers().get(AUTHORIZATION).cloned();
        let body = self.exchange(rule, request, asked, trace).await?.into_body();
        let turns = (rule.body == rules::BLOCKS).then_some(&self.0.block_lists);
        let document = body.collect_in_turn(largest, turns).await?;
        trace.mark(Phase::Committed);
        let signature = signature.as_ref().and_then(|value| value.to_str().ok()?.split(':').nth(1));
        Ok((document, signature.map(Signature::new)))
    }

    pub(super) async fn request(&self, operation: Operation<'_>, asked: Asked<'_>) -> Result<Request<Bytes>> {
        let Operation { method, container, key, query, mut headers, body, .. } = operation;
        let shared = &*self.0;
        let path = self.path(container, key);
        headers.insert("x-ms-version", VERSION);
        headers.insert("x-ms-date", shared.date.now());
        headers.insert(USER_AGENT, AGENT);
        if method == Method::PUT || method == Method::POST {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let unsigned = Unsigned { method: method.as_str(), path: &path, query, tables: false };
        shared.credential.authorize(unsigned, &mut headers, asked.operation, asked.object).await?;

        let mut target = path;
        let mut separator = '?';
        for (name, value) in query {
            target.push(separator);
            target.push_str(name);
            target.push('=');
            target.extend(utf8_percent_encode(value, QUERY));
            separator = '&';
        }
        if let Some(secret) = shared.credential.query() {
            target.push(separator);
            target.push_str(secret);
        }
        // The parser's message might repeat the query.
        let target = PathAndQuery::try_from(target)
            .map_err(|_| asked.error(ErrorKind::Usage, "this name or SAS does not fit into a URL"))?;
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = Uri::from(target);
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// The path as sent and signed.
    fn path(&self, container: &str, key: &str) -> String {
        let endpoint = &self.0.endpoint;
        let mut path = String::with_capacity(container.len() + key.len() + key.len() / 4 + 64);
        path.push('/');
        if endpoint.path_style {
            path.push_str(&endpoint.account);
            path.push('/');
        }
        path.push_str(container);
        if !key.is_empty() {
            path.push('/');
            path.extend(utf8_percent_encode(key, PATH));
        }
        path
    }
}

/// The date of the requests, written once a second.
#[derive(Debug)]
pub(super) struct DateHeader(Mutex<(u64, HeaderValue)>);

impl Default for DateHeader {
    fn default() -> Self {
        Self(Mutex::new((0, HeaderValue::from_static(""))))
    }
}

impl DateHeader {
    pub(super) fn now(&self) -> HeaderValue {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.0 != now {
            let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(now));
            if let Ok(value) = HeaderValue::try_from(text) {
                *held = (now, value);
            }
        }
        held.1.clone()
    }
}
