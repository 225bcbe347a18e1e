//! Entities and tables as Atom, in and out.

use std::fmt::Write as _;

use bytes::Bytes;

use super::entity::Entity;
use super::error::{DUPLICATE_PROPERTIES, INVALID_INPUT};
use super::json_in::{from_text, refuse_duplicates};
use super::json_out::push_text;
use super::key;
use super::names::Names;
use super::row::Row;
use super::shape::{Place, Shape, etag};
use super::ticks::{self, Digits};
use super::value::{Stored, Value};
use crate::wire::error::Answer;
use crate::wire::node::Node;
use crate::wire::xml::Escaped;

const NAMESPACES: &str = "xmlns=\"http://www.w3.org/2005/Atom\" \
    xmlns:d=\"http://schemas.microsoft.com/ado/2007/08/dataservices\" \
    xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"";
const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>";
const SCHEME: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/scheme";

/// Writes entries of one feed.
pub(crate) struct Writer<'a> {
    pub(crate) place: &'a Place,
    pub(crate) updated: String,
}

impl Writer<'_> {
    /// How the list of what the table holds begins.
    pub(crate) fn open_list(&self, out: &mut Vec<u8>) {
        let Place { root, table, .. } = self.place;
        let root = Escaped(root).to_string();
        out.extend_from_slice(
            format!(
                "{DECLARATION}<feed xml:base=\"{root}/\" {NAMESPACES}><title type=\"text\">{table}</title>\
                 <id>{root}/{table}</id><updated>{}</updated><link rel=\"self\" title=\"{table}\" href=\"{table}\" />",
                self.updated
            )
            .as_bytes(),
        );
    }

    pub(crate) fn close_list(out: &mut Vec<u8>) {
        out.extend_from_slice(b"</feed>");
    }

    fn open(&self, out: &mut Vec<u8>, alone: bool, link: &str, kind: &str, tag: Option<u64>) {
        let Place { root, account, .. } = self.place;
        let (root, link) = (Escaped(root).to_string(), Escaped(link).to_string());
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = match alone {
            true => write!(text, "{DECLARATION}<entry xml:base=\"{root}/\" {NAMESPACES}"),
            false => write!(text, "<entry"),
        };
        if let Some(time) = tag {
            let _ = write!(text, " m:etag=\"{}\"", Escaped(&etag(time)));
        }
        let _ = write!(
            text,
            "><id>{root}/{link}</id><category term=\"{account}.{kind}\" scheme=\"{SCHEME}\" />\
             <link rel=\"edit\" title=\"{kind}\" href=\"{link}\" /><title /><updated>{}</updated>\
             <author><name /></author><content type=\"application/xml\"><m:properties>",
            self.updated
        );
        out.extend_from_slice(text.as_bytes());
    }

    fn close(out: &mut Vec<u8>) {
        out.extend_from_slice(b"</m:properties></content></entry>");
    }

    /// Appends an entity.
    pub(crate) fn entity(&self, out: &mut Vec<u8>, row: &Row, names: &Names, shape: &Shape<'_>, alone: bool) {
        let (partition, row_key) = row.keys();
        let link = self.place.entity(partition, row_key);
        self.open(out, alone, &link, &self.place.table, Some(row.time()));
        if shape.system.partition {
            push(out, "PartitionKey", Stored::String(&key::decode(partition)));
        }
        if shape.system.row {
            push(out, "RowKey", Stored::String(&key::decode(row_key)));
        }
        if shape.system.timestamp {
            let time = ticks::text(row.time(), Digits::Seven);
            out.extend_from_slice(
                format!("<d:Timestamp m:type=\"Edm.DateTime\">{time}</d:Timestamp>").as_bytes(),
            );
        }
        for (number, value) in row.properties().filter(|(number, _)| shape.shows(*number)) {
            if let Some(name) = names.get(number) {
                push(out, &name.text, value);
            }
        }
        for name in shape.missing(|number| row.properties().any(|(there, _)| there == number)) {
            out.extend_from_slice(format!("<d:{} m:null=\"true\" />", Escaped(name)).as_bytes());
        }
        Self::close(out);
    }

    /// Appends a table.
    pub(crate) fn table(&self, out: &mut Vec<u8>, name: &str, alone: bool) {
        self.open(out, alone, &format!("Tables('{name}')"), "Tables", None);
        push(out, "TableName", Stored::String(name));
        Self::close(out);
    }
}

fn push(out: &mut Vec<u8>, name: &str, value: Stored<'_>) {
    out.extend_from_slice(format!("<d:{name}").as_bytes());
    if let Stored::String(text) = value {
        let edges = text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace);
        let preserve = if edges { " xml:space=\"preserve\"" } else { "" };
        out.extend_from_slice(format!("{preserve}>{}", Escaped(text)).as_bytes());
    } else {
        out.extend_from_slice(format!(" m:type=\"Edm.{}\">", value.edm()).as_bytes());
        push_text(out, value);
    }
    out.extend_from_slice(format!("</d:{name}>").as_bytes());
}

/// The properties of an entry.
fn properties(body: &[u8]) -> Option<Node> {
    let entry = Node::parse(&Bytes::copy_from_slice(body), "entry")?;
    entry.first("content")?.first("properties").cloned()
}

/// The name of a new table.
pub(crate) fn table_name(body: &[u8]) -> Option<String> {
    properties(body)?.text_of("TableName").map(str::to_owned)
}

/// Reads an entity.
pub(crate) fn entity(body: &[u8]) -> Answer<Entity> {
    let properties = properties(body).ok_or_else(|| INVALID_INPUT.saying("The body is no Atom entry."))?;
    let mut entity = Entity::default();
    for property in &properties.children {
        if property.attribute("null") == Some("true") || property.name == "Timestamp" {
            continue;
        }
        let kind = property.attribute("type").unwrap_or("Edm.String");
        let value = from_text(property.text(), kind.strip_prefix("Edm.").unwrap_or(kind));
        let value = value.ok_or_else(|| {
            INVALID_INPUT.saying(format!("The property '{}' has no value of type {kind}.", property.name))
        })?;
        let place = match &*property.name {
            "PartitionKey" => &mut entity.partition,
            "RowKey" => &mut entity.row,
            _ => {
                entity.properties.push((property.name.clone(), value));
                continue;
            }
        };
        let Value::String(key) = value else { return Err((&INVALID_INPUT).into()) };
        if place.replace(key).is_some() {
            return Err((&DUPLICATE_PROPERTIES).into());
        }
    }
    refuse_duplicates(&entity)?;
    Ok(entity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read() {
        let body = format!(
            "{DECLARATION}<entry {NAMESPACES}><title /><content type=\"application/xml\"><m:properties>\
             <d:PartitionKey>p</d:PartitionKey><d:RowKey></d:RowKey><d:A m:type=\"Edm.Int64\">5</d:A>\
             <d:B m:null=\"true\" /><d:C> x&amp;y&#x9;</d:C></m:properties></content></entry>"
        );
        let entity = entity(body.as_bytes()).unwrap();
        assert_eq!((entity.partition.as_deref(), entity.row.as_deref()), (Some("p"), Some("")));
        let expected = [("A".to_owned(), Value::Int64(5)), ("C".to_owned(), Value::String(" x&y\t".into()))];
        assert_eq!(entity.properties, expected);
    }
}
