//! The engine's errors as Python exceptions.

use haulage::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Turns an engine result into a Python one.
pub(crate) trait Raise<T> {
    /// An error becomes the exception of its kind, from `haulage.errors`.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for haulage::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}

/// The exception that stands for `error`.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let made = py.import("haulage.errors").and_then(|errors| {
        errors.call_method1(
            "from_engine",
            (error.kind().code(), error.operation(), error.object_name(), error.cause(), error.hint_text()),
        )
    });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

/// The exception for an argument that makes no sense.
pub(crate) fn usage(py: Python<'_>, object: &str, cause: &str, hint: &str) -> PyErr {
    exception(py, &Error::new(ErrorKind::Usage, "read the arguments", object, cause).hint(hint))
}

/// The codes of all kinds of failure, each with its exit code. For the test that both sides agree.
#[pyfunction]
pub(crate) fn error_kinds(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let kinds = PyDict::new(py);
    for kind in ErrorKind::ALL {
        kinds.set_item(kind.code(), kind.exit_code())?;
    }
    Ok(kinds)
}
