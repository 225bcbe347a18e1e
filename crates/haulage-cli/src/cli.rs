//! The grammar of the command line.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser};

use crate::args::OutputArgs;
use crate::command::Command;
use crate::python;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "haul",
    version,
    about = "Move collections of files to, from and between object stores, and prove that every byte arrived",
    after_help = crate::command::help!(
        "  haul cp model-output/ az://climate/cmip6/      upload a folder
  haul cp az://climate/cmip6/ .                  download a prefix
  haul cp az://climate/ s3://archive/            copy from one cloud to another
  haul verify model-output/ az://climate/cmip6/  compare contents by checksum
  haul plan model-output/ az://climate/cmip6/    what cp would do, and how long it takes
  haul emulate --link wan                        a local endpoint to try it all against

Credentials for az:// come from AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT
with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or az login; or from a SAS in the URL.
Keys for s3:// come from where the tools of AWS find them: AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, a profile, or the role of the machine.

lab, why, watch, table, view, index and doctor come with the Python package, each with
its extra; where that is missing, they say how to install it

`haul help COMMAND` tells more."
    ),
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    subcommand_value_name = "COMMAND",
    disable_help_subcommand = false
)]
pub struct Cli {
    /// How much to say, and how.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The grammar of all commands, those in Python too.
pub fn grammar() -> clap::Command {
    Cli::command().subcommands(python::commands())
}

/// Parses the arguments of a command in Rust, the program's name first. The error may be a request for help.
pub fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        grammar().debug_assert();
    }

    #[test]
    fn global_options_stand_before_or_after_the_command() {
        for line in ["haul --json -q ls az://c", "haul ls az://c --json --quiet"] {
            let cli = parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>()).unwrap();
            assert!(cli.output.json && cli.output.quiet, "{line}");
        }
    }
}
