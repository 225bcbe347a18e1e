//! The doorway from Python into the engine and the command.
//!
//! Every function here does three things: convert its arguments, [`enter`] the engine, hand over
//! the answer. No policy, no defaults and no loop over objects live here; an option that Python does
//! not give keeps the engine's default. Answers cross as JSON-like values, events in batches.

// PyO3 hands converted arguments over by value.
#![allow(clippy::needless_pass_by_value)]

mod access;
mod call;
mod cluster;
mod content;
mod emulator;
mod enter;
mod error;
mod event;
mod generate;
mod job;
mod log;
mod options;
mod reach;
mod remove;
mod session;
mod table;
mod verbose;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// A small object is some hundred allocations, freed on another thread than they were made on.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The engine of Haulage. Private: the public face is the package `haulage`.
#[pymodule]
mod _engine {
    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_export]
    use super::access::{Listing, presign, stat};
    #[pymodule_export]
    use super::cluster::{Coordinator, Node, coordinate, coordinate_sync};
    #[pymodule_export]
    use super::content::{Reader, Writer, get, get_first, get_ranges, put};
    #[pymodule_export]
    use super::emulator::Emulator;
    #[pymodule_export]
    use super::error::error_kinds;
    #[pymodule_export]
    use super::generate::generate;
    #[pymodule_export]
    use super::job::{Job, plan, read_pairs};
    #[pymodule_export]
    use super::log::EventLog;
    #[pymodule_export]
    use super::reach::{identity, knock, way};
    #[pymodule_export]
    use super::remove::{make_container, remove, remove_container};
    #[pymodule_export]
    use super::session::{AzureCredential, S3Credential, Session};

    #[pymodule_export]
    use super::table::{Table, TableExport, TableImport, table_compare, table_page_arrow};

    #[pymodule_export]
    use super::verbose::{hear_decisions, heard, say_decisions};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Runs the command with `argv`, of which the first is the program's name. Returns the exit code; or, for a command that is in
    /// Python, its name, the extra of the package that it needs, and the values of its arguments.
    #[pyfunction]
    #[pyo3(signature = (argv, /))]
    fn main(py: Python<'_>, argv: Vec<OsString>) -> PyResult<Bound<'_, PyAny>> {
        haulage_cli::cluster::host(super::cluster::drive);
        let begun = {
            let _interrupt = super::enter::DefaultInterrupt::set(py);
            py.detach(|| haulage_cli::begin(argv, true))
        };
        super::call::converted(py, begun)
    }
}
