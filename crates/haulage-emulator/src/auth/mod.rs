//! Who may do what: shared key and shared access signatures.

mod permission;
mod sas;
mod shared_key;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use haulage::{Error, ErrorKind};
use http::request::Parts;

use crate::request::Call;
use crate::wire::error::{AUTHENTICATION_FAILED, AUTHORIZATION_FAILURE, Answer};
use crate::wire::time::Stamp;

pub(crate) use sas::{account_sas, account_string, check_time, push_fields};

/// The account's key, ready to sign.
pub(crate) struct Key(Hmac<Sha256>);

impl Key {
    /// Reads the key in Base64.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        // The key itself never goes into a message.
        let bad = || Error::new(ErrorKind::Usage, "read", "account key", "not Base64");
        let bytes = BASE64_STANDARD.decode(text).map_err(|_| bad())?;
        Hmac::new_from_slice(&bytes).map(Self).map_err(|_| bad())
    }

    /// The signature of `text` in Base64.
    pub(crate) fn sign(&self, text: &str) -> String {
        let mut mac = self.0.clone();
        mac.update(text.as_bytes());
        BASE64_STANDARD.encode(mac.finalize().into_bytes())
    }

    /// Whether `signature` is that of `text`, in a time that does not tell where they differ.
    pub(crate) fn verifies(&self, text: &str, signature: &str) -> bool {
        let mut mac = self.0.clone();
        mac.update(text.as_bytes());
        BASE64_STANDARD.decode(signature).is_ok_and(|bytes| mac.verify_slice(&bytes).is_ok())
    }
}

/// Lets the request through, or says why not. `overwrites` tells whether the blob it would
/// create is there already: a signature may allow creating but not replacing.
pub(crate) fn authorize(
    call: &Call<'_>,
    account: &str,
    key: &Key,
    overwrites: impl FnOnce() -> bool,
) -> Answer<()> {
    match (call.header("authorization"), call.query.get("sig")) {
        (Some(header), _) => {
            shared_key::check(call, account, key, header)?;
            check_date(call.parts)
        }
        (None, Some(signature)) => sas::check(call, account, key, signature, overwrites),
        (None, None) => Err((&AUTHORIZATION_FAILURE).into()),
    }
}

/// A signed request is good for a quarter of an hour, lest it be sent again by another.
pub(crate) fn check_date(parts: &Parts) -> Answer<()> {
    const GOOD_FOR_SECONDS: u64 = 15 * 60;
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let text = header("x-ms-date").or_else(|| header("date")).unwrap_or_default();
    match Stamp::parse_http(text) {
        Some(date) if date.seconds_from(Stamp::now()) <= GOOD_FOR_SECONDS => Ok(()),
        _ => Err(failed(&format!("Request date header not specified, or too old: '{text}'"))),
    }
}

pub(crate) fn failed(detail: &str) -> crate::wire::error::ServiceError {
    AUTHENTICATION_FAILED.detail("AuthenticationErrorDetail", detail)
}
