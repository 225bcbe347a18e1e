//! Entities and tables as JSON, straight from where they lie.

use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::format::{Metadata, push_escaped, push_string};
use super::key;
use super::names::Names;
use super::row::Row;
use super::shape::{Place, Shape};
use super::ticks::{self, Digits};
use super::value::{Stored, push_guid};

/// Writes entities of one table.
pub(crate) struct Writer<'a> {
    pub(crate) place: &'a Place,
    pub(crate) metadata: Metadata,
}

impl Writer<'_> {
    /// Appends an entity. One that is `alone` says what it is an element of.
    pub(crate) fn entity(&self, out: &mut Vec<u8>, row: &Row, names: &Names, shape: &Shape<'_>, alone: bool) {
        let start = out.len();
        let (partition, row_key) = row.keys();
        if self.metadata != Metadata::None {
            if alone {
                out.extend_from_slice(b",\"odata.metadata\":");
                let table = &self.place.table;
                push_string(out, &format!("{}/$metadata#{table}/@Element", self.place.root));
            }
            if self.metadata == Metadata::Full {
                self.annotations(out, partition, row_key);
            }
            out.extend_from_slice(b",\"odata.etag\":\"W/\\\"datetime'");
            push_tag_time(out, row.time());
            out.extend_from_slice(b"'\\\"\"");
        }
        if shape.system.partition {
            out.extend_from_slice(b",\"PartitionKey\":");
            push_key(out, partition);
        }
        if shape.system.row {
            out.extend_from_slice(b",\"RowKey\":");
            push_key(out, row_key);
        }
        if shape.system.timestamp {
            if self.metadata == Metadata::Full {
                out.extend_from_slice(b",\"Timestamp@odata.type\":\"Edm.DateTime\"");
            }
            out.extend_from_slice(b",\"Timestamp\":\"");
            ticks::push(out, row.time(), Digits::Seven);
            out.push(b'"');
        }
        for (number, value) in row.properties() {
            if shape.shows(number)
                && let Some(name) = names.get(number)
            {
                if self.metadata != Metadata::None && is_annotated(value) {
                    out.extend_from_slice(&name.annotation);
                    out.extend_from_slice(value.edm().as_bytes());
                    out.push(b'"');
                }
                out.extend_from_slice(&name.member);
                push_value(out, value);
            }
        }
        for name in shape.missing(|number| row.properties().any(|(there, _)| there == number)) {
            out.push(b',');
            push_string(out, name);
            out.extend_from_slice(b":null");
        }
        // Every member began with a comma.
        match out.get_mut(start) {
            Some(first) => *first = b'{',
            None => out.push(b'{'),
        }
        out.push(b'}');
    }

    fn annotations(&self, out: &mut Vec<u8>, partition: &[u8], row: &[u8]) {
        let Place { root, account, table } = self.place;
        let link = self.place.entity(partition, row);
        for (name, text) in [
            ("odata.type", format!("{account}.{table}")),
            ("odata.id", format!("{root}/{link}")),
            ("odata.editLink", link),
        ] {
            out.extend_from_slice(format!(",\"{name}\":").as_bytes());
            push_string(out, &text);
        }
    }
}

/// How a list of entities begins.
pub(crate) fn open_list(out: &mut Vec<u8>, place: &Place, metadata: Metadata) {
    out.push(b'{');
    if metadata != Metadata::None {
        out.extend_from_slice(b"\"odata.metadata\":");
        push_string(out, &format!("{}/$metadata#{}", place.root, place.table));
        out.push(b',');
    }
    out.extend_from_slice(b"\"value\":[");
}

/// A table by its name, alone or in a list.
pub(crate) fn table(out: &mut Vec<u8>, place: &Place, metadata: Metadata, alone: bool) {
    let Place { root, account, table } = place;
    out.push(b'{');
    if alone && metadata != Metadata::None {
        out.extend_from_slice(b"\"odata.metadata\":");
        push_string(out, &format!("{root}/$metadata#Tables/@Element"));
        out.push(b',');
    }
    if metadata == Metadata::Full {
        for (name, text) in [
            ("odata.type", format!("{account}.Tables")),
            ("odata.id", format!("{root}/Tables('{table}')")),
            ("odata.editLink", format!("Tables('{table}')")),
        ] {
            out.extend_from_slice(format!("\"{name}\":").as_bytes());
            push_string(out, &text);
            out.push(b',');
        }
    }
    out.extend_from_slice(b"\"TableName\":");
    push_string(out, table);
    out.push(b'}');
}

/// Whether JSON itself does not tell the type of a value.
fn is_annotated(value: Stored<'_>) -> bool {
    match value {
        Stored::Int64(_) | Stored::DateTime(_) | Stored::Guid(_) | Stored::Binary(_) => true,
        Stored::Double(value) => !value.is_finite(),
        _ => false,
    }
}

fn push_key(out: &mut Vec<u8>, stored: &[u8]) {
    push_string(out, &key::decode(stored));
}

/// A time in an entity tag, where a colon is escaped.
fn push_tag_time(out: &mut Vec<u8>, time: u64) {
    let mut text = Vec::with_capacity(28);
    ticks::push(&mut text, time, Digits::Seven);
    for byte in text {
        if byte == b':' {
            out.extend_from_slice(b"%3A");
        } else {
            out.push(byte);
        }
    }
}

fn push_value(out: &mut Vec<u8>, value: Stored<'_>) {
    match value {
        Stored::String(text) => {
            out.push(b'"');
            push_escaped(out, text);
            out.push(b'"');
        }
        Stored::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        // Writing to a Vec cannot fail.
        Stored::Int32(value) => drop(write!(out, "{value}")),
        Stored::Double(value) if value.is_finite() => drop(write!(out, "{value:?}")),
        _ => {
            out.push(b'"');
            push_text(out, value);
            out.push(b'"');
        }
    }
}

/// A value as text that needs no escapes, in every form of answer.
pub(super) fn push_text(out: &mut Vec<u8>, value: Stored<'_>) {
    match value {
        Stored::String(text) => out.extend_from_slice(text.as_bytes()),
        Stored::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Stored::Int32(value) => drop(write!(out, "{value}")),
        Stored::Int64(value) => drop(write!(out, "{value}")),
        Stored::Double(value) if value.is_nan() => out.extend_from_slice(b"NaN"),
        Stored::Double(f64::INFINITY) => out.extend_from_slice(b"Infinity"),
        Stored::Double(f64::NEG_INFINITY) => out.extend_from_slice(b"-Infinity"),
        Stored::Double(value) => drop(write!(out, "{value:?}")),
        Stored::DateTime(time) => ticks::push(out, time, Digits::Needed),
        Stored::Guid(guid) => push_guid(out, guid),
        Stored::Binary(bytes) => {
            let start = out.len();
            out.resize(start + bytes.len().div_ceil(3) * 4, 0);
            // The place is as long as the text.
            let _ = BASE64_STANDARD.encode_slice(bytes, &mut out[start..]);
        }
    }
}
