//! From the service's answer to an error that says what to do.

use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderMap;

use super::auth::Credential;
use crate::error::{Error, ErrorKind, Retry};
use crate::store::answer::{code_of, in_a_while, told};
use crate::store::{CONTAINER_THERE, asked};

/// What was asked; the permission is the one of a SAS.
pub(super) type Asked<'a> = asked::Asked<'a, char>;

/// Blocks without a blob are leftovers to `haul clean`; beside a blob, they go when it is replaced as a whole.
const OTHERS_BLOCKS: &str = "haul clean removes them if there is no such blob yet; otherwise copy with --method whole, which replaces both";

/// Makes an error of an answer that is no success. No text of the service goes through
/// but the first line of its message: the rest may repeat a signature.
pub(super) fn service_error(
    asked: Asked<'_>,
    credential: &Credential,
    status: StatusCode,
    headers: &HeaderMap,
    body: &Bytes,
) -> Error {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let told = told(body);
    let code = header("x-ms-error-code").and_then(code_of).or(told.code);
    let message = told.message;
    let word = code.as_deref().unwrap_or_default();
    let error = classify(asked, credential, status.as_u16(), word, message.as_deref());
    let retry = match status.as_u16() {
        _ if word == "FeatureNotSupported" => Retry::Never,
        408 | 429 | 500 | 502 | 503 | 504 => in_a_while(headers),
        _ => error.retry_advice(),
    };
    error.retry(retry).service(status.as_u16(), code)
}

fn classify(
    asked: Asked<'_>,
    credential: &Credential,
    status: u16,
    code: &str,
    message: Option<&str>,
) -> Error {
    use ErrorKind::{
        Busy, Exists, Integrity, NotFound, Permission, Service, SourceChanged, Unsupported, Usage,
    };
    match (status, code) {
        (_, "ContainerNotFound") => asked
            .error(NotFound, "no such container")
            .hint(format!("check the name, or create it with: haul mb {}", asked.container)),
        (_, "BlobNotFound") => asked
            .error(NotFound, "no such blob")
            .hint(format!("list what is there with: haul ls {}", asked.container)),
        (404, _) => asked.error(NotFound, "not found").hint("check the name of account, container and blob"),
        (_, "ContainerAlreadyExists") => asked
            .error(Exists, "the container exists already")
            .hint(CONTAINER_THERE),
        (_, "ContainerBeingDeleted") => asked
            .error(Service, "the container is still being deleted")
            .retry(Retry::Backoff)
            .hint("the service needs about half a minute for that; try again then"),
        (_, "BlobAlreadyExists" | "UnmodifiedSinceConditionNotMet") => asked.error(Exists, "the blob exists already"),
        (_, "LeaseIdMissing" | "LeaseLost" | "LeaseIdMismatchWithBlobOperation") => {
            asked.error(Permission, "the blob is under a lease").hint("break the lease, or wait until it ends")
        }
        (_, "SnapshotsPresent") => asked
            .error(Unsupported, "the blob has snapshots, which would be deleted with it")
            .hint("delete its snapshots, or copy it with haul cp; haul rm deletes a blob with its snapshots"),
        (_, "BlobBeingRehydrated") => asked
            .error(Unsupported, "the blob is being brought back from the archive")
            .hint("wait until that is done, which can take hours"),
        (_, "BlobArchived") => asked
            .error(Unsupported, "the blob is archived, and cannot be read or changed now")
            .hint("set its tier to hot or cool with the service's own tools, and wait until that is done"),
        (_, "BlobImmutableDueToPolicy") => asked
            .error(Permission, "a policy keeps the blob from being changed")
            .hint("wait until the policy ends, or choose another name"),
        (412, _) | (_, "ConditionNotMet") if asked.unmet == SourceChanged => {
            let when = if asked.operation == "delete" { "since it was listed" } else { "while it was read" };
            asked.error(SourceChanged, format!("the blob changed {when}")).hint("run the same command again")
        }
        (412, _) => asked.error(asked.unmet, "the blob at the destination has changed"),
        (416, _) => asked.error(SourceChanged, "the blob is shorter than it was when listed"),
        // Azurite answers a wrong MD5 with InvalidOperation.
        (400, "Md5Mismatch" | "Crc64Mismatch" | "InvalidOperation") => asked
            .error(Integrity, "the bytes that arrived do not fit their checksum")
            .retry(Retry::Backoff),
        (400, "InvalidMd5" | "InvalidCrc64") => asked.error(Service, "the service did not take the checksum"),
        (_, "InvalidBlockList") => asked
            .error(Service, "a block of the list is no longer there")
            .hint("another client wrote this blob, or its blocks are older than a week; run the same command again"),
        // The ids of all blocks of a blob have one length, and another program has its own.
        (_, "InvalidBlobOrBlock") => asked
            .error(Service, "another program has left unfinished blocks under this name")
            .hint(OTHERS_BLOCKS),
        (_, "InvalidBlobType") => asked
            .error(Service, "an append blob or a page blob has this name")
            .hint("remove it with haul rm, or choose another name"),
        (401 | 403, _) => refused(asked, credential, code, message),
        // Azurite's strict mode, which answers so with status 500.
        (_, "FeatureNotSupported") => asked
            .error(Service, "this server does not know CRC64 (FeatureNotSupported)")
            .hint("start Azurite with --loose, or use --checksum md5"),
        (429 | 503, _) | (_, "OperationTimedOut" | "ServerBusy") => asked.error(Busy, busy(code)),
        (400, "UnsupportedHeader" | "InvalidHeaderValue") | (501, _) => asked
            .error(Service, described(status, code, message))
            .hint("if this server is an emulator, it may lack CRC64: use --checksum md5"),
        (400, "InvalidResourceName" | "InvalidUri" | "OutOfRangeInput") => {
            asked.error(Usage, "the service does not take this name").hint(
                "container names have 3 to 63 lower-case letters, digits and hyphens; blob names at most 1,024 characters",
            )
        }
        (301..=308, _) => asked
            .error(Service, format!("the service answered with a redirect (HTTP {status})"))
            .hint("check the endpoint: a blob service does not redirect"),
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

/// These permissions and one more, in the order in which Azure wants them.
fn in_order(has: &str, more: char) -> String {
    "racwdxltmeopi".chars().filter(|&letter| letter == more || has.contains(letter)).collect()
}

/// Why we were not let in, and how to get in.
fn refused(asked: Asked<'_>, credential: &Credential, code: &str, message: Option<&str>) -> Error {
    let word = if code.is_empty() { "access refused" } else { code };
    let error = |cause: String| asked.error(ErrorKind::Permission, cause);
    match credential {
        Credential::Sas(sas) if sas.has_expired() => {
            let end = sas.expires.as_deref().unwrap_or_default();
            error(format!("the SAS expired on {end}")).hint("make a new SAS and run the same command again")
        }
        Credential::Sas(sas) if !sas.allows(asked.permission) => {
            let has = sas.permissions.as_deref().unwrap_or_default();
            error(format!("the SAS lacks permission `{}` (it has `{has}`)", asked.permission))
                .hint(format!("make a SAS with sp={}", in_order(has, asked.permission)))
        }
        Credential::Sas(_) => error(format!("the SAS was refused ({word})")).hint(
            "check that it was copied completely, is for this container, and covers blobs and containers",
        ),
        Credential::SharedKey(key) if code == "AuthenticationFailed" && key.is_given() => {
            error("the service does not know this key (AuthenticationFailed)".to_owned())
                .hint("check the key you passed, and this machine's clock")
        }
        Credential::SharedKey(_) if code == "AuthenticationFailed" => {
            error("the service does not know this key (AuthenticationFailed)".to_owned())
                .hint("check AZURE_STORAGE_KEY or AZURE_STORAGE_CONNECTION_STRING, and this machine's clock")
        }
        // Azure means its network rules by this, Azurite a wrong key.
        Credential::SharedKey(key) if code == "AuthorizationFailure" && key.is_given() => {
            error("the account refuses this key or this machine (AuthorizationFailure)".to_owned())
                .hint("check the key you passed, and the account's network rules (portal: Networking)")
        }
        Credential::SharedKey(_) if code == "AuthorizationFailure" => {
            error("the account refuses this key or this machine (AuthorizationFailure)".to_owned())
                .hint("check AZURE_STORAGE_KEY or AZURE_STORAGE_CONNECTION_STRING, and the account's network rules (portal: Networking)")
        }
        Credential::Entra(_) if code == "AuthorizationPermissionMismatch" => {
            let role = if matches!(asked.permission, 'r' | 'l') { "Reader" } else { "Contributor" };
            error("your identity may not do this (AuthorizationPermissionMismatch)".to_owned())
                .hint(format!("ask for the role `Storage Blob Data {role}` on the account or container"))
        }
        Credential::Entra(entra) if code == "InvalidAuthenticationInfo" && entra.is_given() => {
            error("the token that was given was refused (InvalidAuthenticationInfo)".to_owned())
                .hint("use a token for https://storage.azure.com/ from the account's tenant")
        }
        Credential::Entra(_) if code == "InvalidAuthenticationInfo" => {
            error("the token was refused (InvalidAuthenticationInfo)".to_owned())
                .hint("sign in again with: az login")
        }
        _ if code == "AuthorizationFailure" => {
            error("the account's network rules refuse this machine".to_owned())
                .hint("add this network in the portal: Storage account, Networking")
        }
        _ => {
            let cause = described(403, word, message);
            error(cause)
                .hint("check the credential: a key needs AZURE_STORAGE_KEY, Entra a data role on the account")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::auth::{Entra, Sas, SharedKey, TokenSource};
    use super::*;

    const ASKED: Asked<'_> = Asked {
        operation: "read",
        object: "az://c/k",
        container: "az://c",
        permission: 'r',
        unmet: ErrorKind::SourceChanged,
    };

    fn answer(status: u16, code: &'static str, credential: &Credential) -> Error {
        let mut headers = HeaderMap::new();
        headers.insert("x-ms-error-code", http::HeaderValue::from_static(code));
        service_error(ASKED, credential, StatusCode::from_u16(status).unwrap(), &headers, &Bytes::new())
    }

    fn key() -> Credential {
        Credential::SharedKey(SharedKey::new("a", "a2V5").unwrap())
    }

    #[test]
    fn answers_become_kinds() {
        use ErrorKind::*;
        for (status, code, kind) in [
            (404, "ContainerNotFound", NotFound),
            (404, "BlobNotFound", NotFound),
            (409, "BlobAlreadyExists", Exists),
            (409, "ContainerAlreadyExists", Exists),
            (412, "ConditionNotMet", SourceChanged),
            (400, "Md5Mismatch", Integrity),
            (400, "Crc64Mismatch", Integrity),
            (403, "AuthenticationFailed", Permission),
            (401, "NoAuthenticationInformation", Permission),
            (503, "ServerBusy", Busy),
            (500, "OperationTimedOut", Busy),
            (500, "InternalError", Service),
            (418, "", Service),
        ] {
            let error = answer(status, code, &key());
            assert_eq!((error.kind(), error.status()), (kind, Some(status)), "{status} {code}");
        }
        assert_eq!(answer(500, "InternalError", &key()).retry_advice(), Retry::Backoff);
        assert_eq!(answer(400, "Crc64Mismatch", &key()).retry_advice(), Retry::Backoff);
        assert_eq!(answer(404, "BlobNotFound", &key()).retry_advice(), Retry::Never);
        let error = answer(404, "ContainerNotFound", &key());
        assert_eq!(error.hint_text(), Some("check the name, or create it with: haul mb az://c"));
    }

    #[test]
    fn a_sas_that_does_not_do_says_why() {
        let expired = Credential::Sas(Sas::new("se=2020-01-01T00%3A00%3A00Z&sp=r&sig=x"));
        assert_eq!(
            answer(403, "AuthenticationFailed", &expired).cause(),
            "the SAS expired on 2020-01-01T00:00:00Z"
        );
        let other = Credential::Sas(Sas::new("se=2999-01-01&sp=wl&sig=x"));
        let error = answer(403, "AuthorizationPermissionMismatch", &other);
        assert_eq!(error.cause(), "the SAS lacks permission `r` (it has `wl`)");
        assert_eq!(error.hint_text(), Some("make a SAS with sp=rwl"));
        assert_eq!((in_order("r", 'l'), in_order("lw", 'd')), ("rl".to_owned(), "wdl".to_owned()));
    }

    #[test]
    fn what_was_given_as_an_argument_is_to_be_checked_there() {
        let key = Credential::SharedKey(SharedKey::new("a", "a2V5").unwrap().given());
        let source = TokenSource::new(|| Err("never asked".to_owned()));
        let token = Credential::Entra(Entra::given(source).into());
        for (credential, code, hint) in [
            (&key, "AuthenticationFailed", "check the key you passed, and this machine's clock"),
            (
                &key,
                "AuthorizationFailure",
                "check the key you passed, and the account's network rules (portal: Networking)",
            ),
            (
                &token,
                "InvalidAuthenticationInfo",
                "use a token for https://storage.azure.com/ from the account's tenant",
            ),
        ] {
            assert_eq!(answer(403, code, credential).hint_text(), Some(hint));
        }
    }

    #[test]
    fn the_body_gives_code_and_first_line_but_no_signature() {
        let body = "\u{feff}<?xml version=\"1.0\"?><Error><Code>Odd</Code><Message>It is odd.\nRequestId:1</Message>\
                    <AuthenticationErrorDetail>sig=c2VjcmV0</AuthenticationErrorDetail></Error>";
        let error = service_error(ASKED, &key(), StatusCode::CONFLICT, &HeaderMap::new(), &Bytes::from(body));
        assert_eq!(error.cause(), "Odd: It is odd.");
        assert_eq!(error.service_code(), Some("Odd"));
        assert!(!format!("{error:?}").contains("c2VjcmV0"));
        let html = Bytes::from_static(b"<html><body>502 <br> & more");
        let error = service_error(ASKED, &key(), StatusCode::BAD_GATEWAY, &HeaderMap::new(), &html);
        assert_eq!((error.cause(), error.retry_advice()), ("HTTP 502", Retry::Backoff));
    }

    #[test]
    fn only_a_word_is_a_code() {
        for code in ["", "Odd code", "a?sig=c2VjcmV0", "\u{1b}[2J", &"x".repeat(101)] {
            let body = Bytes::from(format!("<Error><Code>{code}</Code></Error>"));
            let error = service_error(ASKED, &key(), StatusCode::CONFLICT, &HeaderMap::new(), &body);
            assert_eq!((error.service_code(), error.cause()), (None, "HTTP 409"), "{code:?}");
        }
    }

    #[test]
    fn the_service_says_how_long_to_wait() {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::RETRY_AFTER, http::HeaderValue::from_static("3"));
        let error = service_error(ASKED, &key(), StatusCode::SERVICE_UNAVAILABLE, &headers, &Bytes::new());
        assert_eq!(error.retry_advice(), Retry::After(Duration::from_secs(3)));
    }
}
