//! An object written part by part: parts in any order, then one request that makes the object of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Mutex;

use super::body::{Digest, is_unknown_checksum};
use super::left::{self, Left};
use super::parts::{Layout, PART_MAX, RULES};
use super::upload::{self, Begun, Listed};
use super::xml::{self, PartMade};
use super::{S3Store, object};
use crate::checksum::{Checksum, ChecksumMode, Crc64, Md5};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{
    Attributes, BlockId, BlockRange, BlockWriter, CopySource, Joining, ObjectMeta, Part, Payload, Properties,
    PutOptions, PutResult, StagedPart, Stored, Token, Trace, join_parts,
};

/// An object in the making. The service keeps its parts until it is finished or removed.
pub(super) struct S3Writer {
    store: S3Store,
    key: String,
    layout: Layout,
    options: PutOptions,
    begun: RwLock<Arc<Begun>>,
    /// Held by who begins it anew.
    renewing: Mutex<()>,
    /// Parts are there, or on their way, with which the upload would be lost.
    holds: AtomicBool,
    /// An earlier run has begun it: what is to be stored with the object is what that run said.
    resumed: bool,
    /// The parts that were there.
    staged: Vec<StagedPart>,
    /// The object is looked for under its name when it is made.
    odd: bool,
}

impl S3Writer {
    /// Goes on with the upload that an earlier run has left, if there is one that can be; else begins one.
    pub(super) async fn begin(
        store: S3Store,
        key: &str,
        size: Option<u64>,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<Self> {
        // A stream cannot be read again.
        let found = match size {
            Some(size) => left::find(&store, key, size, options, trace).await?,
            None => None,
        };
        let (key, options) = (key.to_owned(), options.clone());
        if let Some(Left { begun, layout, parts }) = found {
            let staged = parts.iter().filter_map(|part| staged(layout, part)).collect();
            return Ok(Self::made(store, key, layout, options, begun, Some(staged)));
        }
        if options.joining == Joining::Joins {
            let cause = format!("no upload of it in parts of {} bytes was begun", options.blocks.wanted);
            return Err(Error::new(ErrorKind::NotFound, "go on with", store.display(&key), cause).hint(
                "begin it once, with a stretch of no bytes and this block size, then stage stretches of it",
            ));
        }
        let layout = Layout::new(size, options.blocks.wanted);
        let begun = upload::create(&store, &key, &options, trace).await?;
        Ok(Self::made(store, key, layout, options, begun, None))
    }

    /// Begins an upload, whatever an earlier run has left.
    pub(super) async fn anew(
        store: S3Store,
        key: &str,
        size: u64,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<Self> {
        let layout = Layout::new(Some(size), options.blocks.wanted);
        let begun = upload::create(&store, key, options, trace).await?;
        Ok(Self::made(store, key.to_owned(), layout, options.clone(), begun, None))
    }

    fn made(
        store: S3Store,
        key: String,
        layout: Layout,
        options: PutOptions,
        begun: Begun,
        staged: Option<Vec<StagedPart>>,
    ) -> Self {
        let (begun, resumed) = (RwLock::new(Arc::new(begun)), staged.is_some());
        let (staged, renewing) = (staged.unwrap_or_default(), Mutex::default());
        let holds = AtomicBool::new(!staged.is_empty());
        Self { store, key, layout, options, begun, renewing, holds, resumed, staged, odd: false }
    }

    /// The same; `odd`: the service may give the object another name.
    pub(super) fn looked_for(self, odd: bool) -> Self {
        Self { odd, ..self }
    }

    /// The upload, as far as it was begun.
    fn begun(&self) -> Arc<Begun> {
        Arc::clone(&self.begun.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins the upload anew without a checksum of its parts, because the service states wrong ones of those that it copies, or
    /// copies none. One that has parts already stays: then nothing is copied into it.
    async fn renew(&self, old: &Arc<Begun>, trace: &Trace) -> Result<()> {
        self.store.service.dialect().note_copies_undeclared();
        let _renewing = self.renewing.lock().await;
        if !Arc::ptr_eq(old, &self.begun()) {
            return Ok(());
        }
        if self.holds.load(Ordering::Relaxed) {
            let cause = "the service copies no part into an upload that declared a checksum";
            return Err(self.error("copy part of", ErrorKind::Unsupported, cause));
        }
        let options = PutOptions { by_service: true, ..self.options.clone() };
        let begun = upload::create(&self.store, &self.key, &options, trace).await?;
        *self.begun.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(begun);
        // What stays is found by a list of leftovers.
        let _ = upload::abort(&self.store, &self.key, &old.id, trace).await;
        Ok(())
    }

    fn error(&self, operation: &'static str, kind: ErrorKind, cause: impl Into<String>) -> Error {
        Error::new(kind, operation, self.store.display(&self.key), cause)
    }

    /// The number of the part that is this range; an error where none is.
    fn number(&self, operation: &'static str, range: BlockRange) -> Result<u16> {
        self.layout.number(range).ok_or_else(|| {
            let BlockRange { offset, len } = range;
            let cause = match self.layout.len(offset) {
                0 => format!("byte {offset} is beyond the {} parts that an upload holds", RULES.count),
                least => format!("a part of {len} bytes at byte {offset}, where one of {least} belongs"),
            };
            self.error(operation, ErrorKind::Unsupported, cause)
        })
    }

    /// The checksum that goes with each part: what was declared must come, also where nothing else would.
    fn mode(&self) -> ChecksumMode {
        match self.options.checksum {
            ChecksumMode::None if self.begun().declared.is_some() => ChecksumMode::Crc64,
            mode => mode,
        }
    }

    /// An upload has at least one part, so an object of none is put.
    async fn put_nothing(&self, attributes: &Attributes, trace: &Trace) -> Result<PutResult> {
        let attributes = Attributes { crc64: None, ..attributes.clone() };
        let options = PutOptions { attributes, ..self.options.clone() };
        let put = object::put(&self.store, &self.key, Bytes::new().into(), &options, trace).await?;
        self.abandon().await;
        Ok(put)
    }

    /// What stands under the name, if it is what the parts come to: the answer to an earlier try got lost, or another run has
    /// written the same. The CRC64 says so, or, where the service keeps none, the ETag that it makes of those of the parts.
    async fn there(
        &self,
        parts: &[Part],
        crc64: Option<Crc64>,
        size: u64,
        trace: &Trace,
    ) -> Option<ObjectMeta> {
        let there = object::head(&self.store, &self.key, trace).await.ok()?;
        let same = match there.crc64 {
            Some(stated) => Some(stated) == crc64,
            None => {
                self.made_of(parts).ok().and_then(|made| joined_etag(&made)).as_ref() == Some(&there.etag)
            }
        };
        (there.size == size && same).then_some(there)
    }

    /// The CRC64 that is stored with this version of the object, if it has that size.
    async fn stated(&self, etag: &str, size: u64, trace: &Trace) -> Option<Crc64> {
        let there = object::head(&self.store, &self.key, trace).await.ok()?;
        there.crc64.filter(|_| there.etag == etag && there.size == size)
    }

    /// What completes the upload with these parts, in order.
    fn made_of(&self, parts: &[Part]) -> Result<Vec<PartMade>> {
        let made = parts.iter().map(|part| {
            let number = self.number("commit", part.id.range)?;
            let (checksum, etag) = part.token.as_str().split_once(' ').unwrap_or_default();
            if etag.is_empty() {
                let cause = format!("the part at byte {} has not arrived", part.id.range.offset);
                return Err(self.error("commit", ErrorKind::Service, cause));
            }
            let checksum = Some(checksum.to_owned()).filter(|text| !text.is_empty());
            Ok(PartMade { number, etag: etag.to_owned(), checksum })
        });
        made.collect()
    }

    /// Makes the object. A part that was sent twice may have arrived last as the one that was given up: it holds the same, and
    /// where the service gives each arrival another ETag, that one counts.
    async fn complete(
        &self,
        parts: &[Part],
        whole: (Option<Crc64>, u64),
        trace: &Trace,
    ) -> Result<xml::Made> {
        let Self { store, key, options, .. } = self;
        let begun = &self.begun();
        let mut made_of = self.made_of(parts)?;
        let when = &options.precondition;
        let refused = match upload::complete(store, key, begun, &made_of, whole, when, trace).await {
            Err(error) if error.service_code() == Some("InvalidPart") => error,
            other => return other,
        };
        let Some(Listed { parts: there, .. }) = upload::parts(store, key, &begun.id, trace).await? else {
            return Err(refused);
        };
        let mut changed = false;
        for (made, part) in made_of.iter_mut().zip(parts) {
            let same = |one: &&xml::Part| {
                let same = one.crc64 == Some(part.id.crc64) && !part.unstated;
                one.number == made.number && one.size == part.id.range.len && same
            };
            let Some(there) = there.iter().find(same) else { return Err(refused) };
            changed |= made.etag != there.etag;
            made.etag.clone_from(&there.etag);
        }
        match changed {
            true => upload::complete(store, key, begun, &made_of, whole, when, trace).await,
            false => Err(refused),
        }
    }

    /// Makes the object of its parts.
    async fn join(&self, parts: &[Part], attributes: &Attributes, trace: &Trace) -> Result<PutResult> {
        let integrity = |cause: String| self.error("commit", ErrorKind::Integrity, cause);
        // A wrong list must be caught here, before it has the name: the service looks at each part, and at the whole only
        // if it knows this checksum.
        let (joined, size) = join_parts(parts)
            .map_err(|(end, next)| integrity(format!("the part at byte {next} should begin at {end}")))?;
        if let Layout::Sized { size: expected, .. } = self.layout
            && size != expected
        {
            return Err(integrity(format!("the parts hold {size} bytes of {expected}")));
        }
        // Of parts that the service made and said nothing of only the source tells what they should come to.
        let crc64 = joined.or(attributes.crc64);
        if attributes.crc64.is_some_and(|expected| Some(expected) != crc64) {
            return Err(integrity("the parts together do not fit the CRC64 of the whole".to_owned()));
        }
        if parts.is_empty() {
            return self.put_nothing(attributes, trace).await;
        }
        let put = match self.complete(parts, (crc64, size), trace).await {
            Ok(made) if made.crc64.zip(crc64).is_some_and(|(stated, ours)| stated != ours) => {
                return Err(integrity(
                    "the service made another object of the parts than we sent".to_owned(),
                ));
            }
            Ok(made) => {
                // Not every service says in this answer what it has compared.
                let declared = self.begun().declared == Some(Digest::Crc64);
                let asks = made.crc64.is_none() && (declared || joined.is_none());
                let stated = match asks {
                    true => self.stated(&made.etag, size, trace).await,
                    false => made.crc64,
                };
                let confirmed = stated.is_some() && (joined.is_none() || stated == crc64);
                // What nobody has computed is only what the service says.
                PutResult { etag: made.etag, crc64: joined.or(stated), md5: None, confirmed, not_kept: None }
            }
            Err(error) if error.service_code() == Some("NoSuchUpload") => {
                let there = self.there(parts, crc64, size, trace).await.ok_or(error)?;
                let confirmed = there.crc64.is_some();
                PutResult { etag: there.etag, crc64, md5: there.md5, confirmed, not_kept: None }
            }
            Err(error) => return Err(error),
        };
        let wanted = Attributes {
            crc64,
            content_type: self.options.attributes.content_type.clone(),
            ..attributes.clone()
        };
        self.amend(put, &wanted, size, trace).await
    }

    /// Stores what could not be said when the upload began, where a copy of the object onto itself can.
    async fn amend(
        &self,
        put: PutResult,
        wanted: &Attributes,
        size: u64,
        trace: &Trace,
    ) -> Result<PutResult> {
        let known = &self.options.attributes;
        let has_new = wanted.md5.is_some() && wanted.md5 != known.md5;
        if (!self.resumed && !has_new) || size > PART_MAX {
            return Ok(PutResult { md5: known.md5.filter(|_| !self.resumed), ..put });
        }
        if !has_new {
            // Who may write but not read leaves it as it is: the object is there and whole.
            let Ok(there) = object::head(&self.store, &self.key, trace).await else { return Ok(put) };
            let same_time = there.source_modified_ns == wanted.source_modified_ns;
            let (there_is, wanted_is) = (there.properties.as_deref(), wanted.properties.as_deref());
            let same = Properties::same_but_for_tags(there_is, wanted_is);
            if same_time && there.md5 == wanted.md5 && same {
                return Ok(PutResult { md5: there.md5, ..put });
            }
        }
        let source = (&self.store, self.key.as_str(), Some(put.etag.as_str()));
        let mode = self.options.checksum;
        match object::copy(source, &self.store, &self.key, (Some(wanted), false), mode, trace).await {
            Ok(copied) if copied.crc64.zip(put.crc64).is_some_and(|(now, then)| now != then) => Err(self
                .error(
                    "commit",
                    ErrorKind::Integrity,
                    "the service made another object of it than was there",
                )),
            Ok(copied) => Ok(PutResult { etag: copied.etag, md5: wanted.md5, ..put }),
            Err(_) => Ok(put),
        }
    }
}

/// The ETag of an object that a service has made of these parts, as most make it: the MD5 of theirs, and how many there are. It is
/// compared with what the service says of this object, and taken for nothing else.
fn joined_etag(made: &[PartMade]) -> Option<String> {
    let mut digests = Vec::with_capacity(16 * made.len());
    for part in made {
        let digest = Md5::from_hex(&part.etag)?;
        digests.extend_from_slice(&digest.to_bytes());
    }
    Some(format!("{}-{}", Md5::of(&digests), made.len()))
}

/// Whether a service answers so to the copy of a part into an upload that declared a checksum, which such a copy cannot bring.
fn wants_checksum(error: &Error) -> bool {
    error.status() == Some(400) && is_unknown_checksum(error)
}

/// A part as a later run may go on from it.
fn staged(layout: Layout, part: &xml::Part) -> Option<StagedPart> {
    let range = layout.range(part.number)?;
    let checksum = part.crc64.map(Checksum::Crc64);
    let token = token(part.crc64.map(Crc64::to_s3).as_deref(), &part.etag);
    Some(StagedPart { range, checksum, token })
}

/// What names a part when the object is made: its checksum, if one was declared, and its ETag, which only the service compares.
fn token(checksum: Option<&str>, etag: &str) -> Token {
    Token::from(format!("{} {etag}", checksum.unwrap_or_default()).as_str())
}

#[async_trait]
impl BlockWriter for S3Writer {
    async fn put_block(&self, range: BlockRange, payload: Payload, trace: &Trace) -> Result<Stored> {
        let number = self.number("write part of", range)?;
        let (bytes, crc64) = payload.collect_hashed().await?;
        if bytes.len() as u64 != range.len {
            let cause = format!("a part of {} bytes holds {}", range.len, bytes.len());
            return Err(self.error("write part of", ErrorKind::SourceChanged, cause));
        }
        let body = (bytes, crc64);
        self.holds.store(true, Ordering::Relaxed);
        let sent =
            upload::send(&self.store, &self.key, &self.begun(), number, body, self.mode(), trace).await?;
        let token = token(sent.checksum.as_deref(), &sent.etag);
        let part = Part { id: BlockId { range, crc64 }, token, unstated: false };
        Ok(Stored { part, confirmed: sent.confirmed })
    }

    async fn copy_block(&self, range: BlockRange, from: &CopySource<'_>, trace: &Trace) -> Result<Stored> {
        let number = self.number("copy part of", range)?;
        let (store, key) = (&self.store, &self.key);
        let source = super::source(from)?;
        let (begun, made) = loop {
            let begun = self.begun();
            let made = match upload::copy(source, range, store, key, &begun.id, number, trace).await {
                Err(error) if begun.declared.is_some() && wants_checksum(&error) => {
                    self.renew(&begun, trace).await?;
                    continue;
                }
                made => made?,
            };
            // Some services give each part the checksum of the whole source.
            let of_whole = made.crc64.is_some() && made.crc64 == from.crc64 && range.len < from.size;
            if (!of_whole || begun.declared.is_none()) && Arc::ptr_eq(&begun, &self.begun()) {
                break (begun, xml::Made { crc64: made.crc64.filter(|_| !of_whole), ..made });
            }
            self.renew(&begun, trace).await?;
        };
        self.holds.store(true, Ordering::Relaxed);
        let declared = made.crc64.filter(|_| begun.declared == Some(Digest::Crc64));
        let token = token(declared.map(Crc64::to_s3).as_deref(), &made.etag);
        let part = match made.crc64 {
            Some(crc64) => Part { id: BlockId { range, crc64 }, token, unstated: false },
            None => Part::unstated(range, token),
        };
        Ok(Stored { part, confirmed: made.crc64.is_some() })
    }

    fn block_len(&self, offset: u64) -> Option<u64> {
        Some(self.layout.len(offset)).filter(|len| *len > 0)
    }

    async fn staged(&self, _trace: &Trace) -> Result<Vec<StagedPart>> {
        Ok(self.staged.clone())
    }

    async fn commit(&self, parts: &[Part], attributes: &Attributes, trace: &Trace) -> Result<PutResult> {
        let put = self.join(parts, attributes, trace).await?;
        if self.odd {
            self.store.after_odd(&self.key, trace).await?;
        }
        Ok(put)
    }

    async fn abandon(&self) {
        // What stays is found by a list of leftovers.
        let _ = upload::abort(&self.store, &self.key, &self.begun().id, &Trace::detached()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_in_parts_has_the_etag_that_services_give_it() {
        let made = |etag: &str| PartMade { number: 1, etag: etag.to_owned(), checksum: None };
        // Two parts that each hold "123456789".
        let parts = ["25f9e794323b453885f5181f1b624d0b"; 2].map(made);
        assert_eq!(joined_etag(&parts).as_deref(), Some("4f2908c19b573e50b194e208c928de17-2"));
        assert_eq!(joined_etag(&[made("not an md5")]), None, "encrypted objects have others");
    }
}
