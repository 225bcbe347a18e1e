//! Jobs: start, hear, cancel, wait.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haulage::event::{Event, Summary};
use haulage::job::{Deleting, Work};
use haulage::units::ByteRate;
use haulage::{Error, ErrorKind, JobHandle, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::enter::{enter, enter_with};
use crate::error::{Raise, exception, usage};
use crate::event::to_python;
use crate::options::{Name, copy_options};

/// How often a waiting call looks whether the job has ended, at first and at last. It does not hold the
/// handle meanwhile, so that other threads can cancel.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(5);
/// How often `on_progress` is called, in checks for signals of 20 ms each.
const CHECKS_PER_PROGRESS: u32 = 10;
/// After Ctrl-C the job gets this long to end, and to remove partial files with nothing in them to go on from, before the
/// interrupt is raised.
const CLEAN_UP: Duration = Duration::from_millis(60);

/// A copy or a comparison, from its start to its summary. Dropping it cancels the job.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct Job(Mutex<State>);

/// Where a job is in its life.
enum State {
    Ready(Box<haulage::Job>),
    Running {
        handle: JobHandle,
        listens: bool,
    },
    /// Held by a call that waits for the last word.
    Ending,
    Ended(Result<Summary>),
}

#[pymethods]
impl Job {
    /// A copy of sources into one destination.
    #[staticmethod]
    #[pyo3(signature = (sources, destination, /, **options))]
    fn copy(sources: Vec<Name>, destination: Name, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let sources = sources.into_iter().map(|Name(source)| source).collect();
        Self::new(Work::Copy { sources, destination: destination.0 }, options)
    }

    /// A copy of each source to its own destination.
    #[staticmethod]
    #[pyo3(signature = (pairs, /, **options))]
    fn copy_pairs(pairs: Vec<(Name, Name)>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let pairs = pairs.into_iter().map(|(source, destination)| (source.0, destination.0)).collect();
        Self::new(Work::CopyPairs(pairs), options)
    }

    /// A comparison by checksum.
    #[staticmethod]
    #[pyo3(signature = (source, destination, /, stored, deep, **options))]
    fn verify(
        source: Name,
        destination: Name,
        stored: bool,
        deep: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (source, destination) = (source.0, destination.0);
        Self::new(Work::Verify { source, destination, stored, deep }, options)
    }

    /// What makes the destination equal to the source.
    #[staticmethod]
    #[pyo3(signature = (source, destination, /, delete, max_delete, allow_empty, **options))]
    fn sync(
        py: Python<'_>,
        source: Name,
        destination: Name,
        delete: bool,
        max_delete: Option<String>,
        allow_empty: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let delete = deleting(py, delete, max_delete, allow_empty)?;
        Self::new(Work::Sync { source: source.0, destination: destination.0, delete }, options)
    }

    /// A copy that deletes its sources.
    #[staticmethod]
    #[pyo3(signature = (sources, destination, /, **options))]
    fn move_(sources: Vec<Name>, destination: Name, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let sources = sources.into_iter().map(|Name(source)| source).collect();
        Self::new(Work::Move { sources, destination: destination.0 }, options)
    }

    /// Starts it; does nothing if it is started already. Only a job that listens keeps its events.
    #[pyo3(signature = (*, listen))]
    fn start(&self, py: Python<'_>, listen: bool) -> PyResult<()> {
        let State::Ready(job) = self.take_if(|state| matches!(state, State::Ready(_))) else { return Ok(()) };
        // Without the lock: whoever asks for progress meanwhile must not wait for it with the GIL in hand.
        let job = if listen { job.listen() } else { *job };
        let started = enter(py, async { job.start() });
        if started.is_err() {
            let stopped = haulage::Error::new(ErrorKind::Cancelled, "start", "job", "interrupted");
            *self.lock() = State::Ended(Err(stopped));
        }
        match started? {
            Ok(handle) => {
                *self.lock() = State::Running { handle, listens: listen };
                Ok(())
            }
            Err(error) => {
                let raised = exception(py, &error);
                *self.lock() = State::Ended(Err(error));
                Err(raised)
            }
        }
    }

    /// Waits for events and returns what is there, at most `max`; an empty list after the last.
    #[pyo3(signature = (max, /))]
    fn next_events<'py>(&self, py: Python<'py>, max: usize) -> PyResult<Bound<'py, PyAny>> {
        self.start(py, true)?;
        if let State::Running { listens: false, .. } = &*self.lock() {
            return Err(usage(
                py,
                "job",
                "it was started without keeping its events",
                "write job.start(listen=True), or events() on a job that is not started",
            ));
        }
        let events = self.interruptible(py, self.batch(max.max(1)), |_| Ok(()))?;
        to_python(py, &events)
    }

    /// A sample of how far it has come; `None` before the start and after the end.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let progress = match &*self.lock() {
            State::Running { handle, .. } => Some(handle.progress()),
            _ => None,
        };
        progress.map(|progress| to_python(py, &progress)).transpose()
    }

    /// Stops it at once. The summary then says what was done.
    fn cancel(&self) {
        if let State::Running { handle, .. } = &*self.lock() {
            handle.cancel();
        }
    }

    /// Bounds the rate on the wire from now on; `None` for no bound. Nothing before the start and after the end.
    #[pyo3(signature = (rate, /))]
    fn set_cap(&self, py: Python<'_>, rate: Option<&str>) -> PyResult<()> {
        let rate = rate.map(|rate| rate.parse().and_then(ByteRate::as_cap)).transpose().or_raise(py)?;
        if let State::Running { handle, .. } = &*self.lock() {
            handle.cap().set(rate);
        }
        Ok(())
    }

    /// Waits for the end, starting it if need be; calls `on_progress` several times a second.
    #[pyo3(signature = (on_progress=None))]
    fn wait<'py>(&self, py: Python<'py>, on_progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        self.start(py, false)?;
        let mut checks = 0;
        self.interruptible(py, self.ended(), |py| {
            checks += 1;
            match &on_progress {
                Some(call) if checks % CHECKS_PER_PROGRESS == 0 => self.tell(py, call),
                _ => Ok(()),
            }
        })?;
        if let Some(call) = &on_progress {
            self.tell(py, call)?;
        }
        self.finish(py)?;
        match &*self.lock() {
            State::Ended(Ok(summary)) => to_python(py, summary),
            State::Ended(Err(error)) => Err(exception(py, error)),
            _ => Err(exception(py, &busy())),
        }
    }
}

impl Job {
    /// One that runs already.
    pub(crate) fn running(handle: JobHandle, listens: bool) -> Self {
        Self(Mutex::new(State::Running { handle, listens }))
    }

    fn new(work: Work, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Ok(Self(Mutex::new(State::Ready(Box::new(haulage::Job::new(work, copy_options(options)?))))))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of state is one assignment, so the state is whole even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next event; `None` when there will be no more.
    ///
    /// Holds the lock only for each look at the queue, so that `progress` and `cancel` get through
    /// from other threads. The future of a look is made anew each time: it holds nothing between two.
    async fn next_event(&self) -> Option<Event> {
        poll_fn(|context| match &mut *self.lock() {
            State::Running { handle, .. } => pin!(handle.next_event()).poll(context),
            _ => std::task::Poll::Ready(None),
        })
        .await
    }

    /// The next event if it is there already.
    async fn ready_event(&self) -> Option<Event> {
        tokio::select! {
            biased;
            event = self.next_event() => event,
            () = std::future::ready(()) => None,
        }
    }

    /// At least one event, unless there are no more; then all that are there, up to `max`.
    async fn batch(&self, max: usize) -> Vec<Event> {
        let mut events: Vec<Event> = self.next_event().await.into_iter().collect();
        while !events.is_empty() && events.len() < max {
            match self.ready_event().await {
                Some(event) => events.push(event),
                None => break,
            }
        }
        events
    }

    /// Returns when the job has ended. Takes events that nobody else does: a full queue would hold it.
    async fn ended(&self) {
        let mut pause = FIRST_LOOK;
        loop {
            while self.ready_event().await.is_some() {}
            match &*self.lock() {
                State::Running { handle, .. } if !handle.is_finished() => {}
                _ => return,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 5 / 4).min(LAST_LOOK);
        }
    }

    /// Enters with `work`; an exception on the way cancels the job and lets it clean up first.
    fn interruptible<W>(
        &self,
        py: Python<'_>,
        work: W,
        look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    ) -> PyResult<W::Output>
    where
        W: Future + Send,
        W::Output: Send,
    {
        enter_with(py, work, look).inspect_err(|_| {
            self.cancel();
            // The first exception is the one to raise; a second Ctrl-C adds nothing to it.
            let _ = enter(py, async { tokio::time::timeout(CLEAN_UP, self.ended()).await });
        })
    }

    fn tell(&self, py: Python<'_>, call: &Py<PyAny>) -> PyResult<()> {
        match self.progress(py)? {
            Some(progress) => call.call1(py, (progress,)).map(drop),
            None => Ok(()),
        }
    }

    /// Asks for the last word, once.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        if let State::Running { handle, .. } = self.take_if(|state| matches!(state, State::Running { .. })) {
            let last = enter(py, handle.wait());
            let (state, raised) = match last {
                Ok(last) => (last, Ok(())),
                Err(raised) => {
                    (Err(Error::new(ErrorKind::Cancelled, "wait", "job", "interrupted")), Err(raised))
                }
            };
            *self.lock() = State::Ended(state);
            return raised;
        }
        Ok(())
    }

    /// Takes the state out if it is the one asked for; `Ending` stands for it until it is put back.
    fn take_if(&self, asked: impl FnOnce(&State) -> bool) -> State {
        let mut state = self.lock();
        if asked(&state) { std::mem::replace(&mut *state, State::Ending) } else { State::Ending }
    }
}

fn busy() -> Error {
    Error::new(ErrorKind::Usage, "wait", "job", "another thread waits for this job already")
}

/// Pairs of source and destination that a file holds.
#[pyfunction]
#[pyo3(signature = (path, /))]
pub(crate) fn read_pairs(py: Python<'_>, path: Name) -> PyResult<Vec<(String, String)>> {
    enter(py, async { haulage::job::read_pairs(path.0.as_ref()) })?.or_raise(py)
}

/// What a copy would do, without doing it.
#[pyfunction]
#[pyo3(signature = (sources, destination, /, **options))]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    sources: Vec<Name>,
    destination: Name,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = copy_options(options)?;
    let sources: Vec<String> = sources.into_iter().map(|Name(source)| source).collect();
    let report = enter(py, haulage::job::plan(&sources, &destination.0, &options))?.or_raise(py)?;
    to_python(py, &report)
}

/// What a sync may delete; nothing where none is wanted.
pub(crate) fn deleting(
    py: Python<'_>,
    wanted: bool,
    max: Option<String>,
    allow_empty: bool,
) -> PyResult<Option<Deleting>> {
    let max = max.map(|most| most.parse()).transpose().or_raise(py)?;
    Ok(wanted.then_some(Deleting { max, allow_empty }))
}
