//! The account's tables: made, listed, taken away.

use std::time::SystemTime;

use http::StatusCode;

use super::atom::{self, Writer};
use super::continuation;
use super::error::{INVALID_INPUT, PROPERTIES_NEED_VALUE};
use super::filter::Filter;
use super::format::{Format, Metadata, body_is_atom, push_string};
use super::json_in;
use super::json_out;
use super::query::top;
use super::reply::Outcome;
use super::request::{Call, Resource, checked};
use super::shape::Place;
use crate::service::Service;
use crate::wire::error::Answer;
use crate::wire::time::iso8601;

pub(super) fn create(service: &Service, call: &Call<'_>, mut place: Place, body: &[u8]) -> Answer<Outcome> {
    let format = Format::of(call.parts, &call.query);
    let atom = body_is_atom(&call.parts.headers);
    let name = if atom { atom::table_name(body) } else { json_in::table_name(body) };
    let name = name.ok_or(&PROPERTIES_NEED_VALUE)?;
    place.table = checked(&name)?;
    let no_content = call.prefers_no_content();
    let format = if no_content { Format::Atom } else { format? };
    service.tables.create(&name)?;
    let location = format!("{}/Tables('{name}')", place.root);
    let status = if no_content { StatusCode::NO_CONTENT } else { StatusCode::CREATED };
    let made = Outcome::new(status).preference(no_content);
    let made = made.header("location", &*location).header("dataserviceid", &*location);
    if no_content {
        return Ok(made);
    }
    let mut out = Vec::new();
    push_table(&mut out, &place, format, true);
    Ok(made.body(format.content_type(false), out))
}

fn push_table(out: &mut Vec<u8>, place: &Place, format: Format, alone: bool) {
    match format {
        Format::Json(metadata) => json_out::table(out, place, metadata, alone),
        Format::Atom => Writer { place, updated: iso8601(SystemTime::now()) }.table(out, &place.table, alone),
    }
}

pub(super) fn delete(service: &Service, call: &Call<'_>) -> Answer<Outcome> {
    let table = service.tables.remove(call.resource.table())?;
    // Millions of entities take a while to go.
    tokio::task::spawn_blocking(move || drop(table));
    Ok(Outcome::new(StatusCode::NO_CONTENT))
}

/// A page of the list, or the one table that the path names.
pub(super) fn query(service: &Service, call: &Call<'_>, mut place: Place) -> Answer<Outcome> {
    let format = Format::of(call.parts, &call.query)?;
    let mut out = Vec::new();
    if let Resource::Table(name) = &call.resource {
        place.table = service.tables.get(name)?.name.clone();
        push_table(&mut out, &place, format, true);
        return Ok(Outcome::new(StatusCode::OK).body(format.content_type(false), out));
    }
    let filter =
        call.query.get("$filter").filter(|text| !text.trim().is_empty()).map(Filter::parse).transpose()?;
    let first = call.query.get("NextTableName").map(continuation::decode).transpose()?.unwrap_or_default();
    let top = top(&call.query)?;
    let (mut names, mut next) = (Vec::new(), None);
    service.tables.visit_names(&first, |name| {
        if names.len() == top {
            next = Some(name.to_owned());
            return false;
        }
        if filter.as_ref().is_none_or(|filter| filter.matches_table(name)) {
            names.push(name.to_owned());
        }
        true
    });
    push_list(&mut out, &mut place, format, names);
    let page = Outcome::new(StatusCode::OK).body(format.content_type(true), out);
    Ok(match next {
        Some(name) => page.header("x-ms-continuation-nexttablename", continuation::encode(&name)),
        None => page,
    })
}

fn push_list(out: &mut Vec<u8>, place: &mut Place, format: Format, names: Vec<String>) {
    match format {
        Format::Json(metadata) => {
            out.push(b'{');
            if metadata != Metadata::None {
                out.extend_from_slice(b"\"odata.metadata\":");
                push_string(out, &format!("{}/$metadata#Tables", place.root));
                out.push(b',');
            }
            out.extend_from_slice(b"\"value\":[");
        }
        Format::Atom => {
            place.table = "Tables".to_owned();
            Writer { place, updated: iso8601(SystemTime::now()) }.open_list(out);
        }
    }
    for (index, name) in names.into_iter().enumerate() {
        if index > 0 && !format.is_atom() {
            out.push(b',');
        }
        place.table = name;
        push_table(out, place, format, false);
    }
    match format {
        Format::Json(_) => out.extend_from_slice(b"]}"),
        Format::Atom => Writer::close_list(out),
    }
}

/// How many entries a page may have at most.
pub(super) fn bad_top(text: &str) -> crate::wire::error::ServiceError {
    INVALID_INPUT.saying(format!("$top is a number from 1 to 1000, not '{text}'."))
}
