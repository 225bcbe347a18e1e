//! One file for each command: parse, one engine call, render.

mod cat;
mod completion;
mod cp;
mod du;
mod emulate;
mod ls;
mod mb;
mod plan;
mod rb;
mod rm;
mod stat;
mod verify;

use clap::Subcommand;

use crate::args::OutputArgs;
use crate::stop::Ending;

/// Text below the help of a command: its examples, then the exit codes, which are one table for all.
macro_rules! help {
    ($examples:expr) => {
        concat!(
            "Examples:\n",
            $examples,
            "\n\nExit codes:
  0  all done                   4    not found
  1  some objects failed        5    bytes differ from their checksum
  2  wrong usage                6    the source changed while it was read
  3  credentials or permission  130  interrupted; run the same command again to resume"
        )
    };
}
pub(crate) use help;

/// What `haul` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[allow(missing_docs)]
    Cp(cp::Cp),
    #[allow(missing_docs)]
    Ls(ls::Ls),
    #[allow(missing_docs)]
    Stat(stat::Stat),
    #[allow(missing_docs)]
    Du(du::Du),
    #[allow(missing_docs)]
    Rm(rm::Rm),
    #[allow(missing_docs)]
    Cat(cat::Cat),
    #[allow(missing_docs)]
    Mb(mb::Mb),
    #[allow(missing_docs)]
    Rb(rb::Rb),
    #[allow(missing_docs)]
    Verify(verify::Verify),
    #[allow(missing_docs)]
    Plan(plan::Plan),
    #[allow(missing_docs)]
    Emulate(emulate::Emulate),
    #[allow(missing_docs)]
    Completion(completion::Completion),
}

/// Runs a command to its end.
pub fn run(command: Command, output: OutputArgs) -> Ending {
    match command {
        Command::Cp(command) => command.run(output),
        Command::Ls(command) => command.run(output),
        Command::Stat(command) => command.run(output),
        Command::Du(command) => command.run(output),
        Command::Rm(command) => command.run(output),
        Command::Cat(command) => command.run(),
        Command::Mb(command) => command.run(output),
        Command::Rb(command) => command.run(output),
        Command::Verify(command) => command.run(output),
        Command::Plan(command) => command.run(output),
        Command::Emulate(command) => command.run(output),
        Command::Completion(command) => command.run(),
    }
}
