//! The log that programs of users write to.

use std::path::PathBuf;
use std::time::Duration;

use haulage::eventlog::{EventLog as Engine, LogOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::enter::enter;
use crate::error::Raise;
use crate::options::{Name, copy_options};

/// Signs of life come no more often.
const SHORTEST_BEAT: Duration = Duration::from_millis(10);

/// A log that is being written. It keeps no interpreter waiting: what is said is in a file of this machine at once.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct EventLog(Engine);

#[pymethods]
impl EventLog {
    /// Opens the log; sends nothing yet. `spool` is the folder for what is not sent yet.
    #[new]
    #[pyo3(signature = (url, /, *, job=None, node=None, spool=None, **options))]
    fn new(
        py: Python<'_>,
        url: Name,
        job: Option<String>,
        node: Option<String>,
        spool: Option<PathBuf>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let store = copy_options(options)?.store;
        let whose = LogOptions {
            url: url.0,
            job: job.unwrap_or_default(),
            node: node.unwrap_or_default(),
            outbox: spool,
            ..LogOptions::default()
        };
        enter(py, async { Engine::open(&whose, &store) })?.map(Self).or_raise(py)
    }

    /// The name of the run.
    #[getter]
    fn job(&self) -> &str {
        self.0.job()
    }

    /// The name of this machine.
    #[getter]
    fn node(&self) -> &str {
        self.0.node()
    }

    /// The name of what this process says.
    #[getter]
    fn stream(&self) -> &str {
        self.0.stream()
    }

    /// Lines that found no room on this machine's disk.
    #[getter]
    fn dropped(&self) -> u64 {
        self.0.dropped()
    }

    /// Says something; `fields` is an object of JSON. Waits for no network.
    #[pyo3(signature = (event, fields, /))]
    fn say(&self, py: Python<'_>, event: &str, fields: &str) -> PyResult<()> {
        py.detach(|| self.0.say(event, fields)).or_raise(py)
    }

    /// Gives a sign of life as often, from a thread that needs no interpreter.
    #[pyo3(signature = (seconds, /))]
    fn beat(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let every = patience(seconds).max(SHORTEST_BEAT);
        enter(py, async { self.0.beat(every) })
    }

    /// Waits until all that was said is in the log; whether it is.
    #[pyo3(signature = (seconds, /))]
    fn flush(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let patience = patience(seconds);
        enter(py, self.0.flush(patience))
    }

    /// Says no more; whether all is in the log within this time. Where not, the next one that writes to it sends the rest.
    #[pyo3(signature = (seconds, /))]
    fn close(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let patience = patience(seconds);
        Ok(enter(py, self.0.close(patience))?.is_ok())
    }
}

fn patience(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
