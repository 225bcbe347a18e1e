//! What the grammar of the commands in Python is made of. They have no types here: Python takes their values by name.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Args as _, Command, ValueHint};

use crate::args::StoreArgs;
use crate::value;

/// A command. Its arguments are made only if it is asked for: each start of `haul` would pay for them.
pub(crate) fn command(name: &'static str, about: &'static str, filled: fn(Command) -> Command) -> Command {
    Command::new(name).about(about).defer(filled)
}

/// A command that has only others below it.
pub(crate) fn group(command: Command, below: impl IntoIterator<Item = Command>) -> Command {
    command
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("COMMAND")
        .disable_help_subcommand(true)
        .subcommands(below)
}

/// An argument with a place instead of a name.
pub(crate) fn place(id: &'static str, name: &'static str, help: &'static str) -> Arg {
    taking(Arg::new(id), name, help).required(true)
}

/// An option with a value. Python has the value by the option's name with `_` for `-`, or by an `id`.
pub(crate) fn option(long: &'static str, name: &'static str, help: &'static str) -> Arg {
    // Tokens, filters and templates may begin with a hyphen.
    taking(Arg::new(long).long(long), name, help).allow_hyphen_values(true)
}

/// The same, as often as one likes.
pub(crate) fn options(long: &'static str, name: &'static str, help: &'static str) -> Arg {
    option(long, name, help).action(ArgAction::Append)
}

/// An option whose value is one of a few words.
pub(crate) fn choice(long: &'static str, choices: &'static [&'static str], help: &'static str) -> Arg {
    let choice = option(long, "HOW", help).allow_hyphen_values(false);
    choice.value_parser(PossibleValuesParser::new(choices)).hide_possible_values(true)
}

/// An option without a value.
pub(crate) fn switch(long: &'static str, help: &'static str) -> Arg {
    Arg::new(long).long(long).help(help).action(ArgAction::SetTrue)
}

fn taking(arg: Arg, name: &'static str, help: &'static str) -> Arg {
    let hint = match name {
        "DIR" | "DIRECTORY" | "FOLDER" => ValueHint::DirPath,
        "FILE" | "FILE.parquet" | "RECORD" => ValueHint::FilePath,
        "URL" | "ADDRESS" => ValueHint::Url,
        _ => ValueHint::Unknown,
    };
    let arg = arg.value_name(name).value_hint(hint).value_parser(value::text());
    arg.help(help).action(ArgAction::Set)
}

/// Adds the options that say how stores are reached, without those that the command has no use for.
pub(crate) fn stores(command: Command, without: &[&str]) -> Command {
    let all = StoreArgs::augment_args(Command::new("stores"));
    command.args(all.get_arguments().filter(|arg| !without.contains(&arg.get_id().as_str())).cloned())
}

/// Says what an option of all commands does here.
pub(crate) fn says(command: Command, id: &'static str, help: &'static str) -> Command {
    command.mut_arg(id, |arg| arg.help(help))
}

/// What stands below the options.
pub(crate) fn end(examples: &str, codes: &str) -> String {
    format!("Examples:\n{examples}\n\nExit codes:\n{codes}")
}
