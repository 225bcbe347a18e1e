//! Objects in this process's memory: the simplest store that keeps every promise of the seam.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;

use super::*;
use crate::error::{ErrorKind, Retry};

/// Names in a page.
const PAGE: usize = 5000;

/// One of the process's memory stores.
#[derive(Clone)]
pub struct MemoryStore {
    name: String,
    objects: Arc<Mutex<Objects>>,
}

#[derive(Default)]
struct Objects {
    exists: bool,
    by_key: BTreeMap<String, (ObjectMeta, Bytes)>,
    versions: u64,
}

impl MemoryStore {
    /// The memory store of this name: the same one for every caller in the process.
    pub fn named(name: &str) -> Self {
        static STORES: OnceLock<Mutex<HashMap<String, MemoryStore>>> = OnceLock::new();
        let mut stores = STORES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Self { name: name.to_owned(), objects: Arc::default() };
        stores.entry(name.to_owned()).or_insert_with(fresh).clone()
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, operation: &'static str, key: &str) -> Result<(ObjectMeta, Bytes)> {
        let found = self.lock().by_key.get(key).cloned();
        found.ok_or_else(|| Error::new(ErrorKind::NotFound, operation, self.name(key), "no such object"))
    }

    fn store(
        &self,
        key: &str,
        bytes: Bytes,
        attributes: &Attributes,
        when: &Precondition,
    ) -> Result<PutResult> {
        let crc64 = Crc64::of(&bytes);
        let wrong = attributes.crc64.is_some_and(|wanted| wanted != crc64)
            || attributes.md5.is_some_and(|wanted| wanted != Md5::of(&bytes));
        if wrong {
            return Err(Error::new(ErrorKind::Integrity, "write", self.name(key), "the checksum differs")
                .retry(Retry::Backoff));
        }
        let mut objects = self.lock();
        let there = objects.by_key.get(key).map(|(meta, _)| meta.etag.clone());
        let refused = match when {
            Precondition::None => false,
            Precondition::IfAbsent => there.is_some(),
            Precondition::IfMatch(etag) => there.as_ref() != Some(etag),
        };
        if refused {
            return Err(Error::new(
                ErrorKind::Exists,
                "write",
                self.name(key),
                "the object is there already",
            ));
        }
        objects.exists = true;
        objects.versions += 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let meta = ObjectMeta {
            key: key.to_owned(),
            size: bytes.len() as u64,
            etag: format!("\"{:x}\"", objects.versions),
            weak: false,
            modified_ns: now.as_nanos() as i128,
            source_modified_ns: attributes.source_modified_ns,
            crc64: Some(crc64),
            md5: attributes.md5,
            content_type: attributes.content_type.clone(),
            properties: attributes.properties.clone(),
            posix: attributes.posix,
        };
        let etag = meta.etag.clone();
        objects.by_key.insert(key.to_owned(), (meta, bytes));
        Ok(PutResult { etag, crc64: Some(crc64), md5: attributes.md5, confirmed: true, not_kept: None })
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryStore({}, {} objects)", self.name, self.lock().by_key.len())
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            put_max: u64::MAX,
            cut: CutRules::ANY,
            range_checksum_max: u64::MAX,
            streams: false,
            at_hand: true,
            keeps_checksums: false,
            folders: true,
            rechecks: false,
            late_writes: false,
            begins_freely: false,
            lists_all: true,
            time_step_ns: 1,
            in_order: false,
            keeps_properties: true,
            versions: Versions { conditions: true, unique: true },
            contents: true,
        }
    }

    fn name(&self, key: &str) -> String {
        format!("mem://{}/{key}", self.name)
    }

    fn list(&self, request: ListRequest) -> Box<dyn Lister> {
        Box::new(MemoryLister { store: self.clone(), request, after: None })
    }

    async fn head(&self, key: &str, _trace: &Trace) -> Result<ObjectMeta> {
        Ok(self.find("stat", key)?.0)
    }

    async fn get(&self, key: &str, options: &GetOptions, trace: &Trace) -> Result<GetResult> {
        let (meta, bytes) = self.find("read", key)?;
        if options.if_match.as_ref().is_some_and(|version| !version.may_be(&meta)) {
            return Err(Error::new(
                ErrorKind::SourceChanged,
                "read",
                self.name(key),
                "the object has changed",
            ));
        }
        let range = options.range_of(meta.size).unwrap_or(BlockRange { offset: 0, len: meta.size });
        if range.end() > meta.size {
            return Err(Error::new(
                ErrorKind::SourceChanged,
                "read",
                self.name(key),
                "the object is shorter",
            ));
        }
        let bytes = bytes.slice(range.offset as usize..range.end() as usize);
        let crc64 = options.range_checksum.then(|| Crc64::of(&bytes));
        trace.mark(Phase::Ready);
        Ok(GetResult { meta, payload: bytes.into(), crc64, md5: None })
    }

    async fn put(
        &self,
        key: &str,
        payload: Payload,
        options: &PutOptions,
        trace: &Trace,
    ) -> Result<PutResult> {
        // A copy, because a pooled buffer that stays here would never go back to its pool.
        let bytes = Bytes::copy_from_slice(&payload.collect().await?);
        let result = self.store(key, bytes, &options.attributes, &options.precondition)?;
        trace.mark(Phase::Committed);
        Ok(result)
    }

    async fn begin(
        &self,
        key: &str,
        _size: Option<u64>,
        options: &PutOptions,
        _trace: &Trace,
    ) -> Result<Arc<dyn BlockWriter>> {
        Ok(Arc::new(MemoryWriter {
            store: self.clone(),
            key: key.to_owned(),
            precondition: options.precondition.clone(),
            blocks: Mutex::default(),
        }))
    }

    async fn delete(&self, key: &str, _trace: &Trace) -> Result<()> {
        self.find("delete", key)?;
        self.lock().by_key.remove(key);
        Ok(())
    }

    async fn claim(&self, key: &str, etag: &str, _trace: &Trace) -> Result<String> {
        let mut objects = self.lock();
        objects.versions += 1;
        let claimed = format!("\"{:x}\"", objects.versions);
        match objects.by_key.get_mut(key) {
            Some((meta, _)) if meta.etag == etag => {
                meta.etag.clone_from(&claimed);
                Ok(claimed)
            }
            _ => Err(changed_since(self.name(key))),
        }
    }

    async fn remove_leftover(&self, _key: &str, _trace: &Trace) -> Result<bool> {
        // Blocks go with their writer.
        Ok(false)
    }

    async fn create_container(&self, _trace: &Trace) -> Result<()> {
        if std::mem::replace(&mut self.lock().exists, true) {
            return Err(Error::new(ErrorKind::Exists, "create", self.name(""), "it is there already"));
        }
        Ok(())
    }

    async fn delete_container(&self, _trace: &Trace) -> Result<()> {
        let mut objects = self.lock();
        if !objects.exists {
            return Err(Error::new(ErrorKind::NotFound, "delete", self.name(""), "no such container"));
        }
        *objects = Objects::default();
        Ok(())
    }
}

struct MemoryLister {
    store: MemoryStore,
    request: ListRequest,
    /// The last key given.
    after: Option<String>,
}

#[async_trait]
impl Lister for MemoryLister {
    async fn next_page(&mut self, _trace: &Trace) -> Result<Option<ListPage>> {
        if self.request.leftovers {
            // Blocks go with their writer.
            return Ok(None);
        }
        let prefix = &self.request.prefix;
        let from = match &self.after {
            Some(key) => Bound::Excluded(key.clone()),
            None => Bound::Included(prefix.clone()),
        };
        let objects = self.store.lock();
        let mut page = ListPage::default();
        for (key, (meta, _)) in objects.by_key.range((from, Bound::Unbounded)) {
            if !key.starts_with(prefix.as_str()) || page.objects.len() + page.prefixes.len() == PAGE {
                break;
            }
            let folder = key[prefix.len()..].find('/').map(|end| &key[..prefix.len() + end + 1]);
            match folder.filter(|_| self.request.hierarchical) {
                Some(folder) if page.prefixes.last().is_some_and(|last| last == folder) => {}
                Some(folder) => page.prefixes.push(folder.to_owned()),
                None => page.objects.push(meta.clone()),
            }
            self.after = Some(key.clone());
        }
        folder::part(&mut page);
        Ok((!page.is_empty()).then_some(page))
    }
}

struct MemoryWriter {
    store: MemoryStore,
    key: String,
    precondition: Precondition,
    blocks: Mutex<HashMap<BlockRange, (Crc64, Bytes)>>,
}

#[async_trait]
impl BlockWriter for MemoryWriter {
    async fn put_block(&self, range: BlockRange, payload: Payload, trace: &Trace) -> Result<Stored> {
        let (bytes, crc64) = payload.collect_hashed().await?;
        let bytes = Bytes::copy_from_slice(&bytes);
        let id = BlockId { range, crc64 };
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.insert(range, (id.crc64, bytes));
        trace.mark(Phase::Committed);
        Ok(Stored { part: id.into(), confirmed: true })
    }

    async fn staged(&self, _trace: &Trace) -> Result<Vec<StagedPart>> {
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(blocks.iter().map(|(&range, &(crc64, _))| BlockId { range, crc64 }.into()).collect())
    }

    async fn commit(&self, parts: &[Part], attributes: &Attributes, trace: &Trace) -> Result<PutResult> {
        let whole = {
            let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            let mut whole = Vec::new();
            for Part { id, .. } in parts {
                match blocks.get(&id.range) {
                    Some((crc64, bytes)) if *crc64 == id.crc64 => whole.extend_from_slice(bytes),
                    _ => {
                        let name = self.store.name(&self.key);
                        return Err(Error::new(ErrorKind::Service, "commit", name, "a block is missing"));
                    }
                }
            }
            whole
        };
        let result = self.store.store(&self.key, whole.into(), attributes, &self.precondition)?;
        trace.mark(Phase::Committed);
        Ok(result)
    }

    async fn abandon(&self) {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
