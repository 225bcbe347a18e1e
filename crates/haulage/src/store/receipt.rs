//! A receipt as a store: it knows of objects and holds none of their bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use super::*;
use crate::checksum::{Crc64, Md5};
use crate::error::{ErrorKind, Result};
use crate::receipt::{self, Receipt, ReceiptObject};

/// Names in a page.
const PAGE: usize = 1000;

/// The objects that a receipt tells of.
#[derive(Clone, Debug)]
pub(crate) struct ReceiptStore {
    path: PathBuf,
    /// By name.
    objects: Arc<[ReceiptObject]>,
    /// Objects of its job that it does not tell of.
    failed: u64,
}

impl ReceiptStore {
    /// Reads the receipt at `path`; `None` where that is none.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        if !receipt::is_receipt(path) {
            return Ok(None);
        }
        let Receipt { objects, failed } = receipt::read(path)?;
        Ok(Some(Self { path: path.to_path_buf(), objects: objects.into(), failed }))
    }

    /// What it cannot vouch for: objects of its job that failed.
    pub(crate) fn gap(&self) -> Option<Error> {
        let objects = match self.failed {
            0 => return None,
            1 => "an object of its job failed, and is".to_owned(),
            failed => format!("{failed} objects of its job failed, and are"),
        };
        let (name, cause) = (self.path.display().to_string(), format!("{objects} not in this receipt"));
        Some(
            Error::new(ErrorKind::NotFound, "verify", name, cause)
                .hint("run the copy again with --receipt until nothing fails; keep the source until then"),
        )
    }

    /// The only object, where there is but one.
    pub(crate) fn only(&self) -> Option<ObjectMeta> {
        match &*self.objects {
            [object] => Some(meta(object)),
            _ => None,
        }
    }

    fn refuse(&self, operation: &'static str) -> Error {
        Error::new(ErrorKind::Unsupported, operation, self.path.display().to_string(), "it is a receipt")
    }
}

fn meta(object: &ReceiptObject) -> ObjectMeta {
    ObjectMeta {
        key: object.name.clone(),
        size: object.size_bytes,
        etag: object.etag.clone().unwrap_or_default(),
        crc64: object.crc64.as_deref().and_then(Crc64::from_hex),
        md5: object.md5.as_deref().and_then(Md5::from_hex),
        ..ObjectMeta::default()
    }
}

struct ReceiptLister {
    objects: Arc<[ReceiptObject]>,
    next: usize,
}

#[async_trait]
impl Lister for ReceiptLister {
    async fn next_page(&mut self, _trace: &Trace) -> Result<Option<ListPage>> {
        let end = self.objects.len().min(self.next + PAGE);
        let objects: Vec<ObjectMeta> = self.objects[self.next..end].iter().map(meta).collect();
        self.next = end;
        let page = ListPage { objects, ..ListPage::default() };
        Ok((!page.is_empty()).then_some(page))
    }
}

#[async_trait]
impl Store for ReceiptStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            put_max: 0,
            cut: CutRules { count: 1, ..CutRules::ANY },
            range_checksum_max: 0,
            streams: false,
            at_hand: false,
            keeps_checksums: true,
            folders: false,
            rechecks: false,
            late_writes: false,
            begins_freely: false,
            lists_all: true,
            time_step_ns: 1,
            in_order: false,
            keeps_properties: false,
            versions: Versions { conditions: true, unique: true },
            contents: false,
        }
    }

    fn name(&self, key: &str) -> String {
        key.to_owned()
    }

    fn list(&self, _request: ListRequest) -> Box<dyn Lister> {
        Box::new(ReceiptLister { objects: Arc::clone(&self.objects), next: 0 })
    }

    async fn head(&self, key: &str, _trace: &Trace) -> Result<ObjectMeta> {
        let found = self.objects.binary_search_by(|object| object.name.as_str().cmp(key));
        found.map(|index| meta(&self.objects[index])).map_err(|_| {
            Error::new(ErrorKind::NotFound, "stat", key, format!("it is not in {}", self.path.display()))
        })
    }

    async fn get(&self, _key: &str, _options: &GetOptions, _trace: &Trace) -> Result<GetResult> {
        Err(self.refuse("read"))
    }

    async fn put(&self, _: &str, _: Payload, _: &PutOptions, _: &Trace) -> Result<PutResult> {
        Err(self.refuse("write"))
    }

    async fn begin(
        &self,
        _: &str,
        _: Option<u64>,
        _: &PutOptions,
        _: &Trace,
    ) -> Result<Arc<dyn BlockWriter>> {
        Err(self.refuse("write"))
    }

    async fn delete(&self, _key: &str, _trace: &Trace) -> Result<()> {
        Err(self.refuse("delete"))
    }

    async fn remove_leftover(&self, _key: &str, _trace: &Trace) -> Result<bool> {
        Err(self.refuse("clean"))
    }

    async fn create_container(&self, _trace: &Trace) -> Result<()> {
        Err(self.refuse("create"))
    }

    async fn delete_container(&self, _trace: &Trace) -> Result<()> {
        Err(self.refuse("delete"))
    }
}
