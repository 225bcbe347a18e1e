//! A body on its way out, and the checksums that go with it.
//!
//! Plain headers, no trailers. CRC64NVME where the service knows it, which the first answers tell: one that says nothing of
//! the checksum, or refuses it, has not looked at it, and from then on gets the next of the [`Digest`]s.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use crc_fast::CrcAlgorithm::Crc32Iscsi;
use http::Response;
use http::header::{HeaderMap, HeaderName};
use sha2::{Digest as _, Sha256};

use super::error::Asked;
use super::meta::CHECKSUM_CRC64;
use super::service::{Operation, Service};
use crate::checksum::{ChecksumMode, Crc64, Md5, OnWire};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::http::ResponseBody;
use crate::store::headers::{checksum, set};
use crate::store::{Phase, Trace};

const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");
const CHECKSUM_CRC32C: HeaderName = HeaderName::from_static("x-amz-checksum-crc32c");
const CHECKSUM_SHA256: HeaderName = HeaderName::from_static("x-amz-checksum-sha256");

/// The checksums of a body that services know, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digest {
    Crc64,
    Crc32c,
    Sha256,
    /// None of these: then Content-MD5, which every service compares and none repeats.
    Md5,
}

impl Digest {
    const ALL: [Self; 4] = [Self::Crc64, Self::Crc32c, Self::Sha256, Self::Md5];

    /// As it is declared for an upload.
    pub(super) fn algorithm(self) -> Option<&'static str> {
        match self {
            Self::Crc64 => Some("CRC64NVME"),
            Self::Crc32c => Some("CRC32C"),
            Self::Sha256 => Some("SHA256"),
            Self::Md5 => None,
        }
    }

    /// In bytes.
    fn len(self) -> usize {
        match self {
            Self::Crc32c => 4,
            Self::Crc64 => 8,
            Self::Md5 => 16,
            Self::Sha256 => 32,
        }
    }

    /// Whether the service means this one.
    pub(super) fn is_called(self, name: &str) -> bool {
        self.algorithm().is_some_and(|algorithm| algorithm.eq_ignore_ascii_case(name))
    }

    fn header(self) -> Option<HeaderName> {
        match self {
            Self::Crc64 => Some(CHECKSUM_CRC64),
            Self::Crc32c => Some(CHECKSUM_CRC32C),
            Self::Sha256 => Some(CHECKSUM_SHA256),
            Self::Md5 => None,
        }
    }
}

/// Which checksum the service knows, as far as that is known.
#[derive(Debug, Default)]
pub(super) struct Dialect {
    /// Index into [`Digest::ALL`].
    spoken: AtomicU8,
    /// 1 more than the index of the one that the service has repeated; 0 for none yet.
    heard: AtomicU8,
    /// It copies parts only into an upload for which no checksum was declared: into others it takes none that comes without one
    /// (MinIO), or gives each the checksum of the whole source (versitygw).
    copies_undeclared: AtomicBool,
}

impl Dialect {
    /// Whether an upload into which the service shall copy parts must declare no checksum.
    pub(super) fn copies_undeclared(&self) -> bool {
        self.copies_undeclared.load(Ordering::Relaxed)
    }

    /// It has shown that.
    pub(super) fn note_copies_undeclared(&self) {
        self.copies_undeclared.store(true, Ordering::Relaxed);
    }

    pub(super) fn digest(&self) -> Digest {
        Digest::ALL[usize::from(self.spoken.load(Ordering::Relaxed)).min(Digest::ALL.len() - 1)]
    }

    /// The service has repeated this one, or declared it.
    pub(super) fn knows(&self, digest: Digest) {
        self.heard.store(digest as u8 + 1, Ordering::Relaxed);
    }

    /// The service has not looked at this one; true where that means that it does not know it, so that another is to be tried.
    pub(super) fn lacks(&self, digest: Digest) -> bool {
        if digest == Digest::Md5 || self.heard.load(Ordering::Relaxed) == digest as u8 + 1 {
            return false;
        }
        let next = digest as u8 + 1;
        let _ = self.spoken.compare_exchange(digest as u8, next, Ordering::Relaxed, Ordering::Relaxed);
        true
    }
}

/// Whether a service answers so to a checksum that it does not know.
pub(super) fn is_unknown_checksum(error: &Error) -> bool {
    let code = error.service_code().unwrap_or_default();
    matches!(error.status(), Some(400 | 501))
        && matches!(code, "InvalidRequest" | "InvalidArgument" | "NotImplemented")
}

/// What the service compares with what arrived.
#[derive(Debug)]
pub(super) struct Guard {
    /// With its value as a header states it.
    digest: Option<(Digest, String)>,
    /// With the sign, where we computed it, that the body is on its way: held until it has arrived.
    md5: Option<(Md5, Option<OnWire>)>,
}

impl Guard {
    /// The guard of `body`, whose CRC64 is at hand. `md5` is the body's MD5 where somebody knows it.
    pub(super) async fn of(
        service: &Service,
        body: &Bytes,
        crc64: Crc64,
        mode: ChecksumMode,
        digest: Digest,
        md5: Option<Md5>,
        asked: Asked<'_>,
    ) -> Result<Self> {
        if mode == ChecksumMode::None {
            return Ok(Self { digest: None, md5: None });
        }
        let text = match digest {
            Digest::Crc64 => Some(crc64.to_s3()),
            Digest::Crc32c => Some(crc32c(body)),
            Digest::Sha256 => Some(sha256(body.clone(), asked).await?),
            Digest::Md5 => None,
        };
        let wanted = mode == ChecksumMode::Md5 || digest == Digest::Md5;
        let md5 = match md5 {
            _ if !wanted => None,
            Some(md5) => Some((md5, None)),
            None => {
                let (md5, on_wire) = service.hash(body.clone(), asked).await?;
                Some((md5, Some(on_wire)))
            }
        };
        Ok(Self { digest: text.map(|text| (digest, text)), md5 })
    }

    /// The MD5 that goes along.
    pub(super) fn md5(&self) -> Option<Md5> {
        self.md5.as_ref().map(|(md5, _)| *md5)
    }

    fn write(&self, headers: &mut HeaderMap, asked: Asked<'_>) -> Result<()> {
        if let Some((digest, text)) = &self.digest
            && let Some(name) = digest.header()
        {
            set(headers, name, text, asked)?;
        }
        match self.md5() {
            Some(md5) => set(headers, CONTENT_MD5, &md5.to_base64(), asked),
            None => Ok(()),
        }
    }

    /// Compares it with what the service says that it received. False where it does not say.
    fn is_confirmed(&self, headers: &HeaderMap, asked: Asked<'_>) -> Result<bool> {
        let Some((digest, ours)) = &self.digest else { return Ok(false) };
        let Some(name) = digest.header() else { return Ok(false) };
        let readable =
            |text: &str| BASE64_STANDARD.decode(text).is_ok_and(|stated| stated.len() == digest.len());
        match checksum(headers, &name, |text| readable(text).then(|| text == ours)) {
            Some(false) => Err(asked
                .error(ErrorKind::Integrity, "the service received bytes with another checksum than we sent")
                .retry(Retry::Backoff)),
            stated => Ok(stated.is_some()),
        }
    }
}

/// A body with all that is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'a> {
    pub(super) bytes: &'a Bytes,
    pub(super) crc64: Crc64,
    pub(super) mode: ChecksumMode,
    pub(super) md5: Option<Md5>,
    /// The checksum that was declared for the upload; `None` for the one that the service knows.
    pub(super) declared: Option<Digest>,
}

/// What became of a body that was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) response: Response<ResponseBody>,
    /// The service stated a checksum of what it took, and it was ours.
    pub(super) confirmed: bool,
    /// The checksum that went along, but for an MD5, as the header stated it.
    pub(super) checksum: Option<String>,
}

/// Sends a body with its checksums, and compares what the service says that it received.
pub(super) async fn send_guarded(
    service: &Service,
    mut operation: Operation<'_>,
    body: Body<'_>,
    asked: Asked<'_>,
    trace: &Trace,
) -> Result<Sent> {
    loop {
        let digest = body.declared.unwrap_or_else(|| service.dialect().digest());
        let guard = Guard::of(service, body.bytes, body.crc64, body.mode, digest, body.md5, asked).await?;
        guard.write(&mut operation.headers, asked)?;
        trace.mark(Phase::Ready);
        let guarded = guard.digest.is_some();
        match service.send(&operation, asked, trace).await {
            Ok(response) => {
                let confirmed = guard.is_confirmed(response.headers(), asked)?;
                match (guarded, confirmed) {
                    (true, true) => service.dialect().knows(digest),
                    // It was taken without a look at the checksum: the next one gets another.
                    (true, false) => _ = service.dialect().lacks(digest),
                    (false, _) => {}
                }
                return Ok(Sent { response, confirmed, checksum: guard.digest.map(|(_, text)| text) });
            }
            Err(error)
                if guarded
                    && body.declared.is_none()
                    && is_unknown_checksum(&error)
                    && service.dialect().lacks(digest) =>
            {
                if let Some(name) = digest.header() {
                    operation.headers.remove(name);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// CRC-32C as a header states it.
fn crc32c(body: &[u8]) -> String {
    // Its upper half is empty.
    let value = crc_fast::checksum(Crc32Iscsi, body).to_be_bytes();
    BASE64_STANDARD.encode(&value[4..])
}

/// SHA-256 as a header states it, off the I/O threads: half a millisecond a mebibyte.
async fn sha256(body: Bytes, asked: Asked<'_>) -> Result<String> {
    let hashed = tokio::task::spawn_blocking(move || BASE64_STANDARD.encode(Sha256::digest(&body))).await;
    hashed.map_err(|_| asked.error(ErrorKind::Cancelled, "the runtime shuts down"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const ASKED: Asked<'_> = Asked {
        operation: "write",
        object: "s3://b/k",
        container: "s3://b",
        permission: "s3:PutObject",
        unmet: ErrorKind::Exists,
    };

    #[tokio::test]
    async fn checksums_are_the_published_ones() {
        let body = Bytes::from_static(b"123456789");
        assert_eq!(crc32c(&body), "4waSgw==");
        assert_eq!(sha256(body, ASKED).await.unwrap(), known_sha256());
    }

    /// FIPS 180: of "123456789".
    fn known_sha256() -> String {
        let hex = "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225";
        let bytes: Vec<u8> =
            (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect();
        BASE64_STANDARD.encode(bytes)
    }

    #[test]
    fn a_service_is_tried_with_one_after_the_other_until_it_answers() {
        let dialect = Dialect::default();
        assert_eq!(dialect.digest(), Digest::Crc64);
        assert!(dialect.lacks(Digest::Crc64) && dialect.lacks(Digest::Crc64), "two were on their way");
        assert_eq!(dialect.digest(), Digest::Crc32c);
        dialect.knows(Digest::Crc32c);
        assert!(!dialect.lacks(Digest::Crc32c), "one answer without it is no proof");
        assert_eq!(dialect.digest(), Digest::Crc32c);
        let deaf = Dialect::default();
        for digest in [Digest::Crc64, Digest::Crc32c, Digest::Sha256] {
            assert!(deaf.lacks(digest));
        }
        assert!(!deaf.lacks(Digest::Md5));
        assert_eq!(deaf.digest(), Digest::Md5);
    }

    #[test]
    fn what_the_service_received_is_compared() {
        let guard = Guard { digest: Some((Digest::Crc64, "rosUhgp5mIg=".to_owned())), md5: None };
        let mut headers = HeaderMap::new();
        assert!(!guard.is_confirmed(&headers, ASKED).unwrap());
        guard.write(&mut headers, ASKED).unwrap();
        assert!(guard.is_confirmed(&headers, ASKED).unwrap());
        headers.insert(CHECKSUM_CRC64, HeaderValue::from_static("AAAAAAAAAAA="));
        assert_eq!(guard.is_confirmed(&headers, ASKED).unwrap_err().kind(), ErrorKind::Integrity);
        let md5 = Guard { digest: None, md5: Some((Md5::of(b""), None)) };
        let mut headers = HeaderMap::new();
        md5.write(&mut headers, ASKED).unwrap();
        assert_eq!(headers[CONTENT_MD5], "1B2M2Y8AsgTpgAmY7PhCfg==");
        assert!(!md5.is_confirmed(&headers, ASKED).unwrap());
    }
}
