//! Changes of single entities, and how each is answered.

use http::StatusCode;

use super::change::Change;
use super::format::Format;
use super::query::whole;
use super::reply::Outcome;
use super::request::Call;
use super::shape::etag;
use super::tables::Rows;
use crate::service::Service;
use crate::wire::error::Answer;

/// Does one change.
pub(super) fn entity(service: &Service, call: &Call<'_>, change: &Change) -> Answer<Outcome> {
    if change.inserts() && !call.prefers_no_content() {
        // What cannot be answered is not done.
        Format::of(call.parts, &call.query)?;
    }
    let table = service.tables.get(call.resource.table())?;
    let mut rows = table.write();
    let time = service.next_etag();
    change.apply(&mut rows, time)?;
    service.counters.rows_written(1);
    outcome(service, call, change, &rows, time)
}

/// What is answered to a change that was made at this time.
pub(super) fn outcome(
    service: &Service,
    call: &Call<'_>,
    change: &Change,
    rows: &Rows,
    time: u64,
) -> Answer<Outcome> {
    if change.deletes() {
        return Ok(Outcome::new(StatusCode::NO_CONTENT));
    }
    if !change.inserts() {
        return Ok(Outcome::new(StatusCode::NO_CONTENT).header("etag", etag(time)));
    }
    let place = super::place(service, call);
    let (partition, row) = super::key::split(&change.key);
    let location = format!("{}/{}", place.root, place.entity(partition, row));
    let no_content = call.prefers_no_content();
    let status = if no_content { StatusCode::NO_CONTENT } else { StatusCode::CREATED };
    let outcome = Outcome::new(status).header("etag", etag(time)).preference(no_content);
    let outcome = outcome.header("location", &*location).header("dataserviceid", &*location);
    if no_content {
        return Ok(outcome);
    }
    let format = Format::of(call.parts, &call.query)?;
    let body = rows.get(&change.key).map(|row| whole(row, &rows.names, &place, format));
    Ok(outcome.body(format.content_type(false), body.unwrap_or_default()))
}
