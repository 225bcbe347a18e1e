//! Carries lines from the outbox to the log.

use std::os::unix::fs::FileExt as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::Shared;
use super::outbox::Waiting;
use crate::checksum::Crc64;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{Gate, through};
use crate::store::{Attributes, Location, Payload, PutOptions, Request, Store};
use crate::wait::scaled;

/// Bytes that are sent at once.
const BATCH: u64 = 1 << 20;

/// How long lines may wait for others.
const GATHER: Duration = Duration::from_secs(1);

/// A file of the log takes no more bytes than this, and an append blob no more pieces.
const FILE_MAX: u64 = 64 << 20;
const PIECES_MAX: u32 = 40_000;

/// How long to wait after a failure, at first and at most.
const AGAIN_FIRST: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(30);

/// How long the end of a log may wait for what others have left.
const FOR_OTHERS: Duration = Duration::from_secs(2);

/// Sends one outbox.
pub(super) struct Sender {
    store: Arc<dyn Store>,
    prefix: String,
    gate: Gate,
    waiting: Waiting,
}

impl Sender {
    pub(super) fn new(place: Location, waiting: Waiting) -> Self {
        let Location { store, key, gate } = place;
        Self { store, prefix: key.trim_end_matches('/').to_owned(), gate, waiting }
    }

    /// The same for another outbox.
    fn of(&self, waiting: Waiting) -> Self {
        let Self { store, prefix, gate, .. } = self;
        Self { store: Arc::clone(store), prefix: prefix.clone(), gate: gate.clone(), waiting }
    }

    fn appends(&self) -> bool {
        self.waiting.head.grows && self.store.appends()
    }

    /// Sends what is between what was sent and `written`, a batch of it; false where nothing is.
    async fn step(&mut self, written: u64) -> Result<bool> {
        let batch = self.batch(written)?;
        if batch.is_empty() {
            return Ok(false);
        }
        let len = batch.len() as u64;
        if self.appends() {
            self.append(batch).await?;
        } else {
            self.put(batch).await?;
            self.waiting.head.number += 1;
        }
        self.waiting.head.sent += len;
        self.waiting.keep();
        Ok(true)
    }

    /// The next whole lines.
    fn batch(&self, written: u64) -> Result<Bytes> {
        let sent = self.waiting.head.sent;
        let mut bytes = vec![0; written.saturating_sub(sent).min(BATCH) as usize];
        self.waiting
            .file
            .read_exact_at(&mut bytes, sent)
            .map_err(|error| Error::from_io("read", "lines that are not sent yet", error))?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(whole);
        Ok(bytes.into())
    }

    async fn append(&mut self, batch: Bytes) -> Result<()> {
        let head = &mut self.waiting.head;
        if head.sent - head.begins >= FILE_MAX || head.pieces >= PIECES_MAX {
            (head.number, head.begins, head.pieces) = (head.number + 1, head.sent, 0);
            self.waiting.keep();
        }
        let (key, at) = (self.key(), self.waiting.head.sent - self.waiting.head.begins);
        let name = self.store.name(&key);
        let added = through!(self.gate, self.store.api(Request::Append), name, trace => {
            self.store.append(&key, at, batch.clone(), trace).await
        });
        match added {
            // Some servers know objects of one kind only.
            Err(error) if at == 0 && self.waiting.head.number == 0 && cannot(&error) => {
                self.waiting.head.grows = false;
                self.waiting.keep();
                self.put(batch).await?;
                self.waiting.head.number += 1;
            }
            Err(error) => {
                self.align().await;
                return Err(error);
            }
            Ok(()) => {}
        }
        self.waiting.head.pieces += 1;
        Ok(())
    }

    /// Looks how much of the file that is written is there: an answer may have been lost, or who sent it, or the file.
    async fn align(&mut self) {
        if !self.appends() {
            return;
        }
        let key = self.key();
        let name = self.store.name(&key);
        let there = through!(self.gate, self.store.api(Request::Look), name, trace => {
            self.store.head(&key, trace).await
        });
        let written = self.waiting.file.metadata().map_or(0, |meta| meta.len());
        let head = &mut self.waiting.head;
        let at = head.sent - head.begins;
        match there {
            Ok(there) if there.size >= at => {
                head.sent = head.begins.saturating_add(there.size).min(written);
            }
            // Somebody has removed or shortened it, or hides it: what comes goes into another one.
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Permission) => {}
            _ if at == 0 => {}
            _ => (head.number, head.begins, head.pieces) = (head.number + 1, head.sent, 0),
        }
    }

    async fn put(&self, batch: Bytes) -> Result<()> {
        let (key, crc64) = (self.key(), Crc64::of(&batch));
        let options = PutOptions {
            attributes: Attributes {
                crc64: Some(crc64),
                content_type: Some("application/x-ndjson".to_owned()),
                ..Attributes::default()
            },
            ..PutOptions::default()
        };
        let name = self.store.name(&key);
        through!(self.gate, self.store.api(Request::Put), name, trace => {
            self.store.put(&key, Payload::Hashed(batch.clone(), crc64), &options, trace).await
        })
        .map(drop)
    }

    /// The file of the log that is written.
    fn key(&self) -> String {
        let head = &self.waiting.head;
        let below =
            format!("{}/{}.{}/{:06}.jsonl", safe(&head.job), safe(&head.node), head.stream, head.number);
        if self.prefix.is_empty() { below } else { format!("{}/{below}", self.prefix) }
    }
}

/// Whether a server does not know objects that grow.
fn cannot(error: &Error) -> bool {
    error.kind() == ErrorKind::Unsupported || matches!(error.status(), Some(400 | 405 | 409 | 501))
}

/// A name as a part of the name of a file.
pub(super) fn safe(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let name: String = name.chars().map(|letter| if plain(letter) { letter } else { '-' }).take(80).collect();
    name.trim_start_matches('.').to_owned()
}

/// How a log ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// All of it is there.
    Whole,
    /// What is left is for the next one that writes to it: why, where it was closed.
    Left(Option<Error>),
}

/// Sends what is said until it is closed, and what others have left beside it.
pub(super) async fn all(
    mut sender: Sender,
    left: Vec<Waiting>,
    shared: Arc<Shared>,
    written: watch::Receiver<u64>,
    closed: watch::Receiver<bool>,
) -> Ended {
    let mut others = pin!(send_others(left.into_iter().map(|waiting| sender.of(waiting)).collect()));
    let mut others_left = true;
    let ended = {
        let mut own = pin!(send_own(&mut sender, &shared, written, closed));
        loop {
            tokio::select! {
                ended = &mut own => break ended,
                () = &mut others, if others_left => others_left = false,
            }
        }
    };
    if matches!(ended, Ended::Whole) {
        sender.waiting.remove();
        if others_left {
            // Nobody waits long for what is not theirs.
            let _ = timeout(FOR_OTHERS, others).await;
        }
    }
    ended
}

async fn send_others(left: Vec<Sender>) {
    for mut other in left {
        let Ok(written) = other.waiting.file.metadata().map(|meta| meta.len()) else { continue };
        other.align().await;
        loop {
            let before = other.waiting.head.sent;
            match other.step(written).await {
                Ok(true) => {}
                // Half a line that was written when its process was killed is no line.
                Ok(false) => break other.waiting.remove(),
                Err(_) if other.waiting.head.sent > before => {}
                Err(_) => break,
            }
        }
    }
}

async fn send_own(
    sender: &mut Sender,
    shared: &Shared,
    mut written: watch::Receiver<u64>,
    mut closed: watch::Receiver<bool>,
) -> Ended {
    let mut again = AGAIN_FIRST;
    let mut last = Instant::now() - GATHER;
    loop {
        // Whoever writes is gone without a word.
        if closed.has_changed().is_err() {
            return Ended::Left(None);
        }
        let closing = *closed.borrow();
        let said = *written.borrow_and_update();
        let before = sender.waiting.head.sent;
        let stepped = sender.step(said).await;
        let sent = sender.waiting.head.sent;
        shared.sent.send_replace(sent);
        match stepped {
            // It may have been sent all the same.
            Err(_) if sent > before => continue,
            Err(error) if closing => return Ended::Left(Some(error)),
            Err(_) => {
                pause_until(Instant::now() + scaled(again), &mut closed).await;
                again = (again * 2).min(AGAIN_MAX);
                continue;
            }
            Ok(true) if sent < said => continue,
            Ok(_) => again = AGAIN_FIRST,
        }
        if closing {
            match shared.finish(sent) {
                true => return Ended::Whole,
                false => continue,
            }
        }
        tokio::select! {
            _ = written.changed() => {}
            _ = closed.changed() => {}
        }
        // The first lines go at once, the next ones wait for more.
        pause_until(last + GATHER, &mut closed).await;
        last = Instant::now();
    }
}

/// Waits, but not for longer than the log is open.
async fn pause_until(due: Instant, closed: &mut watch::Receiver<bool>) {
    tokio::select! {
        () = sleep_until(due) => {}
        _ = closed.wait_for(|closed| *closed) => {}
    }
}
