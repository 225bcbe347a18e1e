//! The one doorway: releases the GIL, runs on the shared runtime, lets Ctrl-C through.

use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haulage::access::Sessions;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

/// How often a waiting call looks for signals. A person feels a delay from about 100 ms; taking the
/// GIL for this costs some microseconds.
const SIGNAL_CHECK: Duration = Duration::from_millis(20);

/// Runs `work` to its end without the GIL.
///
/// # Errors
/// What a signal handler raises, `KeyboardInterrupt` above all; `work` is then dropped where it stands.
pub(crate) fn enter<W>(py: Python<'_>, work: W) -> PyResult<W::Output>
where
    W: Future + Send,
    W::Output: Send,
{
    enter_with(py, work, |_| Ok(()))
}

/// As [`enter`], and calls `look` with the GIL held each time signals were checked.
pub(crate) fn enter_with<W, L>(py: Python<'_>, work: W, mut look: L) -> PyResult<W::Output>
where
    W: Future + Send,
    W::Output: Send,
    L: FnMut(Python<'_>) -> PyResult<()> + Send,
{
    let shared = shared()?;
    py.detach(|| {
        shared.runtime.block_on(async {
            let mut work = pin!(work);
            // Not at once: what takes less time than this needs the GIL only to return.
            let first = tokio::time::Instant::now() + SIGNAL_CHECK;
            let mut checks = tokio::time::interval_at(first, SIGNAL_CHECK);
            checks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    biased;
                    output = &mut work => return Ok(output),
                    _ = checks.tick() => attached(|py| {
                        py.check_signals()?;
                        look(py)
                    })?,
                }
            }
        })
    })
}

/// Runs `call` with the GIL, unless the interpreter is on its way out. What it runs, a signal handler or a callback, may enter the
/// engine in its turn.
fn attached(call: impl FnOnce(Python<'_>) -> PyResult<()>) -> PyResult<()> {
    match tokio::task::block_in_place(|| Python::try_attach(call)) {
        Some(result) => result,
        None => Err(PyRuntimeError::new_err("the interpreter is shutting down")),
    }
}

/// What all calls of this process share.
struct Shared {
    runtime: Runtime,
    sessions: Sessions,
}

/// The connections and credentials that single calls share.
pub(crate) fn sessions() -> PyResult<impl Deref<Target = Sessions>> {
    struct Held(Arc<Shared>);
    impl Deref for Held {
        type Target = Sessions;
        fn deref(&self) -> &Sessions {
            &self.0.sessions
        }
    }
    shared().map(Held)
}

/// The runtime and the sessions of this process. A forked child gets its own: the threads of the parent's are not in
/// it, and its connections are not the child's to use.
fn shared() -> PyResult<Arc<Shared>> {
    static SHARED: Mutex<Option<(u32, Arc<Shared>)>> = Mutex::new(None);
    let process = std::process::id();
    let mut known = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, shared)) = known.as_ref()
        && *owner == process
    {
        return Ok(Arc::clone(shared));
    }
    let runtime = Builder::new_multi_thread().enable_all().thread_name("haulage").build()?;
    let shared = Arc::new(Shared { runtime, sessions: Sessions::default() });
    if let Some((_, foreign)) = known.replace((process, Arc::clone(&shared))) {
        // Dropping it would wait for threads that exist only in the parent.
        std::mem::forget(foreign);
    }
    Ok(shared)
}

/// While it lives SIGINT has the system's own effect, so that the command handles it, not Python.
pub(crate) struct DefaultInterrupt<'py> {
    before: Option<Bound<'py, PyAny>>,
    py: Python<'py>,
}

impl<'py> DefaultInterrupt<'py> {
    /// Does nothing outside the main thread, where Python allows no change.
    pub(crate) fn set(py: Python<'py>) -> Self {
        Self { before: Self::exchange(py, None).ok(), py }
    }

    /// Python's `signal` imports `enum`, several milliseconds; `_signal` is built in.
    fn exchange(py: Python<'py>, handler: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let signal = py.import("_signal")?;
        let handler = match handler {
            Some(handler) => handler.clone(),
            None => signal.getattr("SIG_DFL")?,
        };
        signal.call_method1("signal", (signal.getattr("SIGINT")?, handler))
    }
}

impl Drop for DefaultInterrupt<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before.as_ref().filter(|before| !before.is_none()) {
            // It was possible a moment ago on this thread, so it is again; and a drop cannot raise.
            let _ = Self::exchange(self.py, Some(before));
        }
    }
}
