//! What the engine decides, for whoever listens: on standard error, or in batches for Python's `logging`.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haulage::verbose::{self, Level, Listener};
use pyo3::prelude::*;

/// What was said and not fetched yet. Nobody waits with the lock held, so that a forked child finds it open.
static HEARD: Mutex<Heard> = Mutex::new(Heard { listens: false, messages: VecDeque::new() });
static COMES: Condvar = Condvar::new();

/// Messages that one call fetches at most.
const BATCH: usize = 1000;

struct Heard {
    /// Whether more may come.
    listens: bool,
    messages: VecDeque<(u8, String)>,
}

fn heard_so_far() -> MutexGuard<'static, Heard> {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on writes what is decided to standard error: 0 nothing, 1 decisions, 2 each request too.
#[pyfunction]
#[pyo3(signature = (level, /))]
pub(crate) fn say_decisions(level: u8) {
    haulage_cli::output::listen(Level::of_count(level));
}

/// The same, to be fetched by [`heard`].
#[pyfunction]
#[pyo3(signature = (level, /))]
pub(crate) fn hear_decisions(level: u8) {
    let listener: Listener = Arc::new(|level, text: &str| {
        heard_so_far().messages.push_back((level as u8, text.to_owned()));
        COMES.notify_one();
    });
    let level = Level::of_count(level);
    heard_so_far().listens = level.is_some();
    verbose::listen(level.map(|level| (level, listener)));
    COMES.notify_all();
}

/// The messages since the last call, each with its level, waiting so long for the first; `None` when there will be none any more.
#[pyfunction]
#[pyo3(signature = (timeout_s, /))]
pub(crate) fn heard(py: Python<'_>, timeout_s: f64) -> Option<Vec<(u8, String)>> {
    py.detach(|| {
        let timeout = Duration::try_from_secs_f64(timeout_s).unwrap_or_default();
        let nothing = |heard: &mut Heard| heard.listens && heard.messages.is_empty();
        let (mut heard, _) = COMES
            .wait_timeout_while(heard_so_far(), timeout, nothing)
            .unwrap_or_else(PoisonError::into_inner);
        if heard.messages.is_empty() && !heard.listens {
            return None;
        }
        let some = heard.messages.len().min(BATCH);
        Some(heard.messages.drain(..some).collect())
    })
}
