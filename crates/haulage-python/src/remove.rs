//! Removing objects and containers, and making containers.

use haulage::access::{self, Removal, RemoveOptions, RemoveReport};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::enter::enter;
use crate::error::Raise;
use crate::event::to_python;
use crate::options::{Name, shared_options};

/// Removes objects; everything that is named has been looked at before the first is gone.
#[pyfunction]
#[pyo3(signature = (urls, /, *, recursive, dry_run, max_delete, include, exclude, **options))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn remove<'py>(
    py: Python<'py>,
    urls: Vec<Name>,
    recursive: bool,
    dry_run: bool,
    max_delete: Option<u64>,
    include: Vec<String>,
    exclude: Vec<String>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = shared_options(options)?.store;
    let urls: Vec<String> = urls.into_iter().map(|Name(url)| url).collect();
    let what = RemoveOptions { recursive, dry_run, include, exclude, max_delete, ..RemoveOptions::default() };
    let removed = enter(py, async {
        let mut removal = Removal::find(&urls, &what, &options).await?;
        let (mut total, mut names) = (RemoveReport::default(), Vec::new());
        while let Some((_, report)) = removal.remove_next(&mut |name| names.push(name.to_owned())).await? {
            total.objects += report.objects;
            total.bytes = total.bytes.saturating_add(report.bytes);
            total.failures.extend(report.failures);
        }
        Ok::<_, haulage::Error>(report_json(&total, &names))
    })?;
    to_python(py, &removed.or_raise(py)?)
}

/// Creates the container of a URL.
#[pyfunction]
#[pyo3(signature = (url, /, **options))]
pub(crate) fn make_container(py: Python<'_>, url: Name, options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    let options = shared_options(options)?.store;
    enter(py, access::make_container(&url.0, &options))?.or_raise(py)
}

/// Deletes the container of a URL; one that holds objects only by `force`.
#[pyfunction]
#[pyo3(signature = (url, /, *, force, dry_run, max_delete, **options))]
pub(crate) fn remove_container<'py>(
    py: Python<'py>,
    url: Name,
    force: bool,
    dry_run: bool,
    max_delete: Option<u64>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = shared_options(options)?.store;
    let what = RemoveOptions { dry_run, max_delete, ..RemoveOptions::default() };
    let report = enter(py, access::remove_container(&url.0, force, &what, &options))?.or_raise(py)?;
    to_python(py, &report_json(&report, &[]))
}

fn report_json(report: &RemoveReport, names: &[String]) -> Value {
    json!({
        "objects": report.objects,
        "size_bytes": report.bytes,
        "failures": report.failures,
        "names": names,
    })
}
