//! The parsers of the service's answers and of addresses, as `fuzz/` sees them.

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::HeaderMap;
use http::{Method, Request, StatusCode};

use super::auth::{Credential, Sas, SharedKey};
use super::error::{Asked, service_error};
use super::service::{Operation, Service};
use super::settings::Settings;
use super::{AzureAddress, Endpoint, meta, rules, xml};
use crate::error::{Error, ErrorKind, Result};
use crate::http::{HttpClient, HttpOptions};
use crate::store::{ListPage, ObjectMeta, StagedPart, StoreOptions, tags};

const ASKED: Asked<'_> = Asked {
    operation: "read",
    object: "az://c/k",
    container: "az://c",
    permission: 'r',
    unmet: ErrorKind::SourceChanged,
};

/// A page of blobs and the marker of the next.
pub fn blobs(page: &[u8]) -> Option<(ListPage, Option<String>)> {
    xml::blobs(page, false).ok().map(|page| (page.list, page.next))
}

/// A page of containers and the marker of the next.
pub fn containers(page: &[u8]) -> Option<(Vec<String>, Option<String>)> {
    xml::containers(page).ok()
}

/// The tags of a blob. S3 writes those of an object in the same form.
pub fn tags(page: &[u8]) -> Option<Vec<(String, String)>> {
    tags::read(page, rules::TAGS).ok()
}

/// Our uncommitted blocks.
pub fn uncommitted_blocks(page: &[u8]) -> Option<Vec<StagedPart>> {
    xml::uncommitted_blocks(page).ok()
}

/// The body of Put Block List.
pub fn block_list(ids: &[String]) -> String {
    xml::block_list(ids)
}

/// The error made of an answer, to a request that carried this SAS.
pub fn error(status: StatusCode, headers: &HeaderMap, body: &[u8], sas: &str) -> Error {
    let credential = Credential::Sas(Sas::new(sas));
    service_error(ASKED, &credential, status, headers, &Bytes::copy_from_slice(body))
}

/// What headers say of a blob.
pub fn meta(headers: &HeaderMap) -> ObjectMeta {
    meta::read("key", headers)
}

/// An address, in this environment.
pub fn address(
    text: &str,
    endpoint: Option<String>,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<AzureAddress> {
    let options = StoreOptions { endpoint, ..StoreOptions::default() };
    AzureAddress::parse_with(text, &options, &Settings::from_lookup(lookup)?)
}

/// An endpoint of this account.
pub fn endpoint(url: &str, account: Option<&str>) -> Result<Endpoint> {
    Endpoint::parse(url, account)
}

/// An address as its user would write it.
pub fn name(address: &AzureAddress) -> String {
    address.name(&address.key)
}

/// A request as it is sent, signed with the key.
pub fn request(
    address: &AzureAddress,
    key: &str,
    method: Method,
    query: &[(&str, &str)],
    headers: HeaderMap,
) -> Result<Request<Bytes>> {
    let endpoint = address.endpoint.clone();
    let credential = Credential::SharedKey(SharedKey::new(&endpoint.account, key)?);
    let service = Service::new(endpoint, credential, HttpClient::new(HttpOptions::default())?);
    let operation = Operation {
        rule: rules::GET_BLOB,
        method,
        container: &address.container,
        key: &address.key,
        query,
        headers,
        body: Bytes::new(),
    };
    // A key signs without asking anybody.
    service.request(operation, ASKED).now_or_never().expect("nothing to wait for")
}
