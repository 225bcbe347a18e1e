//! Changes done together: each is tried in turn, and the first that fails undoes those before it.

use std::collections::HashSet;

use super::{Failure, Part};
use crate::service::Service;
use crate::table::auth::Grants;
use crate::table::change::Change;
use crate::table::error::{BATCH_PARTITIONS, BATCH_TOO_LONG, DUPLICATE_ROW, INVALID_INPUT};
use crate::table::reply::Outcome;
use crate::table::request::Call;
use crate::table::write;
use crate::wire::error::{Answer, ServiceError};

const MOST: usize = 100;

/// Does all changes and says what each came to, or does none.
pub(super) fn run(
    service: &Service,
    parts: &[Part],
    account: &str,
    grants: &Grants,
) -> Result<Vec<Outcome>, Failure> {
    if parts.len() > MOST {
        return Err(Failure { error: (&BATCH_TOO_LONG).into(), index: MOST - 1 });
    }
    let mut all: Vec<(Call<'_>, Change)> = Vec::with_capacity(parts.len());
    let mut keys = HashSet::new();
    for (index, part) in parts.iter().enumerate() {
        let at = |error: ServiceError| Failure { error, index };
        let (call, change) = read(part, account, grants).map_err(at)?;
        if let Some((first, before)) = all.first() {
            if !first.resource.table().eq_ignore_ascii_case(call.resource.table()) {
                return Err(at(INVALID_INPUT.saying("All commands in a batch must operate on one table.")));
            }
            if before.partition != change.partition {
                return Err(at((&BATCH_PARTITIONS).into()));
            }
        }
        if !keys.insert(change.key.clone()) {
            return Err(at((&DUPLICATE_ROW).into()));
        }
        all.push((call, change));
    }
    let Some((first, _)) = all.first() else { return Ok(Vec::new()) };
    let table = service.tables.get(first.resource.table()).map_err(|error| Failure { error, index: 0 })?;
    let mut rows = table.write();
    let mut done = Vec::with_capacity(all.len());
    let mut outcomes = Vec::with_capacity(all.len());
    for (index, (call, change)) in all.iter().enumerate() {
        let time = service.next_etag();
        let outcome = change.apply(&mut rows, time).and_then(|before| {
            done.push(before);
            write::outcome(service, call, change, &rows, time)
        });
        match outcome {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                done.into_iter().rev().for_each(|before| before.restore(&mut rows));
                return Err(Failure { error, index });
            }
        }
    }
    service.counters.rows_written(all.len());
    Ok(outcomes)
}

fn read<'a>(part: &'a Part, account: &str, grants: &Grants) -> Answer<(Call<'a>, Change)> {
    let call = part.call(account)?;
    if !call.operation.writes_entities() {
        return Err(INVALID_INPUT.saying("A transaction holds changes of entities alone."));
    }
    let change = Change::of(&call, &part.body)?;
    grants.check(&call, Some(&change.key), Change::may_insert(&call))?;
    Ok((call, change))
}
