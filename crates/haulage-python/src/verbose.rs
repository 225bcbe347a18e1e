//! What the engine decides, for whoever listens: on standard error, or in batches for Python's `logging`.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haulage::verbose::{self, Level, Listener};
use pyo3::prelude::*;

/// What was said and not fetched yet.
static HEARD: Mutex<Option<Receiver<(Level, String)>>> = Mutex::new(None);

/// Messages that one call fetches at most.
const BATCH: usize = 1000;

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
    let (send, receive) = channel();
    *HEARD.lock().unwrap_or_else(PoisonError::into_inner) = Some(receive);
    let listener: Listener = Arc::new(move |level, text: &str| {
        // Nobody fetches any more: a later call has taken over.
        let _ = send.send((level, text.to_owned()));
    });
    verbose::listen(Level::of_count(level).map(|level| (level, listener)));
}

/// The messages since the last call, each with its level, waiting so long for the first; `None` when there will be none any more.
#[pyfunction]
#[pyo3(signature = (timeout_s, /))]
pub(crate) fn heard(py: Python<'_>, timeout_s: f64) -> Option<Vec<(u8, String)>> {
    py.detach(|| {
        let held = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
        let receive = held.as_ref()?;
        let timeout = Duration::try_from_secs_f64(timeout_s).unwrap_or_default();
        match receive.recv_timeout(timeout) {
            Ok(first) => {
                let all = std::iter::once(first).chain(receive.try_iter()).take(BATCH);
                Some(all.map(|(level, text)| (level as u8, text)).collect())
            }
            Err(RecvTimeoutError::Timeout) => Some(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    })
}
