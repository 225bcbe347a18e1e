//! Bytes on their way: all at hand, or arriving.

use std::fmt;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::StreamExt as _;

use crate::error::Result;

type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>;

/// The body of a request or a response.
pub enum Payload {
    /// All bytes are at hand.
    Bytes(Bytes),
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
            Self::Bytes(bytes) => bytes.len() as u64,
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
            Self::Bytes(bytes) => Ok(bytes),
            Self::Stream { len, mut stream } => {
                let mut whole = BytesMut::with_capacity(len as usize);
                while let Some(piece) = stream.next().await {
                    whole.extend_from_slice(&piece?);
                }
                Ok(whole.freeze())
            }
        }
    }

    /// The next piece; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes>> {
        match self {
            Self::Bytes(bytes) if bytes.is_empty() => None,
            Self::Bytes(bytes) => Some(Ok(std::mem::take(bytes))),
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
