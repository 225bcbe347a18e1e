//! Copies that the service of both stores makes by itself, so that no byte passes this machine.

use super::Store;
use super::azure::AzureStore;
use super::s3::S3Store;
use crate::checksum::Crc64;
use crate::error::{Error, ErrorKind};

/// A store by its kind, for another of the same kind.
#[derive(Clone, Copy, Debug)]
pub enum Peer<'a> {
    /// Azure Blob.
    Azure(&'a AzureStore),
    /// S3.
    S3(&'a S3Store),
}

/// An object that is to be copied, as it was listed.
#[derive(Clone, Copy, Debug)]
pub struct CopySource<'a> {
    /// Where it is.
    pub store: &'a dyn Store,
    /// Its name there.
    pub key: &'a str,
    /// Its size in bytes.
    pub size: u64,
    /// Its version: another is not copied. Empty where nobody knows it.
    pub etag: &'a str,
    /// Its CRC64, where it states one.
    pub crc64: Option<Crc64>,
}

/// How a service copies objects by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyRules {
    /// The largest object that one request copies, in bytes.
    pub whole_max: u64,
    /// Whether that request can be told not to replace what is there.
    pub guarded: bool,
    /// Whether it keeps a CRC64 with the copy of what has none.
    pub keeps_crc64: bool,
    /// Whether it copies the tags too.
    pub keeps_tags: bool,
}

pub(super) fn unable(name: String) -> Error {
    Error::new(ErrorKind::Unsupported, "copy", name, "this store copies nothing by itself")
}
