//! How a URL would be reached, for a diagnosis.

use haulage::store::reach;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::enter::enter;
use crate::error::Raise;
use crate::event::to_python;
use crate::options::{Name, copy_options};

/// Where a URL leads, and through what. Sends nothing.
#[pyfunction]
#[pyo3(signature = (url, /, **options))]
pub(crate) fn way<'py>(
    py: Python<'py>,
    url: Name,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = copy_options(options)?.store;
    to_python(py, &reach::way(&url.0, &options).or_raise(py)?)
}

/// Who would ask, by what credential.
#[pyfunction]
#[pyo3(signature = (url, /, **options))]
pub(crate) fn identity<'py>(
    py: Python<'py>,
    url: Name,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = copy_options(options)?.store;
    to_python(py, &enter(py, reach::identity(&url.0, &options))?.or_raise(py)?)
}

/// What answers there to somebody without a name, so many times.
#[pyfunction]
#[pyo3(signature = (url, times, crc64, /, **options))]
pub(crate) fn knock<'py>(
    py: Python<'py>,
    url: Name,
    times: usize,
    crc64: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = copy_options(options)?.store;
    to_python(py, &enter(py, reach::knock(&url.0, &options, times, crc64))?.or_raise(py)?)
}
