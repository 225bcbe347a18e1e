//! `haul index`: where the chunks of NetCDF files lie, which is a part of the Python package.

use std::ffi::OsString;

use clap::Args;

use crate::python;
use crate::stop::Ending;

/// Write references to the chunks of NetCDF files, which kerchunk and xarray read: haul index --help
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Index {
    /// Which files
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Index {
    pub(super) fn run(self) -> Ending {
        python::command("index", &self.args)
    }
}
