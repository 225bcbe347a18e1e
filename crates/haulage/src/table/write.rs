//! One transaction: written, and asked about where it is not known what became of it.

use bytes::Bytes;
use http::Method;

use super::hash::RowHasher;
use super::page::Page;
use super::prepare::Refused;
use super::query;
use super::range::Key;
use super::transaction::{self, Mode, Ready};
use crate::error::{ErrorKind, Result};
use crate::gate::{Gate, through};
use crate::store::azure::table::{TableRequest, TableService};

/// What became of the rows of a transaction.
pub(super) struct Settled {
    pub(super) written: Vec<u64>,
    pub(super) refused: Vec<Refused>,
    /// The last row that is in the table now.
    pub(super) last: Option<Key>,
}

/// Writes rows of one partition, without those that the service refuses.
pub(super) async fn write(
    service: TableService,
    gate: Gate,
    rows: Vec<Ready>,
    mode: Mode,
) -> Result<Settled> {
    let name = service.name();
    let mut settled = Settled { written: Vec::new(), refused: Vec::new(), last: None };
    let mut parts = vec![rows];
    while let Some(mut rows) = parts.pop() {
        if rows.is_empty() {
            continue;
        }
        let sent: Result<_> = through!(gate, "EntityGroupTransaction", name, trace => {
            transaction::send(&service, &rows, mode, trace).await
        });
        match sent {
            Ok(Ok(())) => {
                settled.written.extend(rows.iter().map(|row| row.number));
                settled.last = rows.last().map(Ready::key);
            }
            Ok(Err((at, error))) => {
                let row = rows.remove(at);
                if error.kind() == ErrorKind::Exists && is_there(&service, &gate, &row).await? {
                    settled.written.push(row.number);
                    settled.last = Some(row.key());
                } else {
                    let reason = error.cause().to_owned();
                    settled.refused.push(Refused { number: row.number, reason, text: row.body });
                }
                parts.push(rows);
            }
            Err(error) if error.kind() == ErrorKind::Usage || error.status() == Some(413) => {
                if rows.len() == 1 {
                    let reason = error.cause().to_owned();
                    settled.refused.extend(rows.pop().map(|row| Refused {
                        number: row.number,
                        reason,
                        text: row.body,
                    }));
                } else {
                    let half = rows.split_off(rows.len() / 2);
                    parts.extend([half, rows]);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(settled)
}

/// Whether a row of these keys is the one that was to be written: an answer that was lost looks as if another had written it.
async fn is_there(service: &TableService, gate: &Gate, row: &Ready) -> Result<bool> {
    let Some(there) = read(service, gate, &row.partition, &row.row).await? else { return Ok(false) };
    let name = service.name();
    let hash = |json: &[u8]| -> Result<_> {
        let text = [b"{\"value\":[", json, b"]}"].concat();
        let page = Page::parse(&text, &name)?;
        Ok(RowHasher::new(&page.columns).hash(page.batch.columns(), 0..page.batch.num_rows()))
    };
    Ok(hash(&there)? == hash(row.body.as_bytes())?)
}

/// Whether the table still has a row. Who may write but not read does not know better than that it has.
pub(super) async fn still_has(service: &TableService, gate: &Gate, keys: &Key) -> Result<bool> {
    match read(service, gate, &keys.partition, &keys.row).await {
        Err(error) if error.kind() == ErrorKind::Permission => Ok(true),
        found => Ok(found?.is_some()),
    }
}

/// A row as JSON; `None` where the table has none of these keys.
async fn read(service: &TableService, gate: &Gate, partition: &str, row: &str) -> Result<Option<Bytes>> {
    let name = service.name();
    let answer: Result<_> = through!(gate, "GetEntity", name, trace => {
        let request = TableRequest {
            operation: "read a row of",
            method: Method::GET,
            path: transaction::address(service.table(), partition, row),
            query: &[],
            accept: query::TYPED,
            content_type: None,
            if_match: None,
            body: Bytes::new(),
            status: 200,
            largest: query::ROW_MAX,
            permission: 'r',
        };
        service.send(request, &name, trace).await
    });
    match answer {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        answer => Ok(Some(answer?.body)),
    }
}

/// Makes the table; `Exists` if it is there.
pub(super) async fn create(service: &TableService, gate: &Gate) -> Result<()> {
    let name = service.name();
    let body = Bytes::from(serde_json::json!({"TableName": service.table()}).to_string());
    let mut tries = 0;
    let made: Result<_> = through!(gate, "CreateTable", name, trace => {
        tries += 1;
        let request = TableRequest {
            operation: "create",
            method: Method::POST,
            path: "Tables".to_owned(),
            query: &[],
            accept: "application/json;odata=nometadata",
            content_type: Some("application/json"),
            if_match: None,
            body: body.clone(),
            status: 204,
            largest: query::PAGE_MAX,
            permission: 'c',
        };
        service.send(request, &name, trace).await
    });
    match made {
        // Made by an attempt whose answer was lost.
        Err(error) if error.kind() == ErrorKind::Exists && tries > 1 => Ok(()),
        made => made.map(drop),
    }
}

/// Takes the table away with its rows; `NotFound` if there is none.
pub(super) async fn remove(service: &TableService, gate: &Gate) -> Result<()> {
    let name = service.name();
    let mut tries = 0;
    let removed: Result<_> = through!(gate, "DeleteTable", name, trace => {
        tries += 1;
        let request = TableRequest {
            operation: "remove",
            method: Method::DELETE,
            path: format!("Tables('{}')", service.table()),
            query: &[],
            accept: "application/json;odata=nometadata",
            content_type: None,
            if_match: None,
            body: Bytes::new(),
            status: 204,
            largest: query::PAGE_MAX,
            permission: 'd',
        };
        service.send(request, &name, trace).await
    });
    match removed {
        // Removed by an attempt whose answer was lost.
        Err(error) if error.kind() == ErrorKind::NotFound && tries > 1 => Ok(()),
        removed => removed.map(drop),
    }
}
