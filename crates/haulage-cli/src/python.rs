//! What comes with the Python package. Only where this command was started without Python around it does anybody come here: the
//! entry point of the package takes such commands itself.

use std::ffi::OsString;

use haulage::{Error, ErrorKind};

use crate::described;
use crate::stop::Ending;

/// The commands that are in Python, each with the extra that it needs.
const EXTRAS: [(&str, &str); 7] = [
    ("doctor", "doctor"),
    ("index", "view"),
    ("lab", "lab"),
    ("table", "tables"),
    ("view", "view"),
    ("watch", "watch"),
    ("why", "lab"),
];

/// The extra of a command, or of one below it: `lab run`.
fn extra(command: &str) -> &'static str {
    let first = command.split(' ').next();
    EXTRAS.iter().find(|(name, _)| Some(*name) == first).map_or("lab", |(_, extra)| extra)
}

/// Installs this extra from the wheel: no index has the package.
fn install(extra: &str) -> String {
    format!("pip install \"$(echo ./haulage-*.whl)[{extra}]\"")
}

/// Says how to have what is in this extra of the package.
pub fn needed(operation: &'static str, object: String, extra: &str) -> Error {
    Error::new(ErrorKind::Unsupported, operation, object, "this needs the Python package").hint(format!(
        "in a virtual environment, run {} in the folder of the wheel, and use the haul that it installs",
        install(extra)
    ))
}

/// The end of a command that is in Python.
pub(crate) fn command(name: &str, args: &[OsString]) -> Ending {
    let asked = |arg: &&OsString| *arg == "--help" || *arg == "-h";
    if args.iter().take_while(|arg| *arg != "--").any(|arg| asked(&arg)) {
        let words = args.iter().filter_map(|arg| arg.to_str()).take_while(|arg| !arg.starts_with('-'));
        let words: Vec<&str> = std::iter::once(name).chain(words).collect();
        // What stands behind the names of commands are arguments of the last.
        let longest =
            (1..=words.len()).rev().find_map(|count| described::find(words[..count].iter().copied()));
        if let Some(found) = longest {
            return Ok(show(found));
        }
    }
    let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
    Err(needed("start", format!("{name} {}", words.join(" ")).trim_end().to_owned(), extra(name)).into())
}

/// Prints the help of a command that is in Python, where these arguments ask for it: `haul help lab run`.
pub(crate) fn help(args: &[OsString]) -> Option<u8> {
    let words: Vec<&str> = args.iter().skip(1).map(|word| word.to_str().unwrap_or_default()).collect();
    let ("help", rest) = words.split_first().map(|(first, rest)| (*first, rest))? else { return None };
    described::find(rest.iter().copied()).map(show)
}

fn show(found: clap::Command) -> u8 {
    let name = found.get_bin_name().unwrap_or_default();
    let extra = extra(name.trim_start_matches("haul "));
    let said = format!("{name} comes with the Python package: {}", install(extra));
    let end = found.get_after_help().map(ToString::to_string).unwrap_or_default();
    // A reader that has seen enough is no failure.
    let _ = found.max_term_width(100).after_help(format!("{end}\n\n{said}")).print_help();
    0
}
