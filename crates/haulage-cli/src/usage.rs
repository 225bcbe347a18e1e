//! Answers to command lines that cannot run: help, version, and mistakes in one line.

use std::ffi::OsString;
use std::io::Write as _;

use clap::error::{ContextKind, ContextValue, ErrorKind as Mistake};
use haulage::{Error, ErrorKind};

use crate::cli;
use crate::python;
use crate::render::public_url;
use crate::stop::Stop;
use crate::value::NO_VALUE;

/// Whose values may hold a password. What is wrong with them is said without them.
const SECRET: [&str; 2] = ["--proxy", "--token"];

/// Prints what was asked for or what is wrong; returns the exit code.
pub fn report(ending: &clap::Error, args: &[OsString], has_python: bool) -> u8 {
    let json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    match ending.kind() {
        Mistake::DisplayHelp | Mistake::DisplayVersion => {
            let install = if has_python { None } else { how_to_have(&command_name(args)) };
            let mut stdout = std::io::stdout();
            // A reader that has seen enough (`haul help | head`) is no failure.
            match ending
                .print()
                .and_then(|()| write!(stdout, "{}", install.unwrap_or_default()))
                .and_then(|()| stdout.flush())
            {
                Ok(()) => 0,
                Err(error) => Stop::from_write(error).report(false),
            }
        }
        Mistake::DisplayHelpOnMissingArgumentOrSubcommand if !json => {
            let _ = ending.print();
            ErrorKind::Usage.exit_code()
        }
        _ => Stop::Error(explain(ending, args)).report(json),
    }
}

/// What stands below the help of a command that is in Python.
fn how_to_have(command: &str) -> Option<String> {
    let install = python::install(python::extra(command)?);
    Some(format!("\nhaul {command} comes with the Python package: {install}\n"))
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
            let source = std::error::Error::source(mistake).and_then(|source| source.downcast_ref::<Error>());
            let is_bare = source.is_some_and(|inner| inner.cause() == NO_VALUE);
            let object = if is_bare || SECRET.contains(&name.as_str()) {
                name
            } else {
                format!("{name} {}", value(mistake))
            };
            match source {
                Some(inner) => {
                    let error = error(object, inner.cause().to_owned());
                    error.hint(inner.hint_text().filter(|_| !is_bare).map_or(see_help, str::to_owned))
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
            let known = value_of_others(&option(mistake), &value(mistake));
            let hint = suggestion(mistake, known, ContextKind::SuggestedValue);
            error(object, format!("not one of {choices}")).hint(hint.unwrap_or(see_help))
        }
        Mistake::UnknownArgument => {
            let name = option(mistake);
            if let Some(secret) = secret_before(&name, args) {
                return error(secret.to_owned(), NO_VALUE.to_owned()).hint(see_help);
            }
            let cause = if name.starts_with('-') { "no such option" } else { "one argument too many" };
            let hint = suggestion(mistake, option_of_others(&command, &name), ContextKind::SuggestedArg);
            error(name, cause.to_owned()).hint(hint.unwrap_or(see_help))
        }
        Mistake::InvalidSubcommand => unknown_command(mistake, &command),
        Mistake::MissingRequiredArgument => {
            let missing: Vec<String> =
                texts(mistake, ContextKind::InvalidArg).iter().map(|name| bare(name)).collect();
            // clap fills the last place first; a person who writes one path means the first.
            let missing = if missing == ["SRC"] { "DST".to_owned() } else { missing.join(" ") };
            error(missing, "missing".to_owned()).hint(see_help)
        }
        Mistake::ArgumentConflict => {
            let (given, name) = (texts(mistake, ContextKind::PriorArg), option(mistake));
            let others: Vec<String> =
                given.iter().map(|other| bare(other)).filter(|other| *other != name).collect();
            let cause = match others.is_empty() {
                true => "given twice".to_owned(),
                false => format!("cannot be combined with {}", others.join(", ")),
            };
            error(name, cause).hint(see_help)
        }
        Mistake::MissingSubcommand | Mistake::DisplayHelpOnMissingArgumentOrSubcommand => {
            error("arguments".to_owned(), "no command".to_owned()).hint(see_list(&command))
        }
        Mistake::WrongNumberOfValues => error(option(mistake), "needs a value".to_owned()).hint(see_help),
        Mistake::TooManyValues => error(option(mistake), "takes no value".to_owned()).hint(see_help),
        Mistake::InvalidUtf8 => error("arguments".to_owned(), "a name is not valid UTF-8".to_owned()),
        _ => {
            let text = mistake.to_string();
            let first = text.lines().next().unwrap_or_default();
            error("arguments".to_owned(), first.trim_start_matches("error: ").to_owned()).hint(see_help)
        }
    }
}

/// The option in front of what is no option, if it takes a secret: that may be what was meant.
fn secret_before(name: &str, args: &[OsString]) -> Option<&'static str> {
    let is_it = |arg: &OsString| arg.to_string_lossy().starts_with(name);
    let before = args.iter().skip(1).position(is_it).map(|at| &args[at])?;
    SECRET.into_iter().find(|secret| before == secret)
}

/// What to write in place of an option of other tools.
const OPTIONS: &[(&[&str], &str)] = &[
    (&["-n"], "to say only what would be done: --dry-run; to keep what is there: --overwrite never"),
    (&["--dryrun", "--simulate"], "use --dry-run"),
    (
        &["--transfers", "--checkers", "--numworkers", "--parallel", "--multi-thread-streams"],
        "leave it out, or use --concurrency: by default it follows the link",
    ),
    (&["--filter", "--include-from", "--exclude-from"], "use --include and --exclude, or --files-from LIST"),
    (&["--bwlimit", "--cap-mbps", "--limit-rate"], "use --cap, such as --cap 100mbit"),
    (
        &["--retries", "--low-level-retries", "--retry-count"],
        "leave it out: requests are retried while that helps",
    ),
    (&["--ignore-existing", "--no-clobber"], "use --overwrite never"),
    (&["--size-only"], "use haul sync --compare size"),
    (&["--delete-destination", "--delete-after"], "use haul sync SRC DST --delete"),
    (&["-P", "--stats"], "use --progress bar or --progress plain"),
    (&["--log-file", "--log-level"], "use -v, or --json to let a program read"),
];

/// What to do in place of an option of stores where other tools are started too, which learn from the environment how to reach them.
const OPTIONS_OF_RUNS: &[(&[&str], &str)] = &[
    (&["--ca"], "set SSL_CERT_FILE, which the other tools of a run read, too"),
    (&["--proxy"], "set HTTPS_PROXY, which the other tools of a run read, too"),
    (&["--endpoint"], "write the whole URL of the container: --to https://HOST/CONTAINER"),
];

/// What to write in place of a command of other tools.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["copy", "copyto", "get", "upload", "download"], "haul cp SRC DST"),
    (&["rcat", "pipe"], "haul cp - URL"),
    (&["move", "moveto"], "haul mv SRC DST"),
    (&["check", "cryptcheck", "compare"], "haul verify SRC DST --stored compares what the stores say"),
    (&["size"], "haul du URL"),
    (&["delete", "deletefile", "purge", "remove"], "haul rm URL, with -r for everything below a prefix"),
    (&["mkdir", "make"], "haul mb URL"),
    (&["rmdir"], "haul rb URL"),
    (&["lsf", "lsl", "lsd", "lsjson", "list"], "haul ls URL"),
    (&["link"], "haul presign URL"),
    (&["head"], "haul stat URL"),
    (&["version"], "haul --version"),
    (&["jobs"], "run the same command again to resume; haul watch shows running jobs"),
    (&["login"], "credentials come from the environment or az login; haul doctor shows which"),
];

fn of_others(table: &[(&[&str], &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(names, _)| names.contains(&name)).map(|(_, hint)| *hint)
}

/// The same for an option of one command.
fn option_of_others(command: &str, name: &str) -> Option<&'static str> {
    match name {
        _ if matches!(command, "lab run" | "lab rerun") => of_others(OPTIONS_OF_RUNS, name),
        _ if python::extra(command).is_some() => None,
        "-R" | "--recursive" if matches!(command, "ls" | "rm") => Some("use -r"),
        "-r" | "-R" | "--recursive" => {
            Some("leave it out: folders are always copied with everything in them")
        }
        _ => of_others(OPTIONS, name),
    }
}

/// What a value of AzCopy's is here.
fn value_of_others(option: &str, value: &str) -> Option<&'static str> {
    match (option, value) {
        ("--overwrite", "false" | "no") => Some("use --overwrite never"),
        ("--overwrite", "true" | "yes") => Some("use --overwrite always"),
        _ => None,
    }
}

fn unknown_command(mistake: &clap::Error, above: &str) -> Error {
    let name = texts(mistake, ContextKind::InvalidSubcommand).concat();
    let known = of_others(COMMANDS, &name).filter(|_| above.is_empty());
    let hint = suggestion(mistake, known, ContextKind::SuggestedSubcommand);
    Error::new(ErrorKind::Usage, "parse", public_url(&name), "no such command")
        .hint(hint.unwrap_or_else(|| see_list(above)))
}

fn see_list(command: &str) -> String {
    format!("haul {command}{}--help lists the commands", if command.is_empty() { "" } else { " " })
}

/// The option a mistake is about, without the name of its value.
fn option(mistake: &clap::Error) -> String {
    texts(mistake, ContextKind::InvalidArg).first().map(|name| bare(name)).unwrap_or_default()
}

/// The value a mistake is about; it may be a URL with a signature.
fn value(mistake: &clap::Error) -> String {
    public_url(&texts(mistake, ContextKind::InvalidValue).concat()).to_owned()
}

/// What is known of other tools, or else what has a similar name here.
fn suggestion(mistake: &clap::Error, known: Option<&str>, kind: ContextKind) -> Option<String> {
    // The most similar one is the last.
    let similar = || texts(mistake, kind).last().map(|name| format!("did you mean {name}?"));
    known.map(str::to_owned).or_else(similar)
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

/// The command among the arguments, `lab run` for one, if one can be made out.
fn command_name(args: &[OsString]) -> String {
    let mut known = cli::grammar();
    known.build();
    let (mut known, mut names) = (&known, Vec::new());
    for word in args.iter().skip(1).filter_map(|word| word.to_str()).filter(|word| *word != "help") {
        if let Some(found) = known.find_subcommand(word) {
            names.push(word);
            known = found;
        }
    }
    names.join(" ")
}
