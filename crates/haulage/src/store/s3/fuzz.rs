//! The parsers of the service's answers and of addresses, as `fuzz/` sees them.

use futures_util::FutureExt as _;
use http::header::HeaderMap;
use http::{Method, Request};

use bytes::Bytes;

use super::auth::{Credential, Keys};
use super::error::{Asked, service_error};
use super::parts::Layout;
use super::service::{Operation, Service};
use super::settings::Settings;
use super::{S3Address, address, list, meta, object, rules, upload, xml};
use crate::error::{Error, ErrorKind, Result};
use crate::http::{HttpClient, HttpOptions};
use crate::store::{BlockRange, ListPage, ListRequest, ObjectMeta, StoreOptions};

const ASKED: Asked<'_> = Asked {
    operation: "read",
    object: "s3://b/k",
    container: "s3://b",
    permission: "s3:GetObject",
    unmet: ErrorKind::SourceChanged,
};

/// A page of objects and the token of the next.
pub fn objects(page: &[u8]) -> Option<(ListPage, Option<String>)> {
    xml::objects(page).ok().map(|page| (page.list, page.next))
}

/// What a page holds of what was asked for, and the token of the next, if all of it is believed.
pub fn believed_objects(
    page: &[u8],
    request: &ListRequest,
    bucket: &str,
    token: Option<&str>,
) -> Option<(ListPage, Option<String>)> {
    list::believe(page, request, bucket, token).ok()
}

/// The numbers of the parts on a page after number `after` of this upload, and the number after which the next begins, if they
/// are believed.
pub fn believed_parts(page: &[u8], key: &str, id: &str, after: u16) -> Option<(Vec<u16>, Option<u16>)> {
    let page = xml::parts(page).ok()?;
    let next = page.next;
    let parts = upload::believe_parts(page, key, id, after).ok()?;
    Some((parts.into_iter().map(|part| part.number).collect(), next))
}

/// Which of these objects are gone, and which are not, if the answer is believed.
pub fn believed_deleted(document: &[u8], named: &[&str]) -> Option<Vec<(String, bool)>> {
    let outcomes = object::believe_deleted(named, xml::deleted(document).ok()?).ok()?;
    Some(outcomes.into_iter().map(|(key, refused)| (key, refused.is_none())).collect())
}

/// The id of a new upload of this object.
pub fn upload_id(document: &[u8], key: &str) -> Option<String> {
    xml::upload_id(document, key).ok()
}

/// A page of buckets and the token of the next.
pub fn buckets(page: &[u8]) -> Option<(Vec<String>, Option<String>)> {
    xml::buckets(page).ok()
}

/// Keys and ids of a page of uploads.
pub fn uploads(page: &[u8]) -> Option<Vec<(String, String)>> {
    let page = xml::uploads(page).ok()?;
    Some(page.uploads.into_iter().map(|upload| (upload.key, upload.id)).collect())
}

/// What the parts on a page hold of an object of `size` bytes, most likely, if they can be parts of one.
pub fn parts(page: &[u8], size: u64) -> Option<Vec<BlockRange>> {
    let parts: Vec<_> = xml::parts(page).ok()?.parts.iter().map(|part| (part.number, part.size)).collect();
    let layout = *Layout::of_parts(size, &parts, u64::MAX).first()?;
    Some(parts.iter().filter_map(|(number, _)| layout.range(*number)).collect())
}

/// The ETag of what was made of an upload; `None` for what tells of no success.
pub fn completed(document: &[u8]) -> Option<String> {
    let made = xml::made(document, rules::COMPLETED).ok().map(|made| made.etag);
    assert!(made.is_none() || !xml::is_error(document), "a failure passes for a success");
    made
}

/// Names of objects that were deleted.
pub fn deleted(document: &[u8]) -> Option<Vec<String>> {
    let outcomes = xml::deleted(document).ok()?;
    Some(outcomes.into_iter().filter(|(_, refused)| refused.is_none()).map(|(key, _)| key).collect())
}

/// The error made of an answer.
pub fn error(status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
    service_error(ASKED, &Credential::Unsigned, status, headers, body)
}

/// What headers say of an object.
pub fn meta(headers: &HeaderMap) -> ObjectMeta {
    meta::read("key", headers)
}

/// An address as its user would write it.
pub fn name(address: &S3Address) -> String {
    address::display(&address.bucket, &address.key)
}

/// The endpoint and the region that this environment and this configuration file name.
pub fn settings(lookup: impl Fn(&str) -> Option<String>, config: &str) -> Result<(String, String)> {
    let found = Settings::from_lookup(&StoreOptions::default(), lookup, |_| Some(config.to_owned()))?;
    Ok((found.endpoint.to_string(), found.region))
}

/// A request as it is sent, signed.
pub fn request(address: &S3Address, endpoint: &str, query: &[(&str, &str)]) -> Result<Request<Bytes>> {
    let options = StoreOptions { endpoint: Some(endpoint.to_owned()), ..StoreOptions::default() };
    let settings = Settings::from_lookup(&options, |_| None, |_| None)?;
    let credential = Credential::Keys(Keys::new("id", "secret", None)?);
    let http = HttpClient::new(HttpOptions::default())?;
    let service = Service::new(&address.bucket, settings, credential, &options, http)?;
    let operation = Operation {
        rule: rules::GET_OBJECT,
        method: Method::GET,
        key: &address.key,
        query,
        headers: HeaderMap::new(),
        body: Bytes::new(),
        signed_body: false,
    };
    // Keys at hand sign without asking anybody.
    service.request(&service.site(), &operation, ASKED).now_or_never().expect("nothing to wait for")
}
