//! Reading back what an earlier run, or a person, left in the directory.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sidecar::{self, BlobRecord};
use super::{Places, StoredFile, uploads};
use crate::store::{Blob, Catalogue, Container, Data, Metadata, Staged, StagedBlock, path};
use crate::wire::time::{Stamp, ticks};

type Records = HashMap<PathBuf, BlobRecord<'static>>;

pub(super) fn load(places: &Places) -> io::Result<Catalogue> {
    let mut catalogue = Catalogue::default();
    for entry in fs::read_dir(&places.root)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let serves = crate::request::is_container_name(&name) || crate::s3::is_bucket_name(&name);
        if entry.file_type()?.is_dir() && serves {
            let container = load_container(places, &name)?;
            catalogue.containers.insert(name, container);
        }
    }
    Ok(catalogue)
}

fn load_container(places: &Places, name: &str) -> io::Result<Container> {
    let folder = places.container(name);
    let mut container: Container = match sidecar::read(&places.container_record(name)) {
        Some(container) => container,
        None => Container::new(ticks(fs::metadata(&folder)?.modified()?), Metadata::new()),
    };
    let records: Records = files(&places.sidecars("blobs").join(name))?
        .iter()
        .filter_map(|file| sidecar::read::<BlobRecord<'static>>(file))
        .map(|record| (record.file.clone(), record))
        .collect();
    load_blobs(&folder, &folder, records, &mut container)?;
    for blocks in folders(&places.sidecars("blocks").join(name))? {
        if let Ok(blob) = fs::read_to_string(blocks.join("name")) {
            container.staged.insert(blob.into(), load_blocks(&blocks)?);
        }
    }
    container.uploads = uploads::load(places, name)?;
    Ok(container)
}

/// Walks the folders of a container. Symbolic links are not followed: they lead out.
fn load_blobs(root: &Path, first: &Path, mut records: Records, container: &mut Container) -> io::Result<()> {
    let mut todo = vec![first.to_owned()];
    while let Some(folder) = todo.pop() {
        todo.extend(folders(&folder)?);
        for file in files(&folder)? {
            let relative = file.strip_prefix(root).map_err(io::Error::other)?;
            let metadata = fs::metadata(&file)?;
            let record = records.remove(relative).filter(|record| record.matches(&metadata));
            let (name, mut blob) = match record {
                Some(record) => (record.name.into_owned(), record.blob.into_owned()),
                None => match path::decode(relative) {
                    Some(name) => (name, foreign(&metadata)?),
                    None => {
                        tracing::warn!(file = %file.display(), "not served: no blob has this path");
                        continue;
                    }
                },
            };
            blob.data = Data::File(Arc::new(StoredFile::kept(file)));
            container.blobs.insert(name.into(), Arc::new(blob));
        }
    }
    Ok(())
}

/// A file that somebody else put there, or changed.
fn foreign(metadata: &fs::Metadata) -> io::Result<Blob> {
    let modified = metadata.modified()?;
    Ok(Blob {
        size: metadata.len(),
        etag: ticks(modified),
        created: Stamp::from(modified),
        modified: Stamp::from(modified),
        content: None,
        metadata: Metadata::new(),
        blocks: Box::default(),
        tags: Vec::new(),
        tier: None,
        append: None,
        s3: None,
        data: Data::Pattern,
    })
}

fn load_blocks(folder: &Path) -> io::Result<Staged> {
    let mut staged = Staged::default();
    for file in files(folder)? {
        let id = file.file_name().and_then(|name| name.to_str()).and_then(sidecar::block_id);
        if let Some(id) = id {
            let len = fs::metadata(&file)?.len();
            let data = Data::File(Arc::new(StoredFile::kept(file)));
            staged.blocks.insert(id.into(), StagedBlock { len, data });
        }
    }
    Ok(staged)
}

pub(super) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    entries(folder, fs::FileType::is_file)
}

pub(super) fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    entries(folder, fs::FileType::is_dir)
}

fn entries(folder: &Path, wanted: fn(&fs::FileType) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let listing = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        listing => listing?,
    };
    for entry in listing {
        let entry = entry?;
        if wanted(&entry.file_type()?) {
            found.push(entry.path());
        }
    }
    Ok(found)
}
