//! Brings blocks together that want their MD5 at about the same time, to hash them side by side.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{Md5, lanes};

/// What takes less than 25 us is done at once: to hand it over takes about as long.
const AT_ONCE: usize = 16 << 10;

/// With fewer on the wire the link might idle.
const FEW: usize = 2;

/// The longest that a body is held back. Far from the service, where a connection takes half a second for
/// a block, 64 of them bring 16 in this time, which costs a tenth at most, and nothing where the link is full.
const HOLD: Duration = Duration::from_millis(100);

/// Computes the MD5 of bodies that are about to be sent, several at once. Cheap to clone; clones are one.
///
/// While some are hashed, others gather. And since eight take no longer than one, bodies are held back a
/// little for others to join them, as long as enough are on the wire for the link not to idle. A lone body
/// is never held back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Md5Queue(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    hashing: bool,
    /// Bodies that have their MD5 and are being sent.
    on_wire: usize,
    /// Somebody has been held back long enough.
    overdue: bool,
}

#[derive(Debug)]
struct Waiting {
    body: Bytes,
    answer: oneshot::Sender<(Md5, OnWire)>,
    runtime: Handle,
}

/// A body that is being sent, until this is dropped.
#[derive(Debug)]
pub(crate) struct OnWire(Md5Queue);

/// The right to hash, until this is dropped.
struct Turn(Md5Queue);

impl State {
    /// Whom to hash now.
    fn next_batch(&mut self) -> Vec<Waiting> {
        self.waiting.retain(|waiting| !waiting.answer.is_closed());
        let count = self.waiting.len();
        if self.hashing || !self.overdue && self.on_wire >= FEW && count < lanes::width() {
            return Vec::new();
        }
        self.overdue = false;
        self.waiting.drain(..count.min(lanes::width())).collect()
    }
}

impl Md5Queue {
    /// The MD5 of a body that is sent next; hold the other value until it is. `None` where the runtime
    /// shuts down.
    pub(crate) async fn hash(&self, body: Bytes) -> Option<(Md5, OnWire)> {
        if body.len() < AT_ONCE {
            return Some((Md5::of(&body), self.on_wire()));
        }
        if lanes::width() == 1 {
            // One thread for all would only be slower.
            let md5 = tokio::task::spawn_blocking(move || Md5::of(&body)).await.ok()?;
            return Some((md5, self.on_wire()));
        }
        let (answer, mut answered) = oneshot::channel();
        self.state().waiting.push(Waiting { body: body.clone(), answer, runtime: Handle::current() });
        self.go_on();
        let answer = match tokio::time::timeout(HOLD, &mut answered).await {
            Ok(answer) => answer,
            Err(_) => {
                self.state().overdue = true;
                self.go_on();
                answered.await
            }
        };
        match answer {
            Ok(answer) => Some(answer),
            // The runtime that was to hash it has ended; it need not be ours.
            Err(_) => {
                let md5 = tokio::task::spawn_blocking(move || Md5::of(&body)).await.ok()?;
                Some((md5, self.on_wire()))
            }
        }
    }

    fn on_wire(&self) -> OnWire {
        self.state().on_wire += 1;
        OnWire(self.clone())
    }

    /// Hashes those whose time has come.
    fn go_on(&self) {
        let mut state = self.state();
        let batch = state.next_batch();
        let Some(first) = batch.first() else { return };
        state.hashing = true;
        drop(state);
        let turn = Turn(self.clone());
        first.runtime.clone().spawn_blocking(move || turn.hash(batch));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    fn hash(self, batch: Vec<Waiting>) {
        let bodies: Vec<&[u8]> = batch.iter().map(|waiting| &*waiting.body).collect();
        let digests = Md5::of_many(&bodies);
        tracing::trace!(blocks = digests.len(), "hashed by MD5");
        for (waiting, md5) in batch.into_iter().zip(digests) {
            // Counted before the answer is read, lest the next body thinks that it is alone.
            let on_wire = self.0.on_wire();
            // Who no longer listens has been cancelled.
            let _ = waiting.answer.send((md5, on_wire));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.state().hashing = false;
        self.0.go_on();
    }
}

impl Drop for OnWire {
    fn drop(&mut self) {
        self.0.state().on_wire -= 1;
        self.0.go_on();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn state(on_wire: usize) -> State {
        State { on_wire, ..State::default() }
    }

    /// Bodies that wait, and the ends at which their answers are awaited.
    fn add(state: &mut State, count: usize) -> Vec<oneshot::Receiver<(Md5, OnWire)>> {
        let wait = |_| {
            let (answer, answered) = oneshot::channel();
            state.waiting.push(Waiting { body: Bytes::new(), answer, runtime: Handle::current() });
            answered
        };
        (0..count).map(wait).collect()
    }

    #[tokio::test]
    async fn a_lone_body_is_hashed_at_once_and_so_are_enough() {
        let full = lanes::width();
        for (waiting, on_wire, hashed) in [(1, 0, 1), (1, 1, 1), (full, 9, full), (40, 9, full)] {
            let mut state = state(on_wire);
            let _answered = add(&mut state, waiting);
            assert_eq!(state.next_batch().len(), hashed, "{waiting} wait, {on_wire} on the wire");
        }
    }

    #[tokio::test]
    async fn with_enough_on_the_wire_a_body_waits_for_company() {
        let mut state = state(FEW);
        let _answered = add(&mut state, 1);
        assert_eq!(state.next_batch().len(), usize::from(lanes::width() == 1));
    }

    #[tokio::test]
    async fn nobody_is_hashed_beside_a_batch_or_after_giving_up() {
        let mut state = state(0);
        let answered = add(&mut state, 3);
        state.hashing = true;
        assert!(state.next_batch().is_empty());
        state.hashing = false;
        drop(answered);
        assert!(state.next_batch().is_empty());
    }

    #[tokio::test]
    async fn who_has_waited_long_enough_takes_the_others_along() {
        let mut state = state(5);
        let _answered = add(&mut state, 3);
        state.overdue = true;
        assert_eq!(state.next_batch().len(), lanes::width().min(3));
        assert!(!state.overdue);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn each_gets_its_own_digest_however_they_come_and_go() {
        let queue = Md5Queue::default();
        let given_up = AtomicUsize::new(0);
        let one = async |number: usize| {
            let body = Bytes::from(vec![number as u8; 10_000 + number * 1_000]);
            for _ in 0..5 {
                let hashed = queue.hash(body.clone());
                // Every seventh asks and goes away.
                if number.is_multiple_of(7) {
                    let _ = tokio::time::timeout(Duration::ZERO, hashed).await;
                    given_up.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                let (md5, _on_wire) = hashed.await.unwrap();
                assert_eq!(md5, Md5::of(&body));
                tokio::task::yield_now().await;
            }
        };
        futures_util::future::join_all((0..40).map(one)).await;
        assert_eq!(given_up.into_inner(), 30);
        let state = queue.state();
        assert_eq!((state.on_wire, state.waiting.iter().filter(|it| !it.answer.is_closed()).count()), (0, 0));
    }

    #[test]
    fn a_runtime_that_ends_takes_no_other_down() {
        let queue = Md5Queue::default();
        let body = Bytes::from(vec![1; AT_ONCE]);
        let ended = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let handle = ended.handle().clone();
        drop(ended);
        let (answer, answered) = oneshot::channel();
        queue.state().waiting.push(Waiting { body: body.clone(), answer, runtime: handle });
        queue.go_on();
        drop(answered);
        let alive = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (md5, _on_wire) = alive.block_on(queue.hash(body.clone())).unwrap();
        assert_eq!(md5, Md5::of(&body));
    }
}
