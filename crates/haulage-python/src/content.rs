//! The bytes of one object: put, get, and what a file object in Python stands on.

use std::sync::{Mutex, PoisonError};

use haulage::store::StoreOpener;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::access::meta_json;
use crate::enter::enter;
use crate::error::{Raise, usage};
use crate::event::to_python;
use crate::options::{Name, shared_options};

/// Writes an object from bytes.
#[pyfunction]
#[pyo3(signature = (url, data, /, **options))]
pub(crate) fn put<'py>(
    py: Python<'py>,
    url: Name,
    data: PyBackedBytes,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = shared_options(options)?;
    let opener = StoreOpener::new(options.store.clone()).or_raise(py)?;
    let written = enter(py, haulage::access::put(&opener, &url.0, data, &options))?.or_raise(py)?;
    to_python(py, &written)
}

/// Reads an object whole.
#[pyfunction]
#[pyo3(signature = (url, /, **options))]
pub(crate) fn get<'py>(
    py: Python<'py>,
    url: Name,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = shared_options(options)?;
    let opener = StoreOpener::new(options.store.clone()).or_raise(py)?;
    let bytes = enter(py, haulage::access::get(&opener, &url.0, &options))?.or_raise(py)?;
    Ok(PyBytes::new(py, &bytes))
}

/// Reads stretches of an object, by their first byte and their length, or to the end; `version` is the ETag that it must have.
#[pyfunction]
#[pyo3(signature = (url, ranges, /, version=None, **options))]
pub(crate) fn get_ranges<'py>(
    py: Python<'py>,
    url: Name,
    ranges: Vec<(u64, Option<u64>)>,
    version: Option<&str>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let options = shared_options(options)?;
    let opener = StoreOpener::new(options.store.clone()).or_raise(py)?;
    let read = haulage::access::get_ranges(&opener, &url.0, &ranges, version, &options);
    let found = enter(py, read)?.or_raise(py)?;
    Ok(found.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
}

/// Reads up to `size` bytes from the beginning of an object, with what is known of it.
#[pyfunction]
#[pyo3(signature = (url, size, /, **options))]
pub(crate) fn get_first<'py>(
    py: Python<'py>,
    url: Name,
    size: u64,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyBytes>)> {
    let options = shared_options(options)?;
    let opener = StoreOpener::new(options.store.clone()).or_raise(py)?;
    let read = haulage::access::get_first(&opener, &url.0, size, &options);
    let (meta, bytes) = enter(py, read)?.or_raise(py)?;
    Ok((to_python(py, &meta_json(&meta))?, PyBytes::new(py, &bytes)))
}

/// One version of an object, for reading. Made in another process it is of no use: see `is_foreign`.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct Reader(Owned<haulage::access::Reader>);

#[pymethods]
impl Reader {
    /// Looks at the object; `version` is the ETag that it must have.
    #[new]
    #[pyo3(signature = (url, /, version=None, **options))]
    fn new(
        py: Python<'_>,
        url: Name,
        version: Option<&str>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = shared_options(options)?;
        let opener = StoreOpener::new(options.store.clone()).or_raise(py)?;
        let open = haulage::access::Reader::open(&opener, &url.0, version, &options);
        Ok(Self(Owned::new(enter(py, open)?.or_raise(py)?)))
    }

    /// What is known of the object.
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &meta_json(&self.0.value().meta()))
    }

    /// The bytes from `offset` on, `size` of them or up to the end.
    #[pyo3(signature = (offset, size, /))]
    fn read_at<'py>(&self, py: Python<'py>, offset: u64, size: u64) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = enter(py, self.0.value().read_at(offset, size))?.or_raise(py)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Whether it was opened by the process that this one was forked from.
    fn is_foreign(&self) -> bool {
        self.0.is_foreign()
    }
}

/// An object being written.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct Writer(Mutex<Option<Owned<haulage::job::Writer>>>);

#[pymethods]
impl Writer {
    /// Begins to write; nothing is sent yet.
    #[new]
    #[pyo3(signature = (url, /, **options))]
    fn new(py: Python<'_>, url: Name, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = shared_options(options)?;
        let opener = StoreOpener::new(options.store.clone()).or_raise(py)?;
        let open = async { haulage::job::Writer::open(&opener, &url.0, &options) };
        Ok(Self(Mutex::new(Some(Owned::new(enter(py, open)?.or_raise(py)?)))))
    }

    /// Takes bytes. After an error or an interrupt it is gone, and with it what was written.
    #[pyo3(signature = (data, /))]
    fn write(&self, py: Python<'_>, data: PyBackedBytes) -> PyResult<()> {
        let mut writer = self.take(py)?;
        let (writer, written) = enter(py, async move {
            let written = writer.write(&data).await;
            (writer, written)
        })?;
        written.or_raise(py)?;
        *self.lock() = Some(Owned::new(writer));
        Ok(())
    }

    /// Sends what is left and gives the object its name.
    fn commit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let written = enter(py, self.take(py)?.commit())?.or_raise(py)?;
        to_python(py, &written)
    }

    /// Gives up; nothing is left under the final name. May be called again.
    fn discard(&self, py: Python<'_>) -> PyResult<()> {
        match self.lock().take().and_then(Owned::into_value) {
            Some(writer) => enter(py, writer.discard()),
            None => Ok(()),
        }
    }
}

impl Writer {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Owned<haulage::job::Writer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Taken out while it works, so that nothing waits for the lock with the GIL in hand.
    fn take(&self, py: Python<'_>) -> PyResult<haulage::job::Writer> {
        self.lock().take().and_then(Owned::into_value).ok_or_else(|| {
            usage(
                py,
                "file",
                "it failed before, another thread writes to it, or it was opened before a fork",
                "open it again and write it from the beginning",
            )
        })
    }
}

/// What belongs to the runtime of one process.
struct Owned<T> {
    value: Option<T>,
    process: u32,
}

impl<T> Owned<T> {
    fn new(value: T) -> Self {
        Self { value: Some(value), process: std::process::id() }
    }

    fn is_foreign(&self) -> bool {
        self.process != std::process::id()
    }

    /// # Panics
    /// Never: only what consumes it takes the value out.
    fn value(&self) -> &T {
        self.value.as_ref().expect("the value is there until it is consumed")
    }

    /// The value; `None` in another process.
    fn into_value(mut self) -> Option<T> {
        if self.is_foreign() { None } else { self.value.take() }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.is_foreign() {
            // To end its tasks would touch threads and connections that are the parent's.
            std::mem::forget(self.value.take());
        }
    }
}
