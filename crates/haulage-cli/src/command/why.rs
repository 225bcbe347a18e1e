//! `haul why`: explains a record, which is a part of the Python package.

use std::ffi::OsString;

use clap::Args;
use haulage::{Error, ErrorKind};

use crate::stop::Ending;

/// Where the time of a recorded job went, what limited it, and what would settle it: haul why --help
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Why {
    /// The record, and how to show it
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Why {
    /// Only where this command was started without Python around it: the entry point of the package takes `why` itself.
    pub(super) fn run(self) -> Ending {
        let words: Vec<_> = self.args.iter().map(|word| word.to_string_lossy()).collect();
        Err(Error::new(
            ErrorKind::Unsupported,
            "start",
            format!("why {}", words.join(" ")),
            "it needs Python",
        )
        .hint("install the package with its extra: pip install 'haulage[lab]'")
        .into())
    }
}
