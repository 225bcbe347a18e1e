//! Options that nobody gave on the command line: from the environment, then from the configuration.
//!
//! A variable is called as the flag, `HAULAGE_MAX_MEMORY` for `--max-memory`, and so is a line below `[defaults]`, `max_memory`.
//! What stands on the command line goes first, then the variable, then the file of the user, then that of the machine.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Command, CommandFactory as _};
use haulage::config::{Config, GivenOption};
use haulage::verbose::{self, Level};
use haulage::{Error, ErrorKind};

use crate::cli::{self, Cli};
use crate::usage;

/// What may be written down once and for all: how stores are reached, how objects travel and what is left out. Not what a
/// command is to do, which should be read where it is started, and nothing that deletes.
pub(crate) const SETTABLE: [&str; 31] = [
    "addressing",
    "bind",
    "block_size",
    "ca",
    "cap",
    "checksum",
    "concurrency",
    "content_md5",
    "endpoint",
    "exclude",
    "include",
    "insecure_http",
    "log",
    "max_memory",
    "method",
    "metrics",
    "no_flush",
    "no_sign_request",
    "no_tags",
    "polite",
    "preserve",
    "profile",
    "progress",
    "proxy",
    "region",
    "requester_pays",
    "server_side",
    "single_put_max",
    "stall_timeout",
    "symlinks",
    "tier",
];

/// An option that is not from the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The flag, with `_` for `-`.
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
    /// Who says so: a variable or a file.
    pub(crate) source: String,
}

/// The variable by which a script, or a measurement, does without all of them.
const DEFAULTS: &str = "HAULAGE_DEFAULTS";

/// Whether options are taken from the environment and the configuration, by what the variable says.
fn wanted(defaults: &str) -> Result<bool, Error> {
    match defaults {
        "" => Ok(true),
        "none" => Ok(false),
        other => {
            Err(Error::new(ErrorKind::Usage, "read", DEFAULTS, format!("{other:?} is not a value of it"))
                .hint("set it to none, to take no options from variables and files, or unset it"))
        }
    }
}

/// The command line with the options added that the environment and the configuration give, and it does not.
///
/// # Errors
/// Where the configuration cannot be read, names what is no option, or gives a value that the option does not take.
pub fn fill_up(cli: Cli, args: &[OsString]) -> Result<Cli, Error> {
    if !wanted(std::env::var(DEFAULTS).unwrap_or_default().as_str())? {
        return Ok(cli);
    }
    let settings = settings(&*Config::current()?, |name| std::env::var(name).ok())?;
    fill_up_from(cli, args, &settings)
}

fn fill_up_from(cli: Cli, args: &[OsString], settings: &[Setting]) -> Result<Cli, Error> {
    if settings.is_empty() {
        // The usual case, in which the grammar is not built a second time.
        return Ok(cli);
    }
    let grammar = Cli::command();
    let Ok(matches) = grammar.clone().try_get_matches_from(args) else { return Ok(cli) };
    let Some((name, given)) = matches.subcommand() else { return Ok(cli) };
    let Some(command) = grammar.find_subcommand(name) else { return Ok(cli) };
    let is_given = |flag: &Arg| given.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine);
    let mut flags = Vec::new();
    for setting in settings {
        let flag = flag_of(&grammar, name, &setting.name).filter(|flag| !is_given(flag));
        let Some(flag) = flag else { continue };
        // What stands on the command line goes first.
        if command.get_arguments().any(|other| is_given(other) && conflict(command, flag, other)) {
            continue;
        }
        let words = words(flag, setting)?;
        check(name, &words, setting)?;
        if verbose::wants(Level::Info) && !words.is_empty() {
            verbose::say(Level::Info, &format!("option {}, from {}", shown(setting, &words), setting.source));
        }
        flags.extend(words);
    }
    // The first word that is the command is the command: no global option takes its name as a value.
    let at = args.iter().position(|word| word == name).map_or(args.len(), |at| at + 1);
    let all: Vec<OsString> = [&args[..at], &flags, &args[at..]].concat();
    match flags.is_empty() {
        true => Ok(cli),
        false => cli::parse(&all).map_err(|mistake| usage::explain(&mistake, &all)),
    }
}

/// The words of a setting without its value where that is an address, which may hold a password or a signature.
fn shown(setting: &Setting, words: &[OsString]) -> String {
    let private = |value: &String| setting.name == "proxy" || value.contains(['?', '@']);
    if setting.values.iter().any(private) {
        return format!("--{}", setting.name.replace('_', "-"));
    }
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Whether two flags cannot stand together; either may say so.
fn conflict(command: &Command, one: &Arg, other: &Arg) -> bool {
    let names = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|named| named.get_id() == other.get_id())
    };
    names(one, other) || names(other, one)
}

/// The flag of a command, or one of all commands.
fn flag_of<'a>(grammar: &'a Command, command: &str, name: &str) -> Option<&'a Arg> {
    // A list that leaves something out without a word would be taken for all there is.
    if matches!(command, "ls" | "du") && matches!(name, "include" | "exclude") {
        return None;
    }
    let long = name.replace('_', "-");
    let own = grammar.find_subcommand(command)?.get_arguments();
    let global = grammar.get_arguments().filter(|flag| flag.is_global_set());
    own.chain(global).find(|flag| flag.get_long() == Some(long.as_str()))
}

/// The setting as it would stand on the command line.
fn words(flag: &Arg, setting: &Setting) -> Result<Vec<OsString>, Error> {
    let long = setting.name.replace('_', "-");
    if flag.get_action().takes_values() {
        if setting.values.len() > 1 && !matches!(flag.get_action(), ArgAction::Append) {
            return Err(wrong(setting, "takes one value").hint("write it without [ ]"));
        }
        return Ok(setting.values.iter().map(|value| format!("--{long}={value}").into()).collect());
    }
    match setting.values.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["true" | "1"] => Ok(vec![format!("--{long}").into()]),
        ["false" | "0"] => Ok(Vec::new()),
        _ => Err(wrong(setting, "is on or off").hint("write true or false")),
    }
}

/// Whether the command takes it; an error names where it is from, and not a flag that nobody wrote.
fn check(command: &str, words: &[OsString], setting: &Setting) -> Result<(), Error> {
    let line: Vec<OsString> =
        ["haul".into(), command.into()].into_iter().chain(words.iter().cloned()).collect();
    let Err(mistake) = cli::parse(&line) else { return Ok(()) };
    use clap::error::ErrorKind as Mistake;
    if !matches!(mistake.kind(), Mistake::ValueValidation | Mistake::InvalidValue) {
        // What else the command needs is missing here, and stands on its own line.
        return Ok(());
    }
    Err(usage::explain(&mistake, &line).object(place(setting)))
}

/// What the environment and the configuration give, each option from whoever goes first, in the order of names.
///
/// # Errors
/// `Usage` for a name in a file that no option has, or that must stand on the command line.
pub(crate) fn settings(
    config: &Config,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Setting>, Error> {
    for (name, GivenOption { file, .. }) in &config.defaults {
        if !SETTABLE.contains(&name.as_str()) {
            let object = format!("{}: defaults.{name}", file.display());
            return Err(Error::new(ErrorKind::Usage, "read the configuration", object, "no such default")
                .hint(format!("what may stand there: {}", SETTABLE.join(", "))));
        }
    }
    let found = SETTABLE.into_iter().filter_map(|name| {
        let variable_name = format!("HAULAGE_{}", name.to_uppercase());
        if let Some(value) = variable(&variable_name).filter(|value| !value.is_empty()) {
            return Some(Setting { name: name.to_owned(), values: vec![value], source: variable_name });
        }
        let GivenOption { values, file } = config.defaults.get(name)?;
        let source = file.display().to_string();
        Some(Setting { name: name.to_owned(), values: values.clone(), source })
    });
    Ok(found.collect())
}

fn wrong(setting: &Setting, cause: &str) -> Error {
    Error::new(ErrorKind::Usage, "read the configuration", place(setting), cause.to_owned())
}

/// Where a setting stands.
fn place(Setting { name, source, .. }: &Setting) -> String {
    match source.starts_with("HAULAGE_") {
        true => source.clone(),
        false => format!("{source}: defaults.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, values: &[&str]) -> Setting {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        Setting { name: name.to_owned(), values, source: "config.toml".to_owned() }
    }

    fn filled(line: &str, settings: &[Setting]) -> Result<String, Error> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        fill_up_from(cli::parse(&args).unwrap(), &args, settings).map(|cli| format!("{cli:?}"))
    }

    /// What the same options on the command line make.
    fn written(line: &str) -> String {
        format!("{:?}", cli::parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>()).unwrap())
    }

    #[test]
    fn every_name_is_an_option_of_some_command() {
        let grammar = Cli::command();
        for name in SETTABLE {
            let commands = grammar.get_subcommands().map(Command::get_name);
            assert!(commands.into_iter().any(|command| flag_of(&grammar, command, name).is_some()), "{name}");
        }
        assert!(SETTABLE.is_sorted());
    }

    #[test]
    fn addresses_that_may_hold_a_secret_are_not_shown() {
        let said = |name: &str, value: &str| {
            let setting = setting(name, &[value]);
            shown(&setting, &[format!("--{name}={value}").into()])
        };
        assert_eq!(said("cap", "800mbit"), "--cap=800mbit");
        assert_eq!(said("proxy", "http://user:word@proxy.example"), "--proxy");
        assert_eq!(said("log", "https://a.blob.core.windows.net/c/l?sig=abc"), "--log");
    }

    #[test]
    fn what_nobody_gave_is_filled_up_and_what_was_given_stays() {
        let all = [
            setting("concurrency", &["8"]),
            setting("exclude", &["*.tmp", "-x"]),
            setting("polite", &["true"]),
        ];
        let line = "haul cp a b";
        assert_eq!(
            filled(line, &all).unwrap(),
            written("haul cp --concurrency=8 --exclude=*.tmp --exclude=-x --polite a b")
        );
        let line = "haul --progress none cp --concurrency 9 --exclude y --polite cp --";
        let line = format!("{line} b");
        assert_eq!(filled(&line, &all).unwrap(), written(&line));
        assert_eq!(filled("haul ls az://c", &all).unwrap(), written("haul ls az://c"), "not an option of it");
        let line = "haul cp --pairs list";
        assert_eq!(filled(line, &[setting("exclude", &["x"])]).unwrap(), written(line), "one of the two");
        assert_eq!(filled("haul cp a b", &[setting("polite", &["false"])]).unwrap(), written("haul cp a b"));
        assert_eq!(
            filled("haul ls x", &[setting("progress", &["none"])]).unwrap(),
            written("haul ls --progress none x")
        );
    }

    #[test]
    fn a_value_that_is_wrong_is_told_with_where_it_is_from() {
        for (name, values) in [
            ("concurrency", &["none"][..]),
            ("concurrency", &["1", "2"]),
            ("polite", &["maybe"]),
            ("checksum", &["sha"]),
            ("cap", &[""]),
        ] {
            let error = filled("haul cp a b", &[setting(name, values)]).unwrap_err();
            assert_eq!(error.object_name(), format!("config.toml: defaults.{name}"), "{error}");
            assert!(error.hint_text().is_some(), "{error}");
        }
    }

    #[test]
    fn a_variable_goes_before_a_file_and_an_unknown_name_is_refused() {
        let given = |value: &str| GivenOption { values: vec![value.to_owned()], file: "config.toml".into() };
        let mut config = Config::default();
        config.defaults.insert("cap".to_owned(), given("5mbit"));
        config.defaults.insert("region".to_owned(), given("x"));
        let variable = |name: &str| (name == "HAULAGE_CAP").then(|| "9mbit".to_owned());
        let found = settings(&config, variable).unwrap();
        let said: Vec<_> = found
            .iter()
            .map(|one| (one.name.as_str(), one.values[0].as_str(), one.source.as_str()))
            .collect();
        assert_eq!(said, [("cap", "9mbit", "HAULAGE_CAP"), ("region", "x", "config.toml")]);
        for name in ["delete", "recursive", "caps"] {
            let mut config = Config::default();
            config.defaults.insert(name.to_owned(), given("true"));
            let error = settings(&config, |_| None).unwrap_err();
            assert_eq!((error.kind(), error.hint_text().is_some()), (ErrorKind::Usage, true));
        }
    }
}
