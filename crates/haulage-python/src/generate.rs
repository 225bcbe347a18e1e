//! Bytes from a seed.

use haulage::units::ByteSize;
use pyo3::prelude::*;

use crate::enter::enter;
use crate::error::Raise;
use crate::options::Name;

/// Writes `size_bytes` bytes of the stream of `seed` to a file or to `mem://name/key`.
#[pyfunction]
#[pyo3(signature = (name, /, size_bytes, seed))]
pub(crate) fn generate(py: Python<'_>, name: Name, size_bytes: u64, seed: u64) -> PyResult<()> {
    enter(py, haulage::generate::generate(&name.0, ByteSize::new(size_bytes), seed))?.or_raise(py)
}
