//! Bytes on their way: all at hand, or arriving.

use std::fmt;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::StreamExt as _;

use crate::checksum::Crc64;
use crate::error::{Error, ErrorKind, Result, Retry};

type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>;

/// The body of a request or a response.
pub enum Payload {
    /// All bytes are at hand.
    Bytes(Bytes),
    /// All bytes are at hand, and their CRC64 is known from when they were read.
    Hashed(Bytes, Crc64),
    /// The bytes arrive piece by piece.
    Arriving(Arriving),
}

/// Bytes that arrive piece by piece: as many as were announced, or an error.
pub struct Arriving {
    /// What it is the content of, as messages name it.
    name: String,
    len: u64,
    left: u64,
    stream: ByteStream,
}

impl Arriving {
    /// The next piece. Counted here, because every reader relies on the length and one would forget to count.
    async fn next(&mut self) -> Option<Result<Bytes>> {
        let piece = match self.stream.next().await {
            Some(Ok(piece)) => piece,
            Some(Err(error)) => {
                self.left = 0;
                return Some(Err(error));
            }
            None if self.left == 0 => return None,
            None => {
                let came = self.len - std::mem::take(&mut self.left);
                return Some(Err(self.wrong_length(&format!("{came} bytes came"))));
            }
        };
        let Some(left) = self.left.checked_sub(piece.len() as u64) else {
            self.left = 0;
            return Some(Err(self.wrong_length("more bytes came")));
        };
        self.left = left;
        Some(Ok(piece))
    }

    fn wrong_length(&self, came: &str) -> Error {
        let cause = format!("{came} where {} were announced", self.len);
        Error::new(ErrorKind::Integrity, "read", self.name.as_str(), cause)
            .hint("no damaged data was kept; run the same command again")
            .retry(Retry::Backoff)
    }
}

impl Payload {
    /// A payload of `len` bytes that arrives, the content of what messages call `name`. Where the stream holds fewer or more
    /// bytes, reading it ends with `Integrity`.
    pub fn stream(
        name: impl Into<String>,
        len: u64,
        stream: impl Stream<Item = Result<Bytes>> + Send + 'static,
    ) -> Self {
        Self::Arriving(Arriving { name: name.into(), len, left: len, stream: Box::pin(stream) })
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) | Self::Hashed(bytes, _) => bytes.len() as u64,
            Self::Arriving(arriving) => arriving.len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bytes as one piece: free where they are one already, else copied once.
    pub async fn collect(self) -> Result<Bytes> {
        match self {
            Self::Bytes(bytes) | Self::Hashed(bytes, _) => Ok(bytes),
            Self::Arriving(mut arriving) => {
                let mut whole = BytesMut::with_capacity(arriving.len as usize);
                while let Some(piece) = arriving.next().await {
                    whole.extend_from_slice(&piece?);
                }
                Ok(whole.freeze())
            }
        }
    }

    /// All bytes as one piece, with their CRC64: computed here unless it is known.
    pub async fn collect_hashed(self) -> Result<(Bytes, Crc64)> {
        if let Self::Hashed(bytes, crc64) = self {
            return Ok((bytes, crc64));
        }
        let bytes = self.collect().await?;
        let crc64 = Crc64::of(&bytes);
        Ok((bytes, crc64))
    }

    /// The next piece; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes>> {
        match self {
            Self::Bytes(bytes) | Self::Hashed(bytes, _) if bytes.is_empty() => None,
            Self::Bytes(bytes) | Self::Hashed(bytes, _) => Some(Ok(std::mem::take(bytes))),
            Self::Arriving(arriving) => arriving.next().await,
        }
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(len: u64, pieces: &[&'static [u8]]) -> Payload {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok(Bytes::from_static(piece))).collect();
        Payload::stream("az://c/a.nc", len, futures_util::stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_stream_of_another_length_than_announced_is_an_error_however_it_is_read() {
        assert_eq!(payload(5, &[b"123", b"45"]).collect().await.unwrap(), "12345");
        for pieces in [&[][..], &[&b"123"[..]], &[b"123", b"456"], &[b"123456"]] {
            let error = payload(5, pieces).collect().await.unwrap_err();
            assert_eq!(
                (error.kind(), error.object_name()),
                (ErrorKind::Integrity, "az://c/a.nc"),
                "{pieces:?}"
            );
            let mut read = payload(5, pieces);
            let mut failed = 0;
            while let Some(piece) = read.next().await {
                failed += u32::from(piece.is_err());
            }
            assert_eq!(failed, 1, "{pieces:?}");
        }
    }
}
