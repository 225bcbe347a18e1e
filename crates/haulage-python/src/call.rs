//! What the command line says, for the commands that are in Python.

use haulage_cli::Begun;
use haulage_cli::python::{Call, Value};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

pub(crate) fn converted(py: Python<'_>, begun: Begun) -> PyResult<Bound<'_, PyAny>> {
    match begun {
        Begun::Ended(code) => code.into_bound_py_any(py),
        Begun::InPython(Call { command, extra, values, .. }) => {
            let given = PyDict::new(py);
            for (name, value) in values {
                given.set_item(name, object(py, value)?)?;
            }
            (command, extra, given).into_bound_py_any(py)
        }
    }
}

fn object(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Value::Nothing => Ok(py.None().into_bound(py)),
        Value::Switch(given) => given.into_bound_py_any(py),
        Value::Whole(number) => number.into_bound_py_any(py),
        Value::Number(number) => number.into_bound_py_any(py),
        // The bytes of a name that are no text as Python has them in its own arguments.
        Value::Text(text) => text.into_bound_py_any(py),
        Value::Many(values) => {
            let objects = values.into_iter().map(|value| object(py, value));
            PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py)
        }
    }
}
