//! `haul watch`: shows jobs while they run, which is a part of the Python package.

use std::ffi::OsString;

use clap::Args;
use haulage::{Error, ErrorKind};

use crate::stop::Ending;

/// Show jobs on this machine and on others while they run, or replay them: haul watch --help
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Watch {
    /// The log, and how to show it
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Watch {
    /// Only where this command was started without Python around it: the entry point of the package takes `watch` itself.
    pub(super) fn run(self) -> Ending {
        let words: Vec<_> = self.args.iter().map(|word| word.to_string_lossy()).collect();
        Err(Error::new(
            ErrorKind::Unsupported,
            "start",
            format!("watch {}", words.join(" ")),
            "it needs Python",
        )
        .hint("install the package with its extra: pip install 'haulage[watch]'")
        .into())
    }
}
