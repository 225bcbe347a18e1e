//! What the engine says, as Python values.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

/// The dicts, lists and numbers that `value` is in JSON.
///
/// Through text, because one call of Python's C parser for a batch is quicker than a call of the
/// interpreter for every field.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}
