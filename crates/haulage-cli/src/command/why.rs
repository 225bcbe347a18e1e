//! `haul why`: explains a record, which is a part of the Python package.

use std::ffi::OsString;

use clap::Args;

use crate::python;
use crate::stop::Ending;

/// Show where the time of a recorded job went and what limited it: haul why --help
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Why {
    /// The record, and how to show it
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Why {
    pub(super) fn run(self) -> Ending {
        python::command("why", &self.args)
    }
}
