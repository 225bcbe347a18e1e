//! The body of a request: counted, checked against its checksum, perhaps damaged on the way.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use haulage::checksum::{Crc64, Crc64Stream, Md5, Md5Stream};
use http::HeaderMap;
use http_body::Body as _;
use hyper::body::Incoming;

use super::error::{
    Answer, CRC64_MISMATCH, INVALID_HEADER_VALUE, INVALID_MD5, MD5_MISMATCH, MISSING_CONTENT_LENGTH,
    REQUEST_BODY_TOO_LARGE, REQUEST_CUT,
};
use super::tamper::Tamper;
use crate::stats::Counters;

/// A request's body.
pub(crate) struct Upload {
    incoming: Incoming,
    len: u64,
    received: u64,
    check: Check,
    tamper: Option<Tamper>,
    counters: Arc<Counters>,
}

/// What is computed as bytes pass, and what it must come to.
#[derive(Default)]
struct Check {
    crc64: Option<Crc64Stream>,
    md5: Option<Md5Stream>,
    sent_crc64: Option<Crc64>,
    sent_md5: Option<Md5>,
}

/// What a whole body came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) crc64: Option<Crc64>,
    pub(crate) md5: Option<Md5>,
}

impl Upload {
    pub(crate) fn new(incoming: Incoming, counters: Arc<Counters>) -> Self {
        let len = incoming.size_hint().exact().unwrap_or(u64::MAX);
        Self { incoming, len, received: 0, check: Check::default(), tamper: None, counters }
    }

    /// How many bytes the client announced.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Whether no byte has been asked for yet, so that the client may still be waiting for leave.
    pub(crate) fn is_untouched(&self) -> bool {
        self.received == 0
    }

    pub(crate) fn tamper(&mut self, tamper: Option<Tamper>) {
        self.tamper = tamper;
    }

    /// Reads which checksum the client sent, and refuses bodies that the service would.
    pub(crate) fn expect(&mut self, headers: &HeaderMap, most: u64, compute_md5: bool) -> Answer<()> {
        if self.len == u64::MAX {
            return Err((&MISSING_CONTENT_LENGTH).into());
        }
        if self.len > most {
            return Err(REQUEST_BODY_TOO_LARGE.detail("MaxLimit", most.to_string()));
        }
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
        let (md5, crc64) = (text("content-md5"), text("x-ms-content-crc64"));
        if let (Some(_), Some(crc64)) = (md5, crc64) {
            return Err(INVALID_HEADER_VALUE
                .detail("HeaderName", "x-ms-content-crc64")
                .detail("HeaderValue", crc64)
                .detail("Reason", "Content-MD5 and x-ms-content-crc64 exclude each other."));
        }
        let bad_crc64 = |text: &str| {
            INVALID_HEADER_VALUE.detail("HeaderName", "x-ms-content-crc64").detail("HeaderValue", text)
        };
        self.check = Check {
            sent_md5: md5.map(|text| Md5::from_base64(text).ok_or(&INVALID_MD5)).transpose()?,
            sent_crc64: crc64
                .map(|text| Crc64::from_azure(text).ok_or_else(|| bad_crc64(text)))
                .transpose()?,
            crc64: md5.is_none().then(Crc64Stream::default),
            md5: (md5.is_some() || compute_md5).then(Md5Stream::default),
        };
        Ok(())
    }

    /// The next bytes; `None` after the last.
    pub(crate) async fn next(&mut self) -> Answer<Option<Bytes>> {
        let Some(bytes) = self.frame().await? else { return Ok(None) };
        if let Some(crc64) = &mut self.check.crc64 {
            crc64.update(&bytes);
        }
        if let Some(md5) = &mut self.check.md5 {
            md5.update(&bytes);
        }
        Ok(Some(bytes))
    }

    /// Compares the checksums. To be called after the last byte.
    pub(crate) fn verify(&mut self) -> Answer<Sums> {
        let check = std::mem::take(&mut self.check);
        let crc64 = check.crc64.map(|stream| stream.value());
        let md5 = check.md5.map(Md5Stream::value);
        if let (Some(sent), Some(computed)) = (check.sent_crc64, crc64)
            && sent != computed
        {
            return Err(CRC64_MISMATCH
                .detail("UserSpecifiedCrc64", sent.to_azure())
                .detail("ServerCalculatedCrc64", computed.to_azure()));
        }
        if let (Some(sent), Some(computed)) = (check.sent_md5, md5)
            && sent != computed
        {
            return Err(MD5_MISMATCH
                .detail("UserSpecifiedMd5", sent.to_base64())
                .detail("ServerCalculatedMd5", computed.to_base64()));
        }
        Ok(Sums { crc64, md5 })
    }

    /// The whole body, for the small documents that some operations carry.
    pub(crate) async fn collect(&mut self) -> Answer<Vec<u8>> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            whole.extend_from_slice(&bytes);
        }
        Ok(whole)
    }

    /// Reads to the end, so that the client gets its answer: one that is still sending when the
    /// connection closes sees a reset instead.
    pub(crate) async fn drain(&mut self) {
        self.tamper = None;
        while let Ok(Some(_)) = self.frame().await {}
    }

    async fn frame(&mut self) -> Answer<Option<Bytes>> {
        loop {
            let frame = poll_fn(|context| Pin::new(&mut self.incoming).poll_frame(context)).await;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| {
                tracing::debug!(%error, "a request body broke off");
                &REQUEST_CUT
            })?;
            // Trailers carry nothing that this service reads.
            let Ok(bytes) = frame.into_data() else { continue };
            let offset = self.received;
            self.received += bytes.len() as u64;
            self.counters.bytes_in.fetch_add(bytes.len() as u64, Relaxed);
            return match self.tamper.take_if(|tamper| tamper.halts(offset, bytes.len())) {
                Some(tamper) => match tamper.halt().await {},
                None => Ok(Some(match &self.tamper {
                    Some(tamper) => tamper.flipped(offset, bytes),
                    None => bytes,
                })),
            };
        }
    }
}
