//! Checksums of bytes as they pass, or as they lie in the store.

use std::future::poll_fn;
use std::ops::Range;

use haulage::checksum::{Crc64, Crc64Stream, Md5, Md5Stream};

use super::checksum::{Algorithm, Checksum, Hasher, crc64_text};
use crate::service::Service;
use crate::store::{Data, opaque_etag};
use crate::wire::error::{Answer, ServiceError};

/// How much is hashed before others get their turn.
const AT_ONCE: usize = 1 << 20;

/// What is computed as bytes pass. The CRC-64/NVME always is: it costs nothing worth saving.
#[derive(Default)]
pub(super) struct Hashers {
    md5: Option<Md5Stream>,
    crc64: Crc64Stream,
    checksum: Option<(Algorithm, Hasher)>,
}

/// What bytes came to.
pub(crate) struct Sums {
    /// Computed only where it is wanted.
    pub(crate) md5: Option<Md5>,
    pub(crate) crc64: Crc64,
    /// By the algorithm that the client, or the operation, chose; in Base64.
    pub(super) checksum: Option<(Algorithm, String)>,
}

impl Hashers {
    /// Computes an MD5 too.
    pub(super) fn add_md5(&mut self) {
        self.md5.get_or_insert_default();
    }

    /// Computes this checksum too, in place of another.
    pub(super) fn add(&mut self, algorithm: Algorithm) {
        self.checksum = Some((algorithm, Hasher::new(algorithm)));
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.crc64.update(bytes);
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
        if let Some((_, hasher)) = &mut self.checksum {
            hasher.update(bytes);
        }
    }

    /// What a stretch of what is stored comes to.
    async fn of(mut self, service: &Service, data: &Data, range: Range<u64>) -> Answer<Sums> {
        let failed = |error| ServiceError::internal(&error);
        let mut chunks = service.store.open(data, range).await.map_err(failed)?;
        while let Some(piece) = poll_fn(|context| chunks.poll_next(context)).await {
            for part in piece.map_err(failed)?.chunks(AT_ONCE) {
                self.update(part);
                tokio::task::yield_now().await;
            }
        }
        Ok(self.finish())
    }

    pub(super) fn finish(self) -> Sums {
        Sums {
            md5: self.md5.map(Md5Stream::value),
            crc64: self.crc64.value(),
            checksum: self.checksum.map(|(algorithm, hasher)| (algorithm, hasher.value())),
        }
    }
}

impl Sums {
    /// Of what is stored. The MD5 is left out where the store thinks little of it.
    pub(super) async fn of_stored(
        service: &Service,
        data: &Data,
        range: Range<u64>,
        algorithm: Option<Algorithm>,
    ) -> Answer<Self> {
        let mut hashers = Hashers::default();
        if service.store.computes_md5() {
            hashers.add_md5();
        }
        if let Some(algorithm) = algorithm {
            hashers.add(algorithm);
        }
        hashers.of(service, data, range).await
    }

    /// CRC64 of what is stored, and its MD5 where somebody wants it: that takes far longer.
    pub(crate) async fn for_azure(
        service: &Service,
        data: &Data,
        range: Range<u64>,
        with_md5: bool,
    ) -> Answer<Self> {
        let mut hashers = Hashers::default();
        if with_md5 {
            hashers.add_md5();
        }
        hashers.of(service, data, range).await
    }

    /// The checksum that stands for an object: CRC-64/NVME where no other was chosen.
    pub(super) fn chosen(&self) -> Checksum {
        let (algorithm, value) = match &self.checksum {
            Some((algorithm, value)) => (*algorithm, value.clone()),
            None => (Algorithm::Crc64Nvme, crc64_text(self.crc64)),
        };
        Checksum::of_object(algorithm, value)
    }

    /// The MD5 in digits, else what nobody takes for one.
    pub(super) fn etag(&self, version: u64) -> Box<str> {
        self.md5.map_or_else(|| opaque_etag(version, 1), |md5| md5.to_string()).into()
    }
}
