//! `haul table`: rows of tables, which is a part of the Python package.

use std::ffi::OsString;

use clap::Args;

use crate::python;
use crate::stop::Ending;

/// Tables: export, import, copy, back up, plan keys, serve: haul table --help
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Table {
    /// What to do, and with which table
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Table {
    pub(super) fn run(self) -> Ending {
        python::command("table", &self.args)
    }
}
