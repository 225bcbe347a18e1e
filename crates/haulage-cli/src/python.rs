//! The commands in Python. Their grammar is here as that of the others, and Python has the values: it renders only.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};
use haulage::{Error, ErrorKind};

use crate::command::{doctor, index, lab, table, view, watch, why};
use crate::stop::Stop;

/// A command, the extra of the package that it needs, and its grammar.
type InPython = (&'static str, &'static str, fn() -> Command);

const COMMANDS: [InPython; 7] = [
    ("lab", "lab", lab::command),
    ("why", "lab", why::command),
    ("watch", "watch", watch::command),
    ("table", "tables", table::command),
    ("view", "view", view::command),
    ("index", "view", index::command),
    ("doctor", "doctor", doctor::command),
];

/// What the command line asks a command in Python to do.
#[derive(Debug)]
pub struct Call {
    /// Its names below `haul`: `lab run`.
    pub command: String,
    /// The extra of the package that it needs.
    pub extra: &'static str,
    /// What each argument is given, by its name with `_` for `-`.
    pub values: Vec<(String, Value)>,
    json: bool,
}

/// What an argument is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing, and it has no default.
    Nothing,
    /// Whether a switch is there.
    Switch(bool),
    /// A whole number, or how often a switch is there.
    Whole(u64),
    /// Any other number.
    Number(f64),
    /// As it was written.
    Text(OsString),
    /// What was given several times, or has several parts.
    Many(Vec<Value>),
}

/// The grammar of each of them.
pub(crate) fn commands() -> impl Iterator<Item = Command> {
    COMMANDS.iter().map(|(_, _, command)| command())
}

/// The extra that a command needs, `lab run` for one, if it is in Python.
pub(crate) fn extra(command: &str) -> Option<&'static str> {
    let first = command.split(' ').next();
    COMMANDS.iter().find(|(name, _, _)| Some(*name) == first).map(|(_, extra, _)| *extra)
}

/// What the arguments ask for, if their command is in Python. The grammar is that by which they were parsed.
pub(crate) fn call(grammar: &Command, matches: &ArgMatches) -> Option<Call> {
    let json = matches.get_flag("json");
    let (mut name, mut matches) = matches.subcommand()?;
    let extra = extra(name)?;
    let mut command = name.to_owned();
    let mut grammar = grammar.find_subcommand(name)?;
    while let Some((below, given)) = matches.subcommand() {
        (name, matches) = (below, given);
        grammar = grammar.find_subcommand(name)?;
        command = format!("{command} {name}");
    }
    let named = |arg: &Arg| Some((arg.get_id().as_str().replace('-', "_"), value(matches, arg)?));
    Some(Call { command, extra, values: grammar.get_arguments().filter_map(named).collect(), json })
}

/// What an argument is given; `None` for `--help`.
fn value(matches: &ArgMatches, arg: &Arg) -> Option<Value> {
    let id = arg.get_id().as_str();
    let several = match arg.get_action() {
        ArgAction::SetTrue => return Some(Value::Switch(matches.get_flag(id))),
        ArgAction::Count => return Some(Value::Whole(matches.get_count(id).into())),
        ArgAction::Append => true,
        ArgAction::Set => {
            arg.get_value_delimiter().is_some() || arg.get_num_args().is_some_and(|n| n.max_values() > 1)
        }
        _ => return None,
    };
    let mut values = values(matches, id);
    Some(match several {
        true if values.is_empty() && !matches!(arg.get_action(), ArgAction::Append) => Value::Nothing,
        true => Value::Many(values),
        false => values.pop().unwrap_or(Value::Nothing),
    })
}

/// The values of an argument: numbers if it takes those, and all else as it was written.
fn values(matches: &ArgMatches, id: &str) -> Vec<Value> {
    if let Ok(Some(found)) = matches.try_get_many(id) {
        return found.copied().map(Value::Whole).collect();
    }
    if let Ok(Some(found)) = matches.try_get_many(id) {
        return found.copied().map(Value::Number).collect();
    }
    matches.get_raw(id).into_iter().flatten().map(|text| Value::Text(text.to_owned())).collect()
}

impl Call {
    /// Says that there is no Python; returns the exit code.
    pub(crate) fn needs_python(self) -> u8 {
        Stop::Error(needed("start", self.command, self.extra)).report(self.json)
    }
}

/// Installs this extra from the wheel: no index has the package.
pub(crate) fn install(extra: &str) -> String {
    format!("pip install \"$(echo ./haulage-*.whl)[{extra}]\"")
}

/// Says how to have what is in this extra of the package.
pub fn needed(operation: &'static str, object: String, extra: &str) -> Error {
    Error::new(ErrorKind::Unsupported, operation, object, "this needs the Python package").hint(format!(
        "in a virtual environment, run {} in the folder of the wheel, and use the haul that it installs",
        install(extra)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(line: &str) -> Call {
        let mut grammar = crate::cli::grammar();
        let matches = grammar.try_get_matches_from_mut(line.split(' ')).unwrap();
        call(&grammar, &matches).unwrap()
    }

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn every_command_is_called_as_the_table_says() {
        for (name, _, command) in COMMANDS {
            assert_eq!(command().get_name(), name);
        }
    }

    #[test]
    fn python_has_values_by_names() {
        let call =
            called("haul --json lab run -v p --size 1KB --nodes 1,2 --seed 7 --no-report --set a=b --quiet");
        assert_eq!((call.command.as_str(), call.extra), ("lab run", "lab"));
        let value = |name: &str| call.values.iter().find(|(id, _)| id == name).unwrap().1.clone();
        assert_eq!(value("plan"), text("p"));
        assert_eq!(value("sizes"), Value::Many(vec![text("1KB")]));
        assert_eq!(value("nodes"), Value::Many(vec![Value::Whole(1), Value::Whole(2)]));
        assert_eq!((value("seed"), value("replicates")), (Value::Whole(7), Value::Nothing));
        assert_eq!((value("no_report"), value("no_confirm")), (Value::Switch(true), Value::Switch(false)));
        assert_eq!((value("json"), value("quiet")), (Value::Switch(true), Value::Switch(true)));
        assert_eq!((value("verbose"), value("progress")), (Value::Whole(1), text("auto")));
        assert!(call.values.iter().all(|(id, _)| id != "help"));
    }

    #[test]
    fn options_of_stores_are_checked_and_passed_on_as_they_are_written() {
        let call = called("haul index a --cap 5mbit --stall-timeout 90s");
        let value = |name: &str| call.values.iter().find(|(id, _)| id == name).unwrap().1.clone();
        assert_eq!((value("cap"), value("stall_timeout")), (text("5mbit"), text("90s")));
        let parse = |line: &str| crate::cli::grammar().try_get_matches_from(line.split(' ')).is_ok();
        assert!(!parse("haul index a --cap 5") && !parse("haul table verify a b --region x"));
    }

    #[test]
    fn the_last_of_opposites_counts() {
        let value = |line: &str| called(line).values.into_iter().find(|(id, _)| id == "no_report").unwrap().1;
        assert_eq!(value("haul lab run p --no-report --report"), Value::Switch(false));
        assert_eq!(value("haul lab run p --report --no-report"), Value::Switch(true));
    }
}
