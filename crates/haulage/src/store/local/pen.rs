//! One pen for each file: whoever receives a piece of it queues it, one thread writes.
//!
//! The kernel lets one writer at a time into a file, so several would only wait for each other, and a
//! thread that receives should not wait at all. Each piece is hashed where it was received, while it is
//! still in the processor's cache.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::write::PartialFile;
use crate::checksum::{Crc64, Crc64Stream};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::event::Failure;
use crate::store::Payload;

/// Pieces that may wait to be written: a few MiB, enough that the pen never rests.
const QUEUE: usize = 32;

enum Order {
    Write(u64, Bytes),
    /// Say how it went with all that was ordered before.
    Report(oneshot::Sender<Result<()>>),
}

/// The way to the thread that writes a file. It ends with its pen.
pub(super) struct Pen {
    name: String,
    orders: mpsc::Sender<Order>,
}

impl Pen {
    pub(super) fn new(part: &Arc<PartialFile>) -> Self {
        let (orders, queue) = mpsc::channel(QUEUE);
        let part = Arc::clone(part);
        let name = part.name();
        tokio::task::spawn_blocking(move || write_all(&part, queue));
        Self { name, orders }
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
            self.order(Order::Write(at, piece)).await?;
        }
        let (reply, report) = oneshot::channel();
        self.order(Order::Report(reply)).await?;
        report.await.unwrap_or_else(|_| Err(self.gone()))?;
        if written == expected {
            return Ok(crc.value());
        }
        let cause = format!("{written} bytes came where {expected} were announced");
        Err(Error::new(ErrorKind::Integrity, "write", &self.name, cause).retry(Retry::Backoff))
    }

    async fn order(&self, order: Order) -> Result<()> {
        self.orders.send(order).await.map_err(|_| self.gone())
    }

    fn gone(&self) -> Error {
        Error::new(ErrorKind::Cancelled, "write", &self.name, "the runtime shuts down")
    }
}

/// Writes until the pen is dropped. After a failure nothing more is written, and every report says so.
fn write_all(part: &PartialFile, mut queue: mpsc::Receiver<Order>) {
    let mut failed: Option<Failure> = None;
    while let Some(order) = queue.blocking_recv() {
        match order {
            Order::Write(..) if failed.is_some() => {}
            Order::Write(offset, piece) => {
                failed = part.write_at(offset, &[piece]).err().as_ref().map(Failure::from);
            }
            Order::Report(reply) => {
                // A block that was given up waits for no report.
                let _ = reply.send(failed.as_ref().map_or(Ok(()), |failure| Err(Error::from(failure))));
            }
        }
    }
}
