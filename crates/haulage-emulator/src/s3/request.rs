//! A request to the S3 interface taken apart: which bucket, which key, which operation.

use std::borrow::Cow;

use http::header::HOST;
use http::request::Parts;
use percent_encoding::percent_decode_str;

use super::OWNER_ACCOUNT;
use super::access::S3Access;
use super::error::{ACCESS_DENIED, INVALID_URI, KEY_TOO_LONG, NOT_IMPLEMENTED, bad_argument};
use super::operation::{Level, Operation, operation};
use crate::request::Query;
use crate::store::Key;
use crate::wire::error::{Answer, ServiceError};

/// The longest key, in bytes of UTF-8.
pub(super) const LONGEST_KEY: usize = 1024;

/// Headers whose promise would not be kept here.
const UNKNOWN_HEADERS: [&str; 8] = [
    "x-amz-server-side-encryption-customer-algorithm",
    "x-amz-copy-source-server-side-encryption-customer-algorithm",
    "x-amz-server-side-encryption-aws-kms-key-id",
    "x-amz-object-lock-mode",
    "x-amz-object-lock-legal-hold",
    "x-amz-website-redirect-location",
    "x-amz-write-offset-bytes",
    "x-amz-mfa",
];

/// A request with its names decoded.
pub(crate) struct Call<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) query: Query<'a>,
    pub(crate) operation: Operation,
    bucket: Cow<'a, str>,
    key: Cow<'a, str>,
}

impl<'a> Call<'a> {
    /// Takes a request apart; refuses what is not known here.
    pub(crate) fn parse(parts: &'a Parts, access: &S3Access) -> Answer<Self> {
        let path = parts.uri.path().strip_prefix('/').unwrap_or_default();
        let (bucket, key) = match bucket_of_host(parts, access) {
            Some(bucket) => (Cow::Borrowed(bucket), path),
            None => {
                let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
                (decoded(bucket)?, key)
            }
        };
        let key = decoded(key)?;
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let level = match (bucket.is_empty(), key.is_empty()) {
            (true, _) => Level::Service,
            (false, true) => Level::Bucket,
            (false, false) => Level::Object,
        };
        let copies = parts.headers.contains_key("x-amz-copy-source");
        let operation = operation(&parts.method, level, &query, copies)?;
        if key.len() > LONGEST_KEY {
            let error = ServiceError::from(&KEY_TOO_LONG).detail("Size", key.len().to_string());
            return Err(error.detail("MaxSizeAllowed", LONGEST_KEY.to_string()));
        }
        let call = Self { parts, query, operation, bucket, key };
        call.check_promises()?;
        Ok(call)
    }

    /// Refuses what would be ignored to the client's harm.
    fn check_promises(&self) -> Answer<()> {
        if let Some(name) = UNKNOWN_HEADERS.into_iter().find(|name| self.parts.headers.contains_key(*name)) {
            return Err(NOT_IMPLEMENTED.detail("Header", name));
        }
        if self.header("x-amz-server-side-encryption").is_some_and(|how| how != "AES256") {
            return Err(NOT_IMPLEMENTED.detail("Header", "x-amz-server-side-encryption"));
        }
        if self.header("x-amz-expected-bucket-owner").is_some_and(|owner| owner != OWNER_ACCOUNT) {
            return Err((&ACCESS_DENIED).into());
        }
        match self.query.get("versionId") {
            None | Some("null") => Ok(()),
            Some(id) => Err(bad_argument("versionId", id, "Invalid version id specified")),
        }
    }

    /// The bucket's name; empty where the request has none.
    pub(crate) fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The object's key; empty where the request has none.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Bucket and key as the stores want them.
    pub(crate) fn blob(&self) -> Key<'_> {
        Key { container: &self.bucket, blob: &self.key }
    }

    /// A header's text, if it is there and is text.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.parts.headers.get(name)?.to_str().ok()
    }

    /// A parameter that is there and not empty.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.get(name).filter(|value| !value.is_empty())
    }

    /// A number of the query, at most `most`; `most` where it is not there.
    pub(super) fn limit(&self, name: &str, most: usize) -> Answer<usize> {
        let Some(text) = self.parameter(name) else { return Ok(most) };
        match text.parse::<u32>().ok().filter(|number| *number <= i32::MAX as u32) {
            Some(number) => Ok(most.min(number as usize)),
            None => Err(bad_argument(
                name,
                text,
                format!("Argument {name} must be an integer between 0 and 2147483647"),
            )),
        }
    }
}

fn decoded(text: &str) -> Answer<Cow<'_, str>> {
    percent_decode_str(text).decode_utf8().map_err(|_| (&INVALID_URI).into())
}

/// The bucket in front of the endpoint's own name in `Host`, as virtual-hosted clients write it.
pub(crate) fn bucket_of_host<'a>(parts: &'a Parts, access: &S3Access) -> Option<&'a str> {
    let host = match parts.uri.host() {
        Some(host) => host,
        None => without_port(parts.headers.get(HOST)?.to_str().ok()?),
    };
    let bucket = access.own_names().into_iter().find_map(|own| before(host, own));
    bucket.filter(|bucket| !bucket.is_empty())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// What stands before `.own`, whatever the case of the latter.
fn before<'a>(host: &'a str, own: &str) -> Option<&'a str> {
    let at = host.len().checked_sub(own.len())?;
    let (front, back) = (host.get(..at)?, host.get(at..)?);
    if back.eq_ignore_ascii_case(own) { front.strip_suffix('.') } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(method: &str, host: &str, uri: &str) -> Result<(Operation, String, String), &'static str> {
        let request = http::Request::builder().method(method).uri(uri).header("host", host);
        let parts = request.body(()).unwrap().into_parts().0;
        let call = Call::parse(&parts, &S3Access::example()).map_err(|error| error.kind.code)?;
        Ok((call.operation, call.bucket().to_owned(), call.key().to_owned()))
    }

    fn named(op: Operation, bucket: &str, key: &str) -> Result<(Operation, String, String), &'static str> {
        Ok((op, bucket.to_owned(), key.to_owned()))
    }

    #[test]
    fn both_styles_name_a_bucket() {
        let path = |uri| parse("GET", "127.0.0.1:10000", uri);
        assert_eq!(path("/"), named(Operation::ListBuckets, "", ""));
        assert_eq!(path("/box"), named(Operation::ListObjects, "box", ""));
        assert_eq!(path("/box/"), named(Operation::ListObjects, "box", ""));
        assert_eq!(path("/box//a%20b+%2B/"), named(Operation::GetObject, "box", "/a b++/"));
        let host = |host, uri| parse("GET", host, uri);
        assert_eq!(host("box.localhost:10000", "/"), named(Operation::ListObjects, "box", ""));
        assert_eq!(host("my.box.LOCALHOST", "//a"), named(Operation::GetObject, "my.box", "/a"));
        assert_eq!(host("box.127.0.0.1:1", "/a/b"), named(Operation::GetObject, "box", "a/b"));
        assert_eq!(host("localhost:1", "/box/a"), named(Operation::GetObject, "box", "a"));
        assert_eq!(host("elsewhere.org", "/box/a"), named(Operation::GetObject, "box", "a"));
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        let long = format!("/box/{}", "é".repeat(513));
        assert_eq!(parse("GET", "localhost", &long), Err("KeyTooLongError"));
        assert_eq!(parse("GET", "localhost", "/box/%FF"), Err("InvalidURI"));
        assert_eq!(parse("GET", "localhost", "/box/a?versionId=3"), Err("InvalidArgument"));
        assert!(parse("GET", "localhost", "/box/a?versionId=null").is_ok());
    }
}
