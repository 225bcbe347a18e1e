//! Answers to command lines that cannot run: help, version, and mistakes in one line.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind as Mistake};
use haulage::{Error, ErrorKind};

use crate::cli::Cli;
use crate::render::public_url;
use crate::stop::Stop;

/// Whose values may hold a password. What is wrong with them is said without them.
const SECRET: [&str; 1] = ["--proxy"];

/// Prints what was asked for or what is wrong; returns the exit code.
pub fn report(ending: &clap::Error, args: &[OsString]) -> u8 {
    match ending.kind() {
        Mistake::DisplayHelp | Mistake::DisplayVersion => {
            // A reader that has seen enough (`haul help | head`) is no failure.
            let _ = ending.print();
            0
        }
        Mistake::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = ending.print();
            ErrorKind::Usage.exit_code()
        }
        _ => {
            let json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
            Stop::Error(explain(ending, args)).report(json)
        }
    }
}

/// The mistake as one line in our own words: what, why, what to do.
pub fn explain(mistake: &clap::Error, args: &[OsString]) -> Error {
    let command = command_name(args);
    let see_help =
        format!("haul {command}{}--help shows examples", if command.is_empty() { "" } else { " " });
    let error = |object: String, cause: String| Error::new(ErrorKind::Usage, "parse", object, cause);
    match mistake.kind() {
        Mistake::ValueValidation => {
            let name = option(mistake);
            let is_secret = SECRET.contains(&name.as_str());
            let object = if is_secret { name } else { format!("{name} {}", value(mistake)) };
            match std::error::Error::source(mistake).and_then(|source| source.downcast_ref::<Error>()) {
                Some(inner) => {
                    let error = error(object, inner.cause().to_owned());
                    error.hint(inner.hint_text().map_or(see_help, str::to_owned))
                }
                None => error(object, "not a valid value".to_owned()).hint(see_help),
            }
        }
        Mistake::InvalidValue if value(mistake).is_empty() => {
            error(option(mistake), "needs a value".to_owned()).hint(see_help)
        }
        Mistake::InvalidValue => {
            let choices = texts(mistake, ContextKind::ValidValue).join(", ");
            let object = format!("{} {}", option(mistake), value(mistake));
            error(object, format!("not one of {choices}"))
                .hint(suggestion(mistake, ContextKind::SuggestedValue).unwrap_or(see_help))
        }
        Mistake::UnknownArgument => {
            let name = option(mistake);
            let cause = if name.starts_with('-') { "no such option" } else { "one argument too many" };
            let hint = of_others(&name).map(str::to_owned);
            error(name, cause.to_owned())
                .hint(hint.or_else(|| suggestion(mistake, ContextKind::SuggestedArg)).unwrap_or(see_help))
        }
        Mistake::InvalidSubcommand => unknown_command(mistake),
        Mistake::MissingRequiredArgument => {
            let missing: Vec<String> =
                texts(mistake, ContextKind::InvalidArg).iter().map(|name| bare(name)).collect();
            // clap fills the last place first; a person who writes one path means the first.
            let missing = if missing == ["SRC"] { "DST".to_owned() } else { missing.join(" ") };
            error(missing, "missing".to_owned()).hint(see_help)
        }
        Mistake::ArgumentConflict => {
            error(option(mistake), "duplicate or conflicting option".to_owned()).hint(see_help)
        }
        Mistake::MissingSubcommand => {
            error("arguments".to_owned(), "no command".to_owned()).hint("haul --help lists the commands")
        }
        Mistake::InvalidUtf8 => error("arguments".to_owned(), "a name is not valid UTF-8".to_owned()),
        _ => {
            let text = mistake.to_string();
            let first = text.lines().next().unwrap_or_default();
            error("arguments".to_owned(), first.trim_start_matches("error: ").to_owned()).hint(see_help)
        }
    }
}

/// What to write in place of an option of other tools.
fn of_others(name: &str) -> Option<&'static str> {
    match name {
        "--recursive" | "-r" | "-R" => {
            Some("leave it out: folders are always copied with everything in them")
        }
        "-n" => Some("use --dry-run"),
        "--transfers" | "--checkers" | "--numworkers" | "--parallel" => {
            Some("leave it out, or use --concurrency: by default it follows the link")
        }
        _ => None,
    }
}

fn unknown_command(mistake: &clap::Error) -> Error {
    let name = texts(mistake, ContextKind::InvalidSubcommand).concat();
    let hint = suggestion(mistake, ContextKind::SuggestedSubcommand);
    Error::new(ErrorKind::Usage, "parse", name, "no such command")
        .hint(hint.unwrap_or_else(|| "haul --help lists the commands".to_owned()))
}

/// The option a mistake is about, without the name of its value.
fn option(mistake: &clap::Error) -> String {
    texts(mistake, ContextKind::InvalidArg).first().map(|name| bare(name)).unwrap_or_default()
}

/// The value a mistake is about; it may be a URL with a signature.
fn value(mistake: &clap::Error) -> String {
    public_url(&texts(mistake, ContextKind::InvalidValue).concat()).to_owned()
}

fn suggestion(mistake: &clap::Error, kind: ContextKind) -> Option<String> {
    texts(mistake, kind).first().map(|name| format!("did you mean {name}?"))
}

fn texts(mistake: &clap::Error, kind: ContextKind) -> Vec<String> {
    match mistake.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// `--block-size <auto|SIZE>` as `--block-size`, `<DST>` as `DST`.
fn bare(name: &str) -> String {
    let name = if name.starts_with('-') { name.split([' ', '=']).next().unwrap_or(name) } else { name };
    public_url(name.trim_matches(['<', '>', '.', '[', ']'])).to_owned()
}

/// The command among the arguments, if one can be made out.
fn command_name(args: &[OsString]) -> String {
    let known = Cli::command();
    let mut names = args.iter().skip(1).filter_map(|arg| arg.to_str());
    names.find(|arg| known.find_subcommand(arg).is_some()).unwrap_or_default().to_owned()
}
