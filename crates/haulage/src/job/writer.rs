//! An object that is written from its beginning to its end, staged while it comes, and there only when it is closed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWriteExt as _, DuplexStream, ReadBuf};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::flow::Flow;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, ObjectRecord, Told, Written};
use crate::options::{CopyOptions, Setting, Work};
use crate::stage::record::{Attempts, Sink, Sinks};
use crate::store::StoreOpener;
use crate::task::joined;
use crate::units::ByteSize;

/// Bytes between the writer and the job that sends them.
const PIPE: usize = 1 << 20;

/// Events of the job that may wait.
const EVENTS: usize = 64;

/// A block, where nobody says how large: whoever writes little by little shall not wait long for the first request.
const BLOCK: ByteSize = ByteSize::mib(1);

/// What the job reads.
const INPUT: &str = "-";

/// Takes bytes, and is a job that copies them as they come. Dropped before [`Writer::commit`], it leaves nothing under the final name.
#[derive(Debug)]
pub struct Writer {
    name: String,
    /// Something is there as soon as the upload has begun, which it removes itself where it fails.
    leaves: bool,
    whole: Arc<AtomicBool>,
    pipe: DuplexStream,
    /// The job; it ends with the set.
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
        let location = opener.open_object(url, "write")?;
        let (pipe, input) = tokio::io::duplex(PIPE);
        let name = location.store.name(&location.key);
        let (leaves, whole) = (!location.store.capabilities().begins_freely, Arc::<AtomicBool>::default());
        let input = Announced { input, whole: whole.clone() };
        let (events, said) = mpsc::channel(EVENTS);
        let (running, cancelled) = watch::channel(false);
        let sinks = Sinks::of("", &options.node, vec![Sink { to: events, attempts: Attempts::None }]);
        let flow = Flow::new(work(url), counted(options), sinks, cancelled, Arc::default())?;
        let flow = flow.reading(Box::new(input), &name);
        let mut upload = JoinSet::new();
        let named = name.clone();
        upload.spawn(async move {
            let (record, ended) = tokio::join!(object_of(said), flow.run());
            drop(running);
            ended?;
            record.ok_or_else(|| Error::new(ErrorKind::Cancelled, "write", named, "it was stopped"))
        });
        Ok(Self { name, leaves, whole, pipe, upload })
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
        self.outcome().await.map(Written::from)
    }

    /// Gives up, and waits until what was staged is gone, where its store would keep it.
    pub async fn discard(mut self) {
        if !self.leaves {
            return self.upload.shutdown().await;
        }
        // It ends by itself, at an input that ends without a word, when all that it writes is written.
        drop(self.pipe);
        let _ = self.upload.join_next().await;
    }

    async fn outcome(&mut self) -> Result<ObjectRecord> {
        match self.upload.join_next().await {
            Some(ended) => match joined(ended)?? {
                ObjectRecord { failure: Some(failure), .. } => Err(Error::from(&failure)),
                record => Ok(record),
            },
            None => Err(self.stopped()),
        }
    }

    fn stopped(&self) -> Error {
        Error::new(ErrorKind::Cancelled, "write", &*self.name, "it failed or was stopped before")
            .hint("open it again and write it from the beginning")
    }
}

fn work(url: &str) -> Work {
    Work::Copy { sources: vec![INPUT.to_owned()], destination: url.to_owned() }
}

/// Those of the options that count.
fn counted(options: &CopyOptions) -> CopyOptions {
    CopyOptions {
        checksum: options.checksum,
        content_md5: options.content_md5,
        block_size: Setting::Fixed(options.block_size.fixed().unwrap_or(BLOCK)),
        concurrency: options.concurrency,
        max_memory: options.max_memory,
        overwrite: options.overwrite,
        store: options.store.clone(),
        ..CopyOptions::default()
    }
}

/// How the one object of the job ended.
async fn object_of(mut said: mpsc::Receiver<Told>) -> Option<ObjectRecord> {
    let mut ended = None;
    while let Some(told) = said.recv().await {
        if let Event::Object(record) = Arc::unwrap_or_clone(told.event) {
            ended = Some(record);
        }
    }
    ended
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
