//! A request taken apart: which table, which entity, and what is to be done.

use std::borrow::Cow;

use http::Method;
use http::request::Parts;
use percent_encoding::percent_decode_str;

use super::error::{INVALID_INPUT, METHOD_NOT_ALLOWED};
use super::operation::Operation;
use super::shape::Place;
use crate::request::Query;
use crate::wire::error::{
    ACCOUNT_NOT_FOUND, Answer, INVALID_RESOURCE_NAME, INVALID_URI, NOT_IMPLEMENTED, OUT_OF_RANGE_NAME,
};

/// What the path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Service,
    Tables,
    /// A table as an entry of the list of tables.
    Table(String),
    /// What is in a table.
    Entities(String),
    Entity {
        table: String,
        partition: String,
        row: String,
    },
    Batch,
}

impl Resource {
    /// Reads what stands below the account, decoded.
    pub(crate) fn parse(path: &str) -> Answer<Self> {
        Ok(match path {
            "" => Self::Service,
            "Tables" | "Tables()" => Self::Tables,
            "$batch" => Self::Batch,
            _ => {
                let (name, predicate) = match path.split_once('(') {
                    Some((name, rest)) => (name, Some(rest.strip_suffix(')').ok_or(&INVALID_URI)?)),
                    None => (path.strip_suffix('/').unwrap_or(path), None),
                };
                match (name, predicate) {
                    ("Tables", Some(predicate)) => {
                        Self::Table(checked(&quoted(predicate).ok_or(&INVALID_URI)?.0)?)
                    }
                    (_, None | Some("")) => Self::Entities(checked(name)?),
                    (_, Some(predicate)) => {
                        let (partition, row) = keys(predicate).ok_or_else(|| {
                            INVALID_INPUT.saying(
                                "The number of keys specified in the URI does not match number of key properties for \
                                 the resource.",
                            )
                        })?;
                        Self::Entity { table: checked(name)?, partition, row }
                    }
                }
            }
        })
    }

    /// The table's name; empty where there is none.
    pub(super) fn table(&self) -> &str {
        match self {
            Self::Table(name) | Self::Entities(name) | Self::Entity { table: name, .. } => name,
            _ => "",
        }
    }
}

/// A text in quotes, a doubled quote being one, and what stands after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut value = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        value.push_str(part);
        match after.strip_prefix('\'') {
            Some(after) => {
                value.push('\'');
                rest = after;
            }
            None => return Some((value, after)),
        }
    }
}

/// `PartitionKey='a',RowKey='b'`, in either order.
fn keys(predicate: &str) -> Option<(String, String)> {
    let (first, rest) = predicate.trim().split_once('=')?;
    let (one, rest) = quoted(rest)?;
    let (second, rest) = rest.trim_start().strip_prefix(',')?.trim_start().split_once('=')?;
    let (two, rest) = quoted(rest)?;
    match (first, second) {
        _ if !rest.trim().is_empty() => None,
        ("PartitionKey", "RowKey") => Some((one, two)),
        ("RowKey", "PartitionKey") => Some((two, one)),
        _ => None,
    }
}

/// A table's name, if the service would take it.
pub(super) fn checked(name: &str) -> Answer<String> {
    if !(3..=63).contains(&name.chars().count()) {
        return Err((&OUT_OF_RANGE_NAME).into());
    }
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !letters || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.eq_ignore_ascii_case("tables")
    {
        return Err((&INVALID_RESOURCE_NAME).into());
    }
    Ok(name.to_owned())
}

/// A request with its names decoded.
pub(crate) struct Call<'a> {
    pub(super) parts: &'a Parts,
    pub(super) query: Query<'a>,
    pub(super) operation: Operation,
    pub(super) resource: Resource,
}

impl<'a> Call<'a> {
    /// Takes a request apart; refuses what the service does not know.
    pub(crate) fn parse(parts: &'a Parts, account: &str) -> Answer<Self> {
        let path = parts.uri.path().strip_prefix('/').unwrap_or_default();
        let (asked, rest) = path.split_once('/').unwrap_or((path, ""));
        if asked != account {
            return Err((&ACCOUNT_NOT_FOUND).into());
        }
        let rest: Cow<'_, str> = percent_decode_str(rest).decode_utf8().map_err(|_| &INVALID_URI)?;
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let resource = Resource::parse(&rest)?;
        let operation = operation(parts, &resource, &query)?;
        Ok(Self { parts, query, operation, resource })
    }

    /// A header's text, if it is there and is text.
    pub(super) fn header(&self, name: &str) -> Option<&'a str> {
        self.parts.headers.get(name)?.to_str().ok()
    }

    /// Whether the answer is to have no body.
    pub(super) fn prefers_no_content(&self) -> bool {
        self.header("prefer").is_some_and(|prefer| prefer.trim() == "return-no-content")
    }

    /// Where the client sees the table that the request names.
    pub(super) fn place(&self, scheme: &str, endpoint: &str, account: &str) -> Place {
        let root = match self.header("host") {
            Some(host) => format!("{scheme}://{host}/{account}"),
            None => endpoint.to_owned(),
        };
        Place { root, account: account.to_owned(), table: self.resource.table().to_owned() }
    }
}

/// Which operation the request's form stands for.
fn operation(parts: &Parts, resource: &Resource, query: &Query<'_>) -> Answer<Operation> {
    use Operation as Op;
    let tunnelled = parts.headers.get("x-http-method").and_then(|value| value.to_str().ok());
    let method = match tunnelled {
        Some(method) if parts.method == Method::POST => method,
        _ => parts.method.as_str(),
    };
    if method == "OPTIONS" {
        return Ok(Op::PreflightTableRequest);
    }
    let found = match (resource, method, query.get("restype"), query.get("comp")) {
        (Resource::Service, "GET", Some("service"), Some("properties")) => Op::GetTableServiceProperties,
        (Resource::Service, "PUT", Some("service"), Some("properties")) => Op::SetTableServiceProperties,
        (Resource::Service, "GET", Some("service"), Some("stats")) => Op::GetTableServiceStats,
        (Resource::Entities(_), "GET" | "HEAD", None, Some("acl")) => Op::GetTableAcl,
        (Resource::Entities(_), "PUT", None, Some("acl")) => Op::SetTableAcl,
        (_, _, None, None) => match (resource, method) {
            (Resource::Tables | Resource::Table(_), "GET") => Op::QueryTables,
            (Resource::Tables, "POST") => Op::CreateTable,
            (Resource::Table(_), "DELETE") => Op::DeleteTable,
            (Resource::Batch, "POST") => Op::EntityGroupTransaction,
            (Resource::Entities(_), "GET") => Op::QueryEntities,
            (Resource::Entities(_), "POST") => Op::InsertEntity,
            (Resource::Entity { .. }, "GET") => Op::GetEntity,
            (Resource::Entity { .. }, "PUT") => Op::UpdateEntity,
            (Resource::Entity { .. }, "MERGE" | "PATCH") => Op::MergeEntity,
            (Resource::Entity { .. }, "DELETE") => Op::DeleteEntity,
            _ => return Err((&METHOD_NOT_ALLOWED).into()),
        },
        (_, _, restype, comp) => {
            let (restype, comp) = (restype.unwrap_or("-"), comp.unwrap_or("-"));
            return Err(NOT_IMPLEMENTED.saying(format!("restype={restype} comp={comp} is not known here.")));
        }
    };
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, path: &str) -> Result<(Operation, Resource), &'static str> {
        let parts = http::Request::builder().method(method).uri(format!("/acc{path}")).body(()).unwrap();
        let parts = parts.into_parts().0;
        Call::parse(&parts, "acc")
            .map(|call| (call.operation, call.resource))
            .map_err(|error| error.kind.code)
    }

    #[test]
    fn requests_are_told_apart() {
        let people = || Resource::Entities("People".to_owned());
        let entity = |partition: &str, row: &str| Resource::Entity {
            table: "People".to_owned(),
            partition: partition.to_owned(),
            row: row.to_owned(),
        };
        assert_eq!(asked("GET", "/Tables?$top=5"), Ok((Operation::QueryTables, Resource::Tables)));
        assert_eq!(
            asked("DELETE", "/Tables('People')"),
            Ok((Operation::DeleteTable, Resource::Table("People".into())))
        );
        assert_eq!(asked("GET", "/People()?$filter=x"), Ok((Operation::QueryEntities, people())));
        assert_eq!(asked("POST", "/People"), Ok((Operation::InsertEntity, people())));
        assert_eq!(asked("PUT", "/People?comp=acl"), Ok((Operation::SetTableAcl, people())));
        let path = "/People(PartitionKey='a%20''b',RowKey='%C3%A9')";
        assert_eq!(asked("MERGE", path), Ok((Operation::MergeEntity, entity("a 'b", "é"))));
        assert_eq!(
            asked("DELETE", "/People(RowKey='r',PartitionKey='')"),
            Ok((Operation::DeleteEntity, entity("", "r")))
        );
        assert_eq!(asked("POST", "/$batch"), Ok((Operation::EntityGroupTransaction, Resource::Batch)));
        assert_eq!(asked("POST", "/%24batch"), Ok((Operation::EntityGroupTransaction, Resource::Batch)));
        assert_eq!(asked("GET", "/P()"), Err("OutOfRangeInput"));
        assert_eq!(asked("GET", "/1abc()"), Err("InvalidResourceName"));
        assert_eq!(asked("GET", "/People(PartitionKey='a')"), Err("InvalidInput"));
        assert_eq!(asked("GET", "/People(PartitionKey='a',RowKey='b'"), Err("InvalidUri"));
        assert_eq!(asked("DELETE", "/Tables"), Err("MethodNotAllowed"));
        assert_eq!(asked("GET", "/People?comp=odd"), Err("NotImplemented"));
    }
}
