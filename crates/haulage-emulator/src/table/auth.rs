//! Who may do what with tables: keys, account signatures, and signatures for a table or a part of it.

use std::ops::Bound;
use std::time::SystemTime;

use http::request::Parts;

use super::acl;
use super::error::NO_AUTHENTICATION;
use super::filter::Range;
use super::key;
use super::operation::Operation;
use super::request::Call;
use crate::auth::{Key, account_string, check_date, check_time, failed, push_fields};
use crate::request::Query;
use crate::service::Service;
use crate::wire::error::{
    Answer, PERMISSION_MISMATCH, PROTOCOL_MISMATCH, RESOURCE_TYPE_MISMATCH, SERVICE_MISMATCH,
};

/// What a request's signature allows.
#[derive(Debug)]
pub(super) enum Grants {
    All,
    Some { letters: String, reach: Reach },
}

#[derive(Debug)]
pub(super) enum Reach {
    /// Kinds of resources.
    Account(String),
    /// One table, and of it what lies in a range.
    Table(String, Range),
}

impl Grants {
    /// Refuses what the signature does not allow.
    pub(super) fn check(&self, call: &Call<'_>, key: Option<&[u8]>, upserts: bool) -> Answer<()> {
        let Self::Some { letters, reach } = self else { return Ok(()) };
        let (kind, needed) = call.operation.needs();
        let transaction = call.operation == Operation::EntityGroupTransaction;
        match reach {
            Reach::Account(kinds) if !transaction && !kinds.contains(kind) => {
                return Err((&RESOURCE_TYPE_MISMATCH).into());
            }
            Reach::Table(table, range) => {
                let here = transaction || kind == 'o' && call.resource.table().eq_ignore_ascii_case(table);
                if !here || key.is_some_and(|key| !range.contains(key)) {
                    return Err((&PERMISSION_MISMATCH).into());
                }
            }
            Reach::Account(_) => {}
        }
        let held =
            needed.chars().any(|letter| letters.contains(letter)) && (!upserts || letters.contains('a'));
        if held { Ok(()) } else { Err((&PERMISSION_MISMATCH).into()) }
    }

    /// The keys that it opens.
    pub(super) fn range(&self) -> Range {
        match self {
            Self::Some { reach: Reach::Table(_, range), .. } => range.clone(),
            _ => Range::ALL,
        }
    }
}

/// Finds out what the request's signature allows; refuses a request without one.
pub(super) fn authenticate(service: &Service, call: &Call<'_>) -> Answer<Grants> {
    match (call.header("authorization"), call.query.get("sig")) {
        (Some(header), _) => {
            check_key(call.parts, &call.query, &service.config.account, &service.key, header)?;
            check_date(call.parts)?;
            Ok(Grants::All)
        }
        (None, Some(signature)) => check_signature(service, &call.query, signature),
        (None, None) => Err((&NO_AUTHENTICATION).into()),
    }
}

/// Whether a request is signed with the account's key as one for tables is.
pub(super) fn is_signed_for_tables(parts: &Parts, service: &Service, query: &Query<'_>) -> bool {
    let header = parts.headers.get("authorization").and_then(|value| value.to_str().ok());
    header
        .is_some_and(|header| check_key(parts, query, &service.config.account, &service.key, header).is_ok())
}

/// The scheme `SharedKey`, or `SharedKeyLite`, which leaves all out but date and resource.
fn check_key(parts: &Parts, query: &Query<'_>, account: &str, key: &Key, header: &str) -> Answer<()> {
    let malformed = || failed("The Authorization header has no scheme, name or signature.");
    let (scheme, credential) = header.split_once(' ').ok_or_else(malformed)?;
    let (name, signature) = credential.trim().split_once(':').ok_or_else(malformed)?;
    if name != account {
        return Err(failed("The Authorization header names another account."));
    }
    let text = string_to_sign(parts, query, account, scheme)
        .ok_or_else(|| failed(&format!("Authentication scheme {scheme} is not supported.")))?;
    if key.verifies(&text, signature) {
        return Ok(());
    }
    Err(failed(&format!(
        "The MAC signature found in the HTTP request '{signature}' is not the same as any computed signature. \
         Server used following string to sign: '{text}'."
    )))
}

fn string_to_sign(parts: &Parts, query: &Query<'_>, account: &str, scheme: &str) -> Option<String> {
    let header =
        |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let date = if parts.headers.contains_key("x-ms-date") { header("x-ms-date") } else { header("date") };
    let mut text = match scheme {
        "SharedKey" => {
            format!("{}\n{}\n{}\n{date}\n", parts.method, header("content-md5"), header("content-type"))
        }
        "SharedKeyLite" => format!("{date}\n"),
        _ => return None,
    };
    // On a path-style endpoint the account stands twice.
    text.push_str(&format!("/{account}{}", parts.uri.path()));
    if let Some(comp) = query.get("comp") {
        text.push_str(&format!("?comp={comp}"));
    }
    Some(text)
}

fn check_signature(service: &Service, query: &Query<'_>, signature: &str) -> Answer<Grants> {
    let account = &service.config.account;
    let text = match (query.get("ss"), query.get("tn")) {
        (Some(_), _) => account_string(query, account),
        (None, Some(table)) => table_string(query, account, table),
        (None, None) => return Err(failed("The signature names neither services nor a table.")),
    };
    if !service.key.verifies(&text, signature) {
        return Err(failed(&format!("Signature did not match. String to sign used was {text}")));
    }
    if query.get("spr") == Some("https") {
        return Err((&PROTOCOL_MISMATCH).into());
    }
    let own = |name: &str| query.get(name).map(str::to_owned);
    if let Some(services) = query.get("ss") {
        check_time(query.get("st"), query.get("se"), SystemTime::now())?;
        if !services.contains('t') {
            return Err((&SERVICE_MISMATCH).into());
        }
        let reach = Reach::Account(own("srt").unwrap_or_default());
        return Ok(Grants::Some { letters: own("sp").unwrap_or_default(), reach });
    }
    let table = own("tn").unwrap_or_default();
    let policy = match query.get("si") {
        Some(id) => acl::find(service, &table, id)?.ok_or_else(|| failed("The policy is not there."))?,
        None => acl::Policy::default(),
    };
    let (start, expiry) = (own("st").or(policy.start), own("se").or(policy.expiry));
    check_time(start.as_deref(), expiry.as_deref(), SystemTime::now())?;
    let letters = own("sp").or(policy.permission).unwrap_or_default();
    Ok(Grants::Some { letters, reach: Reach::Table(table, range(query)) })
}

/// What a table's signature signs.
fn table_string(query: &Query<'_>, account: &str, table: &str) -> String {
    let mut text = query.get("sp").unwrap_or_default().to_owned();
    push_fields(&mut text, query, &["st", "se"]);
    text.push_str(&format!("\n/table/{account}/{}", table.to_lowercase()));
    push_fields(&mut text, query, &["si", "sip", "spr", "sv", "spk", "srk", "epk", "erk"]);
    text
}

/// The part of the table that a signature opens, first and last entity included.
fn range(query: &Query<'_>) -> Range {
    let low = query.get("spk").map(|partition| key::encode(partition, query.get("srk").unwrap_or_default()));
    let high = query.get("epk").map(|partition| match query.get("erk") {
        Some(row) => Bound::Included(key::encode(partition, row)),
        None => Bound::Excluded(key::after_partition(&key::encode(partition, ""))),
    });
    Range { low: low.map_or(Bound::Unbounded, Bound::Included), high: high.unwrap_or(Bound::Unbounded) }
}
