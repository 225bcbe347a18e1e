//! The engine's calls that are not jobs.
//!
//! All commands but `cp`, `verify` and `plan` go through here. `haulage::access` is being written; until it
//! is merged, stand-ins with the same signatures refuse, and this file becomes
//! `pub use haulage::access::*`.

use haulage::event::Failure;
use haulage::store::{ListPage, ObjectMeta, StoreOptions};
use haulage::{Error, ErrorKind, Result};
use tokio::io::AsyncWrite;

/// Pages of a list.
#[derive(Debug)]
pub struct Listing;

impl Listing {
    /// The next page; `None` after the last.
    pub async fn next_page(&mut self) -> Result<Option<ListPage>> {
        Ok(None)
    }
}

/// What a removal did.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct RemoveReport {
    /// Objects removed.
    pub objects: u64,
    /// Their size.
    pub bytes: u64,
    /// Objects that could not be removed.
    pub failures: Vec<Failure>,
}

/// What a container or prefix holds.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Usage {
    /// Objects.
    pub objects: u64,
    /// Their size.
    pub bytes: u64,
}

/// Lists what is below a URL.
pub fn list(_url: &str, _recursive: bool, _options: &StoreOptions) -> Result<Listing> {
    pending("list")
}

/// Asks for an object's metadata.
pub async fn stat(_url: &str, _options: &StoreOptions) -> Result<ObjectMeta> {
    pending("stat")
}

/// Removes one object, or all below a prefix.
pub async fn remove(_url: &str, _recursive: bool, _options: &StoreOptions) -> Result<RemoveReport> {
    pending("remove")
}

/// Counts what is below a URL.
pub async fn disk_usage(_url: &str, _options: &StoreOptions) -> Result<Usage> {
    pending("measure")
}

/// Creates a container.
pub async fn make_container(_url: &str, _options: &StoreOptions) -> Result<()> {
    pending("make")
}

/// Removes a container with all that is in it.
pub async fn remove_container(_url: &str, _options: &StoreOptions) -> Result<()> {
    pending("remove")
}

/// Writes an object's bytes to `writer`.
pub async fn cat<W: AsyncWrite + Unpin + Send>(
    _url: &str,
    _options: &StoreOptions,
    _writer: &mut W,
) -> Result<u64> {
    pending("read")
}

fn pending<T>(operation: &'static str) -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, operation, "store", "this build's engine cannot do that yet"))
}
