//! One queue of writes for each file: whoever receives a piece of the file queues it, one thread writes.
//!
//! The kernel lets one writer at a time into a file, so several would only wait for each other, and a
//! thread that receives should not wait at all. Each piece is hashed where it was received, while it is
//! still in the processor's cache.
//!
//! A file in memory needs no thread of its own: writing is a copy, and cheapest by whoever has just received the
//! piece, from a warm cache into the file, without a wake-up between. Who comes while somebody writes leaves the piece
//! with him and goes on receiving.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::partial::PartialFile;
use crate::checksum::{Crc64, Crc64Stream};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::event::Failure;
use crate::store::Payload;

/// Pieces that may wait to be written: a few MiB, enough that the writer never waits.
const QUEUE: usize = 32;

enum Entry {
    /// The permit is its place in the queue.
    Write(u64, Bytes, OwnedSemaphorePermit),
    /// Say how it went with all that was queued before.
    Report(oneshot::Sender<Result<()>>),
}

/// The way to whoever writes a file. A thread of the pool is taken only while there is something to write:
/// thousands of files may be open, and the pool has some hundred threads.
pub(super) struct WriteQueue {
    name: String,
    places: Arc<Semaphore>,
    shared: Arc<Shared>,
}

struct Shared {
    part: Arc<PartialFile>,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    waiting: VecDeque<Entry>,
    /// A thread is at work and will see what is added.
    at_work: bool,
    failed: Option<Failure>,
}

impl WriteQueue {
    pub(super) fn new(part: &Arc<PartialFile>) -> Self {
        let shared = Arc::new(Shared { part: Arc::clone(part), entries: Mutex::default() });
        Self { name: part.name(), places: Arc::new(Semaphore::new(QUEUE)), shared }
    }

    /// Writes a payload at `offset` as it arrives, and gives its CRC64 when all of it is in the file.
    pub(super) async fn write(&self, offset: u64, mut payload: Payload) -> Result<Crc64> {
        let expected = payload.len();
        let mut crc = Crc64Stream::default();
        let mut written = 0;
        while let Some(piece) = payload.next().await {
            let piece = piece?;
            crc.update(&piece);
            let at = offset + written;
            written += piece.len() as u64;
            let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| self.gone())?;
            self.push(Entry::Write(at, piece, place));
        }
        let (reply, report) = oneshot::channel();
        self.push(Entry::Report(reply));
        report.await.unwrap_or_else(|_| Err(self.gone()))?;
        if written == expected {
            return Ok(crc.value());
        }
        let cause = format!("{written} bytes came where {expected} were announced");
        Err(Error::new(ErrorKind::Integrity, "write", &self.name, cause).retry(Retry::Backoff))
    }

    fn push(&self, entry: Entry) {
        let mut entries = self.shared.lock();
        entries.waiting.push_back(entry);
        if !std::mem::replace(&mut entries.at_work, true) {
            drop(entries);
            let shared = Arc::clone(&self.shared);
            self.shared.part.medium().begin(move || shared.work());
        }
    }

    fn gone(&self) -> Error {
        Error::new(ErrorKind::Cancelled, "write", &self.name, "the runtime shuts down")
    }
}

impl Shared {
    /// Writes until nothing waits. After a failure nothing more is written, and every report says so.
    fn work(&self) {
        loop {
            let (entry, failed) = {
                let mut entries = self.lock();
                let Some(entry) = entries.waiting.pop_front() else {
                    entries.at_work = false;
                    return;
                };
                (entry, entries.failed.clone())
            };
            match entry {
                Entry::Write(..) if failed.is_some() => {}
                Entry::Write(offset, piece, _place) => {
                    if let Err(error) = self.part.write_at(offset, &[piece]) {
                        self.lock().failed = Some(Failure::from(&error));
                    }
                }
                Entry::Report(reply) => {
                    // A block that was given up waits for no report.
                    let _ = reply.send(failed.as_ref().map_or(Ok(()), |failure| Err(Error::from(failure))));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
