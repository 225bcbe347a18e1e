//! Signing with the account's key (Shared Key, the version of 2015 and later).
//!
//! The string to sign is the method, eleven standard headers, the `x-ms-` headers sorted, and the resource
//! with its query; its HMAC-SHA256 under the account's key goes into the `Authorization` header.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::{self, HeaderMap, HeaderName};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;

use super::super::presign::DelegationKey;
use crate::error::{Error, ErrorKind, Result};
use crate::secret;

/// Whose values stand in the string to sign, in this order. Content-Length is special: nothing for zero.
const SIGNED: [HeaderName; 11] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    CONTENT_MD5,
    header::CONTENT_TYPE,
    header::DATE,
    header::IF_MODIFIED_SINCE,
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_UNMODIFIED_SINCE,
    header::RANGE,
];

/// The version by which signatures for others are made.
const SAS_VERSION: &str = "2021-12-02";

pub(crate) const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");

/// What a SAS is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant<'a> {
    pub(crate) account: &'a str,
    pub(crate) container: &'a str,
    /// Empty for the whole container.
    pub(crate) key: &'a str,
    /// One letter each, in the order that the service wants.
    pub(crate) permissions: &'a str,
    /// A date and time of RFC 3339.
    pub(crate) expires: &'a str,
    pub(crate) https_only: bool,
}

impl Grant<'_> {
    fn resource(&self) -> String {
        let Self { account, container, key, .. } = self;
        match *key {
            "" => format!("/blob/{account}/{container}"),
            key => format!("/blob/{account}/{container}/{key}"),
        }
    }

    fn kind(&self) -> &'static str {
        if self.key.is_empty() { "c" } else { "b" }
    }
}

/// The key, ready to sign: its two hash states are computed once.
#[derive(Clone)]
pub(crate) struct SharedKey {
    account: String,
    mac: Hmac<Sha256>,
    given: bool,
}

impl SharedKey {
    /// A key as the portal shows it: Base64.
    pub(crate) fn new(account: &str, key: &str) -> Result<Self> {
        let wrong = || {
            Error::new(ErrorKind::Permission, "sign", account, "the account key is not Base64")
                .hint("check AZURE_STORAGE_KEY or AZURE_STORAGE_CONNECTION_STRING: copy it again from the portal, Storage account, Access keys")
        };
        secret::remember(key);
        let key = BASE64_STANDARD.decode(key.trim()).map_err(|_| wrong())?;
        let mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| wrong())?;
        Ok(Self { account: account.to_owned(), mac, given: false })
    }

    /// The same, as an argument of the program rather than from the environment.
    pub(crate) fn given(self) -> Self {
        Self { given: true, ..self }
    }

    /// Whose key it is.
    pub(crate) fn account(&self) -> &str {
        &self.account
    }

    /// Whether the program gave it.
    pub(crate) fn is_given(&self) -> bool {
        self.given
    }

    /// The value of the `Authorization` header.
    pub(crate) fn authorize(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        headers: &HeaderMap,
    ) -> String {
        let text = self.string_to_sign(method, path, query, headers);
        format!("SharedKey {}:{}", self.account, self.sign(text.as_bytes()))
    }

    /// The value of the `Authorization` header of a request to the account's tables, which sign less: the method, three headers
    /// and the resource, of whose query only `comp` counts.
    pub(crate) fn authorize_table(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        headers: &HeaderMap,
    ) -> String {
        let value = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let date = headers.get("x-ms-date").and_then(|value| value.to_str().ok());
        let texts = [value(&CONTENT_MD5), value(&header::CONTENT_TYPE), date];
        let [md5, kind, date] = texts.map(Option::unwrap_or_default);
        let comp = query.iter().find(|(name, _)| *name == "comp");
        let comp = comp.map(|(_, value)| format!("?comp={value}")).unwrap_or_default();
        let text = format!("{method}\n{md5}\n{kind}\n{date}\n/{}{path}{comp}", self.account);
        format!("SharedKey {}:{}", self.account, self.sign(text.as_bytes()))
    }

    /// A signature that gives whoever has it what is granted: a query.
    pub(crate) fn sas(&self, grant: &Grant<'_>) -> String {
        // No policy and no addresses.
        self.query(grant, &["", ""], &[])
    }

    /// The same where this is the key of an identity.
    pub(in crate::store::azure) fn delegated_sas(&self, grant: &Grant<'_>, key: &DelegationKey) -> String {
        let DelegationKey { object_id, tenant_id, start, expiry, service, version, .. } = key;
        let named = [
            ("skoid", object_id.as_str()),
            ("sktid", tenant_id),
            ("skt", start),
            ("ske", expiry),
            ("sks", service),
            ("skv", version),
        ];
        // Neither another user, nor a correlation, nor addresses.
        let mut signed: Vec<&str> = named.iter().map(|(_, value)| *value).collect();
        signed.extend(["", "", "", ""]);
        self.query(grant, &signed, &named)
    }

    /// `signed` stands between the resource and the protocol in what is signed, `named` in the query.
    fn query(&self, grant: &Grant<'_>, signed: &[&str], named: &[(&str, &str)]) -> String {
        let Grant { permissions, expires, https_only, .. } = *grant;
        let (resource, kind) = (grant.resource(), grant.kind());
        let protocol = if https_only { "https" } else { "" };
        // Permissions, start and end; then snapshot, scope and the five headers of an answer.
        let mut text = vec![permissions, "", expires, &resource];
        text.extend(signed);
        text.extend([protocol, SAS_VERSION, kind, "", "", "", "", "", "", ""]);
        let signature = self.sign(text.join("\n").as_bytes());
        let escaped = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let mut query = format!("sv={SAS_VERSION}&se={}&sr={kind}&sp={permissions}", escaped(expires));
        if https_only {
            query.push_str("&spr=https");
        }
        for (name, value) in named {
            query.push_str(&format!("&{name}={}", escaped(value)));
        }
        query.push_str(&format!("&sig={}", escaped(&signature)));
        query
    }

    /// The Base64 of the HMAC of `text`.
    pub(crate) fn sign(&self, text: &[u8]) -> String {
        let mut mac = self.mac.clone();
        mac.update(text);
        let signature: [u8; 32] = mac.finalize().into_bytes().into();
        secret::remember_mac(signature);
        BASE64_STANDARD.encode(signature)
    }

    /// `path` as it stands in the request, escaped and with the account where the endpoint wants it;
    /// `query` with its values *not* escaped.
    fn string_to_sign(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        headers: &HeaderMap,
    ) -> String {
        let mut text = String::with_capacity(512);
        text.push_str(method);
        text.push('\n');
        for name in &SIGNED {
            let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
            if !(value == "0" && *name == header::CONTENT_LENGTH) {
                text.push_str(value);
            }
            text.push('\n');
        }
        let mut service: Vec<_> =
            headers.iter().filter(|(name, _)| name.as_str().starts_with("x-ms-")).collect();
        service.sort_unstable_by_key(|(name, _)| name.as_str());
        for (name, value) in service {
            text.push_str(name.as_str());
            text.push(':');
            text.push_str(value.to_str().unwrap_or_default().trim());
            text.push('\n');
        }
        text.push('/');
        text.push_str(&self.account);
        text.push_str(path);
        let mut query = query.to_vec();
        query.sort_unstable();
        for (name, value) in query {
            text.push('\n');
            text.push_str(name);
            text.push(':');
            text.push_str(value);
        }
        text
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedKey({}, key hidden)", self.account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), http::HeaderValue::from_static(value)))
            .collect()
    }

    fn key(account: &str) -> SharedKey {
        SharedKey::new(account, super::super::super::settings::DEVELOPMENT_KEY).unwrap()
    }

    /// The two examples of "Authorize with Shared Key" in the service's REST reference.
    #[test]
    fn strings_to_sign_are_those_of_the_reference() {
        let sent = headers(&[("x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"), ("x-ms-version", "2015-02-21")]);
        let query = [("restype", "container"), ("comp", "metadata"), ("timeout", "20")];
        assert_eq!(
            key("myaccount").string_to_sign("GET", "/mycontainer", &query, &sent),
            "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n\
             /myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20"
        );
        let sent = headers(&[
            ("x-ms-version", "2015-02-21"),
            ("content-length", "11"),
            ("content-type", "text/plain; charset=UTF-8"),
            ("x-ms-date", "Sun, 20 Sep 2009 20:36:40 GMT"),
            ("x-ms-blob-type", "BlockBlob"),
            ("x-ms-meta-m2", "v2"),
            ("x-ms-meta-m1", "v1"),
        ]);
        assert_eq!(
            key("myaccount").string_to_sign("PUT", "/c/b", &[], &sent),
            "PUT\n\n\n11\n\ntext/plain; charset=UTF-8\n\n\n\n\n\n\nx-ms-blob-type:BlockBlob\n\
             x-ms-date:Sun, 20 Sep 2009 20:36:40 GMT\nx-ms-meta-m1:v1\nx-ms-meta-m2:v2\nx-ms-version:2015-02-21\n/myaccount/c/b"
        );
    }

    #[test]
    fn a_length_of_zero_is_left_out_and_a_path_style_account_repeated() {
        let sent = headers(&[("content-length", "0")]);
        let text = key("acc").string_to_sign("PUT", "/acc/c", &[("restype", "container")], &sent);
        assert!(text.starts_with("PUT\n\n\n\n\n"), "{text:?}");
        assert!(text.ends_with("\n/acc/acc/c\nrestype:container"), "{text:?}");
    }

    /// RFC 4231, test case 2.
    #[test]
    fn the_mac_is_the_published_one() {
        let key = SharedKey::new("a", "SmVmZQ==").unwrap();
        let expected: Vec<u8> = (0..32)
            .map(|i| {
                let hex = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
                u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()
            })
            .collect();
        assert_eq!(key.sign(b"what do ya want for nothing?"), BASE64_STANDARD.encode(expected));
    }

    #[test]
    fn keys_are_hidden_and_bad_ones_explained() {
        assert!(!format!("{:?}", key("acc")).contains("Eby8"));
        let error = SharedKey::new("acc", "no key!").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert!(!format!("{error:?}").contains("no key!"));
    }
}
