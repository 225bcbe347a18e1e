//! Which requests below the account are for the table service: blobs are at the same address.

use http::request::Parts;

use super::auth;
use crate::request::Query;
use crate::service::Service;

/// Whether a request is one for tables. Its path says so where it can be no container's: `Tables`, `$batch`,
/// anything with a parenthesis. Otherwise its headers or its query do, and for the settings of the service, which
/// are asked for in the same words, its signature.
pub(crate) fn is_table(parts: &Parts, service: &Service) -> bool {
    let path = parts.uri.path().strip_prefix('/').unwrap_or_default();
    let Some(rest) = path.strip_prefix(service.config.account.as_str()) else { return false };
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let first = rest.split('/').next().unwrap_or_default();
    if matches!(first, "Tables" | "$batch" | "%24batch") || first.contains('(') || first.contains("%28") {
        return true;
    }
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let (restype, comp) = (query.get("restype"), query.get("comp"));
    let header =
        |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if first.is_empty() {
        let of_service = restype == Some("service") && matches!(comp, Some("properties" | "stats"));
        return of_service
            && (is_of_tables(parts, &query) || auth::is_signed_for_tables(parts, service, &query));
    }
    // A container has no settings of this name without a restype, and blobs lie deeper.
    if rest.len() > first.len() + 1 || restype.is_some() {
        return false;
    }
    if comp.is_some() {
        return comp == Some("acl");
    }
    let says = |name: &str| {
        let text = header(name);
        text.contains("odata") || text.contains("atom+xml") || text.starts_with("application/json")
    };
    parts.method == http::Method::POST
        || parts.headers.contains_key("access-control-request-method")
        || ["dataserviceversion", "maxdataserviceversion"]
            .iter()
            .any(|name| parts.headers.contains_key(*name))
        || says("accept")
        || says("content-type")
        || is_of_tables(parts, &query)
}

/// Whether a query or a client's name knows tables alone.
fn is_of_tables(parts: &Parts, query: &Query<'_>) -> bool {
    let agent = parts.headers.get("user-agent").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let agent = agent.to_ascii_lowercase();
    let options = ["$filter", "$select", "$top", "$format", "nextpartitionkey", "tn"];
    let services = query.get("ss").unwrap_or_default();
    ["data-tables", "data.tables", "data_tables"].iter().any(|name| agent.contains(name))
        || options.iter().any(|name| query.get(name).is_some())
        || services.contains('t') && !services.contains('b')
}
