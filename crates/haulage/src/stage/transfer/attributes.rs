//! What is stored with an object besides its bytes.

use std::sync::Arc;

use super::attempt::Task;
use crate::checksum::{Crc64, Md5};
use crate::error::{ErrorKind, Result};
use crate::options::{Overwrite, TierChoice};
use crate::stage::plan::Existing;
use crate::store::{
    Attributes, ObjectMeta, Posix, Precondition, Properties, PutOptions, Tags, Trace, travels,
};

pub(super) fn put_options(
    task: &Task,
    meta: &ObjectMeta,
    crc64: Option<Crc64>,
    md5: Option<Md5>,
) -> PutOptions {
    PutOptions {
        attributes: attributes(task, meta, crc64, md5),
        precondition: precondition(task.options.overwrite, task.moves, task.backs_up, &task.pair.existing),
        checksum: task.options.checksum,
        without_tags: !task.options.tags,
        like: task.pair.source.store.path(&task.pair.source.key),
        ..PutOptions::default()
    }
}

/// What must still be there when the object is written. Pure.
fn precondition(overwrite: Overwrite, moves: bool, backs_up: bool, existing: &Existing) -> Precondition {
    // Who moves to this name too, or from it, may count on what is there; and nothing goes that was not backed up.
    let only_seen = backs_up || (moves && overwrite == Overwrite::IfDifferent);
    match (overwrite, existing) {
        (Overwrite::Never, _) => Precondition::IfAbsent,
        (_, Existing::Absent) if only_seen => Precondition::IfAbsent,
        (_, Existing::Present(there) | Existing::Listed(there)) if only_seen => {
            Precondition::IfMatch(there.etag.clone())
        }
        (Overwrite::IfDifferent | Overwrite::Always, _) => Precondition::None,
    }
}

/// What to store with the object: `meta` is all that is known of the source.
pub(super) fn attributes(
    task: &Task,
    meta: &ObjectMeta,
    crc64: Option<Crc64>,
    md5: Option<Md5>,
) -> Attributes {
    let planned = &task.pair.meta;
    let told_ns = planned.source_modified_ns.or(meta.source_modified_ns);
    let modified_ns = told_ns.or(planned.time_ns()).unwrap_or(planned.modified_ns);
    // A stream has no time.
    let dated = !task.pair.source.store.capabilities().in_order;
    let keeps_properties = task.pair.destination.store.capabilities().keeps_properties;
    let posix = posix(task, meta, keeps_properties);
    Attributes {
        crc64,
        md5: md5.or(meta.md5),
        source_modified_ns: dated.then_some(modified_ns),
        content_type: meta.content_type.clone(),
        properties: if keeps_properties { properties(task, meta, posix) } else { None },
        posix,
        permissions: task.pair.meta.posix.or(meta.posix).and_then(|posix| posix.mode),
    }
}

/// What is kept of a file. From one store of objects to another it goes along as the metadata that it is.
fn posix(task: &Task, meta: &ObjectMeta, keeps_properties: bool) -> Option<Posix> {
    let preserve = task.options.preserve;
    let known = match (task.pair.meta.posix.or(meta.posix), &meta.properties) {
        _ if !preserve.any() => return None,
        (Some(of_file), _) => of_file,
        (None, Some(told)) if !keeps_properties => Posix::told(&told.metadata, &mut Vec::new()),
        (None, _) => return None,
    };
    known.only(preserve)
}

/// What of the source a file does not get, because it has no place for it or because it cannot be meant; in words. Whoever copies to
/// a stream wants the bytes.
pub(super) fn left_behind(task: &Task, meta: &ObjectMeta) -> Option<String> {
    let to = task.pair.destination.store.capabilities();
    let told = meta.properties.as_ref().filter(|_| !to.keeps_properties && !to.in_order)?;
    let mut odd = Vec::new();
    if task.options.preserve.any() {
        Posix::told(&told.metadata, &mut odd);
    }
    if !odd.is_empty() {
        return Some(format!("not restored: metadata that is none of a file ({})", odd.join(", ")));
    }
    let lost = told.of_no_file();
    (!lost.is_empty()).then(|| format!("not kept, for a file has no place for it: {}", lost.join(", ")))
}

/// Headers, metadata, tags and the tier, as the user wants them.
fn properties(task: &Task, meta: &ObjectMeta, posix: Option<Posix>) -> Option<Arc<Properties>> {
    let told = meta.properties.as_ref();
    let tier = match &task.options.tier {
        TierChoice::Auto => told.and_then(|told| told.tier.clone()).filter(|tier| travels(tier)),
        TierChoice::Default => None,
        TierChoice::Named(tier) => Some(tier.clone()),
    };
    let tags = match told.map(|told| &told.tags) {
        Some(Tags::Known(tags)) if task.options.tags => Tags::Known(tags.clone()),
        _ => Tags::None,
    };
    // Most have nothing that is not to go along as it is.
    if let Some(told) = told
        && (posix, &tier, &tags) == (None, &told.tier, &told.tags)
    {
        return meta.properties.clone();
    }
    let mut properties = told.map(|told| Properties::clone(told)).unwrap_or_default();
    (properties.tier, properties.tags) = (tier, tags);
    for (name, text) in posix.into_iter().flat_map(Posix::as_rclone) {
        properties.metadata.retain(|(other, _)| other != name);
        properties.metadata.push((name.to_owned(), text));
    }
    properties.kept()
}

/// `meta` with its tags, if the destination keeps them and the source has some; `None` where nothing is added to it.
///
/// # Errors
/// Where there are tags, and they may not be read.
pub(super) async fn with_tags(task: &Task, meta: &ObjectMeta, trace: &Trace) -> Result<Option<ObjectMeta>> {
    let (source, destination) = (&task.pair.source, &task.pair.destination);
    let Some(told) = meta.properties.as_ref().filter(|_| task.options.tags) else { return Ok(None) };
    if !matches!(told.tags, Tags::Unread | Tags::Unknown)
        || !destination.store.capabilities().keeps_properties
    {
        return Ok(None);
    }
    let tags = match source.store.tags(&source.key, trace).await {
        // There may be none: then nobody is refused anything.
        Err(error) if told.tags == Tags::Unknown && is_refusal(error.kind()) => Vec::new(),
        Err(error) if error.kind() == ErrorKind::Permission => {
            return Err(error.hint("you may not read its tags; use --no-tags to copy without them"));
        }
        other => other?,
    };
    let tags = if tags.is_empty() { Tags::None } else { Tags::Known(tags) };
    let properties = Properties { tags, ..Properties::clone(told) }.kept();
    Ok(Some(ObjectMeta { properties, ..meta.clone() }))
}

fn is_refusal(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Permission | ErrorKind::Unsupported | ErrorKind::Service | ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_and_what_is_backed_up_replace_only_what_was_seen() {
        let there = || Box::new(ObjectMeta { etag: "\"1\"".to_owned(), ..ObjectMeta::default() });
        let (absent, seen) = (Existing::Absent, Existing::Listed(there()));
        let same = Precondition::IfMatch("\"1\"".to_owned());
        for (moves, backs_up, overwrite) in [
            (true, false, Overwrite::IfDifferent),
            (false, true, Overwrite::IfDifferent),
            (false, true, Overwrite::Always),
        ] {
            assert_eq!(precondition(overwrite, moves, backs_up, &absent), Precondition::IfAbsent);
            assert_eq!(precondition(overwrite, moves, backs_up, &seen), same);
        }
        assert_eq!(precondition(Overwrite::IfDifferent, false, false, &seen), Precondition::None);
        assert_eq!(precondition(Overwrite::Always, true, false, &seen), Precondition::None);
        assert_eq!(precondition(Overwrite::Never, false, true, &seen), Precondition::IfAbsent);
    }
}
