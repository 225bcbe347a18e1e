//! Azure Blob storage over its REST interface.

use async_trait::async_trait;
use std::sync::Arc;

use super::*;
use crate::http::HttpClient;

/// Where a blob, prefix or container is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AzureAddress {
    /// Blob or prefix; empty for the container itself.
    pub key: String,
}

impl AzureAddress {
    /// Takes apart `az://container/path` or `http(s)://host[:port]/[account/]container/path[?SAS]`.
    pub fn parse(_text: &str, _options: &StoreOptions) -> Result<Self> {
        todo!()
    }
}

/// One container.
#[derive(Debug)]
pub struct AzureStore {}

impl AzureStore {
    /// Finds credentials; sends nothing.
    pub fn open(_address: AzureAddress, _options: &StoreOptions, _http: HttpClient) -> Result<Self> {
        todo!()
    }
}

#[async_trait]
impl Store for AzureStore {
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
