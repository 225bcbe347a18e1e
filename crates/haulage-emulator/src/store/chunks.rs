//! Stored bytes on their way out, piece by piece.

use std::fs::File;
use std::future::Future as _;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use tokio::task::{JoinHandle, spawn_blocking};

/// How much is read from a file at a time.
const FILE_CHUNK: u64 = 1 << 20;

/// A stretch of stored bytes.
pub(crate) enum Chunks {
    Pattern { pattern: Bytes, range: Range<u64> },
    Memory(vec::IntoIter<Bytes>),
    File { file: Arc<File>, range: Range<u64>, next: Option<JoinHandle<io::Result<Bytes>>> },
}

impl Chunks {
    pub(super) fn pattern(pattern: Bytes, range: Range<u64>) -> Self {
        Self::Pattern { pattern, range }
    }

    pub(super) fn memory(pieces: Vec<Bytes>) -> Self {
        Self::Memory(pieces.into_iter())
    }

    pub(super) fn file(file: File, range: Range<u64>) -> Self {
        Self::File { file: Arc::new(file), range, next: None }
    }

    /// The next piece; `None` after the last.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        match self {
            Self::Pattern { pattern, range } => Poll::Ready(pattern_piece(pattern, range).map(Ok)),
            Self::Memory(pieces) => Poll::Ready(pieces.next().map(Ok)),
            Self::File { file, range, next } => {
                let Some(reading) = next.take().or_else(|| read_ahead(file, range)) else {
                    return Poll::Ready(None);
                };
                let reading = next.insert(reading);
                let bytes = match ready!(Pin::new(reading).poll(context)) {
                    Ok(read) => read,
                    Err(stopped) => Err(io::Error::other(stopped)),
                };
                // The disk works while the network sends.
                *next = read_ahead(file, range);
                Poll::Ready(Some(bytes))
            }
        }
    }

    /// All of it, for ranges small enough to be checked before they are sent.
    pub(crate) async fn collect(mut self) -> io::Result<Vec<Bytes>> {
        let mut pieces = Vec::new();
        while let Some(piece) = std::future::poll_fn(|context| self.poll_next(context)).await {
            pieces.push(piece?);
        }
        Ok(pieces)
    }
}

fn pattern_piece(pattern: &Bytes, range: &mut Range<u64>) -> Option<Bytes> {
    let left = range.end.saturating_sub(range.start);
    let start = (range.start % pattern.len() as u64) as usize;
    let len = left.min((pattern.len() - start) as u64);
    range.start += len;
    (len > 0).then(|| pattern.slice(start..start + len as usize))
}

/// Starts reading the next piece of a file.
fn read_ahead(file: &Arc<File>, range: &mut Range<u64>) -> Option<JoinHandle<io::Result<Bytes>>> {
    let (offset, len) = (range.start, FILE_CHUNK.min(range.end.saturating_sub(range.start)));
    range.start += len;
    let file = Arc::clone(file);
    (len > 0).then(|| {
        spawn_blocking(move || {
            let mut bytes = vec![0; len as usize];
            file.read_exact_at(&mut bytes, offset)?;
            Ok(bytes.into())
        })
    })
}
