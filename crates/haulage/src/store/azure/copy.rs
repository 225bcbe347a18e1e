//! Copies that the service makes by itself: Put Blob From URL and Put Block From URL.
//!
//! The service reads the source as anybody would, by its URL. What lets it in goes along: a signature for this one blob, the SAS that
//! the user gave, or a token.

use bytes::Bytes;
use http::Method;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::auth::CONTENT_MD5;
use super::error::Asked;
use super::meta::{self, BODY_CRC64};
use super::{AzureStore, blob, rules};
use crate::checksum::{Crc64, Md5};
use crate::error::{ErrorKind, Result, Retry};
use crate::store::headers::{self, checksum, set, set_etag, set_precondition};
use crate::store::{
    BlockId, BlockRange, CopyRules, CopySource, Part, Peer, Phase, PutOptions, PutResult, Store, Stored,
    Token, Trace,
};

const SOURCE: HeaderName = HeaderName::from_static("x-ms-copy-source");
const SOURCE_AUTHORIZATION: HeaderName = HeaderName::from_static("x-ms-copy-source-authorization");
const SOURCE_RANGE: HeaderName = HeaderName::from_static("x-ms-source-range");
const SOURCE_IF_MATCH: HeaderName = HeaderName::from_static("x-ms-source-if-match");
const SOURCE_PROPERTIES: HeaderName = HeaderName::from_static("x-ms-copy-source-blob-properties");

/// What one request copies at least, wherever it is known; and what does not take longer than anybody waits.
const WHOLE_MAX: u64 = 256 << 20;

/// How the service copies from `source`; `None` where that is of another service, which must not learn how to reach it.
pub(super) fn rules(store: &AzureStore, source: &dyn Store) -> Option<CopyRules> {
    let Some(Peer::Azure(source)) = source.peer() else { return None };
    let same = store.service.endpoint().same_service(source.service.endpoint());
    same.then_some(CopyRules { whole_max: WHOLE_MAX, guarded: true, keeps_crc64: false, keeps_tags: false })
}

/// The source as headers.
async fn headers(from: &CopySource<'_>, range: Option<BlockRange>, asked: Asked<'_>) -> Result<HeaderMap> {
    let Some(Peer::Azure(source)) = from.store.peer() else {
        return Err(asked.error(ErrorKind::Unsupported, "the source is of another service"));
    };
    let container = &source.address.container;
    let (query, token) = source.service.for_copies(container, from.key, asked).await?;
    let mut url = source.service.url(container, from.key);
    if let Some(query) = query {
        url.push('?');
        url.push_str(&query);
    }
    let mut headers = HeaderMap::with_capacity(16);
    let mut url = HeaderValue::try_from(url)
        .map_err(|_| asked.error(ErrorKind::Usage, "this name or SAS does not fit into a URL"))?;
    url.set_sensitive(true);
    headers.insert(SOURCE, url);
    headers.extend(token.map(|token| (SOURCE_AUTHORIZATION, token)));
    if let Some(range) = range {
        set(&mut headers, SOURCE_RANGE, &format!("bytes={}-{}", range.offset, range.end() - 1), asked)?;
    }
    if !from.etag.is_empty() {
        set_etag(&mut headers, SOURCE_IF_MATCH, from.etag, asked)?;
    }
    Ok(headers)
}

/// Copies a whole blob.
pub(super) async fn whole(
    store: &AzureStore,
    from: &CopySource<'_>,
    key: &str,
    options: &PutOptions,
    trace: &Trace,
) -> Result<PutResult> {
    let name = store.display(key);
    let asked = store.asked("copy to", &name, 'w', ErrorKind::SourceChanged);
    let mut headers = headers(from, None, asked).await?;
    headers.insert("x-ms-blob-type", HeaderValue::from_static("BlockBlob"));
    // What is stored with it is what a copy through this machine would store.
    headers.insert(SOURCE_PROPERTIES, HeaderValue::from_static("false"));
    meta::write(&mut headers, key, &options.attributes, asked)?;
    set_precondition(&mut headers, &options.precondition, asked)?;
    trace.mark(Phase::Ready);
    let operation = store.operation(rules::PUT_BLOB, Method::PUT, key, &[], headers, Bytes::new());
    let response = store.service.send(operation, asked, trace).await?;
    trace.mark(Phase::Committed);
    let headers = response.headers();
    let crc64 = checksum(headers, &BODY_CRC64, Crc64::from_azure);
    let md5 = checksum(headers, &CONTENT_MD5, Md5::from_base64);
    let etag = headers::etag(headers);
    if crc64.is_none() && md5.is_none() {
        // A server that does not know the request takes it for a blob without content.
        let there = blob::head(store, key, trace).await?;
        if there.size != from.size && there.etag == etag {
            let _ = blob::delete(store, key, Some(&etag), trace).await;
            return Err(asked
                .error(ErrorKind::Unsupported, "the service made a blob of another size than the source's"));
        }
    }
    Ok(PutResult { etag, crc64, md5, confirmed: crc64.is_some() || md5.is_some(), not_kept: None })
}

/// What names the source and its version in the id of a block that is made of it.
fn origin(from: &CopySource<'_>) -> Option<Crc64> {
    let Some(Peer::Azure(source)) = from.store.peer() else { return None };
    let url = source.service.url(&source.address.container, from.key);
    (!from.etag.is_empty()).then(|| Crc64::of(format!("{url}\n{}", from.etag).as_bytes()))
}

/// Makes a block of the same stretch of the source.
pub(super) async fn block(
    store: &AzureStore,
    key: &str,
    range: BlockRange,
    from: &CopySource<'_>,
    trace: &Trace,
) -> Result<Stored> {
    let name = store.display(key);
    let asked = store.asked("copy block of", &name, 'w', ErrorKind::SourceChanged);
    let headers = headers(from, Some(range), asked).await?;
    let id = BlockId { range, crc64: origin(from).unwrap_or(Crc64::EMPTY) }.encode_copied();
    let query = [("blockid", id.as_str()), ("comp", "block")];
    trace.mark(Phase::Ready);
    let operation = store.operation(rules::PUT_BLOCK, Method::PUT, key, &query, headers, Bytes::new());
    let response = store.service.send(operation, asked, trace).await?;
    trace.mark(Phase::Committed);
    let crc64 = checksum(response.headers(), &BODY_CRC64, Crc64::from_azure);
    // A server that does not know the request may have made a block of nothing.
    let crc64 = crc64.ok_or_else(|| {
        asked.error(ErrorKind::Unsupported, "the service does not say what it has copied").retry(Retry::Never)
    })?;
    let part = Part { id: BlockId { range, crc64 }, token: Token::from(id.as_str()), unstated: false };
    Ok(Stored { part, confirmed: true })
}

/// Whether the id of a block says that it was made of this version of this source.
pub(super) fn is_copy(token: &Token, from: &CopySource<'_>) -> bool {
    let made_of = BlockId::decode_copied(token.as_str()).map(|id| id.crc64);
    made_of.is_some() && made_of == origin(from)
}
