//! From the service's answer to an error that says what to do.

use http::header::HeaderMap;

use super::address::NAMES;
use super::auth::Credential;
use crate::error::{Error, ErrorKind, Retry};
use crate::store::answer::{in_a_while, told};
use crate::store::{CONTAINER_THERE, asked};

/// What some servers want that keep objects as files.
const PLAIN_NAMES: &str = "choose a name without . or .. between slashes";

/// What was asked; the permission is an action of a policy, such as `s3:GetObject`.
pub(super) type Asked<'a> = asked::Asked<'a, &'static str>;

/// Makes an error of an answer that is no success. No text of the service goes through but the first line of its message:
/// the rest may repeat a signature.
pub(super) fn service_error(
    asked: Asked<'_>,
    credential: &Credential,
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
) -> Error {
    let told = told(body);
    let word = told.code.as_deref().unwrap_or_default();
    let error = classify(asked, credential, status, word, told.message.as_deref());
    let retry = match (status, word) {
        (_, "NotImplemented") => Retry::Never,
        (408 | 429 | 500 | 502 | 503 | 504, _) | (_, "SlowDown" | "InternalError" | "ServiceUnavailable") => {
            in_a_while(headers)
        }
        _ => error.retry_advice(),
    };
    error.retry(retry).service(status, told.code)
}

fn classify(
    asked: Asked<'_>,
    credential: &Credential,
    status: u16,
    code: &str,
    message: Option<&str>,
) -> Error {
    use ErrorKind::{Busy, Exists, Integrity, NoSpace, NotFound, Service, SourceChanged, Unsupported, Usage};
    match (status, code) {
        (_, "NoSuchBucket") => {
            asked.error(NotFound, "no such bucket").hint(format!("check the name, or create it with: haul mb {}", asked.container))
        }
        (_, "NoSuchKey") => asked
            .error(NotFound, "no such object")
            .hint(format!("list what is there with: haul ls {}", asked.container)),
        // Some services say so of one part while they take others of the same upload.
        (_, "NoSuchUpload") => asked
            .error(Service, "the upload is no longer there")
            .retry(Retry::Few)
            .hint("another client has finished or removed it; run the same command again"),
        (404, _) => asked.error(NotFound, "not found").hint("check the name of bucket and object"),
        (_, "BucketAlreadyExists") => asked
            .error(Exists, "a bucket of this name exists already, and may be somebody else's")
            .hint("choose another name"),
        (_, "BucketAlreadyOwnedByYou") => {
            asked.error(Exists, "the bucket exists already").hint(CONTAINER_THERE)
        }
        (_, "BucketNotEmpty") => asked
            .error(Service, "the bucket is not empty: somebody writes to it, or it keeps old versions")
            .hint("run haul clean on it, remove old versions with the service's own tools, then run the same command again"),
        (_, "ConditionalRequestConflict" | "OperationAborted") => {
            asked.error(Busy, "somebody else changes it at the same moment").retry(Retry::Backoff)
        }
        (412, _) if asked.unmet == SourceChanged => asked
            .error(SourceChanged, "the object changed while it was read")
            .hint("run the same command again"),
        (412, _) if asked.unmet == Exists => asked.error(Exists, "the object exists already, or has changed"),
        (412, _) => asked.error(asked.unmet, "a condition of the request does not hold"),
        (416, _) => asked.error(SourceChanged, "the object is shorter than it was when listed"),
        (_, "BadDigest" | "XAmzContentSHA256Mismatch" | "XAmzContentChecksumMismatch") => {
            asked.error(Integrity, "the bytes that arrived do not fit their checksum").retry(Retry::Backoff)
        }
        (_, "RequestTimeout" | "IncompleteBody") => asked
            .error(ErrorKind::Connection, format!("the service did not get the whole request ({code})"))
            .retry(Retry::Backoff),
        (_, "InvalidPart" | "InvalidPartOrder") => asked
            .error(Service, "a part of the upload is not what was sent")
            .hint("another client is writing this object; run the same command again"),
        (_, "EntityTooSmall") => asked
            .error(Service, "a part of the upload is smaller than the service allows")
            .hint("run the same command with --block-size 8MiB or more"),
        (_, "EntityTooLarge") => asked
            .error(Unsupported, "the object or a part of it is larger than the service allows")
            .hint("run the same command with another --block-size"),
        (_, "InvalidObjectState") => asked
            .error(Unsupported, "the object is archived, and cannot be read now")
            .hint("restore it with the service's own tools, and wait until it is restored"),
        (_, code) if code.starts_with("KMS.") => asked
            .error(Service, format!("the key that encrypts the object cannot be used ({code})"))
            .hint("check the key's state and policy in KMS"),
        (_, "XMinioStorageFull" | "QuotaExceeded") => asked.error(NoSpace, described(status, code, message)),
        (_, "InvalidBucketName") => {
            asked.error(Usage, "the service does not take this bucket name").hint(NAMES)
        }
        (_, "KeyTooLongError") => asked
            .error(Usage, "the service does not take so long a name")
            .hint("object names have at most 1,024 bytes"),
        (_, "InvalidStorageClass") => asked
            .error(Unsupported, "the service has no such storage class")
            .hint("choose one that it has, such as --tier STANDARD, or use --tier default"),
        (_, "MetadataTooLarge") => asked
            .error(Unsupported, "the object has more metadata than the service keeps")
            .hint("shorten its metadata at the source: S3 keeps 2 KB"),
        (_, "XMinioInvalidObjectName" | "XMinioInvalidResourceName") => {
            asked.error(Unsupported, "the service does not take this name").hint(PLAIN_NAMES)
        }
        (
            _,
            "AuthorizationHeaderMalformed"
            | "PermanentRedirect"
            | "TemporaryRedirect"
            | "IllegalLocationConstraintException",
        )
        | (301 | 302 | 307 | 308, _) => asked
            .error(Service, format!("the bucket is in another region, or somewhere else (HTTP {status})"))
            .hint("set --region, or check the endpoint"),
        (429 | 503, _) | (_, "SlowDown" | "ServiceUnavailable") => asked.error(Busy, busy(code)),
        (401 | 403, _) | (_, "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => {
            refused(asked, credential, status, code, message)
        }
        (501, _) | (_, "NotImplemented") => asked.error(Service, described(status, code, message)).hint(
            "this service does not support the request; if it is the checksum, use --checksum md5",
        ),
        _ => asked.error(Service, described(status, code, message)),
    }
}

fn busy(code: &str) -> String {
    if code.is_empty() { "the service is busy".to_owned() } else { format!("the service is busy ({code})") }
}

fn described(status: u16, code: &str, message: Option<&str>) -> String {
    match (code, message) {
        ("", None) => format!("HTTP {status}"),
        ("", Some(message)) => format!("HTTP {status}: {message}"),
        (code, None) => format!("{code} (HTTP {status})"),
        (code, Some(message)) => format!("{code}: {message}"),
    }
}

/// Why we were not let in, and how to get in.
fn refused(
    asked: Asked<'_>,
    credential: &Credential,
    status: u16,
    code: &str,
    message: Option<&str>,
) -> Error {
    let error = |cause: &str| asked.error(ErrorKind::Permission, cause);
    match code {
        "SignatureDoesNotMatch" if credential.is_given() => {
            error("the service does not accept the signature (SignatureDoesNotMatch)")
                .hint("check the secret you passed, and the endpoint")
        }
        "SignatureDoesNotMatch" => error("the service does not accept the signature (SignatureDoesNotMatch)")
            .hint("check AWS_SECRET_ACCESS_KEY or the profile, and the endpoint"),
        "InvalidAccessKeyId" if credential.is_given() => {
            error("the service does not know the access key (InvalidAccessKeyId)")
                .hint("check the key id you passed, and the endpoint")
        }
        "InvalidAccessKeyId" => error("the service does not know the access key (InvalidAccessKeyId)")
            .hint("check AWS_ACCESS_KEY_ID or AWS_PROFILE, and the endpoint"),
        // Others may be had where these came from.
        "ExpiredToken" | "TokenRefreshRequired" if credential.forget() => {
            error("the keys have ended").retry(Retry::Few).hint(SIGN_IN)
        }
        "ExpiredToken" | "TokenRefreshRequired" => error("the keys have ended").hint(SIGN_IN),
        "InvalidToken" if credential.is_given() => {
            error("the session token is none of this service (InvalidToken)")
                .hint("check the token you passed; permanent keys need none")
        }
        "InvalidToken" => error("the session token is none of this service (InvalidToken)")
            .hint("check AWS_SESSION_TOKEN; permanent keys need none"),
        "RequestTimeTooSkewed" => error("this machine's clock is wrong, so that no signature holds")
            .hint("set this machine's clock"),
        _ if credential.is_unsigned() => asked
            .error(ErrorKind::Permission, "this is not open to all")
            .hint("leave out --no-sign-request, and give credentials"),
        _ => {
            let word = if code.is_empty() { "access refused" } else { code };
            let hint = format!("ask for the permission {} on {}", asked.permission, asked.container);
            asked.error(ErrorKind::Permission, described(status, word, message)).hint(hint)
        }
    }
}

const SIGN_IN: &str = "sign in again, with aws sso login or new keys, and run the same command again";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;

    use super::*;

    const ASKED: Asked<'_> = Asked {
        operation: "read",
        object: "s3://b/k",
        container: "s3://b",
        permission: "s3:GetObject",
        unmet: ErrorKind::SourceChanged,
    };

    fn answer(status: u16, code: &str) -> Error {
        let body = format!("<Error><Code>{code}</Code><Message>Words.</Message></Error>");
        service_error(ASKED, &Credential::Unsigned, status, &HeaderMap::new(), body.as_bytes())
    }

    #[test]
    fn answers_become_kinds() {
        use ErrorKind::*;
        for (status, code, kind, retry) in [
            (404, "NoSuchBucket", NotFound, Retry::Never),
            (404, "NoSuchKey", NotFound, Retry::Never),
            (404, "NoSuchUpload", Service, Retry::Few),
            (404, "", NotFound, Retry::Never),
            (409, "BucketAlreadyOwnedByYou", Exists, Retry::Never),
            (409, "ConditionalRequestConflict", Busy, Retry::Backoff),
            (412, "PreconditionFailed", SourceChanged, Retry::Never),
            (416, "InvalidRange", SourceChanged, Retry::Never),
            (400, "BadDigest", Integrity, Retry::Backoff),
            (400, "RequestTimeout", Connection, Retry::Backoff),
            (403, "SignatureDoesNotMatch", Permission, Retry::Never),
            (403, "AccessDenied", Permission, Retry::Never),
            (400, "ExpiredToken", Permission, Retry::Never),
            (503, "SlowDown", Busy, Retry::Backoff),
            (200, "InternalError", Service, Retry::Backoff),
            (200, "SlowDown", Busy, Retry::Backoff),
            (500, "", Service, Retry::Backoff),
            (501, "NotImplemented", Service, Retry::Never),
            (301, "PermanentRedirect", Service, Retry::Never),
            (400, "Odd", Service, Retry::Never),
        ] {
            let error = answer(status, code);
            assert_eq!((error.kind(), error.retry_advice()), (kind, retry), "{status} {code}");
            assert_eq!(
                (error.status(), error.service_code()),
                (Some(status), Some(code).filter(|c| !c.is_empty()))
            );
        }
        assert_eq!(answer(400, "Odd").cause(), "Odd: Words.");
        let mut headers = HeaderMap::new();
        headers.insert(http::header::RETRY_AFTER, HeaderValue::from_static("3"));
        let error = service_error(ASKED, &Credential::Unsigned, 503, &headers, b"");
        assert_eq!(
            (error.cause(), error.retry_advice()),
            ("the service is busy", Retry::After(Duration::from_secs(3)))
        );
    }

    #[test]
    fn hints_say_what_to_do() {
        for (status, code, hint) in [
            (404, "NoSuchBucket", "check the name, or create it with: haul mb s3://b"),
            (404, "NoSuchKey", "list what is there with: haul ls s3://b"),
            (404, "NoSuchUpload", "another client has finished or removed it; run the same command again"),
            (404, "", "check the name of bucket and object"),
            (409, "BucketAlreadyExists", "choose another name"),
            (409, "BucketAlreadyOwnedByYou", CONTAINER_THERE),
            (
                409,
                "BucketNotEmpty",
                "run haul clean on it, remove old versions with the service's own tools, then run the same command again",
            ),
            (412, "", "run the same command again"),
            (400, "InvalidPart", "another client is writing this object; run the same command again"),
            (400, "EntityTooSmall", "run the same command with --block-size 8MiB or more"),
            (400, "EntityTooLarge", "run the same command with another --block-size"),
            (
                403,
                "InvalidObjectState",
                "restore it with the service's own tools, and wait until it is restored",
            ),
            (400, "InvalidBucketName", NAMES),
            (400, "KeyTooLongError", "object names have at most 1,024 bytes"),
            (
                400,
                "InvalidStorageClass",
                "choose one that it has, such as --tier STANDARD, or use --tier default",
            ),
            (400, "MetadataTooLarge", "shorten its metadata at the source: S3 keeps 2 KB"),
            (400, "XMinioInvalidResourceName", "choose a name without . or .. between slashes"),
            (301, "", "set --region, or check the endpoint"),
            (403, "SignatureDoesNotMatch", "check AWS_SECRET_ACCESS_KEY or the profile, and the endpoint"),
            (403, "InvalidAccessKeyId", "check AWS_ACCESS_KEY_ID or AWS_PROFILE, and the endpoint"),
            (
                400,
                "ExpiredToken",
                "sign in again, with aws sso login or new keys, and run the same command again",
            ),
            (400, "InvalidToken", "check AWS_SESSION_TOKEN; permanent keys need none"),
            (403, "RequestTimeTooSkewed", "set this machine's clock"),
            (400, "KMS.DisabledException", "check the key's state and policy in KMS"),
            (403, "AccessDenied", "leave out --no-sign-request, and give credentials"),
            (
                501,
                "NotImplemented",
                "this service does not support the request; if it is the checksum, use --checksum md5",
            ),
        ] {
            assert_eq!(answer(status, code).hint_text(), Some(hint), "{status} {code}");
        }
        let keys = Credential::Keys(super::super::auth::Keys::new("id", "secret", None).unwrap());
        let error = service_error(ASKED, &keys, 403, &HeaderMap::new(), b"");
        assert_eq!(error.hint_text(), Some("ask for the permission s3:GetObject on s3://b"));
        assert_eq!(error.cause(), "access refused (HTTP 403)");
        for (code, hint) in [
            ("SignatureDoesNotMatch", "check the secret you passed, and the endpoint"),
            ("InvalidAccessKeyId", "check the key id you passed, and the endpoint"),
            ("InvalidToken", "check the token you passed; permanent keys need none"),
        ] {
            let body = format!("<Error><Code>{code}</Code></Error>");
            let error = service_error(ASKED, &keys, 403, &HeaderMap::new(), body.as_bytes());
            assert_eq!(error.hint_text(), Some(hint));
        }
    }

    #[test]
    fn nothing_is_told_but_a_code_and_a_line() {
        let body = "<Error><Code>SignatureDoesNotMatch</Code><Message>It does not.\nsecret</Message>\
                    <StringToSign>AWS4 secret</StringToSign><SignatureProvided>c0ffee</SignatureProvided></Error>";
        let error = service_error(ASKED, &Credential::Unsigned, 403, &HeaderMap::new(), body.as_bytes());
        assert!(!format!("{error:?}").contains("c0ffee") && !format!("{error:?}").contains("secret"));
        let html = service_error(
            ASKED,
            &Credential::Unsigned,
            502,
            &HeaderMap::new(),
            b"<html><body>502 <br> & more",
        );
        assert_eq!((html.cause(), html.retry_advice()), ("HTTP 502", Retry::Backoff));
    }
}
