//! Tables: single pages, exports and imports.

use std::path::PathBuf;
use std::sync::Mutex;

use haulage::table::{
    Export, ExportOptions, Format, Formulas, Import, ImportOptions, ImportProgress, Level, Mode, Place,
    Progress, Query, arrow_of_page,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;

use crate::enter::{enter, enter_with};
use crate::error::{Raise, exception, usage};
use crate::event::to_python;
use crate::options::{Name, shared_options};

/// How often `on_progress` is called, in checks for signals of 20 ms each.
const CHECKS_PER_PROGRESS: u32 = 10;

/// Where the next page begins: partition, and row where one is named.
type NextPage = (String, Option<String>);

/// A table that is asked single questions.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct Table(haulage::table::Table);

#[pymethods]
impl Table {
    /// Finds out where the table is and who asks. Sends nothing.
    #[new]
    #[pyo3(signature = (url, /, **options))]
    fn new(py: Python<'_>, url: Name, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = shared_options(options)?.store;
        enter(py, async { haulage::table::Table::open(&url.0, &options) })?.or_raise(py).map(Self)
    }

    /// The table as its user would write it, without the secrets.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    /// The table's URL without its secrets, whatever form names it.
    #[getter]
    fn url(&self) -> String {
        self.0.url()
    }

    /// One page: its body, media type, and where the next begins.
    #[pyo3(signature = (*, filter=None, select=None, top=None, next=None, level="minimal"))]
    fn page<'py>(
        &self,
        py: Python<'py>,
        filter: Option<String>,
        select: Option<Vec<String>>,
        top: Option<u32>,
        next: Option<NextPage>,
        level: &str,
    ) -> PyResult<(Bound<'py, PyBytes>, String, Option<NextPage>)> {
        let level = match level {
            "none" => Level::None,
            "minimal" => Level::Minimal,
            "full" => Level::Full,
            "atom" => Level::Atom,
            other => {
                return Err(usage(py, other, "no such level", "levels are none, minimal, full and atom"));
            }
        };
        let query = Query {
            filter,
            select: select.filter(|names| !names.is_empty()).map(|names| names.join(",")),
            top,
            place: next.map(|(partition, row)| Place { partition, row }),
        };
        let page = enter(py, self.0.page(&query, level))?.or_raise(py)?;
        let next = page.next.map(|place| (place.partition, place.row));
        Ok((PyBytes::new(py, &page.body), page.content_type, next))
    }

    /// Makes it.
    fn create(&self, py: Python<'_>) -> PyResult<()> {
        enter(py, self.0.create())?.or_raise(py)
    }

    /// Removes it with its rows; a dry run only looks whether it is there.
    #[pyo3(signature = (*, dry_run=false))]
    fn remove(&self, py: Python<'_>, dry_run: bool) -> PyResult<()> {
        enter(py, self.0.remove(dry_run))?.or_raise(py)
    }

    /// The names of the account's tables.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        enter(py, self.0.names())?.or_raise(py)
    }
}

/// A page in JSON with types, as a stream of Apache Arrow.
#[pyfunction]
#[pyo3(signature = (body, /))]
pub(crate) fn table_page_arrow<'py>(py: Python<'py>, body: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let arrow = py.detach(|| arrow_of_page(body, "page")).or_raise(py)?;
    Ok(PyBytes::new(py, &arrow))
}

/// An export of a table to a file.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct TableExport {
    export: Mutex<Option<Export>>,
    progress: Progress,
}

#[pymethods]
impl TableExport {
    /// Looks at the arguments, and at what an export that was broken off has left.
    #[new]
    #[pyo3(signature = (table, path, /, *, format=None, filter=None, select=None, queries=None, formulas=None, **options))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        table: Name,
        path: PathBuf,
        format: Option<&str>,
        filter: Option<String>,
        select: Option<Vec<String>>,
        queries: Option<usize>,
        formulas: Option<&str>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let shared = shared_options(options)?;
        let options = ExportOptions {
            store: shared.store,
            record: shared.record,
            formulas: formulas.map(str::parse::<Formulas>).transpose().or_raise(py)?.unwrap_or_default(),
            format: format.map(str::parse::<Format>).transpose().or_raise(py)?,
            filter,
            select: select.unwrap_or_default(),
            concurrency: queries,
        };
        let export = enter(py, async { Export::new(&table.0, &path, options) })?.or_raise(py)?;
        let progress = export.progress();
        Ok(Self { export: Mutex::new(Some(export)), progress })
    }

    /// Runs it to its end; calls `on_progress` several times a second. An exception leaves what has come for the next.
    #[pyo3(signature = (on_progress=None))]
    fn run<'py>(&self, py: Python<'py>, on_progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let export = self.export.lock().ok().and_then(|mut held| held.take());
        let Some(export) = export else {
            return Err(usage(py, "export", "it has run already", "make a new one"));
        };
        let mut checks = 0;
        let done = enter_with(py, export.run(), |py| {
            checks += 1;
            match &on_progress {
                Some(call) if checks % CHECKS_PER_PROGRESS == 0 => {
                    call.call1(py, (self.progress(py)?,)).map(drop)
                }
                _ => Ok(()),
            }
        })?;
        match done {
            Ok(exported) => to_python(py, &exported),
            Err(error) => Err(exception(py, &error)),
        }
    }

    /// Rows that have come, requests that have ended and bytes on the wire.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Self { progress, .. } = self;
        let sample = json!({
            "rows": progress.rows(),
            "requests": progress.requests(),
            "bytes_wire": progress.bytes_wire(),
        });
        to_python(py, &sample)
    }
}

/// An import of a file into a table.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct TableImport {
    import: Mutex<Option<Import>>,
    progress: ImportProgress,
}

#[pymethods]
impl TableImport {
    /// Looks at the arguments, the columns of the file, and at what an import that was broken off has left.
    #[new]
    #[pyo3(signature = (
        source, table, /, *, format=None, mode="replace", partition_key=None, row_key=None, exclude=None, index=None,
        create=false, dead_letters=None, transactions=None, **options
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        source: PathBuf,
        table: Name,
        format: Option<&str>,
        mode: &str,
        partition_key: Option<String>,
        row_key: Option<String>,
        exclude: Option<Vec<String>>,
        index: Option<String>,
        create: bool,
        dead_letters: Option<PathBuf>,
        transactions: Option<usize>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mode = match mode {
            "replace" => Mode::Replace,
            "merge" => Mode::Merge,
            "insert" => Mode::Insert,
            other => return Err(usage(py, other, "no such mode", "modes are replace, merge and insert")),
        };
        let shared = shared_options(options)?;
        let options = ImportOptions {
            store: shared.store,
            record: shared.record,
            format: format.map(str::parse::<Format>).transpose().or_raise(py)?,
            mode,
            partition_key,
            row_key,
            exclude: exclude.unwrap_or_default(),
            index,
            create,
            dead_letters,
            concurrency: transactions,
        };
        let import = enter(py, async { Import::new(&source, &table.0, options) })?.or_raise(py)?;
        let progress = import.progress();
        Ok(Self { import: Mutex::new(Some(import)), progress })
    }

    /// Runs it to its end; calls `on_progress` several times a second. An exception leaves a place to go on from.
    #[pyo3(signature = (on_progress=None))]
    fn run<'py>(&self, py: Python<'py>, on_progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let import = self.import.lock().ok().and_then(|mut held| held.take());
        let Some(import) = import else {
            return Err(usage(py, "import", "it has run already", "make a new one"));
        };
        let mut checks = 0;
        let done = enter_with(py, import.run(), |py| {
            checks += 1;
            match &on_progress {
                Some(call) if checks % CHECKS_PER_PROGRESS == 0 => {
                    call.call1(py, (self.progress(py)?,)).map(drop)
                }
                _ => Ok(()),
            }
        })?;
        match done {
            Ok(imported) => to_python(py, &imported),
            Err(error) => Err(exception(py, &error)),
        }
    }

    /// Rows that are done, requests that have ended and bytes on the wire.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Self { progress, .. } = self;
        let sample = json!({
            "rows": progress.rows(),
            "requests": progress.requests(),
            "bytes_wire": progress.bytes_wire(),
        });
        to_python(py, &sample)
    }
}

/// Whether two hold the same rows: tables, or files of them.
#[pyfunction]
#[pyo3(signature = (first, second, scratch, /, **options))]
pub(crate) fn table_compare<'py>(
    py: Python<'py>,
    first: Name,
    second: Name,
    scratch: PathBuf,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = shared_options(options)?.store;
    let compared =
        enter(py, haulage::table::compare(&first.0, &second.0, &scratch, &options))?.or_raise(py)?;
    to_python(py, &compared)
}
