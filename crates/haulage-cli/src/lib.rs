//! The command `haul`: parse, one call into the engine, render.
//!
//! [`cli`] holds the grammar, also of the commands in [`python`], [`defaults`] fills it up from the environment and the configuration, [`args`] the options that commands share, [`command`] one file for
//! each command. [`render`] turns what the engine says into text as pure functions; [`output`] is
//! the only place that writes to standard output and standard error. Data goes to standard output,
//! talk to standard error.

pub mod args;
pub mod cli;
pub mod cluster;
pub mod command;
pub mod defaults;
mod grammar;
pub mod job;
pub mod output;
pub mod progress;
pub mod python;
pub mod render;
pub mod runtime;
pub mod screen;
pub mod signal;
pub mod stop;
pub mod usage;
pub mod value;

use std::ffi::OsString;

use args::OutputArgs;
use clap::FromArgMatches as _;
use cli::Cli;
use haulage::verbose::Level;
use stop::Stop;

/// How a command begins.
#[derive(Debug)]
pub enum Begun {
    /// It has ended, with this exit code.
    Ended(u8),
    /// It is in Python, which is to run it.
    InPython(python::Call),
}

/// Runs the command with these arguments, the program's name first, and returns its exit code.
///
/// Blocks until the command is done. May be called from any thread: it builds a runtime of its own where it
/// needs one and never exits the process, except that a second Ctrl-C ends it at once.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    match begin(args, false) {
        Begun::Ended(code) => code,
        Begun::InPython(call) => call.needs_python(),
    }
}

/// The same for a host that can run the commands in Python.
///
/// A host that handles SIGINT itself should set it to its default first: handlers are chained, so the host's would run too.
pub fn begin(args: impl IntoIterator<Item = OsString>, has_python: bool) -> Begun {
    let args: Vec<OsString> = args.into_iter().collect();
    let mut grammar = cli::grammar();
    let matches = match grammar.try_get_matches_from_mut(&args) {
        Ok(matches) => matches,
        Err(ending) => return Begun::Ended(usage::report(&ending, &args, has_python)),
    };
    let output = OutputArgs::from_arg_matches(&matches).expect("the grammar has them");
    output::listen(Level::of_count(output.verbose));
    if let Some(call) = python::call(&grammar, &matches) {
        return Begun::InPython(call);
    }
    let cli = Cli::from_arg_matches(&matches).expect("the grammar is made of these types");
    Begun::Ended(match defaults::fill_up(cli, &args) {
        Ok(Cli { command, output }) => {
            command::run(command, output).unwrap_or_else(|stop| stop.report(output.json))
        }
        Err(error) => Stop::Error(error).report(output.json),
    })
}
