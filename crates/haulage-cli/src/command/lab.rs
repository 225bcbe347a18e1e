//! `haul lab`: the laboratory, which is a part of the Python package.

use std::ffi::OsString;

use clap::Args;
use haulage::{Error, ErrorKind};

use crate::stop::Ending;

/// Measure a link and a way of moving, and explain why it was not faster: haul lab --help
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Lab {
    /// What the laboratory shall do
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Lab {
    /// Only where this command was started without Python around it: the entry point of the package takes `lab` itself.
    pub(super) fn run(self) -> Ending {
        let words: Vec<_> = self.args.iter().map(|word| word.to_string_lossy()).collect();
        Err(Error::new(
            ErrorKind::Unsupported,
            "start",
            format!("lab {}", words.join(" ")),
            "it needs Python",
        )
        .hint("install the package with its extra: pip install 'haulage[lab]'")
        .into())
    }
}
