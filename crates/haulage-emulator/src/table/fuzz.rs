//! What `fuzz/` sees of the table service.

use super::batch::{Batch, parse};
use super::entity::{Entity, check_properties};
use super::filter::{Filter, Matcher};
use super::format::Metadata;
use super::json_out::Writer;
use super::names::Names;
use super::request::Resource;
use super::row::{Builder, Row};
use super::shape::{Place, Selection};
use super::{atom, json_in, key, ticks};

/// Whether an entity with these keys meets a filter, and whether its key is in the range that the filter reads;
/// `None` where the text is none.
pub(crate) fn filter(text: &str, partition: &str, row: &str, body: &[u8]) -> Option<(bool, bool)> {
    let filter = Filter::parse(text).ok()?;
    let mut names = Names::default();
    let entity = json_in::entity(body).unwrap_or_default();
    let row = stored(&entity, &key::encode(partition, row), &mut names);
    let _ = filter.matches_table(text);
    Some((Matcher::new(&filter, &names).matches(&row), filter.range().contains(row.key())))
}

fn stored(entity: &Entity, key: &[u8], names: &mut Names) -> Row {
    let mut row = Builder::new(key, ticks::FIRST);
    for (name, value) in &entity.properties {
        row.push_named(names, name, value.stored());
    }
    row.finish()
}

/// An entity of a JSON body as an answer has it, and what that reads as; `None` where the body is none that the
/// service takes.
pub(crate) fn entity(body: &[u8]) -> Option<(String, String)> {
    let mut entity = json_in::entity(body).ok()?;
    check_properties(&entity.properties).ok()?;
    let partition = entity.partition.get_or_insert_default().clone();
    let row = entity.row.get_or_insert_default().clone();
    super::entity::check_key("PartitionKey", &partition).ok()?;
    super::entity::check_key("RowKey", &row).ok()?;
    let mut names = Names::default();
    let row = stored(&entity, &key::encode(&partition, &row), &mut names);
    let place =
        Place { root: "http://host/acc".to_owned(), account: "acc".to_owned(), table: "People".to_owned() };
    let mut out = Vec::new();
    let writer = Writer { place: &place, metadata: Metadata::Full };
    writer.entity(&mut out, &row, &names, &Selection::default().resolve(&names), true);
    let again = json_in::entity(&out).ok()?;
    Some((format!("{entity:?}"), format!("{again:?}")))
}

/// Whether a body is an Atom entry.
pub(crate) fn entry(body: &[u8]) -> bool {
    atom::table_name(body).is_some() | atom::entity(body).is_ok()
}

/// How many requests a batch holds; `None` where it is none.
pub(crate) fn batch(body: &[u8], content_type: &str) -> Option<usize> {
    let count = |parts: &[super::batch::Part]| {
        parts.iter().for_each(|part| drop(part.call("acc")));
        parts.len()
    };
    Some(match parse(body, content_type, "acc")? {
        Batch::Query(part) => count(std::slice::from_ref(&*part)),
        Batch::Changes(parts) => count(&parts),
    })
}

/// What a path below the account names.
pub(crate) fn resource(path: &str) -> Option<String> {
    Resource::parse(path).ok().map(|resource| format!("{resource:?}"))
}

/// A time as it is written again.
pub(crate) fn time(text: &str) -> Option<String> {
    ticks::parse(text).map(|time| ticks::text(time, ticks::Digits::Seven))
}
