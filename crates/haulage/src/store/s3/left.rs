//! The upload that an earlier run has left of an object.

use super::body::Digest;
use super::parts::Layout;
use super::upload::{self, Begun, Listed};
use super::{S3Store, xml};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{Joining, PutOptions, Trace};

/// Uploads of one object that are looked at for one to go on with, the one that began last first.
const LOOKED_AT: usize = 4;

/// How far a service's clock may be behind the one that dated the source, in nanoseconds.
const SKEW_NS: i128 = 300_000_000_000;

/// An upload that an earlier run has left.
pub(super) struct Left {
    pub(super) begun: Begun,
    pub(super) layout: Layout,
    pub(super) parts: Vec<xml::Part>,
}

/// The upload of this object that an earlier run has left, and its parts. Nothing but its parts tells whether it can be gone on
/// with: their sizes and the checksum that they have.
pub(super) async fn find(
    store: &S3Store,
    key: &str,
    size: u64,
    options: &PutOptions,
    trace: &Trace,
) -> Result<Option<Left>> {
    // Who may write but not list begins anew, and so does everybody where the service has no such list.
    let may_not = |error: &Error| {
        error.kind() == ErrorKind::Permission || matches!(error.status(), Some(400 | 405 | 501))
    };
    let uploads = match upload::of_object(store, key, trace).await {
        Err(error) if may_not(&error) => return Ok(None),
        other => other?,
    };
    let changed_ns = options.attributes.source_modified_ns.unwrap_or(i128::MIN);
    // What began before the source was changed is of an older one.
    let fresh = uploads.into_iter().filter(|one| one.begun_ns + SKEW_NS >= changed_ns);
    let wanted = Layout::new(Some(size), options.blocks.wanted);
    // One that has no parts yet is gone on with where none has.
    let mut blank = None;
    for one in fresh.take(LOOKED_AT) {
        let Listed { parts, algorithm } = match upload::parts(store, key, &one.id, trace).await {
            Err(error) if may_not(&error) => return Ok(None),
            other => match other? {
                Some(found) => found,
                None => continue,
            },
        };
        // Declared as we would declare it, or not at all by a service that has no such thing.
        let declared = match algorithm.as_deref() {
            Some(name) => match upload::declared(store, options.checksum) {
                Some(digest) if digest.is_called(name) => Some(digest),
                _ => continue,
            },
            None => None,
        };
        let numbers: Vec<_> = parts.iter().map(|part| (part.number, part.size)).collect();
        let layout = match numbers.is_empty() {
            true => Some(wanted),
            false => chosen(&Layout::of_parts(size, &numbers, options.blocks.most), &parts, options).await?,
        };
        // A part without the checksum that was declared could not be named in the end.
        let whole = declared != Some(Digest::Crc64) || parts.iter().all(|part| part.crc64.is_some());
        // Several who go on with one have settled the size of its parts.
        let fits = |layout: &Layout| options.joining == Joining::Alone || layout.cuts_as(&wanted);
        if let Some(layout) = layout.filter(|layout| whole && fits(layout)) {
            let left = Left { begun: Begun { id: one.id, declared }, layout, parts };
            if !left.parts.is_empty() {
                return Ok(Some(left));
            }
            blank.get_or_insert(left);
        }
    }
    Ok(blank)
}

/// Of several layouts the one by which the part that is there holds what the source does; the first where nobody can tell.
async fn chosen(
    layouts: &[Layout],
    parts: &[xml::Part],
    PutOptions { source, .. }: &PutOptions,
) -> Result<Option<Layout>> {
    let Some(((likely, others), part)) = layouts.split_first().zip(parts.first()) else { return Ok(None) };
    if let Some((source, crc64)) = source.as_ref().zip(part.crc64).filter(|_| !others.is_empty()) {
        for layout in layouts {
            if let Some(range) = layout.range(part.number)
                && source.crc64_of(range).await? == crc64
            {
                return Ok(Some(*layout));
            }
        }
    }
    Ok(Some(*likely))
}
