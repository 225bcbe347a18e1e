//! The records of objects that no node has moved, and where objects are.

use std::path::{Path, PathBuf};

use crate::event::{Failure, ObjectRecord, Outcome};
use crate::options::{Item, Root, without_query};
use crate::stage::plan::{Pair, Place};

/// A path becomes the folder in which the first name was found, and in it the name that the user wrote.
pub(super) fn settle(root: &mut Root, place: &Place) {
    if let Root::Url(written) = root
        && place.store.capabilities().folders
    {
        let path = PathBuf::from(place.store.name(""));
        let named = Path::new(written.as_str()).strip_prefix(&path).ok().and_then(Path::to_str);
        *root = Root::Folder { named: named.unwrap_or_default().to_owned(), path };
    }
}

/// The record of an object that is not moved, because it need not be.
pub(super) fn skipped(id: u64, pair: &Pair, reason: &'static str, now_ns: u64) -> ObjectRecord {
    let there = pair.existing.there();
    ObjectRecord {
        object_id: id,
        source: pair.source.name(),
        destination: pair.destination.name(),
        name: pair.relative_name().into(),
        size_bytes: pair.meta.size,
        crc64: there.and_then(|there| there.crc64).or(pair.meta.crc64),
        md5: there.and_then(|there| there.md5),
        etag: there.map(|there| there.etag.clone()),
        reason: Some(reason),
        ..ObjectRecord::unmoved(now_ns)
    }
}

/// The record of an object that no node has moved.
pub(super) fn failed(item: &Item, (from, _): &(Root, Root), failure: Failure) -> ObjectRecord {
    let source = match from {
        Root::Url(url) => format!("{}: {}", without_query(url), item.meta.key),
        Root::Folder { path, .. } => path.join(&item.meta.key).display().to_string(),
    };
    ObjectRecord {
        object_id: item.assigned.id,
        source: source.as_str().into(),
        destination: item.to.as_str().into(),
        name: item.to[item.name_at..].into(),
        size_bytes: item.meta.size,
        outcome: Outcome::Failed,
        failure: Some(Failure { object: source, ..failure }),
        ..ObjectRecord::unmoved(0)
    }
}
