//! Blocks: staged one by one, then committed as a list.

use std::collections::HashMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;

use super::append::check_is_block_blob;
use super::condition::Conditions;
use super::headers::{content, metadata, set, set_version, written, xml};
use super::{Reply, commit, container, container_mut, find, tags, tier};
use crate::request::Call;
use crate::service::Service;
use crate::store::{Blob, CommittedBlock, Data, Part, Staged, StagedBlock};
use crate::wire::error::{
    Answer, BLOB_NOT_FOUND, BLOCK_COUNT_EXCEEDS_LIMIT, INVALID_BLOB_OR_BLOCK, INVALID_BLOCK_ID,
    INVALID_BLOCK_LIST, INVALID_HEADER_VALUE, INVALID_QUERY_VALUE, INVALID_XML, ServiceError,
};
use crate::wire::incoming::Content as _;
use crate::wire::time::Stamp;
use crate::wire::upload::Upload;
use crate::wire::xml::{DECLARATION, Escaped, Search, parse_block_list};

/// The most that one block may hold: 4,000 MiB.
pub(super) const LARGEST_BLOCK: u64 = 4_000 << 20;
const MOST_BLOCKS: usize = 50_000;
/// The service keeps twice as many uncommitted ones.
const MOST_STAGED: usize = 100_000;
/// Before Base64.
const LONGEST_ID: usize = 64;
/// Generous for 50,000 entries of the longest ids.
const LARGEST_LIST: u64 = 16 << 20;

pub(super) async fn put_block(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    let id = call.query.get("blockid").unwrap_or_default();
    check_id(id)?;
    upload.expect(&call.parts.headers, LARGEST_BLOCK, false)?;
    if upload.len() == 0 {
        let error = INVALID_HEADER_VALUE.detail("HeaderName", "Content-Length");
        return Err(error.detail("HeaderValue", "0"));
    }
    check_room(service, call, id)?;
    let data = service.store.receive(upload).await?;
    let sums = upload.verify()?;
    stage(service, call, id, upload.len(), data).await?;
    Ok(written(StatusCode::CREATED, None, &sums))
}

/// Makes `data` the uncommitted block `id`.
pub(super) async fn stage(service: &Service, call: &Call<'_>, id: &str, len: u64, data: Data) -> Answer<()> {
    let _lock = service.lock(call.key()).await;
    check_room(service, call, id)?;
    let kept = service.store.keep_block(call.key(), id, data).await;
    let data = kept.map_err(|error| ServiceError::internal(&error))?;
    let mut catalogue = service.write();
    let staged = container_mut(&mut catalogue, call.container())?.staged.entry(call.key().blob.into());
    staged.or_default().blocks.insert(id.into(), StagedBlock { len, data });
    Ok(())
}

pub(super) fn check_id(id: &str) -> Answer<()> {
    let raw = BASE64_STANDARD.decode(id).ok().filter(|raw| !raw.is_empty() && raw.len() <= LONGEST_ID);
    raw.map(drop).ok_or_else(|| {
        INVALID_BLOCK_ID.detail("QueryParameterName", "blockid").detail("QueryParameterValue", id)
    })
}

/// All ids of a blob have one length, and there is an end to their number.
fn check_room(service: &Service, call: &Call<'_>, id: &str) -> Answer<()> {
    let catalogue = service.read();
    let container = container(&catalogue, call.container())?;
    check_is_block_blob(container.blobs.get(call.key().blob).map(AsRef::as_ref))?;
    let Some(staged) = container.staged.get(call.key().blob) else {
        return Ok(());
    };
    if staged.blocks.first_key_value().is_some_and(|(first, _)| first.len() != id.len()) {
        return Err((&INVALID_BLOB_OR_BLOCK).into());
    }
    if staged.blocks.len() >= MOST_STAGED && !staged.blocks.contains_key(id) {
        return Err((&BLOCK_COUNT_EXCEEDS_LIMIT).into());
    }
    Ok(())
}

pub(super) async fn put_block_list(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    upload.expect(&call.parts.headers, LARGEST_LIST, false)?;
    let (conditions, metadata, content) = (Conditions::of(call)?, metadata(call)?, content(call));
    let (tags, tier) = (tags::sent(call)?, tier::sent(call)?);
    let body = upload.collect().await?;
    let sums = upload.verify()?;
    let entries = parse_block_list(&body).ok_or(&INVALID_XML)?;
    if entries.len() > MOST_BLOCKS {
        return Err((&BLOCK_COUNT_EXCEEDS_LIMIT).into());
    }

    let _lock = service.lock(call.key()).await;
    let old = find(service, call.key())?;
    conditions.check_write(old.as_deref())?;
    check_is_block_blob(old.as_deref())?;
    let tier = tier::of_new(tier, old.as_deref())?;
    let (blocks, parts) = {
        let catalogue = service.read();
        let staged = container(&catalogue, call.container())?.staged.get(call.key().blob);
        resolve(&entries, staged, old.as_deref())?
    };
    let size = blocks.iter().map(|block| block.len).sum();
    let joined = service.store.assemble(parts).await;
    let data = joined.map_err(|error| ServiceError::internal(&error))?;
    let now = Stamp::now();
    let new = Blob {
        size,
        etag: service.next_etag(),
        created: old.map_or(now, |old| old.created),
        modified: now,
        content,
        metadata,
        blocks: blocks.into(),
        tags,
        tier,
        append: None,
        s3: None,
        data,
    };
    let new = commit(service, call.key(), new, false).await?;
    Ok(written(StatusCode::CREATED, Some(&new), &sums))
}

type Resolved = (Vec<CommittedBlock>, Vec<Part>);

/// Finds every block of the list where the client says it is.
fn resolve(entries: &[(Search, String)], staged: Option<&Staged>, old: Option<&Blob>) -> Answer<Resolved> {
    let committed: HashMap<&str, Part> = old.map(committed_parts).unwrap_or_default();
    let mut resolved = Resolved::default();
    for (search, id) in entries {
        let fresh = || staged.and_then(|staged| staged.blocks.get(&**id)).map(staged_part);
        let kept = || committed.get(&**id).cloned();
        let part = match search {
            Search::Uncommitted => fresh(),
            Search::Committed => kept(),
            Search::Latest => fresh().or_else(kept),
        };
        let part = part.ok_or(&INVALID_BLOCK_LIST)?;
        resolved.0.push(CommittedBlock { id: (**id).into(), len: part.range.end - part.range.start });
        resolved.1.push(part);
    }
    Ok(resolved)
}

fn staged_part(block: &StagedBlock) -> Part {
    Part { data: block.data.clone(), range: 0..block.len }
}

fn committed_parts(blob: &Blob) -> HashMap<&str, Part> {
    let mut offset = 0;
    let parts = blob.blocks.iter().map(|block| {
        let range = offset..offset + block.len;
        offset = range.end;
        (&*block.id, Part { data: blob.data.clone(), range })
    });
    parts.collect()
}

pub(super) fn get_block_list(service: &Service, call: &Call<'_>) -> Reply {
    let kind = call.query.get("blocklisttype").unwrap_or("committed").to_ascii_lowercase();
    let (committed, uncommitted) = match &*kind {
        "committed" => (true, false),
        "uncommitted" => (false, true),
        "all" => (true, true),
        _ => {
            let error = INVALID_QUERY_VALUE.detail("QueryParameterName", "blocklisttype");
            return Err(error.detail("QueryParameterValue", kind));
        }
    };
    let catalogue = service.read();
    let container = container(&catalogue, call.container())?;
    let blob = container.blobs.get(call.key().blob);
    let staged = container.staged.get(call.key().blob);
    if blob.is_none() && staged.is_none() {
        return Err((&BLOB_NOT_FOUND).into());
    }
    if let Some(blob) = blob {
        check_is_block_blob(Some(blob))?;
        Conditions::of(call)?.check_read(blob)?;
    }
    let mut text = format!("{DECLARATION}<BlockList>");
    if committed {
        let blocks = blob.iter().flat_map(|blob| &blob.blocks).map(|block| (&*block.id, block.len));
        push_blocks(&mut text, "CommittedBlocks", blocks);
    }
    if uncommitted {
        let blocks = staged.iter().flat_map(|staged| &staged.blocks).map(|(id, block)| (&**id, block.len));
        push_blocks(&mut text, "UncommittedBlocks", blocks);
    }
    text.push_str("</BlockList>");
    let mut response = xml(text);
    if let Some(blob) = blob {
        set_version(response.headers_mut(), blob.etag, blob.modified);
        set(response.headers_mut(), "x-ms-blob-content-length", &blob.size.to_string());
    }
    Ok(response)
}

fn push_blocks<'a>(text: &mut String, element: &str, blocks: impl Iterator<Item = (&'a str, u64)>) {
    // Writing to a String cannot fail.
    let _ = write!(text, "<{element}>");
    for (id, len) in blocks {
        let _ = write!(text, "<Block><Name>{}</Name><Size>{len}</Size></Block>", Escaped(id));
    }
    let _ = write!(text, "</{element}>");
}
