//! Shared access signatures: for the account, a container or a blob.

use std::time::SystemTime;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::permission::{Level, carries_tags, needed, open_to_service_sas};
use super::{Key, failed};
use crate::request::{Call, Operation, Query};
use crate::wire::error::{
    Answer, PERMISSION_MISMATCH, PROTOCOL_MISMATCH, RESOURCE_TYPE_MISMATCH, SERVICE_MISMATCH,
};
use crate::wire::time::{iso8601, parse_iso8601};

/// The version of signatures made here. From 2020-12-06 on an encryption scope is signed too.
const VERSION: &str = "2022-11-02";
const WITH_ENCRYPTION_SCOPE: &str = "2020-12-06";
/// Versions before this sign a blob's signature without resource and snapshot.
const WITH_RESOURCE: &str = "2018-11-09";

/// An account signature for all levels of blobs and tables, as a query string.
pub(crate) fn account_sas(account: &str, key: &Key, permissions: &str, expiry: SystemTime) -> String {
    let expiry = iso8601(expiry);
    let query = format!("sv={VERSION}&ss=bt&srt=sco&sp={permissions}&se={expiry}&spr=https,http");
    let signature = key.sign(&account_string(&Query::parse(&query), account));
    let escaped = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    format!(
        "sv={VERSION}&ss=bt&srt=sco&sp={permissions}&se={}&spr=https,http&sig={}",
        escaped(&expiry),
        escaped(&signature)
    )
}

pub(super) fn check(
    call: &Call<'_>,
    account: &str,
    key: &Key,
    signature: &str,
    overwrites: impl FnOnce() -> bool,
) -> Answer<()> {
    let query = &call.query;
    let of_account = query.get("ss").is_some();
    let text = if of_account {
        account_string(query, account)
    } else {
        service_string(call, account).ok_or_else(|| failed("sr is mandatory. Cannot be empty"))?
    };
    if !key.verifies(&text, signature) {
        return Err(failed(&format!("Signature did not match. String to sign used was {text}")));
    }
    check_time(query.get("st"), query.get("se"), SystemTime::now())?;
    if query.get("spr") == Some("https") {
        return Err((&PROTOCOL_MISMATCH).into());
    }
    let (level, letters) = needed(call.operation);
    if of_account {
        check_account_reach(query, level, call.operation)?;
    } else if !open_to_service_sas(call.operation, query.get("sr") == Some("c")) {
        return Err((&PERMISSION_MISMATCH).into());
    }
    let granted = query.get("sp").unwrap_or_default();
    let held = |letter| granted.contains(letter);
    // Who may create but not write may not replace.
    let enough = letters.is_empty() || letters.chars().any(held);
    let enough = enough && (held('t') || !carries_tags(call));
    let replaces = letters.contains('c') && level == Level::Object && !held('w') && overwrites();
    if enough && !replaces { Ok(()) } else { Err((&PERMISSION_MISMATCH).into()) }
}

fn check_account_reach(query: &Query<'_>, level: Level, operation: Operation) -> Answer<()> {
    if !query.get("ss").unwrap_or_default().contains('b') {
        return Err((&SERVICE_MISMATCH).into());
    }
    let reach = query.get("srt").unwrap_or_default();
    if operation != Operation::AccountInformation && !reach.contains(level.letter()) {
        return Err((&RESOURCE_TYPE_MISMATCH).into());
    }
    Ok(())
}

/// Not before the start, not after the expiry.
pub(crate) fn check_time(start: Option<&str>, expiry: Option<&str>, now: SystemTime) -> Answer<()> {
    let expiry = expiry.and_then(parse_iso8601);
    let expiry = expiry.ok_or_else(|| failed("Signature fields not well formed."))?;
    let start = match start {
        Some(text) => parse_iso8601(text).ok_or_else(|| failed("Signature fields not well formed."))?,
        None => SystemTime::UNIX_EPOCH,
    };
    if (start..expiry).contains(&now) {
        return Ok(());
    }
    Err(failed(&format!(
        "Signature not valid in the specified time frame: Start [{}] - Expiry [{}] - Current [{}]",
        iso8601(start),
        iso8601(expiry),
        iso8601(now)
    )))
}

/// What an account signature signs. It ends in a line feed.
pub(crate) fn account_string(query: &Query<'_>, account: &str) -> String {
    let mut text = account.to_owned();
    push_fields(&mut text, query, &["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"]);
    if version(query) >= WITH_ENCRYPTION_SCOPE {
        push_fields(&mut text, query, &["ses"]);
    }
    text.push('\n');
    text
}

/// What a signature for a container or a blob signs; `None` where it is for something else.
fn service_string(call: &Call<'_>, account: &str) -> Option<String> {
    let (query, key) = (&call.query, call.key());
    let resource = match query.get("sr")? {
        "c" => format!("/blob/{account}/{}", key.container),
        "b" => format!("/blob/{account}/{}/{}", key.container, key.blob),
        _ => return None,
    };
    let mut text = query.get("sp").unwrap_or_default().to_owned();
    push_fields(&mut text, query, &["st", "se"]);
    text.push('\n');
    text.push_str(&resource);
    push_fields(&mut text, query, &["si", "sip", "spr", "sv"]);
    if version(query) >= WITH_RESOURCE {
        push_fields(&mut text, query, &["sr", "snapshot"]);
    }
    if version(query) >= WITH_ENCRYPTION_SCOPE {
        push_fields(&mut text, query, &["ses"]);
    }
    push_fields(&mut text, query, &["rscc", "rscd", "rsce", "rscl", "rsct"]);
    Some(text)
}

pub(crate) fn push_fields(text: &mut String, query: &Query<'_>, names: &[&str]) {
    for name in names {
        text.push('\n');
        text.push_str(query.get(name).unwrap_or_default());
    }
}

fn version<'a>(query: &'a Query<'_>) -> &'a str {
    query.get("sv").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::{WELL_KNOWN_ACCOUNT as ACCOUNT, WELL_KNOWN_KEY};

    fn outcome(method: &str, path: &str, sas: &str, overwrites: bool) -> Result<(), &'static str> {
        let uri = format!("/{ACCOUNT}{path}{}{sas}", if path.contains('?') { '&' } else { '?' });
        let parts = http::Request::builder().method(method).uri(uri).body(()).unwrap().into_parts().0;
        let call = Call::parse(&parts, ACCOUNT).map_err(|error| error.kind.code)?;
        let key = Key::parse(WELL_KNOWN_KEY).unwrap();
        let signature = call.query.get("sig").unwrap();
        check(&call, ACCOUNT, &key, signature, || overwrites).map_err(|error| error.kind.code)
    }

    fn made(permissions: &str, expiry: SystemTime) -> String {
        account_sas(ACCOUNT, &Key::parse(WELL_KNOWN_KEY).unwrap(), permissions, expiry)
    }

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(60)
    }

    #[test]
    fn account_signatures_allow_what_they_say() {
        let reader = made("rl", later());
        assert_eq!(outcome("GET", "/box/a", &reader, false), Ok(()));
        assert_eq!(outcome("GET", "/box?restype=container&comp=list", &reader, false), Ok(()));
        assert_eq!(outcome("PUT", "/box/a", &reader, false), Err("AuthorizationPermissionMismatch"));
        let creator = made("c", later());
        assert_eq!(outcome("PUT", "/box/a", &creator, false), Ok(()));
        assert_eq!(outcome("PUT", "/box/a", &creator, true), Err("AuthorizationPermissionMismatch"));
    }

    #[test]
    fn tags_need_a_letter_of_their_own() {
        let (plain, tagging) = (made("rwl", later()), made("rwlt", later()));
        let tags = [("GET", "/box/a?comp=tags"), ("PUT", "/box/a?comp=tags")];
        for (method, path) in
            tags.into_iter().chain([("GET", "/box?restype=container&comp=list&include=metadata,tags")])
        {
            assert_eq!(
                outcome(method, path, &plain, false),
                Err("AuthorizationPermissionMismatch"),
                "{path}"
            );
            assert_eq!(outcome(method, path, &tagging, false), Ok(()), "{path}");
        }
        assert_eq!(outcome("PUT", "/box/a?comp=tier", &plain, false), Ok(()));
        assert_eq!(outcome("PUT", "/box/a?comp=tags", &made("t", later()), false), Ok(()));
    }

    #[test]
    fn expired_and_altered_signatures_are_refused() {
        let past = SystemTime::now() - Duration::from_secs(5);
        assert_eq!(outcome("GET", "/box/a", &made("r", past), false), Err("AuthenticationFailed"));
        let widened = made("r", later()).replace("sp=r", "sp=rw");
        assert_eq!(outcome("PUT", "/box/a", &widened, false), Err("AuthenticationFailed"));
    }

    /// Made by azure-storage-blob 12 for Python with the well-known key.
    #[test]
    fn signatures_of_the_official_client_are_accepted() {
        let of_blob = "se=2099-01-02T03%3A04%3A05Z&sp=r&sv=2026-10-06&sr=b&rsct=a/b\
                       &sig=Oga3cOhQT6mA4dPDGIL8bULTCjZRipqeyRgBSxh0PsY%3D";
        assert_eq!(outcome("GET", "/box/a%20b/c%2Bd", of_blob, false), Ok(()));
        assert_eq!(outcome("GET", "/box/other", of_blob, false), Err("AuthenticationFailed"));
        let of_container = "st=2020-01-01T00%3A00%3A00Z&se=2099-01-02T03%3A04%3A05Z&sp=rwl&sv=2026-10-06&sr=c\
                            &sig=y5OvX0W7p6QO2SBDj0Po4InMdFibku/PuY5j4Ok8fnw%3D";
        assert_eq!(outcome("GET", "/box?restype=container&comp=list", of_container, false), Ok(()));
        assert_eq!(outcome("PUT", "/box/x", of_container, true), Ok(()));
        assert_eq!(outcome("DELETE", "/box/x", of_container, false), Err("AuthorizationPermissionMismatch"));
        assert_eq!(
            outcome("DELETE", "/box?restype=container", of_container, false),
            Err("AuthorizationPermissionMismatch")
        );
        let of_account = "se=2099-01-02T03%3A04%3A05Z&sp=rl&sv=2026-10-06&ss=b&srt=sc\
                          &sig=ESn0vnJoYfnDeQBpkmY2sbJUpiJ1MyblA7WPLKplPYs%3D";
        assert_eq!(outcome("GET", "?comp=list", of_account, false), Ok(()));
        assert_eq!(outcome("GET", "/box/x", of_account, false), Err("AuthorizationResourceTypeMismatch"));
    }
}
