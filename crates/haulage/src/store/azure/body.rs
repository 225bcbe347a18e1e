//! A body on its way out, and the checksum that goes with it.

use bytes::Bytes;
use http::Response;
use http::header::HeaderMap;

use super::AzureStore;
use super::auth::CONTENT_MD5;
use super::error::Asked;
use super::meta::BODY_CRC64;
use super::service::Operation;
use crate::checksum::{ChecksumMode, Crc64, Md5, OnWire};
use crate::error::{ErrorKind, Result, Retry};
use crate::http::ResponseBody;
use crate::store::headers::{checksum, set};
use crate::store::{Phase, Trace};

/// The checksum that the service compares with what arrived: one of the two, never both, which it refuses.
#[derive(Debug)]
pub(super) enum Guard {
    Crc64(Crc64),
    /// With the sign, where we computed it, that the body is on its way: held until it has arrived.
    Md5 {
        md5: Md5,
        _on_wire: Option<OnWire>,
    },
    None,
}

impl Guard {
    /// The guard of `body`, whose CRC64 is at hand. `md5` is the body's MD5 where somebody knows it.
    pub(super) async fn of(
        store: &AzureStore,
        body: &Bytes,
        crc64: Crc64,
        mode: ChecksumMode,
        md5: Option<Md5>,
        asked: Asked<'_>,
    ) -> Result<Self> {
        Ok(match (mode, md5) {
            (ChecksumMode::Crc64, _) => Self::Crc64(crc64),
            (ChecksumMode::Md5, Some(md5)) => Self::Md5 { md5, _on_wire: None },
            (ChecksumMode::Md5, None) => Self::md5(store, body.clone(), asked).await?,
            (ChecksumMode::None, _) => Self::None,
        })
    }

    async fn md5(store: &AzureStore, body: Bytes, asked: Asked<'_>) -> Result<Self> {
        let (md5, on_wire) = hash(store, body, asked).await?;
        Ok(Self::Md5 { md5, _on_wire: Some(on_wire) })
    }

    /// Sends it along.
    fn write(&self, headers: &mut HeaderMap, asked: Asked<'_>) -> Result<()> {
        match self {
            Self::Crc64(crc64) => set(headers, BODY_CRC64, &crc64.to_azure(), asked),
            Self::Md5 { md5, .. } => set(headers, CONTENT_MD5, &md5.to_base64(), asked),
            Self::None => Ok(()),
        }
    }

    /// Compares it with what the service says that it received. False where it does not say.
    fn is_confirmed(&self, headers: &HeaderMap, asked: Asked<'_>) -> Result<bool> {
        let confirmed = match self {
            Self::Crc64(ours) => {
                checksum(headers, &BODY_CRC64, Crc64::from_azure).map(|stated| stated == *ours)
            }
            Self::Md5 { md5: ours, .. } => {
                checksum(headers, &CONTENT_MD5, Md5::from_base64).map(|stated| stated == *ours)
            }
            Self::None => None,
        };
        match confirmed {
            Some(false) => Err(asked
                .error(ErrorKind::Integrity, "the service received bytes with another checksum than we sent")
                .retry(Retry::Backoff)),
            stated => Ok(stated.is_some()),
        }
    }
}

/// Sends a body with its guard, and compares what the service says that it received: true where it says so.
///
/// A server that does not know CRC64 says so; from then on MD5 takes its place.
pub(super) async fn send_guarded(
    store: &AzureStore,
    mut operation: Operation<'_>,
    guard: Guard,
    asked: Asked<'_>,
    trace: &Trace,
) -> Result<(Response<ResponseBody>, bool)> {
    let known = store.learnt.body_crc64.get().copied();
    if !matches!(guard, Guard::Crc64(_)) || known == Some(true) {
        return send_once(store, operation, &guard, asked, trace).await;
    }
    if known.is_none() {
        match send_once(store, operation.clone(), &guard, asked, trace).await {
            Err(error) if error.service_code() == Some("FeatureNotSupported") => {}
            other => {
                if other.is_ok() {
                    store.learnt.body_crc64.get_or_init(|| true);
                }
                return other;
            }
        }
        store.learnt.body_crc64.get_or_init(|| false);
    }
    let guard = Guard::md5(store, operation.body.clone(), asked).await?;
    operation.headers.remove(BODY_CRC64);
    send_once(store, operation, &guard, asked, trace).await
}

async fn send_once(
    store: &AzureStore,
    mut operation: Operation<'_>,
    guard: &Guard,
    asked: Asked<'_>,
    trace: &Trace,
) -> Result<(Response<ResponseBody>, bool)> {
    guard.write(&mut operation.headers, asked)?;
    trace.mark(Phase::Ready);
    let response = store.service.send(operation, asked, trace).await?;
    let confirmed = guard.is_confirmed(response.headers(), asked)?;
    Ok((response, confirmed))
}

/// The MD5 of `body`, off the I/O threads and beside those of others.
pub(super) async fn md5_of(store: &AzureStore, body: Bytes, asked: Asked<'_>) -> Result<Md5> {
    hash(store, body, asked).await.map(|(md5, _)| md5)
}

async fn hash(store: &AzureStore, body: Bytes, asked: Asked<'_>) -> Result<(Md5, OnWire)> {
    let hashed = store.md5.hash(body).await;
    hashed.ok_or_else(|| asked.error(ErrorKind::Cancelled, "the runtime shuts down"))
}
