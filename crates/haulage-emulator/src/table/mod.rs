//! The table service beside the blobs of the same account.
//!
//! 1. `detect`, `request` and `operation`: whether a request is for tables, which entity it names, what it asks for;
//! 2. `auth`: keys and signatures of tables;
//! 3. `json_in` and `atom`: what a body says, which `entity` holds against the service's rules;
//! 4. `change`, and `batch` for many together: what is done to `tables`;
//! 5. `query` and `filter`: what is read, in order of its keys;
//! 6. `json_out` and `atom`: the answer, written straight from where entities lie (`row`, `value`, `names`).
//!
//! Tables are kept in memory, whatever the store is.

mod acl;
mod atom;
mod auth;
mod batch;
mod change;
mod continuation;
mod cors;
mod detect;
mod entity;
mod error;
mod filter;
mod format;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod json_in;
mod json_out;
mod key;
mod list;
mod names;
mod operation;
mod query;
mod reply;
mod request;
mod row;
mod service;
mod shape;
mod tables;
mod ticks;
mod value;
mod write;

use std::sync::Arc;

use http::Response;
use http::request::Parts;

use self::auth::Grants;
use self::change::Change;
use self::error::METHOD_NOT_ALLOWED;
use self::operation::Operation as Op;
use self::reply::Outcome;
use self::request::{Call, Resource};
use self::shape::Place;
use crate::server::Connection;
use crate::service::Service;
use crate::wire::body::ResponseBody;
use crate::wire::error::{Answer, REQUEST_BODY_TOO_LARGE};
use crate::wire::incoming::{Content as _, RequestBody};
use crate::wire::upload::Upload;

pub(crate) use self::cors::open as open_to_pages;
pub(crate) use self::detect::is_table;
pub(crate) use self::error::refuse;
pub(crate) use self::operation::Operation;
pub(crate) use self::tables::Tables;

/// What every operation gives back.
type Reply = Answer<Response<ResponseBody>>;

/// The largest body that the service takes.
const LARGEST_BODY: usize = 4 * 1024 * 1024;

/// Answers a request.
pub(crate) async fn handle(
    service: &Service,
    parts: &Parts,
    body: &mut RequestBody,
    connection: &Arc<Connection>,
) -> Reply {
    let call = Call::parse(parts, &service.config.account)?;
    service.counters.table_request(call.operation);
    if call.operation == Op::PreflightTableRequest {
        return cors::preflight(service, parts);
    }
    let grants = auth::authenticate(service, &call)?;
    grants.check(&call, entity_key(&call).as_deref(), Change::may_insert(&call))?;
    let nature = call.operation.nature();
    let len = body.announced().unwrap_or(u64::MAX);
    let fault = service.begin(nature, body, len, connection)?;
    let body = collect(&mut Upload::new(body)).await?;
    let response = dispatch(service, &call, &body, &grants).await?;
    Ok(service.finish(nature, fault, response, connection).await)
}

/// The key that the path names.
fn entity_key(call: &Call<'_>) -> Option<Vec<u8>> {
    match &call.resource {
        Resource::Entity { partition, row, .. } => Some(key::encode(partition, row)),
        _ => None,
    }
}

async fn collect(upload: &mut Upload<'_>) -> Answer<Vec<u8>> {
    let mut whole = Vec::new();
    while let Some(bytes) = upload.next().await? {
        if whole.len() + bytes.len() > LARGEST_BODY {
            return Err((&REQUEST_BODY_TOO_LARGE).into());
        }
        whole.extend_from_slice(&bytes);
    }
    Ok(whole)
}

/// Where the client sees what its request names.
fn place(service: &Service, call: &Call<'_>) -> Place {
    call.place(service.config.scheme(), service.endpoint(), &service.config.account)
}

async fn dispatch(service: &Service, call: &Call<'_>, body: &[u8], grants: &Grants) -> Reply {
    let outcome = match call.operation {
        Op::GetTableServiceProperties => return service::properties(service),
        Op::SetTableServiceProperties => return service::set_properties(service, body),
        Op::GetTableServiceStats => return service::stats(),
        Op::GetTableAcl => return acl::get(service, call),
        Op::SetTableAcl => return acl::set(service, call, body),
        Op::PreflightTableRequest => return cors::preflight(service, call.parts),
        Op::EntityGroupTransaction => return batch::handle(service, call, body, grants).await,
        Op::CreateTable => list::create(service, call, place(service, call), body),
        Op::DeleteTable => list::delete(service, call),
        Op::QueryTables | Op::QueryEntities | Op::GetEntity => read(service, call, grants).await,
        Op::InsertEntity | Op::UpdateEntity | Op::MergeEntity | Op::DeleteEntity => {
            let change = Change::of(call, body)?;
            grants.check(call, Some(&change.key), Change::may_insert(call))?;
            write::entity(service, call, &change)
        }
    };
    outcome.map(Outcome::into_response)
}

/// Reads what the call asks for, by itself or as the one query of a batch.
async fn read(service: &Service, call: &Call<'_>, grants: &Grants) -> Answer<Outcome> {
    let (place, key) = (place(service, call), entity_key(call));
    grants.check(call, key.as_deref(), false)?;
    match (call.operation, key) {
        (Op::QueryTables, _) => list::query(service, call, place),
        (Op::QueryEntities, _) => query::entities(service, call, &place, grants).await,
        (Op::GetEntity, Some(key)) => query::entity(service, call, &place, &key),
        _ => Err((&METHOD_NOT_ALLOWED).into()),
    }
}
