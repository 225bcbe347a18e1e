//! Turns to read where bytes come from one service and go to another.
//!
//! Such a request reads all of its piece before it sends it. Requests that begin together share the link evenly, so they end
//! reading together, and then all send: one link is idle while the other is full, and so on for the whole job. Where no more than half
//! of them read, the other half sends meanwhile, and both links are full.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Smaller pieces wait for answers more than for the link.
pub(crate) const SMALLEST: u64 = 256 << 10;

/// Where reading takes so many times as long as sending, the link is not what they share evenly, and all may read.
const SLOW: f64 = 2.0;

/// Of the mean of the times, the part that the newest has.
const NEWEST: f64 = 0.1;

/// Requests that have to end before their times say so: the first ones read in company and send alone.
const KNOWN_MIN: u32 = 32;

/// The turns of a job; clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    under_way: usize,
    reading: usize,
    /// Mean seconds that reading and sending took, and how many ended.
    took: (f64, f64),
    ended: u32,
}

/// A request that waits for its turn, has it, or has had it.
#[derive(Debug)]
pub(crate) struct Turn {
    /// `None` for one that shares no link with others.
    turns: Option<Turns>,
    reads: bool,
    since: Instant,
    read: Duration,
}

impl Turns {
    /// Waits for a turn to read. A request that is dropped gives its own back.
    pub(crate) async fn enter(&self) -> Turn {
        self.lock().under_way += 1;
        let mut turn = Turn { turns: Some(self.clone()), ..Turn::free() };
        loop {
            let changed = self.0.changed.notified();
            if self.lock().take() {
                break;
            }
            changed.await;
        }
        (turn.reads, turn.since) = (true, Instant::now());
        turn
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn take(&mut self) -> bool {
        let (read, sent) = self.took;
        let slow = self.ended >= KNOWN_MIN && read > SLOW * sent;
        let most = if slow { self.under_way } else { self.under_way.div_ceil(2) };
        let room = self.reading < most;
        self.reading += usize::from(room);
        room
    }

    fn learn(&mut self, read: Duration, sent: Duration) {
        self.took.0 += NEWEST * (read.as_secs_f64() - self.took.0);
        self.took.1 += NEWEST * (sent.as_secs_f64() - self.took.1);
        self.ended = self.ended.saturating_add(1);
    }
}

impl Turn {
    /// One that need not be waited for, and that nobody waits for.
    pub(crate) fn free() -> Self {
        Self { turns: None, reads: false, since: Instant::now(), read: Duration::ZERO }
    }

    /// All is read: the turn is the next one's.
    pub(crate) fn read(mut self) -> Self {
        self.read = self.since.elapsed();
        self.since = Instant::now();
        self.leave();
        self
    }

    /// All is sent as well.
    pub(crate) fn sent(self) {
        if let Some(turns) = &self.turns {
            turns.lock().learn(self.read, self.since.elapsed());
        }
    }

    fn leave(&mut self) {
        if let Some(turns) = self.turns.as_ref().filter(|_| self.reads) {
            turns.lock().reading -= 1;
            turns.0.changed.notify_waiters();
            self.reads = false;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave();
        if let Some(turns) = &self.turns {
            turns.lock().under_way -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of `turns` has one by now.
    async fn poll(turns: &mut Vec<tokio::task::JoinHandle<Turn>>) -> Vec<Turn> {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let (done, waiting): (Vec<_>, Vec<_>) = turns.drain(..).partition(|turn| turn.is_finished());
        *turns = waiting;
        let mut have = Vec::new();
        for turn in done {
            have.push(turn.await.unwrap());
        }
        have
    }

    fn five(turns: &Turns) -> Vec<tokio::task::JoinHandle<Turn>> {
        let enter = |()| {
            let turns = turns.clone();
            tokio::spawn(async move { turns.enter().await })
        };
        [(); 5].into_iter().map(enter).collect()
    }

    #[tokio::test]
    async fn half_of_them_read_while_the_others_wait_or_send() {
        let turns = Turns::default();
        let mut waiting = five(&turns);
        let mut reading = poll(&mut waiting).await;
        assert_eq!((reading.len(), waiting.len()), (3, 2));
        let sending = reading.pop().unwrap().read();
        assert_eq!(poll(&mut waiting).await.len(), 1, "one sends now, so another may read");
        drop((reading, sending));
        let given_up = waiting.pop().unwrap();
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
        let inner = turns.lock();
        assert_eq!((inner.under_way, inner.reading), (0, 0), "nobody keeps a turn that was given up");
    }

    #[tokio::test]
    async fn all_may_read_where_that_takes_much_longer_than_sending() {
        let turns = Turns::default();
        for _ in 0..KNOWN_MIN {
            turns.lock().learn(Duration::from_secs(5), Duration::from_secs(1));
        }
        let mut waiting = five(&turns);
        assert_eq!(poll(&mut waiting).await.len(), 5);
    }
}
