//! The whole grammar, with the commands that are in Python as Python has written them down: for completions, manual pages and
//! help. It is not for parsing: those commands parse for themselves.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use clap::{Arg, ArgAction, Command, CommandFactory as _, ValueHint};
use serde::Deserialize;

use crate::cli::Cli;

/// Written by `make grammar`; a test compares it with the commands.
static COMMANDS: LazyLock<BTreeMap<String, Described>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("python_commands.json")).expect("a test has parsed it")
});

/// A command that is in Python.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    about: String,
    /// What the command does, in more words.
    #[serde(default)]
    text: String,
    /// Its examples and exit codes.
    #[serde(default)]
    end: String,
    #[serde(default)]
    args: Vec<Argument>,
    #[serde(default)]
    options: Vec<Named>,
    #[serde(default)]
    commands: BTreeMap<String, Described>,
}

/// An argument with a place instead of a name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Argument {
    name: String,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    many: bool,
    #[serde(default)]
    choices: Vec<String>,
}

/// An option, with a value or as a switch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    #[serde(default)]
    long: Vec<String>,
    #[serde(default)]
    short: Vec<char>,
    value: Option<String>,
    #[serde(default)]
    choices: Vec<String>,
    #[serde(default)]
    many: bool,
    #[serde(default)]
    help: String,
}

/// The grammar of `haul`, with all that is below the commands in Python.
pub fn command() -> Command {
    COMMANDS.iter().fold(Cli::command(), |whole, (name, described)| {
        whole.mut_subcommand(name, |plain| {
            // The help of all commands has these words; a page of its own needs no "haul lab --help".
            let order = plain.get_display_order();
            described.command(name).display_order(order)
        })
    })
}

/// The command that these words lead to, if its first is one in Python: `lab`, `lab run`.
pub fn find<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<Command> {
    let mut words = words.into_iter();
    let first = words.next().filter(|word| COMMANDS.contains_key(*word))?;
    let mut whole = command();
    // Gives each its full name.
    whole.build();
    let mut found = whole.find_subcommand(first)?;
    for word in words {
        found = found.find_subcommand(word)?;
    }
    Some(found.clone())
}

impl Described {
    fn command(&'static self, name: &'static str) -> Command {
        let mut made = Command::new(name).about(self.about.as_str()).disable_help_subcommand(true);
        if !self.text.is_empty() {
            made = made.long_about(self.text.as_str());
        }
        if !self.end.is_empty() {
            made = made.after_help(self.end.as_str());
        }
        if !self.commands.is_empty() {
            made = made.subcommand_required(true).subcommand_value_name("COMMAND");
        }
        made.args(self.args.iter().map(Argument::arg))
            .args(self.options.iter().map(Named::arg))
            .subcommands(self.commands.iter().map(|(name, below)| below.command(name)))
    }
}

impl Argument {
    fn arg(&'static self) -> Arg {
        let arg = Arg::new(self.name.as_str()).value_name(self.name.as_str()).required(self.required);
        let arg = arg.value_hint(hint(&self.name)).value_parser(values(&self.choices));
        if self.many { arg.action(ArgAction::Append).num_args(1..) } else { arg }
    }
}

impl Named {
    fn arg(&'static self) -> Arg {
        let id = self.long.first().map_or("", String::as_str);
        let mut arg = Arg::new(id).long(id).help(self.help.as_str()).hide_possible_values(true);
        arg = arg.visible_aliases(self.long.iter().skip(1).map(String::as_str));
        if let Some(short) = self.short.first() {
            arg = arg.short(*short);
        }
        let Some(value) = &self.value else { return arg.action(ArgAction::SetTrue) };
        let names: Vec<&'static str> = value.split(' ').collect();
        arg = arg.num_args(names.len()).value_hint(hint(value)).value_names(names);
        let action = if self.many { ArgAction::Append } else { ArgAction::Set };
        arg.action(action).value_parser(values(&self.choices))
    }
}

/// What a shell offers for a value with this name.
fn hint(name: &str) -> ValueHint {
    match name {
        "DIR" | "FOLDER" | "RUN" => ValueHint::DirPath,
        "FILE" | "RECORD" => ValueHint::FilePath,
        "URL" | "ADDRESS" => ValueHint::Url,
        _ => ValueHint::Unknown,
    }
}

fn values(choices: &'static [String]) -> clap::builder::ValueParser {
    if choices.is_empty() {
        return clap::value_parser!(String);
    }
    clap::builder::PossibleValuesParser::new(choices.iter().map(String::as_str)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_of_python_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_command_in_python_is_described_and_only_those() {
        let plain = |name: &str| {
            Cli::command().find_subcommand(name).is_some_and(|found| found.is_disable_help_flag_set())
        };
        for command in Cli::command().get_subcommands() {
            assert_eq!(COMMANDS.contains_key(command.get_name()), plain(command.get_name()), "{command}");
        }
        assert!(COMMANDS.keys().all(|name| Cli::command().find_subcommand(name).is_some()));
    }

    #[test]
    fn words_lead_to_a_command() {
        let name = |words: &[&str]| {
            find(words.iter().copied()).map(|found| found.get_bin_name().unwrap_or_default().to_owned())
        };
        assert_eq!(name(&["lab", "run"]).as_deref(), Some("haul lab run"));
        assert_eq!(name(&["doctor"]).as_deref(), Some("haul doctor"));
        assert_eq!(name(&["cp"]), None);
        assert_eq!(name(&["lab", "nothing"]), None);
        assert_eq!(name(&[]), None);
    }
}
