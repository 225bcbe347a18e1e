//! Bytes on their way: all at hand, or arriving.

use std::fmt;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::StreamExt as _;

use crate::checksum::Crc64;
use crate::error::Result;

type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>;

/// The body of a request or a response.
pub enum Payload {
    /// All bytes are at hand.
    Bytes(Bytes),
    /// All bytes are at hand, and their CRC64 is known from when they were read.
    Hashed(Bytes, Crc64),
    /// The bytes arrive piece by piece. A stream that ends early ends with an error.
    Stream {
        /// How many bytes there will be.
        len: u64,
        /// The pieces, in order.
        stream: ByteStream,
    },
}

impl Payload {
    /// A payload that arrives.
    pub fn stream(len: u64, stream: impl Stream<Item = Result<Bytes>> + Send + 'static) -> Self {
        Self::Stream { len, stream: Box::pin(stream) }
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) | Self::Hashed(bytes, _) => bytes.len() as u64,
            Self::Stream { len, .. } => *len,
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
            Self::Stream { len, mut stream } => {
                let mut whole = BytesMut::with_capacity(len as usize);
                while let Some(piece) = stream.next().await {
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
            Self::Stream { stream, .. } => stream.next().await,
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
