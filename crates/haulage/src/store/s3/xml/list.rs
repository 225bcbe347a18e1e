//! Lists: objects, buckets, uploads, parts.

use super::{TEXT_MAX, decoded, is_id, time_ns};
use crate::checksum::Crc64;
use crate::store::answer::{Broken, Step, Text, opaque, walk};
use crate::store::s3::address::is_bucket;
use crate::store::s3::rules;
use crate::store::{ListPage, ObjectMeta, folder};

/// Entries of a page, of which we ask for no more than the service's 1,000. A page of short ones is small, but what is made of
/// it is not.
const ENTRIES_MAX: usize = 10_000;

/// A page of objects.
#[derive(Debug, Default)]
pub(in crate::store::s3) struct ObjectPage {
    pub(in crate::store::s3) list: ListPage,
    /// The token of the next page.
    pub(in crate::store::s3) next: Option<String>,
    /// What the page says that it was asked for.
    pub(in crate::store::s3) prefix: Option<String>,
    pub(in crate::store::s3) bucket: Option<String>,
    pub(in crate::store::s3) token: Option<String>,
}

/// How a list goes on.
#[derive(Debug, Default)]
struct Ending {
    truncated: Option<bool>,
    encoded: bool,
}

impl Ending {
    /// Takes one of the leaves that say how.
    fn take(&mut self, name: &str, text: Text<'_>) -> Result<(), Broken> {
        match name {
            "IsTruncated" if self.truncated.is_some() => return Err(misplaced()),
            "IsTruncated" => {
                self.truncated = Some(match &*text.plain()? {
                    "true" => true,
                    "false" => false,
                    _ => return Err(cut_short()),
                });
            }
            // In another one nobody could read the names.
            "EncodingType" if !matches!(text.0, "url" | "") => {
                return Err(Broken(format!("the names of the list are encoded as `{}`", text.0)));
            }
            "EncodingType" => self.encoded = text.0 == "url",
            _ => {}
        }
        Ok(())
    }

    /// The marker of the next page, which must be there exactly where more follows.
    fn next<T>(&self, marker: Option<T>) -> Result<Option<T>, Broken> {
        match (self.truncated, marker) {
            (Some(true), Some(marker)) => Ok(Some(marker)),
            (Some(false), _) => Ok(None),
            (Some(true), None) | (None, _) => Err(cut_short()),
        }
    }
}

fn misplaced() -> Broken {
    Broken("the list holds an element twice, or where it does not belong".to_owned())
}

/// Nobody knows whether more pages follow.
fn cut_short() -> Broken {
    Broken("the list is not whole: it does not say whether more follows, or where".to_owned())
}

fn count(entries: &mut usize) -> Result<(), Broken> {
    *entries += 1;
    if *entries > ENTRIES_MAX {
        return Err(Broken(format!("the page holds more than {ENTRIES_MAX} entries")));
    }
    Ok(())
}

fn size(text: Text<'_>) -> Result<u64, Broken> {
    text.plain()?.parse().map_err(|_| Broken("the list holds a size that is no number".to_owned()))
}

/// What is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    List,
    Entry,
    Folders,
}

/// Reads a page of objects.
pub(in crate::store::s3) fn objects(page: &[u8]) -> Result<ObjectPage, Broken> {
    let (mut found, mut ending, mut entries) = (ObjectPage::default(), Ending::default(), 0);
    let (mut object, mut sized) = (ObjectMeta::default(), false);
    let (mut inside, mut named) = (Inside::List, false);
    let mut dated = (String::new(), 0);
    walk(page, rules::OBJECTS, |step| {
        match (step, inside) {
            (Step::Begin("Contents", _), Inside::List) => {
                count(&mut entries)?;
                (object, sized, inside) = (ObjectMeta::default(), false, Inside::Entry);
            }
            (Step::Begin("CommonPrefixes", _), Inside::List) => (inside, named) = (Inside::Folders, false),
            (Step::Begin("Contents" | "CommonPrefixes", _), _) => return Err(misplaced()),
            (Step::Leaf("Contents" | "CommonPrefixes", ..), _) => {
                return Err(Broken("the list holds an entry without a name".to_owned()));
            }
            (Step::Leaf("Key", ..), Inside::Entry) if !object.key.is_empty() => return Err(misplaced()),
            (Step::Leaf("Key", _, text), Inside::Entry) => object.key = text.plain()?.into_owned(),
            (Step::Leaf("Size", ..), Inside::Entry) if sized => return Err(misplaced()),
            (Step::Leaf("Size", _, text), Inside::Entry) => (object.size, sized) = (size(text)?, true),
            (Step::Leaf("ETag", _, text), Inside::Entry) => {
                let text = text.plain()?;
                let (etag, weak) = opaque(&text);
                (object.etag, object.weak) = (etag.to_owned(), weak);
            }
            (Step::Leaf("LastModified", _, text), Inside::Entry) => {
                // Objects written one after the other often share the second.
                if dated.0 != text.0 {
                    dated = (text.0.to_owned(), time_ns(text.0).unwrap_or_default());
                }
                object.modified_ns = dated.1;
            }
            (Step::Leaf("Prefix", _, text), Inside::Folders) => {
                count(&mut entries)?;
                named = true;
                found.list.prefixes.push(text.plain()?.into_owned());
            }
            (Step::Leaf("Prefix", _, text), Inside::List) => found.prefix = Some(text.plain()?.into_owned()),
            (Step::Leaf("Name", _, text), Inside::List) => found.bucket = Some(text.plain()?.into_owned()),
            (Step::Leaf("ContinuationToken", _, text), Inside::List) => {
                found.token = Some(text.plain()?.into_owned());
            }
            (Step::Leaf("NextContinuationToken", ..), Inside::List) if found.next.is_some() => {
                return Err(misplaced());
            }
            (Step::Leaf("NextContinuationToken", _, text), Inside::List) => {
                found.next = Some(text.plain()?.into_owned()).filter(|token| !token.is_empty());
            }
            (Step::Leaf(name, _, text), Inside::List) => ending.take(name, text)?,
            (Step::End("Contents"), Inside::Entry) => {
                inside = Inside::List;
                // Taken for 0 a size that is missing would pass for an empty object.
                if !sized || object.etag.is_empty() {
                    let missing = if sized { "version (ETag)" } else { "size" };
                    return Err(Broken(format!("the list holds an object without a {missing}")));
                }
                found.list.objects.push(std::mem::take(&mut object));
            }
            (Step::End("CommonPrefixes"), Inside::Folders) if !named => {
                return Err(Broken("the list holds a folder without a name".to_owned()));
            }
            (Step::End("CommonPrefixes"), Inside::Folders) => inside = Inside::List,
            (Step::Leaf(..) | Step::Begin(..) | Step::End(..), _) => {}
        }
        Ok(())
    })?;
    found.next = ending.next(found.next)?;
    if ending.encoded {
        let ListPage { objects, prefixes, .. } = &mut found.list;
        for name in objects.iter_mut().map(|object| &mut object.key).chain(prefixes).chain(&mut found.prefix)
        {
            *name = decoded(std::mem::take(name))?;
        }
    }
    folder::part(&mut found.list);
    Ok(found)
}

/// Reads a page of buckets: their names, and the token of the next page.
pub(in crate::store::s3) fn buckets(page: &[u8]) -> Result<(Vec<String>, Option<String>), Broken> {
    let (mut names, mut next, mut entries, mut inside, mut whole) = (Vec::new(), None, 0, false, false);
    walk(page, rules::BUCKETS, |step| {
        match step {
            Step::Begin("Bucket", _) => inside = true,
            Step::End("Bucket") => inside = false,
            Step::Leaf("Name", _, text) if inside => {
                let name = text.plain()?;
                if !is_bucket(&name) {
                    return Err(Broken(format!("the list holds `{name}`, which is no bucket name")));
                }
                count(&mut entries)?;
                names.push(name.into_owned());
            }
            Step::Leaf("ContinuationToken", _, text) => {
                next = Some(text.plain()?.into_owned()).filter(|token| !token.is_empty());
            }
            Step::Leaf("Buckets", ..) | Step::End("Buckets") => whole = true,
            Step::Leaf(..) | Step::Begin(..) | Step::End(..) => {}
        }
        Ok(())
    })?;
    if whole { Ok((names, next)) } else { Err(Broken("the list of buckets is not whole".to_owned())) }
}

/// An upload that is neither finished nor removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::store::s3) struct Upload {
    pub(in crate::store::s3) key: String,
    pub(in crate::store::s3) id: String,
    /// When it began, in nanoseconds since 1970; 0 where nobody says.
    pub(in crate::store::s3) begun_ns: i128,
}

/// A page of uploads.
#[derive(Debug, Default)]
pub(in crate::store::s3) struct UploadPage {
    pub(in crate::store::s3) uploads: Vec<Upload>,
    /// Key and id after which the next page begins.
    pub(in crate::store::s3) next: Option<(String, String)>,
}

/// Reads a page of uploads.
pub(in crate::store::s3) fn uploads(page: &[u8]) -> Result<UploadPage, Broken> {
    let (mut found, mut ending, mut entries) = (UploadPage::default(), Ending::default(), 0);
    let (mut upload, mut inside) = (Upload::default(), Inside::List);
    let (mut next_key, mut next_id) = (None, String::new());
    walk(page, rules::UPLOADS, |step| {
        match (step, inside) {
            (Step::Begin("Upload", _), Inside::List) => {
                count(&mut entries)?;
                (upload, inside) = (Upload::default(), Inside::Entry);
            }
            (Step::Begin("Upload", _), _) => return Err(misplaced()),
            (Step::Leaf("Key", _, text), Inside::Entry) => upload.key = text.plain()?.into_owned(),
            (Step::Leaf("UploadId", _, text), Inside::Entry) => upload.id = text.plain()?.into_owned(),
            (Step::Leaf("Initiated", _, text), Inside::Entry) => {
                upload.begun_ns = time_ns(text.0).unwrap_or_default();
            }
            (Step::End("Upload"), Inside::Entry) => {
                inside = Inside::List;
                if upload.key.is_empty() || !is_id(&upload.id) {
                    return Err(Broken("the list holds an upload without name or id".to_owned()));
                }
                found.uploads.push(std::mem::take(&mut upload));
            }
            (Step::Leaf("NextKeyMarker", _, text), Inside::List) => {
                next_key = Some(text.plain()?.into_owned()).filter(|key| !key.is_empty());
            }
            (Step::Leaf("NextUploadIdMarker", _, text), Inside::List) => next_id = text.plain()?.into_owned(),
            (Step::Leaf(name, _, text), Inside::List) => ending.take(name, text)?,
            (Step::Leaf(..) | Step::Begin(..) | Step::End(..), _) => {}
        }
        Ok(())
    })?;
    if ending.encoded {
        next_key = next_key.map(decoded).transpose()?;
        for upload in &mut found.uploads {
            upload.key = decoded(std::mem::take(&mut upload.key))?;
        }
    }
    found.next = ending.next(next_key.map(|key| (key, next_id)))?;
    Ok(found)
}

/// A part that has arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::store::s3) struct Part {
    pub(in crate::store::s3) number: u16,
    pub(in crate::store::s3) size: u64,
    pub(in crate::store::s3) etag: String,
    pub(in crate::store::s3) crc64: Option<Crc64>,
}

/// A page of parts.
#[derive(Debug, Default)]
pub(in crate::store::s3) struct PartPage {
    pub(in crate::store::s3) parts: Vec<Part>,
    /// Number after which the next page begins.
    pub(in crate::store::s3) next: Option<u16>,
    /// What the page says that it is of.
    pub(in crate::store::s3) key: Option<String>,
    pub(in crate::store::s3) id: Option<String>,
    /// The checksum that was declared for the upload.
    pub(in crate::store::s3) algorithm: Option<String>,
}

/// Reads a page of parts.
pub(in crate::store::s3) fn parts(page: &[u8]) -> Result<PartPage, Broken> {
    let (mut found, mut ending, mut entries) = (PartPage::default(), Ending::default(), 0);
    let (mut part, mut sized, mut inside) = (Part::default(), false, Inside::List);
    let mut next = None;
    let number = |text: Text<'_>| {
        let number = text.plain()?.parse();
        number.map_err(|_| Broken("the list holds a part whose number is none".to_owned()))
    };
    walk(page, rules::PARTS, |step| {
        match (step, inside) {
            (Step::Begin("Part", _), Inside::List) => {
                count(&mut entries)?;
                (part, sized, inside) = (Part::default(), false, Inside::Entry);
            }
            (Step::Begin("Part", _), _) => return Err(misplaced()),
            (Step::Leaf("PartNumber", _, text), Inside::Entry) => part.number = number(text)?,
            (Step::Leaf("Size", _, text), Inside::Entry) => (part.size, sized) = (size(text)?, true),
            (Step::Leaf("ETag", _, text), Inside::Entry) => {
                part.etag = opaque(&text.plain()?).0.to_owned();
            }
            (Step::Leaf("ChecksumCRC64NVME", _, text), Inside::Entry) => {
                part.crc64 = Crc64::from_s3(&text.plain()?);
            }
            (Step::End("Part"), Inside::Entry) => {
                inside = Inside::List;
                let follows = found.parts.last().is_none_or(|last| last.number < part.number);
                let whole = sized && part.number > 0 && (1..=TEXT_MAX).contains(&part.etag.len());
                if !whole || !follows {
                    return Err(Broken("the list holds a part twice, or half".to_owned()));
                }
                found.parts.push(std::mem::take(&mut part));
            }
            (Step::Leaf("Key", _, text), Inside::List) => found.key = Some(text.plain()?.into_owned()),
            (Step::Leaf("UploadId", _, text), Inside::List) => found.id = Some(text.plain()?.into_owned()),
            (Step::Leaf("ChecksumAlgorithm", _, text), Inside::List) => {
                found.algorithm = Some(text.plain()?.into_owned());
            }
            // Of the last page some services say 0 or nothing.
            (Step::Leaf("NextPartNumberMarker", _, text), Inside::List) if text.0.is_empty() => {}
            (Step::Leaf("NextPartNumberMarker", _, text), Inside::List) => next = Some(number(text)?),
            (Step::Leaf(name, _, text), Inside::List) => ending.take(name, text)?,
            (Step::Leaf(..) | Step::Begin(..) | Step::End(..), _) => {}
        }
        Ok(())
    })?;
    found.next = ending.next(next)?;
    Ok(found)
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
