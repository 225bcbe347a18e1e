//! The `SharedKey` and `SharedKeyLite` schemes: an HMAC over the request's method, headers and
//! resource.

use std::cmp::Ordering;

use super::{Key, failed};
use crate::request::Call;
use crate::wire::error::Answer;

const SIGNED_HEADERS: [&str; 11] = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
];
const SIGNED_HEADERS_LITE: [&str; 3] = ["content-md5", "content-type", "date"];

/// How names of `x-ms-` headers are sorted. The service ignores hyphens at first; most clients
/// sort by bytes, and the two differ only for metadata such as `a-b` next to `ab`.
type Order = fn(&str, &str) -> Ordering;

pub(super) fn check(call: &Call<'_>, account: &str, key: &Key, header: &str) -> Answer<()> {
    let Some((scheme, credential)) = header.split_once(' ') else {
        return Err(failed("The Authorization header has no scheme."));
    };
    let headers: &[&str] = match scheme {
        "SharedKey" => &SIGNED_HEADERS,
        "SharedKeyLite" => &SIGNED_HEADERS_LITE,
        other => return Err(failed(&format!("Authentication scheme {other} is not supported."))),
    };
    let Some((name, signature)) = credential.trim().split_once(':') else {
        return Err(failed("The Authorization header has no signature."));
    };
    if name != account {
        return Err(failed("The Authorization header names another account."));
    }
    let orders: [Order; 2] = [|a, b| a.cmp(b), ignoring_hyphens];
    let texts = orders.map(|order| string_to_sign(call, account, headers, order));
    if texts.iter().any(|text| key.verifies(text, signature)) {
        return Ok(());
    }
    // The service tells the client what it signed, which is what finds the mistake.
    Err(failed(&format!(
        "The MAC signature found in the HTTP request '{signature}' is not the same as any computed signature. \
         Server used following string to sign: '{}'.",
        texts[0]
    )))
}

fn ignoring_hyphens(a: &str, b: &str) -> Ordering {
    let letters = |name: &str| name.replace('-', "");
    letters(a).cmp(&letters(b)).then_with(|| a.cmp(b))
}

/// What the client must have signed.
fn string_to_sign(call: &Call<'_>, account: &str, headers: &[&str], order: Order) -> String {
    let mut text = call.parts.method.as_str().to_owned();
    for name in headers {
        let value = call.header(name).unwrap_or_default();
        text.push('\n');
        // An empty body has been signed as no length at all since 2015-02-21.
        if !(*name == "content-length" && value == "0") {
            text.push_str(value);
        }
    }
    text.push('\n');
    push_service_headers(&mut text, call, order);
    push_resource(&mut text, call, account, headers.len() == SIGNED_HEADERS_LITE.len());
    text
}

fn push_service_headers(text: &mut String, call: &Call<'_>, order: Order) {
    let named = call.parts.headers.iter().filter(|(name, _)| name.as_str().starts_with("x-ms-"));
    let mut headers: Vec<(&str, &str)> =
        named.map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default().trim())).collect();
    headers.sort_by(|a, b| order(a.0, b.0));
    for (name, value) in headers {
        text.push_str(name);
        text.push(':');
        text.push_str(value);
        text.push('\n');
    }
}

/// The account, then the path as it was sent: on a path-style endpoint the account stands twice.
fn push_resource(text: &mut String, call: &Call<'_>, account: &str, lite: bool) {
    text.push('/');
    text.push_str(account);
    text.push_str(call.parts.uri.path());
    if lite {
        if let Some(comp) = call.query.get("comp") {
            text.push_str("?comp=");
            text.push_str(comp);
        }
        return;
    }
    let mut last: Option<String> = None;
    for (name, value) in call.query.sorted() {
        if last.as_ref() == Some(&name) {
            text.push(',');
        } else {
            text.push('\n');
            text.push_str(&name);
            text.push(':');
        }
        text.push_str(value);
        last = Some(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{WELL_KNOWN_ACCOUNT as ACCOUNT, WELL_KNOWN_KEY};

    fn request(signature: &str) -> http::request::Parts {
        http::Request::builder()
            .method("PUT")
            .uri("/devstoreaccount1/box/a%20b?comp=block&blockid=QUFBQQ%3D%3D")
            .header("x-ms-version", "2025-11-05")
            .header("x-ms-date", "Fri, 02 Jan 2026 00:00:00 GMT")
            .header("x-ms-meta-ab", "1")
            .header("x-ms-meta-a-b", "2")
            .header("content-length", "3")
            .header("authorization", format!("SharedKey {ACCOUNT}:{signature}"))
            .body(())
            .unwrap()
            .into_parts()
            .0
    }

    #[test]
    fn the_string_to_sign_is_the_documented_one() {
        let parts = request("");
        let call = Call::parse(&parts, ACCOUNT).unwrap();
        assert_eq!(
            string_to_sign(&call, ACCOUNT, &SIGNED_HEADERS, |a, b| a.cmp(b)),
            "PUT\n\n\n3\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 02 Jan 2026 00:00:00 GMT\nx-ms-meta-a-b:2\n\
             x-ms-meta-ab:1\nx-ms-version:2025-11-05\n/devstoreaccount1/devstoreaccount1/box/a%20b\n\
             blockid:QUFBQQ==\ncomp:block"
        );
    }

    #[test]
    fn signatures_are_checked_in_either_order_of_headers() {
        let key = Key::parse(WELL_KNOWN_KEY).unwrap();
        let parts = request("");
        let call = Call::parse(&parts, ACCOUNT).unwrap();
        for order in [(|a, b| a.cmp(b)) as Order, ignoring_hyphens] {
            let parts = request(&key.sign(&string_to_sign(&call, ACCOUNT, &SIGNED_HEADERS, order)));
            let call = Call::parse(&parts, ACCOUNT).unwrap();
            assert!(check(&call, ACCOUNT, &key, call.header("authorization").unwrap()).is_ok());
        }
        for bad in [
            "SharedKey",
            "SharedKey x",
            "Bearer x:y",
            "SharedKey other:AAAA",
            "SharedKey devstoreaccount1:AAAA",
        ] {
            assert_eq!(check(&call, ACCOUNT, &key, bad).unwrap_err().kind.code, "AuthenticationFailed");
        }
    }
}
