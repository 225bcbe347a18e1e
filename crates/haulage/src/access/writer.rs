//! An object that is written from its beginning to its end, staged while it comes, and there only when it is closed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWriteExt as _, DuplexStream, ReadBuf};
use tokio::task::JoinSet;

use super::{Written, object};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Clock, ObjectRecord};
use crate::options::CopyOptions;
use crate::stage::stream::{self, Input};
use crate::store::StoreOpener;
use crate::task::joined;

/// Bytes between the writer and the task that stages them.
const PIPE: usize = 1 << 20;

/// Takes bytes. Dropped before [`Writer::commit`], it leaves nothing under the final name.
#[derive(Debug)]
pub struct Writer {
    name: String,
    opener: StoreOpener,
    /// Something is there as soon as the upload has begun, which it removes itself where it fails.
    leaves: bool,
    whole: Arc<AtomicBool>,
    pipe: DuplexStream,
    /// The upload; it ends with the set.
    upload: JoinSet<Result<ObjectRecord>>,
}

impl Writer {
    /// Begins; sends nothing before a block is full.
    ///
    /// Of `options` count those for stores, `checksum`, `content_md5`, `block_size`, `concurrency`, `max_memory`, and
    /// `overwrite`, of which only `Never` keeps what is there.
    ///
    /// # Errors
    /// `Usage` where the name is not that of an object. Must be called on a runtime.
    pub fn open(opener: &StoreOpener, url: &str, options: &CopyOptions) -> Result<Self> {
        let location = object(opener, url, "write")?;
        let limits = stream::limits(options, true)?;
        let (pipe, input) = tokio::io::duplex(PIPE);
        let (name, options) = (location.store.name(&location.key), options.clone());
        let (leaves, whole) = (!location.store.capabilities().begins_freely, Arc::<AtomicBool>::default());
        let input = Input::new(Announced { input, whole: whole.clone() }, &name);
        let mut upload = JoinSet::new();
        upload
            .spawn(async move { stream::upload(input, &location, &options, &limits, Clock::start()).await });
        Ok(Self { name, opener: opener.clone(), leaves, whole, pipe, upload })
    }

    /// Takes the bytes; waits while as much is in flight as may be.
    ///
    /// # Errors
    /// What an upload of earlier bytes came to. Nothing can be written after it.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self.pipe.write_all(bytes).await {
            Ok(()) => Ok(()),
            // It has hung up, and says why.
            Err(_) => Err(self.outcome().await.err().unwrap_or_else(|| self.stopped())),
        }
    }

    /// Sends what is left, and gives the object its name.
    ///
    /// # Errors
    /// What kept it from that; then nothing new is under the name.
    pub async fn commit(mut self) -> Result<Written> {
        self.whole.store(true, Ordering::Release);
        // A pipe that nobody reads any more says no more than the upload does.
        let _ = self.pipe.shutdown().await;
        let record = self.outcome().await?;
        self.opener.flush(false).await?;
        Ok(record.into())
    }

    /// Gives up, and waits until what was staged is gone, where its store would keep it.
    pub async fn discard(mut self) {
        if !self.leaves {
            return self.upload.shutdown().await;
        }
        // It ends by itself, at an input that ends without a word, when all that it writes is written.
        drop(self.pipe);
        let _ = self.upload.join_next().await;
        // The folder is no longer one that is being written to; whether what others wrote is on the disk, they ask.
        let _ = self.opener.flush(false).await;
    }

    async fn outcome(&mut self) -> Result<ObjectRecord> {
        match self.upload.join_next().await {
            Some(ended) => joined(ended)?,
            None => Err(self.stopped()),
        }
    }

    fn stopped(&self) -> Error {
        Error::new(ErrorKind::Cancelled, "write", &*self.name, "it failed or was stopped before")
            .hint("open it again and write it from its beginning")
    }
}

/// An input whose end counts only if it was announced: one that just stops is not all there was to be.
struct Announced<R> {
    input: R,
    whole: Arc<AtomicBool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Announced<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        ready!(Pin::new(&mut self.input).poll_read(context, buffer))?;
        let ended = buffer.filled().len() == filled && buffer.remaining() > 0;
        if ended && !self.whole.load(Ordering::Acquire) {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        Poll::Ready(Ok(()))
    }
}
