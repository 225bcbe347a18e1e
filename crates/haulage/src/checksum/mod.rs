//! Checksums: CRC-64/NVME by default, because the CRCs of blocks combine into the CRC of the
//! whole without another read, and MD5 on request.
//!
//! MD5 goes through its bytes one after another and cannot be hurried, but several may go side by side in
//! the lanes of a vector (`lanes`). `queue` brings those together that are ready at about the same time.

mod crc64;
mod lanes;
mod md5;
mod queue;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use crc64::{Crc64, Crc64Stream};
pub use md5::{Md5, Md5Stream};
pub(crate) use queue::{Md5Queue, OnWire};

/// What a store states of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Their CRC64.
    Crc64(Crc64),
    /// Their MD5.
    Md5(Md5),
}

impl Checksum {
    /// Whether it fits these bytes, of which the CRC64 is known. May take as long as an MD5 does.
    pub fn fits(&self, bytes: &[u8], crc64: Crc64) -> bool {
        match self {
            Self::Crc64(stated) => *stated == crc64,
            Self::Md5(stated) => *stated == Md5::of(bytes),
        }
    }
}

/// Which checksum guards the bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChecksumMode {
    /// CRC64 on every body and for the whole: nearly free, the default.
    #[default]
    Crc64,
    /// MD5 on every body, and CRC64 for the whole. An object that travels in one request keeps its MD5 as
    /// Content-MD5; for one in blocks there is [`content_md5`](crate::CopyOptions::content_md5).
    Md5,
    /// Nothing on the wire. CRC64 is still stored and compared: it costs nothing worth saving.
    None,
}
