//! `haul doctor`: what is here and what is missing, which is a part of the Python package.

use std::ffi::OsString;

use clap::Args;

use crate::python;
use crate::stop::Ending;

/// What is here, what is missing, what to do: haul doctor --help
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Doctor {
    /// What to examine
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Doctor {
    pub(super) fn run(self) -> Ending {
        python::command("doctor", &self.args)
    }
}
