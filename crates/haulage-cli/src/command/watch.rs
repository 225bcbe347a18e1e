//! `haul watch`: shows jobs while they run, which is a part of the Python package.

use std::ffi::OsString;

use clap::Args;

use crate::python;
use crate::stop::Ending;

/// Show running jobs on this and other machines, or replay finished ones: haul watch --help
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Watch {
    /// The log, and how to show it
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Watch {
    pub(super) fn run(self) -> Ending {
        python::command("watch", &self.args)
    }
}
