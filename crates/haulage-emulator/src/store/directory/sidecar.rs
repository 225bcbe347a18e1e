//! Records of what plain files cannot carry.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::{OwnedKey, Places};
use crate::store::{Blob, Data};

/// A blob's record. Size and time of its file tell whether the file was changed behind our back.
#[derive(Serialize, Deserialize)]
pub(super) struct BlobRecord<'a> {
    pub(super) name: Cow<'a, str>,
    /// Below the container's folder.
    pub(super) file: PathBuf,
    file_time: u128,
    pub(super) blob: Cow<'a, Blob>,
}

impl BlobRecord<'_> {
    /// Whether the record still speaks of this file.
    pub(super) fn matches(&self, metadata: &fs::Metadata) -> bool {
        self.blob.size == metadata.len() && self.file_time == file_time(metadata)
    }
}

pub(super) fn write_blob(places: &Places, key: &OwnedKey, blob: &Blob) -> io::Result<()> {
    let Data::File(file) = &blob.data else { return Err(io::ErrorKind::InvalidInput.into()) };
    let folder = places.container(&key.container);
    let record = BlobRecord {
        name: Cow::Borrowed(&key.blob),
        file: file.path().strip_prefix(&folder).map_err(io::Error::other)?.to_owned(),
        file_time: file_time(&fs::metadata(file.path())?),
        blob: Cow::Borrowed(blob),
    };
    places.scratch.write(&places.blob_record(key), &serde_json::to_vec(&record)?)
}

/// The record at `path`; `None` where it cannot be read as one.
pub(super) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

pub(super) fn file_time(metadata: &fs::Metadata) -> u128 {
    let modified = metadata.modified().ok();
    modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0, |since| since.as_nanos())
}

/// A block id as a file name. Ids are Base64, whose `/` may not stand there.
pub(super) fn block_file(id: &str) -> String {
    format!("b-{}", id.replace('/', "_").replace('+', "-"))
}

/// The id of a block's file; `None` for other files.
pub(super) fn block_id(file: &str) -> Option<String> {
    Some(file.strip_prefix("b-")?.replace('_', "/").replace('-', "+"))
}
