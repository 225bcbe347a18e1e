//! The body of a request: taken out of its chunks, and checked against all that the client said of it.

mod chunks;
mod expected;

use async_trait::async_trait;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use self::chunks::{Chunks, Step};
use self::expected::{Expected, Wanted};
use super::auth::Payload;
use super::auth::hash::hex;
use super::checksum::Algorithm;
use super::error::{
    BAD_DIGEST, CONTENT_SHA256_MISMATCH, ENTITY_TOO_LARGE, INCOMPLETE_BODY, MALFORMED_TRAILER,
    MISSING_CONTENT_LENGTH,
};
use super::request::Call;
use super::sums::{Hashers, Sums};
use crate::wire::error::Answer;
use crate::wire::incoming::{Content, RequestBody};

/// Generous for the parts of the largest upload, or a thousand of the longest keys.
const LARGEST_DOCUMENT: u64 = 16 << 20;

/// A request's body and what is known of it.
pub(super) struct Upload<'a> {
    body: &'a mut RequestBody,
    /// Of the content.
    len: Option<u64>,
    received: u64,
    /// Bytes that have come and not been taken apart yet.
    wire: Bytes,
    chunks: Option<Chunks>,
    expected: Expected,
    hashers: Hashers,
    /// The SHA-256 that the signature claims, in digits, and what it is compared with.
    payload: Option<(String, Sha256)>,
}

impl<'a> Upload<'a> {
    /// Reads what the client says of its body; `payload` is what its signature says.
    pub(super) fn new(body: &'a mut RequestBody, call: &Call<'_>, payload: Payload) -> Answer<Self> {
        let mut len = body.announced();
        let (mut chunks, mut claimed) = (None, None);
        match payload {
            Payload::Unsigned => {}
            Payload::Hash(digits) => claimed = Some((digits, Sha256::default())),
            Payload::Chunks { seal, trailer } => {
                chunks = Some(Chunks::new(seal, trailer));
                let decoded = call.header("x-amz-decoded-content-length");
                len = Some(decoded.and_then(|text| text.parse().ok()).ok_or(&MISSING_CONTENT_LENGTH)?);
            }
        }
        let expected = Expected::of(call, chunks.as_ref().is_some_and(Chunks::may_have_trailers))?;
        let mut hashers = Hashers::default();
        if expected.md5.is_some() {
            hashers.add_md5();
        }
        if let Some((algorithm, _)) = &expected.checksum {
            hashers.add(*algorithm);
        }
        Ok(Self { body, len, received: 0, wire: Bytes::new(), chunks, expected, hashers, payload: claimed })
    }

    /// The body as it comes over the wire.
    pub(super) fn raw(&mut self) -> &mut RequestBody {
        self.body
    }

    /// The algorithm of the checksum that the client sends, if it sends one.
    pub(super) fn algorithm(&self) -> Option<Algorithm> {
        self.expected.checksum.as_ref().map(|(algorithm, _)| *algorithm)
    }

    /// Whether the client sends an MD5 or another checksum of the body.
    pub(super) fn is_guarded(&self) -> bool {
        self.expected.md5.is_some() || self.expected.checksum.is_some()
    }

    /// Computes a checksum, whether the client sends one or not.
    pub(super) fn compute(&mut self, algorithm: Algorithm) {
        self.hashers.add(algorithm);
    }

    /// Computes the MD5, whether the client sends one or not.
    pub(super) fn compute_md5(&mut self) {
        self.hashers.add_md5();
    }

    /// Refuses content of unknown length, or of too much.
    pub(super) fn check_len(&self, most: u64) -> Answer<()> {
        match self.len {
            None => Err((&MISSING_CONTENT_LENGTH).into()),
            Some(len) if len > most => Err(ENTITY_TOO_LARGE
                .detail("ProposedSize", len.to_string())
                .detail("MaxSizeAllowed", most.to_string())),
            Some(_) => Ok(()),
        }
    }

    /// The whole body, compared with its checksums, for the documents that some operations carry.
    pub(super) async fn document(&mut self) -> Answer<Bytes> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            if (whole.len() + bytes.len()) as u64 > LARGEST_DOCUMENT {
                return Err(ENTITY_TOO_LARGE.detail("MaxSizeAllowed", LARGEST_DOCUMENT.to_string()));
            }
            whole.extend_from_slice(&bytes);
        }
        self.verify()?;
        Ok(whole.into())
    }

    /// Compares the checksums. To be called once, after the last byte.
    pub(super) fn verify(&mut self) -> Answer<Sums> {
        if self.len.is_some_and(|len| len != self.received) {
            return Err((&INCOMPLETE_BODY).into());
        }
        if let Some((claimed, hash)) = self.payload.take() {
            let computed = hex(&hash.finalize());
            if computed != claimed {
                return Err(CONTENT_SHA256_MISMATCH
                    .detail("ClientComputedContentSHA256", claimed)
                    .detail("S3ComputedContentSHA256", computed));
            }
        }
        let sums = std::mem::take(&mut self.hashers).finish();
        if let (Some(sent), Some(computed)) = (self.expected.md5, sums.md5)
            && sent != computed
        {
            return Err(BAD_DIGEST
                .detail("ExpectedDigest", sent.to_base64())
                .detail("CalculatedDigest", computed.to_base64()));
        }
        self.check_checksum(sums.checksum.as_ref())?;
        Ok(sums)
    }

    /// Compares the computed checksum with that in the header or the trailer.
    fn check_checksum(&self, computed: Option<&(Algorithm, String)>) -> Answer<()> {
        let trailers = self.chunks.as_ref().map_or(&[][..], Chunks::trailers);
        let (Some((algorithm, wanted)), Some((_, computed))) = (&self.expected.checksum, computed) else {
            return if trailers.is_empty() { Ok(()) } else { Err((&MALFORMED_TRAILER).into()) };
        };
        let sent = match wanted {
            Wanted::Header(value) if trailers.is_empty() => value.as_str(),
            Wanted::Header(_) => return Err((&MALFORMED_TRAILER).into()),
            Wanted::Trailer => match trailers {
                [(name, value)] if name == algorithm.header() => expected::checked(*algorithm, value)?,
                _ => return Err((&MALFORMED_TRAILER).into()),
            },
        };
        if sent == computed {
            return Ok(());
        }
        let name = algorithm.name();
        Err(BAD_DIGEST.saying(format!("The {name} you specified did not match the calculated checksum.")))
    }

    /// What has come over the wire, or all that has not been taken apart of it; `None` at the end.
    async fn fetch(&mut self) -> Answer<Option<Bytes>> {
        let Some(chunks) = &mut self.chunks else { return self.body.frame().await };
        loop {
            match chunks.step(&mut self.wire)? {
                Step::Data(bytes) => return Ok(Some(bytes)),
                Step::More | Step::End => match self.body.frame().await? {
                    Some(bytes) => self.wire = bytes,
                    None if !chunks.is_done() => return Err((&INCOMPLETE_BODY).into()),
                    None if chunks.lacks_signature() => return Err((&MALFORMED_TRAILER).into()),
                    None => return Ok(None),
                },
            }
        }
    }
}

/// The content of a body in unsigned chunks that comes in frames of this size.
#[cfg(any(test, fuzzing))]
pub(super) fn content(wire: &[u8], frame: usize) -> Option<Vec<u8>> {
    let mut chunks = Chunks::new(None, true);
    let mut content = Vec::new();
    for part in wire.chunks(frame) {
        let mut part = Bytes::copy_from_slice(part);
        while let Step::Data(bytes) = chunks.step(&mut part).ok()? {
            content.extend_from_slice(&bytes);
        }
    }
    chunks.is_done().then_some(content)
}

#[async_trait]
impl Content for Upload<'_> {
    fn len(&self) -> u64 {
        self.len.unwrap_or_default()
    }

    async fn next(&mut self) -> Answer<Option<Bytes>> {
        let Some(bytes) = self.fetch().await? else { return Ok(None) };
        let bytes = self.body.strike(bytes).await;
        self.received += bytes.len() as u64;
        if self.len.is_some_and(|len| self.received > len) {
            return Err((&INCOMPLETE_BODY).into());
        }
        if let Some(chunks) = &mut self.chunks {
            chunks.update(&bytes);
        }
        if let Some((_, hash)) = &mut self.payload {
            hash.update(&bytes);
        }
        self.hashers.update(&bytes);
        Ok(Some(bytes))
    }
}
