//! One request to the service: its URL, its headers, its signature, and the judgement of its answer.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::address;
use super::auth::{Credential, Signer, Unsigned, hash_of};
use super::body::Dialect;
use super::endpoint::{Endpoint, Site, is_region};
use super::error::{Asked, service_error};
use super::settings::Settings;
use super::xml;
use crate::checksum::{Md5, Md5Queue, OnWire};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Manners;
use crate::http::{HttpClient, ResponseBody};
use crate::secret::Signature;
use crate::store::answer::{Body, Broken, Rule, told};
use crate::store::headers::{by_proxy, request_id};
use crate::store::{Phase, StoreOptions, Trace};
use crate::verbose::verbose;

const AGENT: HeaderValue = HeaderValue::from_static(concat!("haulage/", env!("CARGO_PKG_VERSION")));
const PAYER: HeaderName = HeaderName::from_static("x-amz-request-payer");
const BUCKET_REGION: HeaderName = HeaderName::from_static("x-amz-bucket-region");

/// Whatever a service answers has an id.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amz-request-id");

/// The hash of no body, and what stands for one that nobody has computed.
const EMPTY_HASH: HeaderValue =
    HeaderValue::from_static("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
const UNSIGNED_HASH: HeaderValue = HeaderValue::from_static("UNSIGNED-PAYLOAD");

/// What a query escapes, and its signature.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// An error's text is short; more of an answer is not read.
const ERROR_MAX: usize = 64 << 10;

/// A bucket, or the service where it names none, and the way in. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Service {
    shared: Arc<Shared>,
    bucket: Arc<str>,
    /// Where the bucket is: another place than it began with, once the service has said so.
    site: Arc<RwLock<Arc<Site>>>,
    manners: Manners,
    http: HttpClient,
}

/// What the buckets of one service share.
#[derive(Debug)]
struct Shared {
    settings: Settings,
    credential: Credential,
    signer: Signer,
    requester_pays: bool,
    dialect: Dialect,
    /// Hashes the bodies that go with an MD5.
    md5: Md5Queue,
}

/// What to send.
#[derive(Clone, Debug)]
pub(super) struct Operation<'a> {
    /// What an answer must be like to be believed.
    pub(super) rule: Rule,
    pub(super) method: Method,
    /// Empty for the bucket.
    pub(super) key: &'a str,
    /// Not escaped, in the order of their names.
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The body is a document of ours, which is signed along; the bytes of objects are not where TLS protects them.
    pub(super) signed_body: bool,
}

/// What an answer comes to.
enum Answer {
    Good(Response<ResponseBody>),
    /// The bucket is in this region.
    Moved(String, Error),
}

impl Service {
    pub(super) fn new(
        bucket: &str,
        settings: Settings,
        credential: Credential,
        options: &StoreOptions,
        http: HttpClient,
    ) -> Result<Self> {
        let shared = Shared {
            settings,
            credential,
            signer: Signer::default(),
            requester_pays: options.requester_pays,
            dialect: Dialect::default(),
            md5: Md5Queue::default(),
        };
        Self::at(Arc::new(shared), bucket, http)
    }

    fn at(shared: Arc<Shared>, bucket: &str, http: HttpClient) -> Result<Self> {
        let Settings { endpoint, region, addressing, .. } = &shared.settings;
        let site = endpoint.site(bucket, region, *addressing)?;
        http.permit(&site.origin, "open", &address::display(bucket, ""))?;
        let (site, manners) = (Arc::new(RwLock::new(Arc::new(site))), Manners::default());
        Ok(Self { shared, bucket: bucket.into(), site, manners, http })
    }

    /// Another bucket of the same service, reached in the same way.
    pub(super) fn bucket_named(&self, bucket: &str) -> Result<Self> {
        Self::at(Arc::clone(&self.shared), bucket, self.http.clone())
    }

    /// What it is reached through.
    pub(super) fn client(&self) -> &HttpClient {
        &self.http
    }

    /// The same bucket, reached through another client.
    pub(super) fn over(self, http: HttpClient) -> Self {
        let trusts_others = self.shared.settings.ca_bundle.is_some();
        let http = if trusts_others { http.by_those_of(&self.http) } else { http };
        Self { http, ..self }
    }

    /// The pace that the bucket allows, and the budget for retries.
    pub(super) fn manners(&self) -> &Manners {
        &self.manners
    }

    /// Whether both are reached in the same way, by the same credential.
    pub(super) fn same_service(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    pub(super) fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Which checksums the service knows.
    pub(super) fn dialect(&self) -> &Dialect {
        &self.shared.dialect
    }

    /// The service by its URL.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.shared.settings.endpoint
    }

    /// The region that somebody has named, or that of the bucket once it is known.
    pub(super) fn region(&self) -> (String, bool) {
        (self.site().region.clone(), self.shared.settings.region_named)
    }

    /// Who asks.
    pub(super) fn credential(&self) -> &Credential {
        &self.shared.credential
    }

    /// A URL for an object that is good by itself for so many seconds, and when what signs it ends, where that is known.
    pub(super) async fn presign(
        &self,
        method: &Method,
        key: &str,
        seconds: u64,
        names: (&'static str, &str),
    ) -> Result<(String, Option<SystemTime>)> {
        let (site, shared) = (self.site(), &*self.shared);
        let (path, host) = (site.path(key), site.origin.host_header());
        let unsigned =
            Unsigned { method: method.as_str(), host: &host, path: &path, query: "", region: &site.region };
        let (keys, ends) = shared.credential.keys(names).await?;
        let query = shared.signer.presign(&keys, unsigned, seconds, shared.requester_pays);
        Ok((format!("{}{path}?{query}", site.origin), ends))
    }

    /// Opens connections for requests to come.
    pub(super) fn prepare(&self, requests: usize) {
        if !self.bucket.is_empty() {
            self.http.prepare(&self.site().origin, requests);
        }
    }

    /// The MD5 of `body`, off the I/O threads and beside those of others, with the sign that it is on its way.
    pub(super) async fn hash(&self, body: Bytes, asked: Asked<'_>) -> Result<(Md5, OnWire)> {
        let hashed = self.shared.md5.hash(body).await;
        hashed.ok_or_else(|| asked.error(ErrorKind::Cancelled, "the runtime shuts down"))
    }

    pub(super) fn site(&self) -> Arc<Site> {
        Arc::clone(&self.site.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Goes on in another region; false where that is the one that was asked.
    fn move_to(&self, region: &str, from: &Site) -> bool {
        let Settings { endpoint, addressing, .. } = &self.shared.settings;
        if region == from.region || !is_region(region) {
            return false;
        }
        let Ok(site) = endpoint.site(&self.bucket, region, *addressing) else { return false };
        *self.site.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(site);
        true
    }

    /// Sends the operation; any answer but the one of its rule is an error. Where the bucket is in another region, it is sent
    /// there.
    pub(super) async fn send(
        &self,
        operation: &Operation<'_>,
        asked: Asked<'_>,
        trace: &Trace,
    ) -> Result<Response<ResponseBody>> {
        self.signed(operation, asked, trace).await.map(|(response, _)| response)
    }

    /// The same, with the header that holds the signature of the request.
    async fn signed(
        &self,
        operation: &Operation<'_>,
        asked: Asked<'_>,
        trace: &Trace,
    ) -> Result<(Response<ResponseBody>, Option<HeaderValue>)> {
        let mut moved = false;
        loop {
            let site = self.site();
            let request = self.request(&site, operation, asked).await?;
            let authorization = request.headers().get(AUTHORIZATION).cloned();
            match self.exchange(&site, operation.rule, request, asked, trace).await? {
                Answer::Good(response) => return Ok((response, authorization)),
                // Another request may have found out meanwhile.
                Answer::Moved(region, _)
                    if !moved && (self.move_to(&region, &site) || site != self.site()) =>
                {
                    verbose!(Info, "the bucket {} is in the region {region}", self.bucket);
                    moved = true;
                }
                Answer::Moved(_, error) => return Err(error),
            }
        }
    }

    async fn exchange(
        &self,
        site: &Site,
        rule: Rule,
        request: Request<Bytes>,
        asked: Asked<'_>,
        trace: &Trace,
    ) -> Result<Answer> {
        let shared = &*self.shared;
        let response = self.http.send(&site.origin, request, asked.operation, asked.object, trace).await?;
        let status = response.status();
        trace.answer(status.as_u16(), request_id(response.headers(), &REQUEST_ID));
        if status.is_success() {
            let judged = rule.judge(status.as_u16(), response.headers());
            judged.map_err(|broken| asked.not_believed(broken))?;
            if !matches!(rule.body, Body::Nothing | Body::Headers) {
                return Ok(Answer::Good(response));
            }
            // In chunks, nothing may come as well as something: only its end tells.
            let (head, body) = response.into_parts();
            body.collect(0).await?;
            return Ok(Answer::Good(Response::from_parts(head, ResponseBody::default())));
        }
        let (head, body) = response.into_parts();
        if let Some(refusal) = by_proxy(asked, &head, &REQUEST_ID) {
            return Err(refusal);
        }
        // The status says enough, should the rest get lost.
        let body = body.collect_up_to(ERROR_MAX).await.unwrap_or_default();
        let error = service_error(asked, &shared.credential, status.as_u16(), &head.headers, &body);
        if !matches!(status.as_u16(), 301 | 307 | 308 | 400 | 403) {
            return Err(error);
        }
        // Not every 400 and 403 is about regions, but only what names another one moves us.
        let named = head.headers.get(BUCKET_REGION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        match named.or_else(|| told(&body).region) {
            Some(region) => Ok(Answer::Moved(region, error)),
            None => Err(error),
        }
    }

    /// Sends an operation that is answered by a document, and gives the document.
    pub(super) async fn document(
        &self,
        operation: &Operation<'_>,
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
        operation: &Operation<'_>,
        asked: Asked<'_>,
        trace: &Trace,
    ) -> Result<(Bytes, Option<Signature>)> {
        let largest = match operation.rule.body {
            Body::Document(document) => document.largest,
            Body::Nothing | Body::Headers | Body::Content => 0,
        };
        let (response, authorization) = self.signed(operation, asked, trace).await?;
        let (head, body) = response.into_parts();
        let document = body.collect(largest).await?;
        if xml::is_error(&document) {
            let status = head.status.as_u16();
            return Err(service_error(asked, &self.shared.credential, status, &head.headers, &document));
        }
        trace.mark(Phase::Committed);
        // Of documents only, for to know all the ways in which it may be written takes longer than to sign.
        Ok((document, authorization.as_ref().and_then(signature)))
    }

    pub(super) async fn request(
        &self,
        site: &Site,
        operation: &Operation<'_>,
        asked: Asked<'_>,
    ) -> Result<Request<Bytes>> {
        let Operation { method, key, query, headers, body, .. } = operation;
        let shared = &*self.shared;
        let (path, query) = (site.path(key), encoded(query));
        let mut headers = headers.clone();
        headers.insert(USER_AGENT, AGENT);
        if *method == Method::PUT || *method == Method::POST {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        if shared.requester_pays {
            headers.insert(PAYER, HeaderValue::from_static("requester"));
        }
        if !shared.credential.is_unsigned() {
            let hash = self.hash_for(site, operation, asked).await?;
            let host = site.origin.host_header();
            let unsigned = Unsigned {
                method: method.as_str(),
                host: &host,
                path: &path,
                query: &query,
                region: &site.region,
            };
            let names = (asked.operation, asked.object);
            shared.credential.authorize(&shared.signer, unsigned, &hash, &mut headers, names).await?;
        }
        let target = if query.is_empty() { path } else { format!("{path}?{query}") };
        let target = PathAndQuery::try_from(target)
            .map_err(|_| asked.error(ErrorKind::Usage, "this name does not fit into a URL"))?;
        let mut request = Request::new(body.clone());
        *request.method_mut() = method.clone();
        *request.uri_mut() = Uri::from(target);
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// What the signature covers of the body: all of it over a network where anybody could change it. TLS and this machine
    /// need no second proof; that the bytes arrive is what the checksums are for.
    async fn hash_for(
        &self,
        site: &Site,
        operation: &Operation<'_>,
        asked: Asked<'_>,
    ) -> Result<HeaderValue> {
        let body = &operation.body;
        if body.is_empty() {
            return Ok(EMPTY_HASH);
        }
        if operation.signed_body {
            return Ok(hash_of(body));
        }
        if site.origin.is_secure() || site.origin.is_loopback() {
            return Ok(UNSIGNED_HASH);
        }
        let body = body.clone();
        let hashed = tokio::task::spawn_blocking(move || hash_of(&body)).await;
        hashed.map_err(|_| asked.error(ErrorKind::Cancelled, "the runtime shuts down"))
    }
}

/// The query as it is sent and signed.
fn encoded(query: &[(&str, &str)]) -> String {
    debug_assert!(query.is_sorted_by_key(|(name, _)| *name), "{query:?}");
    let mut text = String::new();
    for (name, value) in query {
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(name);
        text.push('=');
        text.extend(utf8_percent_encode(value, QUERY));
    }
    text
}

/// The signature in the header of a request.
fn signature(header: &HeaderValue) -> Option<Signature> {
    header.to_str().ok()?.split_once("Signature=").map(|(_, signature)| Signature::new(signature))
}

#[cfg(test)]
mod tests;
