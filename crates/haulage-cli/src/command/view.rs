//! `haul view`: climate data seen where it lies, which is a part of the Python package.

use std::ffi::OsString;

use clap::Args;

use crate::python;
use crate::stop::Ending;

/// View climate data in the store, in the browser: haul view --help
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct View {
    /// Where the data lies
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl View {
    pub(super) fn run(self) -> Ending {
        python::command("view", &self.args)
    }
}
