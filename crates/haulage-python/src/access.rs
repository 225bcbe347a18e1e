//! Looking at what a store holds.

use std::sync::{Mutex, PoisonError};

use haulage::event::Failure;
use haulage::store::{Access, ListPage, ObjectMeta};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::enter::enter;
use crate::error::Raise;
use crate::event::to_python;
use crate::options::{Name, shared_options};

/// The pages of a list.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct Listing(Mutex<Option<haulage::access::Listing>>);

#[pymethods]
impl Listing {
    /// Begins to list what is below a URL.
    #[new]
    #[pyo3(signature = (url, /, recursive, **options))]
    fn new(
        py: Python<'_>,
        url: Name,
        recursive: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = shared_options(options)?.store;
        let listing = enter(py, haulage::access::list(&url.0, recursive, &options))?.or_raise(py)?;
        Ok(Self(Mutex::new(Some(listing))))
    }

    /// The next page: `objects`, `prefixes` and `problems`; `None` after the last.
    fn next_page<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // Taken out while it works, so that nothing waits for the lock with the GIL in hand.
        let Some(mut listing) = self.lock().take() else {
            return Err(PyRuntimeError::new_err(
                "another thread asks for a page of this list, or it was interrupted",
            ));
        };
        let (listing, page) = enter(py, async {
            let page = listing.next_page().await;
            (listing, page)
        })?;
        *self.lock() = Some(listing);
        page.or_raise(py)?.map(|page| to_python(py, &page_json(&page))).transpose()
    }
}

impl Listing {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<haulage::access::Listing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of one object.
#[pyfunction]
#[pyo3(signature = (url, /, **options))]
pub(crate) fn stat<'py>(
    py: Python<'py>,
    url: Name,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = shared_options(options)?.store;
    let meta = enter(py, haulage::access::stat(&url.0, &options))?.or_raise(py)?;
    to_python(py, &meta_json(&meta))
}

/// A URL by which whoever has it may read or write an object.
#[pyfunction]
#[pyo3(signature = (url, /, *, write, expires, **options))]
pub(crate) fn presign(
    py: Python<'_>,
    url: Name,
    write: bool,
    expires: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let options = shared_options(options)?.store;
    let life = haulage::units::parse_duration(expires).or_raise(py)?;
    let access = if write { Access::Write } else { Access::Read };
    let signed = enter(py, haulage::access::presign(&url.0, access, life, &options))?.or_raise(py)?;
    Ok(signed.url)
}

fn page_json(page: &ListPage) -> Value {
    json!({
        "objects": page.objects.iter().map(meta_json).collect::<Vec<_>>(),
        "prefixes": page.prefixes,
        "problems": page.problems.iter().map(Failure::from).collect::<Vec<_>>(),
    })
}

pub(crate) fn meta_json(meta: &ObjectMeta) -> Value {
    json!({
        "key": meta.key,
        "size_bytes": meta.size,
        "etag": meta.etag,
        "modified_ns": nanoseconds(meta.modified_ns),
        "source_modified_ns": meta.source_modified_ns.map(nanoseconds),
        "crc64": meta.crc64,
        "md5": meta.md5,
        "content_type": meta.content_type,
    })
}

/// As far as JSON's numbers go: the years 1677 to 2554.
fn nanoseconds(ns: i128) -> Value {
    i64::try_from(ns).map(Value::from).or_else(|_| u64::try_from(ns).map(Value::from)).unwrap_or(Value::Null)
}
