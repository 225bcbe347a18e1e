//! The command `haul`: parse, one call into the engine, render.
//!
//! [`cli`] holds the grammar, [`defaults`] fills it up from the environment and the configuration, [`args`] the options that commands share, [`command`] one file for
//! each command. [`render`] turns what the engine says into text as pure functions; [`output`] is
//! the only place that writes to standard output and standard error. Data goes to standard output,
//! talk to standard error.

pub mod args;
pub mod cli;
pub mod cluster;
pub mod command;
pub mod defaults;
pub mod described;
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

use cli::Cli;
use haulage::verbose::Level;
use stop::Stop;

/// Runs the command with these arguments, the program's name first, and returns its exit code.
///
/// Blocks until the command is done. May be called from any thread: it builds a runtime of its own where it
/// needs one and never exits the process, except that a second Ctrl-C ends it at once.
///
/// A host that handles SIGINT itself (Python) should set it to its default first: handlers are
/// chained, so the host's would run too.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(code) = python::help(&args) {
        return code;
    }
    let cli = match cli::parse(&args) {
        Ok(cli) => cli,
        Err(ending) => return usage::report(&ending, &args),
    };
    let json = cli.output.json;
    output::listen(Level::of_count(cli.output.verbose));
    match defaults::fill_up(cli, &args) {
        Ok(Cli { command, output }) => command::run(command, output).unwrap_or_else(|stop| stop.report(json)),
        Err(error) => Stop::Error(error).report(json),
    }
}
