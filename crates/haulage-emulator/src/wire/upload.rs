//! The body of a request to Azure, checked against its checksum.

use async_trait::async_trait;
use bytes::Bytes;
use haulage::checksum::{Crc64, Crc64Stream, Md5, Md5Stream};
use http::HeaderMap;

use super::error::{
    Answer, CRC64_MISMATCH, INVALID_HEADER_VALUE, INVALID_MD5, MD5_MISMATCH, MISSING_CONTENT_LENGTH,
    REQUEST_BODY_TOO_LARGE,
};
use super::incoming::{Content, RequestBody};

/// A request's body and what is known of it.
pub(crate) struct Upload<'a> {
    body: &'a mut RequestBody,
    len: u64,
    check: Check,
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

#[async_trait]
impl Content for Upload<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    async fn next(&mut self) -> Answer<Option<Bytes>> {
        let Some(bytes) = self.body.frame().await? else { return Ok(None) };
        let bytes = self.body.strike(bytes).await;
        if let Some(crc64) = &mut self.check.crc64 {
            crc64.update(&bytes);
        }
        if let Some(md5) = &mut self.check.md5 {
            md5.update(&bytes);
        }
        Ok(Some(bytes))
    }
}

impl<'a> Upload<'a> {
    pub(crate) fn new(body: &'a mut RequestBody) -> Self {
        let len = body.announced().unwrap_or(u64::MAX);
        Self { body, len, check: Check::default() }
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
}
