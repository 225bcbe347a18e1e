//! Pages of other origins: what browsers ask before a request, and what they must see in an answer.

use http::header::{HeaderMap, VARY};
use http::request::Parts;
use http::{HeaderValue, StatusCode};

use super::Reply;
use super::error::CORS_FAILURE;
use super::service::CorsRule;
use crate::service::Service;
use crate::wire::reply::{reply, set};

impl CorsRule {
    fn allows(&self, origin: &str, method: &str) -> bool {
        let origins = self.origins.iter().any(|known| known == "*" || known == origin);
        origins && self.methods.iter().any(|known| known == "*" || known.eq_ignore_ascii_case(method))
    }

    fn is_open(&self) -> bool {
        self.origins.iter().any(|known| known == "*")
    }
}

/// Whether a list of headers has this one; a star ends a beginning.
fn has(list: &[String], name: &str) -> bool {
    list.iter().any(|known| match known.strip_suffix('*') {
        Some(beginning) => {
            name.len() >= beginning.len()
                && name.is_char_boundary(beginning.len())
                && name[..beginning.len()].eq_ignore_ascii_case(beginning)
        }
        None => known.eq_ignore_ascii_case(name),
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Answers a browser that asks whether it may ask.
pub(super) fn preflight(service: &Service, parts: &Parts) -> Reply {
    let (origin, method) =
        (text(&parts.headers, "origin"), text(&parts.headers, "access-control-request-method"));
    let wanted = text(&parts.headers, "access-control-request-headers");
    let mut names = wanted.split(',').map(str::trim).filter(|name| !name.is_empty());
    let properties = service.tables.properties();
    let rule = properties.cors.iter().find(|rule| {
        rule.allows(origin, method) && names.clone().all(|name| has(&rule.allowed_headers, name))
    });
    let rule = rule.filter(|_| !origin.is_empty() && !method.is_empty()).ok_or(&CORS_FAILURE)?;
    let mut response = reply(StatusCode::OK);
    let headers = response.headers_mut();
    set(headers, "access-control-allow-methods", method);
    set(headers, "access-control-max-age", &rule.max_age);
    if names.next().is_some() {
        set(headers, "access-control-allow-headers", wanted);
    }
    Ok(response)
}

/// Adds to an answer what lets the page that asked see it.
pub(crate) fn open(service: &Service, parts: &Parts, headers: &mut HeaderMap) {
    let origin = text(&parts.headers, "origin");
    if origin.is_empty() {
        return;
    }
    let asked = text(&parts.headers, "access-control-request-method");
    let method = if asked.is_empty() { parts.method.as_str() } else { asked };
    let properties = service.tables.properties();
    let Some(rule) = properties.cors.iter().find(|rule| rule.allows(origin, method)) else { return };
    let exposed: Vec<_> = headers
        .keys()
        .map(http::HeaderName::as_str)
        .filter(|name| has(&rule.exposed_headers, name))
        .collect();
    let exposed = exposed.join(",");
    if !exposed.is_empty() {
        set(headers, "access-control-expose-headers", &exposed);
    }
    if rule.is_open() {
        set(headers, "access-control-allow-origin", "*");
    } else {
        set(headers, "access-control-allow-origin", origin);
        set(headers, "access-control-allow-credentials", "true");
        headers.insert(VARY, HeaderValue::from_static("Origin"));
    }
}
