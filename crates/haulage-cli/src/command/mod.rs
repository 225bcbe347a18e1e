//! One file for each command: parse, one engine call, render. Those in Python are rendered there, and only their grammar is here.

mod cat;
mod clean;
mod completion;
mod config;
mod cp;
pub(crate) mod doctor;
mod du;
mod emulate;
pub(crate) mod index;
pub(crate) mod lab;
mod ls;
mod man;
mod mb;
mod mv;
mod plan;
mod presign;
mod rb;
mod rm;
mod stat;
mod sync;
pub(crate) mod table;
mod verify;
pub(crate) mod view;
pub(crate) mod watch;
pub(crate) mod why;

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
// A comment on a variant would replace the command's own help.
#[allow(missing_docs)]
#[derive(Debug, Subcommand)]
pub enum Command {
    Cp(cp::Cp),
    Sync(sync::Sync),
    Mv(mv::Mv),
    Ls(ls::Ls),
    Stat(stat::Stat),
    Du(du::Du),
    Rm(rm::Rm),
    Cat(cat::Cat),
    Presign(presign::Presign),
    Mb(mb::Mb),
    Rb(rb::Rb),
    Verify(verify::Verify),
    Clean(clean::Clean),
    Plan(plan::Plan),
    Emulate(emulate::Emulate),
    Config(config::Config),
    Completion(completion::Completion),
    Man(man::Man),
}

/// Runs a command to its end.
pub fn run(command: Command, output: OutputArgs) -> Ending {
    match command {
        Command::Cp(command) => command.run(output),
        Command::Sync(command) => command.run(output),
        Command::Mv(command) => command.run(output),
        Command::Ls(command) => command.run(output),
        Command::Stat(command) => command.run(output),
        Command::Du(command) => command.run(output),
        Command::Rm(command) => command.run(output),
        Command::Cat(command) => command.run(),
        Command::Presign(command) => command.run(output),
        Command::Mb(command) => command.run(output),
        Command::Rb(command) => command.run(output),
        Command::Verify(command) => command.run(output),
        Command::Clean(command) => command.run(output),
        Command::Plan(command) => command.run(output),
        Command::Emulate(command) => command.run(output),
        Command::Config(command) => command.run(output),
        Command::Completion(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}
