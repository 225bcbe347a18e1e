//! ListMultipartUploads and ListParts.

use super::{upload as find_upload, upload_id};
use crate::change::container;
use crate::s3::Reply;
use crate::s3::acl::{push_owner, push_person};
use crate::s3::error::bad_argument;
use crate::s3::headers::{quoted, storage_class};
use crate::s3::list::{LARGEST_PAGE, after, names};
use crate::s3::request::Call;
use crate::s3::xml::Document;
use crate::service::Service;
use crate::store::{Container, MultipartUpload};

/// An upload with its id, or the names that share a prefix up to the delimiter.
enum Item<'a> {
    Upload(&'a str, &'a MultipartUpload),
    Prefix(&'a str),
}

/// Which uploads are asked for.
struct Wanted<'a> {
    prefix: &'a str,
    delimiter: &'a str,
    key_marker: &'a str,
    id_marker: &'a str,
}

impl Wanted<'_> {
    /// Whether an upload comes behind the markers.
    fn is_behind(&self, key: &str, id: &str) -> bool {
        if self.key_marker.is_empty() {
            return true;
        }
        if !self.id_marker.is_empty() && key == self.key_marker {
            return id > self.id_marker;
        }
        after(self.key_marker, self.prefix, self.delimiter).is_some_and(|first| *key >= *first)
    }

    /// All of them, in order.
    fn items<'a>(&self, container: &'a Container) -> Vec<Item<'a>> {
        let mut items: Vec<Item<'a>> = Vec::new();
        for ((key, id), upload) in &container.uploads {
            let Some(rest) = key.strip_prefix(self.prefix) else { continue };
            if !self.is_behind(key, id) {
                continue;
            }
            let folded = rest.find(self.delimiter).filter(|_| !self.delimiter.is_empty());
            match folded.map(|at| &key[..self.prefix.len() + at + self.delimiter.len()]) {
                None => items.push(Item::Upload(id, upload)),
                Some(prefix) if matches!(items.last(), Some(Item::Prefix(last)) if *last == prefix) => {}
                Some(prefix) => items.push(Item::Prefix(prefix)),
            }
        }
        items
    }
}

pub(in crate::s3) fn uploads(service: &Service, call: &Call<'_>) -> Reply {
    let names = names(call)?;
    let limit = call.limit("max-uploads", LARGEST_PAGE)?;
    let asked = |name| call.query.get(name).unwrap_or_default();
    let wanted = Wanted {
        prefix: asked("prefix"),
        delimiter: asked("delimiter"),
        key_marker: asked("key-marker"),
        id_marker: asked("upload-id-marker"),
    };
    let catalogue = service.read();
    let items = wanted.items(container(&catalogue, call.bucket())?);
    let page = &items[..limit.min(items.len())];
    let is_truncated = limit > 0 && items.len() > limit;
    let mut document = Document::new("ListMultipartUploadsResult");
    document.element("Bucket", call.bucket());
    document.element("KeyMarker", names.write(wanted.key_marker));
    document.element("UploadIdMarker", wanted.id_marker);
    if let Some(last) = page.last().filter(|_| is_truncated) {
        let (key, id) = match last {
            Item::Upload(id, upload) => (&*upload.key, *id),
            Item::Prefix(prefix) => (*prefix, ""),
        };
        document.element("NextKeyMarker", names.write(key)).element("NextUploadIdMarker", id);
    }
    document.element("Prefix", names.write(wanted.prefix));
    document.optional("Delimiter", call.parameter("delimiter").map(|text| names.write(text)));
    document.optional("EncodingType", call.parameter("encoding-type"));
    document.element("MaxUploads", limit).element("IsTruncated", is_truncated);
    for item in page {
        match item {
            Item::Upload(id, upload) => {
                document.nested("Upload", |entry| {
                    entry.element("Key", names.write(&upload.key)).element("UploadId", id);
                    describe(entry, service, upload);
                    entry.element("Initiated", upload.begun.iso8601());
                });
            }
            Item::Prefix(prefix) => {
                document.nested("CommonPrefixes", |entry| {
                    entry.element("Prefix", names.write(prefix));
                });
            }
        }
    }
    Ok(document.reply())
}

/// Whose it is, and what was declared.
fn describe(entry: &mut Document, service: &Service, upload: &MultipartUpload) {
    push_person(entry, "Initiator", service);
    push_owner(entry, service);
    entry.element("StorageClass", storage_class(upload.tier.as_deref()));
    if let Some((algorithm, scope)) = upload.declared {
        entry.element("ChecksumAlgorithm", algorithm.name()).element("ChecksumType", scope.name());
    }
}

pub(in crate::s3) fn parts(service: &Service, call: &Call<'_>) -> Reply {
    let limit = call.limit("max-parts", LARGEST_PAGE)?;
    let marker = match call.parameter("part-number-marker") {
        None => 0,
        Some(text) => text.parse::<u16>().map_err(|_| {
            bad_argument("part-number-marker", text, "Argument part-number-marker must be an integer")
        })?,
    };
    let catalogue = service.read();
    let upload = find_upload(container(&catalogue, call.bucket())?, call)?;
    let mut document = Document::new("ListPartsResult");
    document.element("Bucket", call.bucket()).element("Key", call.key());
    document.element("UploadId", upload_id(call));
    describe(&mut document, service, upload);
    let mut rest = upload.parts.iter().filter(|(number, _)| **number > marker).peekable();
    let page: Vec<_> = rest.by_ref().take(limit).collect();
    let is_truncated = limit > 0 && rest.peek().is_some();
    document.element("PartNumberMarker", marker);
    document.element("NextPartNumberMarker", page.last().map_or(0, |(number, _)| **number));
    document.element("MaxParts", limit).element("IsTruncated", is_truncated);
    for (number, part) in page {
        document.nested("Part", |entry| {
            entry.element("PartNumber", number).element("LastModified", part.modified.iso8601());
            entry.element("ETag", quoted(&part.etag)).element("Size", part.len);
            if let Some((algorithm, _)) = upload.declared {
                entry.optional(algorithm.element(), part.checksum.as_deref());
            }
        });
    }
    Ok(document.reply())
}
