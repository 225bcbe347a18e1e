//! Multipart uploads on the disk: a folder each, with a record of its own and two files for each part.
//!
//! ```text
//! DIR/.haul/uploads/<container>/<id>/upload.json    key, properties, declared checksum
//! DIR/.haul/uploads/<container>/<id>/00001          the bytes of part 1
//! DIR/.haul/uploads/<container>/<id>/00001.json     its ETag and checksums
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::sidecar::{self, file_time};
use super::{Places, StoredFile, load, move_file};
use crate::store::{Data, MultipartUpload, UploadKey, UploadedPart};

/// Uploads by key and id.
type Uploads = BTreeMap<(Box<str>, Box<str>), MultipartUpload>;

/// The record of an upload.
const UPLOAD: &str = "upload.json";

/// A part's record. The time of its file tells whether the two belong together.
#[derive(Serialize, Deserialize)]
struct PartRecord {
    file_time: u128,
    part: UploadedPart,
}

/// An [`UploadKey`] that may cross to the blocking pool.
pub(super) struct OwnedUploadKey {
    container: String,
    id: String,
}

impl From<UploadKey<'_>> for OwnedUploadKey {
    fn from(key: UploadKey<'_>) -> Self {
        Self { container: key.container.to_owned(), id: key.id.to_owned() }
    }
}

impl Places {
    pub(super) fn upload(&self, key: &OwnedUploadKey) -> PathBuf {
        self.sidecars("uploads").join(&key.container).join(&key.id)
    }
}

pub(super) fn write(places: &Places, key: &OwnedUploadKey, upload: &MultipartUpload) -> io::Result<()> {
    places.scratch.write(&places.upload(key).join(UPLOAD), &serde_json::to_vec(upload)?)
}

/// Moves a part's bytes to their place; where they lie then.
pub(super) fn write_part(
    places: &Places,
    key: &OwnedUploadKey,
    number: u16,
    part: UploadedPart,
) -> io::Result<Data> {
    let Data::File(from) = &part.data else { return Err(io::ErrorKind::InvalidInput.into()) };
    let file = places.upload(key).join(format!("{number:05}"));
    move_file(&places.root, from.path(), &file)?;
    let record = PartRecord { file_time: file_time(&fs::metadata(&file)?), part };
    places.scratch.write(&file.with_extension("json"), &serde_json::to_vec(&record)?)?;
    Ok(Data::File(Arc::new(StoredFile::kept(file))))
}

/// The uploads of a container, by key and id.
pub(super) fn load(places: &Places, container: &str) -> io::Result<Uploads> {
    let mut uploads = BTreeMap::new();
    for folder in load::folders(&places.sidecars("uploads").join(container))? {
        let id = folder.file_name().and_then(|name| name.to_str());
        let upload: Option<MultipartUpload> = sidecar::read(&folder.join(UPLOAD));
        if let (Some(id), Some(mut upload)) = (id, upload) {
            upload.parts = load_parts(&folder)?;
            uploads.insert((upload.key.clone(), id.into()), upload);
        }
    }
    Ok(uploads)
}

fn load_parts(folder: &Path) -> io::Result<BTreeMap<u16, UploadedPart>> {
    let mut parts = BTreeMap::new();
    for file in load::files(folder)? {
        let number = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let record: Option<PartRecord> = sidecar::read(&file.with_extension("json"));
        if let (Some(number), Some(PartRecord { file_time: time, mut part })) = (number, record) {
            let metadata = fs::metadata(&file)?;
            if part.len == metadata.len() && time == file_time(&metadata) {
                part.data = Data::File(Arc::new(StoredFile::kept(file)));
                parts.insert(number, part);
            }
        }
    }
    Ok(parts)
}
