//! A folder of files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use super::*;
use crate::buffer::BufferPool;

/// A folder of files.
#[derive(Clone, Debug)]
pub struct LocalStore {}

impl LocalStore {
    /// A store over the folder `root`, which need not exist yet.
    pub fn new(_root: PathBuf, _buffers: BufferPool) -> Self {
        todo!()
    }

    /// Splits a path into the folder to open and the key within it.
    pub fn split(_path: &Path) -> Result<(PathBuf, String)> {
        todo!()
    }
}

#[async_trait]
impl Store for LocalStore {
    fn capabilities(&self) -> Capabilities {
        todo!()
    }
    fn name(&self, _key: &str) -> String {
        todo!()
    }
    fn list(&self, _request: ListRequest) -> Box<dyn Lister> {
        todo!()
    }
    async fn head(&self, _key: &str, _trace: &Trace) -> Result<ObjectMeta> {
        todo!()
    }
    async fn get(&self, _key: &str, _options: &GetOptions, _trace: &Trace) -> Result<GetResult> {
        todo!()
    }
    async fn put(
        &self,
        _key: &str,
        _payload: Payload,
        _options: &PutOptions,
        _trace: &Trace,
    ) -> Result<PutResult> {
        todo!()
    }
    async fn begin(&self, _key: &str, _size: u64, _options: &PutOptions) -> Result<Arc<dyn BlockWriter>> {
        todo!()
    }
    async fn delete(&self, _key: &str, _trace: &Trace) -> Result<()> {
        todo!()
    }
    async fn create_container(&self, _trace: &Trace) -> Result<()> {
        todo!()
    }
    async fn delete_container(&self, _trace: &Trace) -> Result<()> {
        todo!()
    }
}
