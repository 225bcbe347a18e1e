//! The local endpoint inside this process, for tests and experiments.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use haulage::store::check_local;
use haulage::{Error, ErrorKind};
use haulage_emulator::{EmulatorConfig, EmulatorThread, StoreKind};
use pyo3::prelude::*;

use crate::error::{Raise, exception};
use crate::event::to_python;

/// An endpoint of Azure Blob, Azure Tables and S3 on a free port of this machine; lives until closed or dropped.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct Emulator(Mutex<Option<EmulatorThread>>);

#[pymethods]
impl Emulator {
    /// Starts the endpoint; what is not given keeps the emulator's default.
    #[new]
    #[pyo3(signature = (*, store=None, link=None, faults=None, hierarchical=false))]
    fn new(
        py: Python<'_>,
        store: Option<&str>,
        link: Option<&str>,
        faults: Option<&str>,
        hierarchical: bool,
    ) -> PyResult<Self> {
        let mut config = EmulatorConfig { hierarchical, ..EmulatorConfig::default() };
        if let Some(store) = store {
            config.store = store.parse().unwrap_or_else(|never: Infallible| match never {});
            if let StoreKind::Directory(folder) = &config.store {
                check_local(folder).or_raise(py)?;
            }
        }
        if let Some(link) = link {
            config.link = link.parse().or_raise(py)?;
        }
        if let Some(faults) = faults {
            config.faults = faults.parse().or_raise(py)?;
        }
        let thread = py.detach(|| EmulatorThread::start(config)).or_raise(py)?;
        Ok(Self(Mutex::new(Some(thread))))
    }

    /// `http://127.0.0.1:PORT/ACCOUNT`.
    #[getter]
    fn endpoint(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |thread| thread.endpoint().to_string())
    }

    /// What Azure's own clients take to connect, key included.
    #[getter]
    fn connection_string(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |thread| thread.connection_string().to_string())
    }

    /// What an S3 client takes to connect: `endpoint_url`, `access_key_id`, `secret_access_key`, `region`.
    #[getter]
    fn s3<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.with(py, EmulatorThread::s3)?)
    }

    /// A shared access signature for the account, without `?`.
    #[pyo3(signature = (permissions, expires, /))]
    fn sas(&self, py: Python<'_>, permissions: &str, expires: SystemTime) -> PyResult<String> {
        self.with(py, |thread| thread.sas(permissions, expires).to_string())
    }

    /// What it has seen: requests by operation, bytes, faults, connections, rows of tables.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.with(py, EmulatorThread::stats)?)
    }

    /// Stops the endpoint and forgets what is in its memory. May be called again.
    fn close(&self, py: Python<'_>) {
        let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(thread));
    }
}

impl Emulator {
    fn with<T>(&self, py: Python<'_>, ask: impl FnOnce(&EmulatorThread) -> T) -> PyResult<T> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(thread) => Ok(ask(thread)),
            None => {
                Err(exception(py, &Error::new(ErrorKind::Usage, "ask", "emulator", "the emulator is closed")))
            }
        }
    }
}
