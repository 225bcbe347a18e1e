//! One pen for each file: whoever receives a piece of it queues it, one thread writes.
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

/// Pieces that may wait to be written: a few MiB, enough that the pen never rests.
const QUEUE: usize = 32;

enum Order {
    /// The permit is its place in the queue.
    Write(u64, Bytes, OwnedSemaphorePermit),
    /// Say how it went with all that was ordered before.
    Report(oneshot::Sender<Result<()>>),
}

/// The way to whoever writes a file. A thread of the pool is taken only while there is something to write:
/// thousands of files may be open, and the pool has some hundred threads.
pub(super) struct Pen {
    name: String,
    places: Arc<Semaphore>,
    desk: Arc<Desk>,
}

struct Desk {
    part: Arc<PartialFile>,
    orders: Mutex<Orders>,
}

#[derive(Default)]
struct Orders {
    waiting: VecDeque<Order>,
    /// A thread is at work and will see what is added.
    at_work: bool,
    failed: Option<Failure>,
}

impl Pen {
    pub(super) fn new(part: &Arc<PartialFile>) -> Self {
        let desk = Arc::new(Desk { part: Arc::clone(part), orders: Mutex::default() });
        Self { name: part.name(), places: Arc::new(Semaphore::new(QUEUE)), desk }
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
            self.order(Order::Write(at, piece, place));
        }
        let (reply, report) = oneshot::channel();
        self.order(Order::Report(reply));
        report.await.unwrap_or_else(|_| Err(self.gone()))?;
        if written == expected {
            return Ok(crc.value());
        }
        let cause = format!("{written} bytes came where {expected} were announced");
        Err(Error::new(ErrorKind::Integrity, "write", &self.name, cause).retry(Retry::Backoff))
    }

    fn order(&self, order: Order) {
        let mut orders = self.desk.lock();
        orders.waiting.push_back(order);
        if !std::mem::replace(&mut orders.at_work, true) {
            drop(orders);
            let desk = Arc::clone(&self.desk);
            self.desk.part.medium().begin(move || desk.work());
        }
    }

    fn gone(&self) -> Error {
        Error::new(ErrorKind::Cancelled, "write", &self.name, "the runtime shuts down")
    }
}

impl Desk {
    /// Writes until nothing waits. After a failure nothing more is written, and every report says so.
    fn work(&self) {
        loop {
            let (order, failed) = {
                let mut orders = self.lock();
                let Some(order) = orders.waiting.pop_front() else {
                    orders.at_work = false;
                    return;
                };
                (order, orders.failed.clone())
            };
            match order {
                Order::Write(..) if failed.is_some() => {}
                Order::Write(offset, piece, _place) => {
                    if let Err(error) = self.part.write_at(offset, &[piece]) {
                        self.lock().failed = Some(Failure::from(&error));
                    }
                }
                Order::Report(reply) => {
                    // A block that was given up waits for no report.
                    let _ = reply.send(failed.as_ref().map_or(Ok(()), |failure| Err(Error::from(failure))));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
