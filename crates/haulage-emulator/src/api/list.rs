//! List Containers and List Blobs.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE;

use super::headers::xml;
use super::{Reply, container, tags, tier};
use crate::request::Call;
use crate::service::Service;
use crate::store::{Blob, ContentHeaders, Metadata, Page, PageItem, PageQuery};
use crate::wire::error::{Answer, INVALID_QUERY_VALUE, OUT_OF_RANGE_QUERY, ServiceError};
use crate::wire::xml::{DECLARATION, Element, Escaped, Name};

/// The service's largest page, and its default.
const LARGEST_PAGE: usize = 5_000;

pub(super) fn containers(service: &Service, call: &Call<'_>) -> Reply {
    let limit = limit(call)?;
    let prefix = call.query.get("prefix").unwrap_or_default();
    let marker = decode_marker(call.query.get("marker").unwrap_or_default())?;
    let with_metadata = call.includes("metadata");
    let mut text = opening(service, None);
    push_request(&mut text, call);
    text.push_str("<Containers>");
    let mut next = String::new();
    let catalogue = service.read();
    let from = marker.as_str().max(prefix).to_owned();
    let found = catalogue.containers.range(from..).take_while(|(name, _)| name.starts_with(prefix));
    for (index, (name, container)) in found.enumerate() {
        if index == limit {
            next = encode_marker(name);
            break;
        }
        // Writing to a String cannot fail, here and below.
        let _ = write!(
            text,
            "<Container><Name>{}</Name><Properties><Last-Modified>{}</Last-Modified><Etag>\"0x{:X}\"</Etag>\
             <LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>\
             <HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold></Properties>",
            Escaped(name),
            container.modified.http(),
            container.etag
        );
        if with_metadata {
            push_metadata(&mut text, &container.metadata);
        }
        text.push_str("</Container>");
    }
    let _ = write!(text, "</Containers>{}</EnumerationResults>", Element("NextMarker", &next));
    Ok(xml(text))
}

pub(super) fn blobs(service: &Service, call: &Call<'_>) -> Reply {
    let marker = decode_marker(call.query.get("marker").unwrap_or_default())?;
    // The newer versions' way of listing in shards.
    let start = call.query.get("startFrom").unwrap_or_default();
    let query = PageQuery {
        prefix: call.query.get("prefix").unwrap_or_default(),
        delimiter: call.query.get("delimiter").unwrap_or_default(),
        from: marker.as_str().max(start),
        before: call.query.get("endBefore").filter(|end| !end.is_empty()),
        limit: limit(call)?,
        uncommitted: call.includes("uncommittedblobs"),
    };
    let page = container(&service.read(), call.container())?.page(&query);
    // Written with the catalogue free again: others need not wait for five thousand entries.
    Ok(xml(render(service, call, &page)))
}

fn render(service: &Service, call: &Call<'_>, page: &Page) -> String {
    let besides = Besides {
        metadata: call.includes("metadata"),
        tags: call.includes("tags"),
        resource: service.config.hierarchical,
    };
    let mut text = opening(service, Some(call.container()));
    text.reserve(page.items.len() * 700);
    push_request(&mut text, call);
    if let Some(delimiter) = call.query.get("delimiter") {
        let _ = write!(text, "{}", Element("Delimiter", delimiter));
    }
    text.push_str("<Blobs>");
    for item in &page.items {
        match item {
            PageItem::Blob(name, blob) => push_blob(&mut text, name, blob, besides),
            PageItem::Uncommitted(name) => {
                let _ = write!(
                    text,
                    "<Blob>{}<Properties><Content-Length>0</Content-Length><BlobType>BlockBlob</BlobType>\
                     </Properties></Blob>",
                    Name(name)
                );
            }
            PageItem::Prefix(name) => {
                let _ = write!(text, "<BlobPrefix>{}</BlobPrefix>", Name(name));
            }
        }
    }
    let next = page.next.as_deref().map(encode_marker).unwrap_or_default();
    let _ = write!(text, "</Blobs>{}</EnumerationResults>", Element("NextMarker", &next));
    text
}

/// What a list of blobs carries besides properties.
#[derive(Clone, Copy)]
struct Besides {
    metadata: bool,
    tags: bool,
    resource: bool,
}

fn push_blob(text: &mut String, name: &str, blob: &Blob, besides: Besides) {
    let empty = ContentHeaders::default();
    let content = blob.content.as_deref().unwrap_or(&empty);
    let or_empty = |value: &'static str, field: &Option<Box<str>>| {
        Element(value, field.as_deref().unwrap_or_default()).to_string()
    };
    let _ = write!(
        text,
        "<Blob>{}<Properties><Creation-Time>{}</Creation-Time><Last-Modified>{}</Last-Modified><Etag>0x{:X}</Etag>\
         <Content-Length>{}</Content-Length>{}",
        Name(name),
        blob.created.http(),
        blob.modified.http(),
        blob.etag,
        blob.size,
        Element("Content-Type", content.kind.as_deref().unwrap_or("application/octet-stream")),
    );
    text.push_str(&or_empty("Content-Encoding", &content.encoding));
    text.push_str(&or_empty("Content-Language", &content.language));
    text.push_str("<Content-CRC64 />");
    text.push_str(&or_empty("Content-MD5", &content.md5));
    text.push_str(&or_empty("Cache-Control", &content.cache_control));
    text.push_str(&or_empty("Content-Disposition", &content.disposition));
    let _ = write!(text, "<BlobType>{}</BlobType>", blob.kind());
    if besides.resource {
        let _ = write!(text, "<ResourceType>{}</ResourceType>", blob.resource());
    }
    if blob.append.is_some_and(|state| state.sealed) {
        text.push_str("<Sealed>true</Sealed>");
    }
    // Only block blobs have one.
    if blob.append.is_none() {
        let _ = write!(text, "<AccessTier>{}</AccessTier>", tier::of(blob));
        if tier::is_inferred(blob) {
            text.push_str("<AccessTierInferred>true</AccessTierInferred>");
        }
    }
    text.push_str(
        "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>\
         <ServerEncrypted>true</ServerEncrypted>",
    );
    if !blob.tags.is_empty() {
        let _ = write!(text, "<TagCount>{}</TagCount>", blob.tags.len());
    }
    text.push_str("</Properties>");
    if besides.metadata {
        push_metadata(text, &blob.metadata);
    }
    if besides.tags && !blob.tags.is_empty() {
        tags::push(text, &blob.tags);
    }
    text.push_str("<OrMetadata /></Blob>");
}

fn push_metadata(text: &mut String, metadata: &Metadata) {
    if metadata.is_empty() {
        text.push_str("<Metadata />");
        return;
    }
    text.push_str("<Metadata>");
    for (name, value) in metadata {
        let _ = write!(text, "{}", Element(name, value));
    }
    text.push_str("</Metadata>");
}

fn opening(service: &Service, container: Option<&str>) -> String {
    let mut text =
        format!("{DECLARATION}<EnumerationResults ServiceEndpoint=\"{}/\"", Escaped(service.endpoint()));
    if let Some(name) = container {
        let _ = write!(text, " ContainerName=\"{}\"", Escaped(name));
    }
    text.push('>');
    text
}

/// The service repeats what it was asked.
fn push_request(text: &mut String, call: &Call<'_>) {
    for (element, name) in [("Prefix", "prefix"), ("Marker", "marker"), ("MaxResults", "maxresults")] {
        if let Some(value) = call.query.get(name) {
            let _ = write!(text, "{}", Element(element, value));
        }
    }
}

fn limit(call: &Call<'_>) -> Answer<usize> {
    let Some(text) = call.query.get("maxresults") else { return Ok(LARGEST_PAGE) };
    let refuse = |error: ServiceError| {
        error.detail("QueryParameterName", "maxresults").detail("QueryParameterValue", text)
    };
    match text.parse::<usize>() {
        Ok(0) => Err(refuse((&OUT_OF_RANGE_QUERY).into())),
        Ok(limit) => Ok(limit.min(LARGEST_PAGE)),
        Err(_) => Err(refuse((&INVALID_QUERY_VALUE).into())),
    }
}

/// A marker is opaque to clients. Encoded, so that no awkward name is changed on its way there
/// and back, and so that nobody comes to rely on its form.
fn encode_marker(name: &str) -> String {
    BASE64_URL_SAFE.encode(name)
}

fn decode_marker(text: &str) -> Answer<String> {
    let name = BASE64_URL_SAFE.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| {
        INVALID_QUERY_VALUE.detail("QueryParameterName", "marker").detail("QueryParameterValue", text)
    })
}
