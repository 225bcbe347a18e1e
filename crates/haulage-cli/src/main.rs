//! The binary `haul`: all of it is in the library, which Python calls as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(haulage_cli::main(std::env::args_os()))
}
