//! Objects in this process's memory.

use std::sync::Arc;

use async_trait::async_trait;

use super::*;

/// One of the process's memory stores.
#[derive(Clone, Debug)]
pub struct MemoryStore {}

impl MemoryStore {
    /// The memory store of this name; the same one for every caller in the process.
    pub fn named(_name: &str) -> Self {
        todo!()
    }
}

#[async_trait]
impl Store for MemoryStore {
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
