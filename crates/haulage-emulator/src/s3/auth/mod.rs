//! Signature version 4, in a header or in the query.

mod canonical;
mod claim;
pub(crate) mod hash;

use std::time::{Duration, SystemTime};

use http::request::Parts;

use self::claim::{ALGORITHM, Claim, Credential, check_skew, timestamp};
use super::access::S3Access;
use super::error::{ACCESS_DENIED, HEADER_MALFORMED, INVALID_REQUEST, QUERY_PARAMETERS_ERROR, bad_argument};
use crate::request::Query;
use crate::wire::error::{Answer, ServiceError};
use crate::wire::time::{iso8601, parse_basic};

pub(crate) use claim::Seal;

/// A week: no signature in a query lasts longer.
const LONGEST: u64 = 7 * 24 * 60 * 60;

const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
const CHUNKS: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
const CHUNKS_AND_TRAILER: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
const UNSIGNED_CHUNKS_AND_TRAILER: &str = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

/// What the signature says of the body.
pub(crate) enum Payload {
    /// Nothing.
    Unsigned,
    /// Its SHA-256 in digits.
    Hash(String),
    /// It comes in chunks, each signed where there is a seal, perhaps with trailers behind the last.
    Chunks { seal: Option<Seal>, trailer: bool },
}

/// Lets the request through, or says why not.
pub(crate) fn authorize(
    parts: &Parts,
    query: &Query<'_>,
    access: &S3Access,
    now: SystemTime,
) -> Answer<Payload> {
    let header = parts.headers.get("authorization").map(|value| value.to_str().unwrap_or_default());
    let presigned = query.get("X-Amz-Algorithm").or(query.get("X-Amz-Signature")).is_some();
    match header {
        Some(_) if presigned => Err(INVALID_REQUEST.saying("Only one auth mechanism allowed")),
        Some(text) => by_header(parts, text, access, now),
        None if presigned => by_query(parts, query, access, now),
        None if query.get("Signature").is_some() => Err(old_mechanism()),
        None => Err((&ACCESS_DENIED).into()),
    }
}

fn by_header(parts: &Parts, text: &str, access: &S3Access, now: SystemTime) -> Answer<Payload> {
    const WHAT: &str = "The authorization header is malformed";
    let (scheme, rest) = text.split_once(' ').unwrap_or((text, ""));
    if scheme != ALGORITHM {
        return Err(old_mechanism());
    }
    let field = |name: &str| {
        let fields = rest.split(',').filter_map(|field| field.trim().split_once('='));
        let found = fields.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value);
        found.ok_or_else(|| HEADER_MALFORMED.saying(format!("{WHAT}; {name} is missing")))
    };
    let credential = Credential::parse(field("Credential")?);
    let credential =
        credential.ok_or_else(|| HEADER_MALFORMED.saying(format!("{WHAT}; the Credential is mal-formed")))?;
    credential.check(access, &HEADER_MALFORMED, WHAT)?;
    let sent = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let timestamp = timestamp(sent("x-amz-date").or_else(|| sent("date")).unwrap_or_default());
    let timestamp = timestamp.unwrap_or_default();
    check_skew(&timestamp, now)?;
    let payload = sent("x-amz-content-sha256").ok_or_else(|| {
        INVALID_REQUEST.saying("Missing required header for this request: x-amz-content-sha256")
    })?;
    let claim = Claim {
        credential,
        timestamp,
        signed: field("SignedHeaders")?.split(';').collect(),
        signature: field("Signature")?,
        payload,
    };
    let seal = claim.verify(parts, access)?;
    Payload::parse(payload, seal)
}

fn by_query(parts: &Parts, query: &Query<'_>, access: &S3Access, now: SystemTime) -> Answer<Payload> {
    const WHAT: &str = "Error parsing the X-Amz-Credential parameter";
    let field = |name: &str| {
        query.get(name).ok_or_else(|| {
            QUERY_PARAMETERS_ERROR.saying(format!("The signature in the query is without its {name}."))
        })
    };
    if field("X-Amz-Algorithm")? != ALGORITHM {
        return Err(old_mechanism());
    }
    let credential = Credential::parse(field("X-Amz-Credential")?);
    let credential =
        credential.ok_or_else(|| QUERY_PARAMETERS_ERROR.saying(format!("{WHAT}; it is mal-formed")))?;
    credential.check(access, &QUERY_PARAMETERS_ERROR, WHAT)?;
    let timestamp = field("X-Amz-Date")?;
    check_lifetime(timestamp, field("X-Amz-Expires")?, now)?;
    let payload = parts.headers.get("x-amz-content-sha256").and_then(|value| value.to_str().ok());
    let payload = payload.or(query.get("X-Amz-Content-Sha256")).unwrap_or(UNSIGNED);
    let claim = Claim {
        credential,
        timestamp: timestamp.to_owned(),
        signed: field("X-Amz-SignedHeaders")?.split(';').collect(),
        signature: field("X-Amz-Signature")?,
        payload,
    };
    let seal = claim.verify(parts, access)?;
    Payload::parse(payload, seal)
}

/// Not before it was signed, not after it has expired.
fn check_lifetime(timestamp: &str, expires: &str, now: SystemTime) -> Answer<()> {
    let signed = parse_basic(timestamp);
    let signed = signed.ok_or_else(|| {
        QUERY_PARAMETERS_ERROR
            .saying("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
    })?;
    let seconds = expires.parse().ok().filter(|seconds| (1..=LONGEST).contains(seconds));
    let seconds = seconds.ok_or_else(|| {
        QUERY_PARAMETERS_ERROR
            .saying(format!("X-Amz-Expires must be a number of seconds from 1 to {LONGEST}"))
    })?;
    let end = signed + Duration::from_secs(seconds);
    if now > end {
        let error = ACCESS_DENIED.saying("Request has expired").detail("X-Amz-Expires", expires);
        return Err(error.detail("Expires", iso8601(end)).detail("ServerTime", iso8601(now)));
    }
    if signed > now { check_skew(timestamp, now) } else { Ok(()) }
}

fn old_mechanism() -> ServiceError {
    INVALID_REQUEST.saying(format!(
        "The authorization mechanism you have provided is not supported. Please use {ALGORITHM}."
    ))
}

impl Payload {
    fn parse(text: &str, seal: Seal) -> Answer<Self> {
        Ok(match text {
            UNSIGNED => Self::Unsigned,
            CHUNKS => Self::Chunks { seal: Some(seal), trailer: false },
            CHUNKS_AND_TRAILER => Self::Chunks { seal: Some(seal), trailer: true },
            UNSIGNED_CHUNKS_AND_TRAILER => Self::Chunks { seal: None, trailer: true },
            digits if digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Self::Hash(digits.to_ascii_lowercase())
            }
            other => {
                let message = format!(
                    "x-amz-content-sha256 must be {UNSIGNED}, {CHUNKS}, {CHUNKS_AND_TRAILER}, \
                     {UNSIGNED_CHUNKS_AND_TRAILER} or a valid sha256 value."
                );
                return Err(bad_argument("x-amz-content-sha256", other, message));
            }
        })
    }
}

/// The seal of the documentation's examples, with this signature of the request.
#[cfg(test)]
pub(crate) fn example_seal(access: &S3Access, signature: &str) -> Seal {
    let key = hash::SigningKey::new(format!("AWS4{}", access.secret_access_key).as_bytes());
    Seal {
        key: key.derive("20130524").derive(&access.region).derive("s3").derive("aws4_request"),
        timestamp: "20130524T000000Z".to_owned(),
        scope: "20130524/us-east-1/s3/aws4_request".to_owned(),
        signature: signature.to_owned(),
    }
}

#[cfg(test)]
mod tests;
