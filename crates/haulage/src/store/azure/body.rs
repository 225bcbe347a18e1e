//! A body on its way out, and the checksum that goes with it.

use bytes::Bytes;
use http::header::HeaderMap;

use super::auth::CONTENT_MD5;
use super::error::Asked;
use super::meta::{BODY_CRC64, text};
use super::service::set;
use crate::checksum::{ChecksumMode, Crc64, Md5};
use crate::error::{ErrorKind, Result, Retry};

/// The checksum that the service compares with what arrived: one of the two, never both, which it refuses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Guard {
    Crc64(Crc64),
    Md5(Md5),
    None,
}

impl Guard {
    /// The guard of `body`, whose CRC64 is at hand. `md5` is the body's MD5 where somebody knows it.
    pub(super) async fn of(
        body: &Bytes,
        crc64: Crc64,
        mode: ChecksumMode,
        md5: Option<Md5>,
        asked: Asked<'_>,
    ) -> Result<Self> {
        Ok(match (mode, md5) {
            (ChecksumMode::Crc64, _) => Self::Crc64(crc64),
            (ChecksumMode::Md5, Some(md5)) => Self::Md5(md5),
            (ChecksumMode::Md5, None) => Self::Md5(md5_of(body.clone(), asked).await?),
            (ChecksumMode::None, _) => Self::None,
        })
    }

    /// Sends it along.
    pub(super) fn write(self, headers: &mut HeaderMap, asked: Asked<'_>) -> Result<()> {
        match self {
            Self::Crc64(crc64) => set(headers, BODY_CRC64, &crc64.to_azure(), asked),
            Self::Md5(md5) => set(headers, CONTENT_MD5, &md5.to_base64(), asked),
            Self::None => Ok(()),
        }
    }

    /// Compares it with what the service says that it received.
    pub(super) fn check_echo(self, headers: &HeaderMap, asked: Asked<'_>) -> Result<()> {
        let echoed = match self {
            Self::Crc64(ours) => {
                text(headers, &BODY_CRC64).map(|text| Crc64::from_azure(&text) == Some(ours))
            }
            Self::Md5(ours) => text(headers, &CONTENT_MD5).map(|text| Md5::from_base64(&text) == Some(ours)),
            Self::None => None,
        };
        if echoed == Some(false) {
            return Err(asked
                .error(ErrorKind::Integrity, "the service received bytes with another checksum than we sent")
                .retry(Retry::Backoff));
        }
        Ok(())
    }
}

/// The MD5 of `body`, off the I/O threads: it takes 1.5 ms for each MiB.
pub(super) async fn md5_of(body: Bytes, asked: Asked<'_>) -> Result<Md5> {
    let computed = tokio::task::spawn_blocking(move || Md5::of(&body)).await;
    computed.map_err(|error| asked.error(ErrorKind::Cancelled, error.to_string()))
}
