//! One page of a query: asked, answered, and where the next one begins.

use bytes::Bytes;
use http::Method;
use http::header::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result, Retry};
use crate::store::Trace;
use crate::store::azure::table::{TableAnswer, TableRequest, TableService};

/// Types of all values come along, as far as JSON does not show them.
pub(super) const TYPED: &str = "application/json;odata=minimalmetadata";

/// A page in memory. The service stops at some MiB; others, which do not, are asked for fewer rows then.
pub(super) const PAGE_MAX: usize = 6 << 20;

/// One row of 1 MiB, in JSON with all its escapes.
pub(super) const ROW_MAX: usize = 24 << 20;

/// Keys of at most 1,024 characters, encoded; more is no place in a table.
const PLACE_MAX: usize = 16 << 10;

/// Where the next page begins, in the words of the service. To be given back as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// `x-ms-continuation-NextPartitionKey`.
    pub partition: String,
    /// `x-ms-continuation-NextRowKey`, which may be missing.
    pub row: Option<String>,
}

/// What to ask for.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// A condition in the language of the service.
    pub filter: Option<String>,
    /// Properties, by comma.
    pub select: Option<String>,
    /// At most so many rows.
    pub top: Option<u32>,
    /// Where an earlier page ended.
    pub place: Option<Place>,
}

/// A page as it came.
#[derive(Clone, Debug)]
pub struct RawPage {
    /// The answer's body.
    pub body: Bytes,
    /// Its media type.
    pub content_type: String,
    /// Where the next page begins; `None` after the last.
    pub next: Option<Place>,
}

/// Asks for one page. Tries once.
pub(super) async fn page(
    service: &TableService,
    query: &Query,
    accept: &'static str,
    trace: &Trace,
) -> Result<RawPage> {
    let top = query.top.map(|top| top.to_string());
    let mut pairs = Vec::with_capacity(5);
    pairs.extend(query.filter.as_deref().map(|filter| ("$filter", filter)));
    pairs.extend(query.select.as_deref().map(|select| ("$select", select)));
    pairs.extend(top.as_deref().map(|top| ("$top", top)));
    if let Some(place) = &query.place {
        pairs.push(("NextPartitionKey", place.partition.as_str()));
        pairs.extend(place.row.as_deref().map(|row| ("NextRowKey", row)));
    }
    let request = TableRequest {
        operation: "query",
        method: Method::GET,
        path: format!("{}()", service.table()),
        query: &pairs,
        accept,
        content_type: None,
        if_match: None,
        body: Bytes::new(),
        status: 200,
        largest: if query.top == Some(1) { ROW_MAX } else { PAGE_MAX },
        permission: 'r',
    };
    let name = service.name();
    let TableAnswer { headers, body } = service.send(request, &name, trace).await?;
    let next = place_of(&headers)
        .map_err(|why| Error::new(ErrorKind::Protocol, "query", name.as_str(), why).retry(Retry::Few))?;
    if next.is_some() && next == query.place {
        let cause = "the page ends where it began, so that the query would never end";
        return Err(Error::new(ErrorKind::Protocol, "query", name, cause).retry(Retry::Few));
    }
    let content_type = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    Ok(RawPage { body, content_type: content_type.to_owned(), next })
}

/// Where the next page begins. The row may be missing or empty; the partition may not, where there is a row.
fn place_of(headers: &HeaderMap) -> Result<Option<Place>, &'static str> {
    let text = |name: &str| {
        let value = headers
            .get(name)
            .map(|value| value.to_str().map_err(|_| "the place of the next page is no text"));
        value.transpose()
    };
    let partition = text("x-ms-continuation-nextpartitionkey")?;
    let row = text("x-ms-continuation-nextrowkey")?.filter(|row| !row.is_empty());
    match (partition, row) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err("the next page begins at a row of no partition"),
        (Some(partition), row) if partition.len() + row.map_or(0, str::len) > PLACE_MAX => {
            Err("the place of the next page is longer than any key")
        }
        (Some(partition), row) => {
            Ok(Some(Place { partition: partition.to_owned(), row: row.map(str::to_owned) }))
        }
    }
}
