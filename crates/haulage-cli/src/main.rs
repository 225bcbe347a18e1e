//! The binary `haul`: all of it is in the library, which Python calls as well.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// As in the Python package: a small object is some hundred allocations, freed on another thread than they were made on.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(haulage_cli::main(std::env::args_os()))
}
