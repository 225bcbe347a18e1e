//! The account's tables over their REST interface: one request, its credential, and the judgement of its answer.

mod address;
mod error;

use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_MATCH,
    USER_AGENT,
};
use http::uri::PathAndQuery;
use http::{Method, Request, StatusCode, Uri};
use percent_encoding::utf8_percent_encode;

use self::address::TableAddress;
use self::error::{Refused, table_error};
use super::auth::{Credential, Unsigned};
use super::endpoint::Endpoint;
use super::error::Asked;
use super::service::{AGENT, DateHeader, ERROR_MAX, QUERY, REQUEST_ID, VERSION};
use super::settings::Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::http::{HttpClient, ResponseBody, WireMeter};
use crate::secret::Signature;
use crate::store::answer::Broken;
use crate::store::headers::{by_proxy, request_id};
use crate::store::{Phase, StoreOptions, Trace};
use crate::units::ByteRate;

/// The word for an answer that is larger than whoever asked can hold; to be asked for in smaller pieces.
pub(crate) const TOO_LARGE: &str = "AnswerTooLarge";

/// An account's tables and the way in. Clones share it.
#[derive(Clone)]
pub(crate) struct TableService(Arc<Shared>);

struct Shared {
    address: TableAddress,
    credential: Credential,
    http: HttpClient,
    date: DateHeader,
}

/// What to send.
#[derive(Clone, Debug)]
pub(crate) struct TableRequest<'a> {
    /// In words, for errors: `query`, `insert into`, ...
    pub(crate) operation: &'static str,
    pub(crate) method: Method,
    /// What follows the account, escaped: `Tables`, `rows()`, `$batch`.
    pub(crate) path: String,
    /// Not escaped.
    pub(crate) query: &'a [(&'a str, &'a str)],
    pub(crate) accept: &'static str,
    pub(crate) content_type: Option<&'a str>,
    /// Sent as `If-Match`.
    pub(crate) if_match: Option<&'a str>,
    pub(crate) body: Bytes,
    /// The only status that means success.
    pub(crate) status: u16,
    /// No larger an answer is taken, in bytes.
    pub(crate) largest: usize,
    /// The SAS permission it needs.
    pub(crate) permission: char,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct TableAnswer {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl TableService {
    /// Finds out where the tables are and who asks. Sends nothing.
    ///
    /// # Errors
    /// `Usage` for an address that is none, `Permission` where no credential is found.
    pub(crate) fn open(text: &str, options: &StoreOptions) -> Result<Self> {
        let session = options.session.clone().unwrap_or_default();
        let pools = session.pools(options)?;
        let cap = options.cap.map(ByteRate::as_cap).transpose()?;
        let http = pools.client(options.stall_timeout, cap);
        let settings =
            Settings::of(&StoreOptions { session: Some(session), ..options.clone() })?.for_tables()?;
        let address = TableAddress::parse(text, options, &settings)?;
        let endpoint_given = options.endpoint.is_some();
        let credential = Credential::find(&address.as_container(), endpoint_given, &settings, &http)
            .map_err(|error| error.object(address.to_string()))?;
        Ok(Self(Arc::new(Shared { address, credential, http, date: DateHeader::default() })))
    }

    /// The table's name; empty for the account.
    pub(crate) fn table(&self) -> &str {
        &self.0.address.table
    }

    /// Refuses an account without a table.
    ///
    /// # Errors
    /// `Usage`.
    pub(crate) fn names_a_table(&self, operation: &'static str) -> Result<()> {
        if !self.table().is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Usage, operation, self.name(), "no table is named")
            .hint("write az-table://TABLE, or https://ACCOUNT.table.core.windows.net/TABLE"))
    }

    /// The same account, another table.
    pub(crate) fn named(&self, table: &str) -> Self {
        let address = TableAddress { table: table.to_owned(), ..self.0.address.clone() };
        let Shared { credential, http, .. } = &*self.0;
        Self(Arc::new(Shared {
            address,
            credential: credential.clone(),
            http: http.clone(),
            date: DateHeader::default(),
        }))
    }

    /// As its user would write it, without the SAS.
    pub(crate) fn name(&self) -> String {
        self.0.address.to_string()
    }

    /// Its URL, without anything that lets somebody in, in whatever form it was named.
    pub(crate) fn url(&self) -> String {
        format!("{}/{}", self.endpoint(), self.table())
    }

    /// The URL of the account, without anything that lets somebody in.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.0.address.endpoint
    }

    /// Bytes on the wire.
    pub(crate) fn meter(&self) -> &Arc<WireMeter> {
        self.0.http.meter()
    }

    /// Opens connections for requests to come.
    pub(crate) fn prepare(&self, requests: usize) {
        self.0.http.prepare(&self.0.address.endpoint.origin, requests);
    }

    /// Sends the request; any answer but the one that it names as its success is an error, which names `object`.
    pub(crate) async fn send(
        &self,
        request: TableRequest<'_>,
        object: &str,
        trace: &Trace,
    ) -> Result<TableAnswer> {
        let shared = &*self.0;
        let TableRequest { status, permission, largest, accept, .. } = request;
        let asked = Asked {
            operation: request.operation,
            object,
            container: object,
            permission,
            unmet: ErrorKind::SourceChanged,
        };
        let request = self.request(request, asked).await?;
        let signature = request.headers().get(AUTHORIZATION).cloned();
        let response = shared
            .http
            .send(&shared.address.endpoint.origin, request, asked.operation, object, trace)
            .await?;
        let (head, body) = response.into_parts();
        trace.answer(head.status.as_u16(), request_id(&head.headers, &REQUEST_ID));
        let not_believed = |broken: Broken| asked.not_believed(broken);
        if !head.status.is_success() {
            if let Some(refusal) = by_proxy(asked, &head, &REQUEST_ID) {
                return Err(refusal);
            }
            let body = body.collect_up_to(ERROR_MAX).await.unwrap_or_default();
            let refused = Refused { status: head.status, headers: &head.headers, body: &body };
            return Err(table_error(asked, &shared.credential, &refused));
        }
        if head.status.as_u16() != status {
            let cause = format!("answered by HTTP {}, where {status} is success", head.status.as_u16());
            return Err(not_believed(Broken(cause)));
        }
        if status != StatusCode::NO_CONTENT {
            is_of_kind(&head.headers, accept).map_err(not_believed)?;
        }
        let body = whole(body, largest, asked).await?;
        trace.mark(Phase::Committed);
        let signature = signature.as_ref().and_then(|value| value.to_str().ok()?.split(':').nth(1));
        // The answer holds what users keep: it is looked at only where a service has reason to repeat what it was sent.
        if body.len() < ERROR_MAX && signature.is_some_and(|text| Signature::new(text).is_in(&body)) {
            return Err(not_believed(Broken::echo()));
        }
        Ok(TableAnswer { headers: head.headers, body })
    }

    async fn request(&self, request: TableRequest<'_>, asked: Asked<'_>) -> Result<Request<Bytes>> {
        let TableRequest { method, path: below, query, accept, content_type, if_match, body, .. } = request;
        let shared = &*self.0;
        let endpoint = &shared.address.endpoint;
        let account = if endpoint.path_style { format!("/{}", endpoint.account) } else { String::new() };
        let path = format!("{account}/{below}");
        let mut headers = HeaderMap::new();
        headers.insert("x-ms-version", VERSION);
        headers.insert("x-ms-date", shared.date.now());
        headers.insert(HeaderName::from_static("dataserviceversion"), HeaderValue::from_static("3.0;NetFx"));
        headers
            .insert(HeaderName::from_static("maxdataserviceversion"), HeaderValue::from_static("3.0;NetFx"));
        headers.insert(USER_AGENT, AGENT);
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let odd = |_| asked.error(ErrorKind::Usage, "a header holds characters that HTTP cannot carry");
        if let Some(kind) = content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_str(kind).map_err(odd)?);
            headers.insert(HeaderName::from_static("prefer"), HeaderValue::from_static("return-no-content"));
        }
        if let Some(version) = if_match {
            headers.insert(IF_MATCH, HeaderValue::from_str(version).map_err(odd)?);
        }
        if method != Method::GET {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let unsigned = Unsigned { method: method.as_str(), path: &path, query, tables: true };
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
            .map_err(|_| asked.error(ErrorKind::Usage, "this name, filter or SAS does not fit into a URL"))?;
        let mut made = Request::new(body);
        *made.method_mut() = method;
        *made.uri_mut() = Uri::from(target);
        *made.headers_mut() = headers;
        Ok(made)
    }
}

impl fmt::Debug for TableService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TableService").field(&self.0.address).finish()
    }
}

/// The whole of an answer that is no larger than this.
async fn whole(mut body: ResponseBody, largest: usize, asked: Asked<'_>) -> Result<Bytes> {
    let mut text = BytesMut::new();
    while let Some(piece) = body.next().await {
        let piece = piece?;
        if text.len() + piece.len() > largest {
            let cause = format!("the answer has more than {} MiB", largest >> 20);
            return Err(asked.error(ErrorKind::Protocol, cause).service(200, Some(TOO_LARGE.to_owned())));
        }
        text.extend_from_slice(&piece);
    }
    Ok(text.freeze())
}

/// An answer of another kind is of another service: a login page is no page of rows.
fn is_of_kind(headers: &HeaderMap, accept: &str) -> Result<(), Broken> {
    let asked = accept.split(';').next().unwrap_or_default();
    let stated = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = stated.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if asked == "*/*" || kind == asked {
        return Ok(());
    }
    Err(Broken(format!("the answer is `{stated}`, where {asked} was expected")))
}
