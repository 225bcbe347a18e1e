//! What a signature claims, whether it came in a header or in the query, and the check of it.

use std::time::{Duration, SystemTime};

use http::header::{HeaderName, HeaderValue};
use http::request::Parts;

use super::canonical::canonical_request;
use super::hash::{SigningKey, sha256};
use crate::s3::access::{REGION, S3Access};
use crate::s3::error::{
    ACCESS_DENIED, INVALID_ACCESS_KEY_ID, REQUEST_TIME_TOO_SKEWED, SIGNATURE_DOES_NOT_MATCH,
};
use crate::wire::error::{Answer, Kind, ServiceError};
use crate::wire::time::{basic, iso8601, parse_basic};

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// A signed request is good for a quarter of an hour, lest it be sent again by another.
const SKEW: Duration = Duration::from_secs(15 * 60);

/// A signature and what it says of itself.
pub(super) struct Claim<'a> {
    pub(super) credential: Credential<'a>,
    /// When it was signed, in the form in which that is signed.
    pub(super) timestamp: String,
    /// The names of the headers, in their order.
    pub(super) signed: Vec<&'a str>,
    pub(super) signature: &'a str,
    /// The hash of the body, or the word in its place.
    pub(super) payload: &'a str,
}

/// `KEY/20130524/us-east-1/s3/aws4_request`.
pub(super) struct Credential<'a> {
    access_key: &'a str,
    scope: &'a str,
    date: &'a str,
    region: &'a str,
    service: &'a str,
}

/// A signature that holds: what is needed to check the chunks of a body.
pub(crate) struct Seal {
    pub(crate) key: SigningKey,
    pub(crate) timestamp: String,
    pub(crate) scope: String,
    pub(crate) signature: String,
}

impl<'a> Credential<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut fields = text.rsplitn(5, '/');
        let (end, service, region) = (fields.next()?, fields.next()?, fields.next()?);
        let (date, access_key) = (fields.next()?, fields.next()?);
        let scope = &text[access_key.len() + 1..];
        (end == "aws4_request").then_some(Self { access_key, scope, date, region, service })
    }

    /// Whether it is for this place; `wrong` is the failure that its bearer gets, before `what`.
    pub(super) fn check(&self, access: &S3Access, wrong: &'static Kind, what: &str) -> Answer<()> {
        if self.region != REGION {
            let message = format!("{what}; the region '{}' is wrong; expecting '{REGION}'", self.region);
            let region = HeaderValue::from_static(REGION);
            let error = wrong.saying(message).detail("Region", REGION);
            return Err(error.header(HeaderName::from_static("x-amz-bucket-region"), region));
        }
        if self.service != "s3" {
            let service = self.service;
            return Err(wrong.saying(format!(
                "{what}; incorrect service \"{service}\". This endpoint belongs to \"s3\"."
            )));
        }
        if self.access_key != access.access_key_id {
            return Err(INVALID_ACCESS_KEY_ID.detail("AWSAccessKeyId", self.access_key));
        }
        Ok(())
    }
}

impl Claim<'_> {
    /// Whether the signature is that of the request.
    pub(super) fn verify(&self, parts: &Parts, access: &S3Access) -> Answer<Seal> {
        self.check_headers(parts)?;
        let Credential { scope, date, region, service, .. } = self.credential;
        if !self.timestamp.starts_with(date) {
            let message = format!("Invalid credential date {date}. It is not that of the request.");
            return Err(SIGNATURE_DOES_NOT_MATCH.saying(message));
        }
        let request = canonical_request(parts, &self.signed, self.payload);
        let text = format!("{ALGORITHM}\n{}\n{scope}\n{}", self.timestamp, sha256(&request));
        let secret = format!("AWS4{}", access.secret_access_key);
        let day = SigningKey::new(secret.as_bytes()).derive(date);
        let key = day.derive(region).derive(service).derive("aws4_request");
        if key.verifies(&text, self.signature) {
            return Ok(Seal {
                key,
                timestamp: self.timestamp.clone(),
                scope: scope.to_owned(),
                signature: self.signature.to_owned(),
            });
        }
        // The service tells the client what it signed, which is what finds the mistake.
        Err(SIGNATURE_DOES_NOT_MATCH
            .detail("AWSAccessKeyId", self.credential.access_key)
            .detail("StringToSign", text)
            .detail("SignatureProvided", self.signature)
            .detail("CanonicalRequest", String::from_utf8_lossy(&request)))
    }

    /// The host and the service's own headers must be signed.
    fn check_headers(&self, parts: &Parts) -> Answer<()> {
        let names = parts.headers.keys().map(http::HeaderName::as_str);
        let must = names.filter(|name| *name == "host" || name.starts_with("x-amz-"));
        let unsigned: Vec<&str> = must.filter(|name| !self.signed.contains(name)).collect();
        if unsigned.is_empty() {
            return Ok(());
        }
        let error = ACCESS_DENIED.saying("There were headers present in the request which were not signed");
        Err(error.detail("HeadersNotSigned", unsigned.join(", ")))
    }
}

/// Whether a request was signed at about this time.
pub(super) fn check_skew(timestamp: &str, now: SystemTime) -> Answer<()> {
    let signed = parse_basic(timestamp);
    let signed = signed.ok_or_else(|| {
        ACCESS_DENIED.saying("AWS authentication requires a valid Date or x-amz-date header")
    })?;
    let apart = now.duration_since(signed).unwrap_or_else(|early| early.duration());
    if apart <= SKEW {
        return Ok(());
    }
    Err(ServiceError::from(&REQUEST_TIME_TOO_SKEWED)
        .detail("RequestTime", timestamp)
        .detail("ServerTime", iso8601(now))
        .detail("MaxAllowedSkewMilliseconds", SKEW.as_millis().to_string()))
}

/// The time of a header in the form that is signed; `None` where it is no time.
pub(super) fn timestamp(text: &str) -> Option<String> {
    match parse_basic(text) {
        Some(_) => Some(text.to_owned()),
        None => httpdate::parse_http_date(text).ok().map(basic),
    }
}
