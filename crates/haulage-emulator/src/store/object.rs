//! What only S3 says of an object, and its multipart uploads.

use std::collections::BTreeMap;

use haulage::checksum::Crc64;
use serde::{Deserialize, Serialize};

use super::{ContentHeaders, Data, Metadata};
use crate::s3::checksum::{Algorithm, Checksum, Scope};
use crate::wire::time::Stamp;

/// What only S3 says of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectFacts {
    /// Without its quotes.
    pub(crate) etag: Box<str>,
    pub(crate) checksum: Option<Checksum>,
    /// Of an object that was uploaded in parts.
    pub(crate) parts: Box<[PartFacts]>,
    pub(crate) expires: Option<Box<str>>,
}

impl ObjectFacts {
    /// Forgets what was computed from bytes that were thrown away; an ETag that is an MD5 too.
    pub(crate) fn forget_sums(&mut self, version: u64) {
        self.checksum = None;
        self.parts.iter_mut().for_each(|part| part.checksum = None);
        if !self.etag.contains('-') {
            self.etag = opaque_etag(version, 1).into();
        }
    }
}

/// An ETag that nobody takes for the MD5 of a content: it has the form of one of several parts.
pub(crate) fn opaque_etag(version: u64, parts: usize) -> String {
    format!("{version:032x}-{parts}")
}

/// A part of an object, after the upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartFacts {
    pub(crate) number: u16,
    pub(crate) len: u64,
    /// In Base64, by the algorithm of the whole.
    pub(crate) checksum: Option<Box<str>>,
}

/// A multipart upload that is neither complete nor aborted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MultipartUpload {
    pub(crate) key: Box<str>,
    pub(crate) begun: Stamp,
    pub(crate) content: Option<Box<ContentHeaders>>,
    pub(crate) expires: Option<Box<str>>,
    pub(crate) metadata: Metadata,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) tier: Option<String>,
    /// The checksum that the client declared.
    pub(crate) declared: Option<(Algorithm, Scope)>,
    #[serde(skip)]
    pub(crate) parts: BTreeMap<u16, UploadedPart>,
}

/// A part of such an upload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct UploadedPart {
    pub(crate) len: u64,
    pub(crate) modified: Stamp,
    /// Without its quotes.
    pub(crate) etag: Box<str>,
    /// The CRC-64/NVME of its bytes, from which that of the whole is combined.
    crc64: u64,
    /// By the declared algorithm, in Base64.
    pub(crate) checksum: Option<Box<str>>,
    #[serde(skip)]
    pub(crate) data: Data,
}

impl UploadedPart {
    pub(crate) fn new(
        len: u64,
        etag: Box<str>,
        crc64: Crc64,
        checksum: Option<Box<str>>,
        data: Data,
    ) -> Self {
        Self { len, modified: Stamp::now(), etag, crc64: crc64.to_u64(), checksum, data }
    }

    pub(crate) fn crc64(&self) -> Crc64 {
        Crc64::from_u64(self.crc64)
    }
}
