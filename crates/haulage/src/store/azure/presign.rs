//! URLs with a SAS of their own: signed by the account's key, or by a key that the service gives to whoever has signed in.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

use super::auth::{Credential, Grant, SharedKey};
use super::{AzureStore, rules};
use crate::error::{Error, ErrorKind, Result};
use crate::secret;
use crate::store::answer::{Broken, Step, walk};
use crate::store::presigned::{WEEK, check_life, end_of, written};
use crate::store::{Access, Presigned, Trace};

/// No longer than any service lives: a key sets no bound of its own.
const KEY_LIFE: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The clock of the service may be behind this one.
const EARLIER: Duration = Duration::from_secs(300);

/// A URL for a blob, or for the whole container where `key` is empty.
pub(super) async fn presign(
    store: &AzureStore,
    key: &str,
    access: Access,
    life: Duration,
    trace: &Trace,
) -> Result<Presigned> {
    let name = store.display(key);
    let (container, credential) = (store.address.container.as_str(), store.service.credential());
    let signs_in = matches!(credential, Credential::Entra(_));
    check_life(life, if signs_in { WEEK } else { KEY_LIFE }, &name)?;
    let expires = end_of(life);
    let grant = Grant {
        account: &store.address.endpoint.account,
        container,
        key,
        permissions: match (access, key.is_empty()) {
            (Access::Read, false) => "r",
            (Access::Read, true) => "rl",
            (Access::Write, false) => "cw",
            (Access::Write, true) => "cwl",
        },
        expires: &written(expires),
        https_only: store.address.endpoint.origin.is_secure(),
    };
    let sas = match credential {
        Credential::SharedKey(shared) => shared.sas(&grant),
        Credential::Entra(_) => delegated(store, &grant, expires, trace).await?,
        Credential::Sas(_) => {
            let cause = "the credential is a SAS, and a SAS cannot sign another URL";
            return Err(Error::new(ErrorKind::Unsupported, "sign a URL for", name, cause).hint(
                "use the account's key (AZURE_STORAGE_KEY) or az login instead of the SAS, or share a URL with this SAS",
            ));
        }
    };
    // Nothing but this URL shows it.
    sas.split('&').filter_map(|pair| pair.strip_prefix("sig=")).for_each(|signature| {
        secret::remember(&percent_encoding::percent_decode_str(signature).decode_utf8_lossy());
    });
    let url = format!("{}?{sas}", store.service.url(container, key));
    let (method, headers) = match access {
        Access::Read => ("GET", Vec::new()),
        Access::Write => ("PUT", vec![("x-ms-blob-type", "BlockBlob")]),
    };
    Ok(Presigned { url, object: name, method, headers, expires, ends: None })
}

/// A key with which an identity signs for a while.
#[derive(Default)]
pub(super) struct DelegationKey {
    pub(super) object_id: String,
    pub(super) tenant_id: String,
    pub(super) start: String,
    pub(super) expiry: String,
    pub(super) service: String,
    pub(super) version: String,
    /// The key itself, in Base64: a secret.
    pub(super) value: String,
}

/// A SAS in the name of whoever has signed in.
async fn delegated(
    store: &AzureStore,
    grant: &Grant<'_>,
    expires: SystemTime,
    trace: &Trace,
) -> Result<String> {
    let name = store.display(grant.key);
    let asked = store.asked("sign a URL for", &name, 'r', ErrorKind::Service);
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><KeyInfo><Start>{}</Start><Expiry>{}</Expiry></KeyInfo>",
        written(SystemTime::now() - EARLIER),
        written(expires)
    );
    let query = [("restype", "service"), ("comp", "userdelegationkey")];
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    let mut operation =
        store.operation(rules::DELEGATION_KEY, Method::POST, "", &query, headers, Bytes::from(body));
    operation.container = "";
    let document = store.service.document(operation, asked, trace).await.map_err(|error| {
        match error.kind() {
            ErrorKind::Permission => Error::new(error.kind(), "sign a URL for", &*name, error.cause()).hint(
                "ask for the role `Storage Blob Delegator` on the account, besides the one that reads or writes blobs",
            ),
            _ => error,
        }
    })?;
    let key = delegation_key(&document).map_err(|broken| asked.not_believed(broken))?;
    let signer = SharedKey::new(grant.account, &key.value)?;
    Ok(signer.delegated_sas(grant, &key))
}

/// Reads a key with which an identity signs.
fn delegation_key(document: &[u8]) -> Result<DelegationKey, Broken> {
    let mut key = DelegationKey::default();
    walk(document, rules::DELEGATION, |step| {
        let Step::Leaf(name, _, text) = step else { return Ok(()) };
        let part = match name {
            "SignedOid" => &mut key.object_id,
            "SignedTid" => &mut key.tenant_id,
            "SignedStart" => &mut key.start,
            "SignedExpiry" => &mut key.expiry,
            "SignedService" => &mut key.service,
            "SignedVersion" => &mut key.version,
            "Value" => &mut key.value,
            _ => return Ok(()),
        };
        *part = text.plain()?.into_owned();
        Ok(())
    })?;
    let DelegationKey { object_id, tenant_id, start, expiry, service, version, value } = &key;
    if [object_id, tenant_id, start, expiry, service, version, value].iter().any(|part| part.is_empty()) {
        return Err(Broken("the key of the identity lacks a part".to_owned()));
    }
    Ok(key)
}
