//! Stored access policies of a table.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;

use super::Reply;
use super::request::Call;
use crate::service::Service;
use crate::wire::error::{Answer, INVALID_XML};
use crate::wire::node::Node;
use crate::wire::reply::{reply, xml};
use crate::wire::xml::{DECLARATION, Escaped};

/// A policy to which signatures may refer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(super) id: String,
    pub(super) start: Option<String>,
    pub(super) expiry: Option<String>,
    pub(super) permission: Option<String>,
}

const MOST: usize = 5;

fn parse(body: &[u8]) -> Option<Vec<Policy>> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Some(Vec::new());
    }
    let root = Node::parse(&Bytes::copy_from_slice(body), "SignedIdentifiers")?;
    let policies: Option<Vec<Policy>> = root.all("SignedIdentifier").map(policy).collect();
    policies.filter(|policies| policies.len() <= MOST)
}

fn policy(node: &Node) -> Option<Policy> {
    let id = node.text_of("Id").filter(|id| id.chars().count() <= 64)?.to_owned();
    let text = |name| {
        node.first("AccessPolicy").and_then(|policy| policy.text_of(name)).filter(|text| !text.is_empty())
    };
    let permission = text("Permission");
    if permission.is_some_and(|letters| letters.contains(|letter| !"raud".contains(letter))) {
        return None;
    }
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Some(Policy {
        id,
        start: owned(text("Start")),
        expiry: owned(text("Expiry")),
        permission: owned(permission),
    })
}

pub(super) fn set(service: &Service, call: &Call<'_>, body: &[u8]) -> Reply {
    let table = service.tables.get(call.resource.table())?;
    table.set_policies(parse(body).ok_or(&INVALID_XML)?);
    Ok(reply(StatusCode::NO_CONTENT))
}

pub(super) fn get(service: &Service, call: &Call<'_>) -> Reply {
    let table = service.tables.get(call.resource.table())?;
    let mut text = format!("{DECLARATION}<SignedIdentifiers>");
    for policy in table.policies() {
        text.push_str(&format!("<SignedIdentifier><Id>{}</Id><AccessPolicy>", Escaped(&policy.id)));
        for (name, value) in
            [("Start", &policy.start), ("Expiry", &policy.expiry), ("Permission", &policy.permission)]
        {
            if let Some(value) = value {
                text.push_str(&format!("<{name}>{}</{name}>", Escaped(value)));
            }
        }
        text.push_str("</AccessPolicy></SignedIdentifier>");
    }
    text.push_str("</SignedIdentifiers>");
    Ok(xml(text))
}

/// The policy of this id.
pub(super) fn find(service: &Service, table: &str, id: &str) -> Answer<Option<Policy>> {
    let table: Arc<_> = service.tables.get(table)?;
    Ok(table.policies().into_iter().find(|policy| policy.id == id))
}
