//! `haul lab`: the laboratory, which is a part of the Python package.

use std::ffi::OsString;

use clap::Args;

use crate::python;
use crate::stop::Ending;

/// Measure a link and explain what limits it: haul lab --help
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Lab {
    /// What the lab does
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Lab {
    pub(super) fn run(self) -> Ending {
        python::command("lab", &self.args)
    }
}
