//! `haul config`: what is configured, and where each value is from.

use clap::{Args, Subcommand};
use haulage::config::Config as Files;
use serde_json::{Value, json};

use super::help;
use crate::args::OutputArgs;
use crate::defaults::{Setting, settings};
use crate::output::Lines;
use crate::render::public_url;
use crate::stop::{Ending, Stop};

/// Variables of the clouds' own tools that say who asks; whether a value may be shown.
const CREDENTIALS: [(&str, bool); 14] = [
    ("AZURE_STORAGE_ACCOUNT", true),
    ("AZURE_STORAGE_ENDPOINT", true),
    ("AZURE_STORAGE_CONNECTION_STRING", false),
    ("AZURE_STORAGE_KEY", false),
    ("AZURE_STORAGE_SAS_TOKEN", false),
    ("AZURE_TENANT_ID", true),
    ("AZURE_CLIENT_ID", true),
    ("AZURE_CLIENT_SECRET", false),
    ("AWS_PROFILE", true),
    ("AWS_ACCESS_KEY_ID", true),
    ("AWS_SECRET_ACCESS_KEY", false),
    ("AWS_SESSION_TOKEN", false),
    ("AWS_REGION", true),
    ("AWS_ENDPOINT_URL", true),
];

/// Show what is configured
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true, subcommand_value_name = "COMMAND")]
pub struct Config {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Show(Show),
}

/// Show each setting and where it comes from; never a secret
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul config show           files, defaults, remotes, credentials
  haul config show --json    the same for programs, one line

A flag goes before a variable, a variable before ~/.config/haulage/config.toml, and that
file before /etc/haulage/config.toml. HAULAGE_CONFIG names another file for the user."
))]
struct Show {}

impl Config {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let Verb::Show(Show {}) = self.command;
        let files = Files::current()?;
        let settings = settings(&files, |name| std::env::var(name).ok())?;
        let mut lines = Lines::stdout();
        if output.json {
            lines.json(&document(&files, &settings))?;
        } else {
            write(&files, &settings, &mut lines)?;
        }
        lines.flush()?;
        Ok(0)
    }
}

/// What the environment says of who asks, without what nobody may read.
fn credentials() -> impl Iterator<Item = (&'static str, String)> {
    CREDENTIALS.into_iter().filter_map(|(name, shown)| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some((name, if shown { public(name, &value) } else { "set (not shown)".to_owned() }))
    })
}

fn document(files: &Files, settings: &[Setting]) -> Value {
    let read = files.files.iter().map(|(path, there)| json!({ "path": path, "found": there }));
    let options = settings.iter().map(|Setting { name, values, source }| {
        json!({ "option": name, "values": values.iter().map(|value| public(name, value)).collect::<Vec<_>>(), "source": source })
    });
    let remotes = files.remotes.values().map(|remote| {
        json!({
            "remote": remote.name(), "url": remote.shown_url(), "endpoint": remote.endpoint().map(|at| public("endpoint", at)),
            "credential": remote.credential(),
        })
    });
    let allowed = files.allowed.lists().map(|(hosts, file)| json!({ "hosts": hosts, "source": file }));
    let environment = credentials().map(|(name, value)| json!({ "variable": name, "value": value }));
    json!({
        "event": "config",
        "files": read.collect::<Vec<_>>(),
        "defaults": options.collect::<Vec<_>>(),
        "remotes": remotes.collect::<Vec<_>>(),
        "profiles": files.profiles.keys().collect::<Vec<_>>(),
        "allowed_endpoints": allowed.collect::<Vec<_>>(),
        "credentials": environment.collect::<Vec<_>>(),
    })
}

fn write(files: &Files, settings: &[Setting], lines: &mut Lines) -> Result<(), Stop> {
    lines.line("Files, the last goes first")?;
    for (path, there) in &files.files {
        lines.line(format!("  {}{}", path.display(), if *there { "" } else { "  (not there)" }))?;
    }
    table(
        lines,
        "Defaults",
        settings.iter().map(|Setting { name, values, source }| {
            let values: Vec<_> = values.iter().map(|value| public(name, value)).collect();
            [name.clone(), values.join(", "), source.clone()]
        }),
    )?;
    table(
        lines,
        "Remotes",
        files.remotes.values().map(|remote| {
            let way =
                remote.endpoint().map_or_else(String::new, |at| format!(" at {}", public("endpoint", at)));
            let credential = remote.credential().unwrap_or("credentials of the environment");
            [format!("{}:", remote.name()), format!("{}{way}", remote.shown_url()), credential.to_owned()]
        }),
    )?;
    table(lines, "Profiles", files.profiles.keys().map(|name| [name.clone(), String::new(), String::new()]))?;
    table(
        lines,
        "Allowed endpoints, and no others",
        files.allowed.lists().map(|(hosts, file)| [hosts.join(", "), String::new(), file.to_owned()]),
    )?;
    table(
        lines,
        "Credentials in the environment",
        credentials().map(|(name, value)| [name.to_owned(), value, String::new()]),
    )
}

/// A heading and rows in columns; nothing where there are no rows.
fn table(lines: &mut Lines, heading: &str, rows: impl Iterator<Item = [String; 3]>) -> Result<(), Stop> {
    let rows: Vec<_> = rows.collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    for (at, [name, value, source]) in rows.iter().enumerate() {
        if at == 0 {
            lines.line("")?;
            lines.line(heading)?;
        }
        lines.line(format!("  {name:first$}  {value:second$}  {source}").trim_end())?;
    }
    Ok(())
}

/// What may be shown of a value: a URL may have a signature after it, and, as that of a proxy, a password within.
fn public(name: &str, value: &str) -> String {
    let value = public_url(value);
    let (scheme, rest) = match value.find("://") {
        Some(at) => value.split_at(at + 3),
        None if name == "proxy" => ("", value),
        None => return value.to_owned(),
    };
    match rest.rfind('@') {
        // Before the host of a lake stands a container.
        Some(host) if !scheme.starts_with("abfs") => format!("{scheme}(not shown){}", &rest[host..]),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::public;

    #[test]
    fn who_asks_and_what_signs_are_not_shown() {
        for (name, value, shown) in [
            ("proxy", "http://me:hush@h:3128", "http://(not shown)@h:3128"),
            ("proxy", "http://me:hu/s@h@h:3128", "http://(not shown)@h:3128"),
            ("proxy", "me:hush@h:3128", "(not shown)@h:3128"),
            ("proxy", "none", "none"),
            ("AWS_ENDPOINT_URL", "http://u:hush@127.0.0.1:21000", "http://(not shown)@127.0.0.1:21000"),
            ("AZURE_STORAGE_ENDPOINT", "https://h/acc?sv=1&sig=hush", "https://h/acc"),
            ("endpoint", "https://u:hush@h/acc?sig=hush", "https://(not shown)@h/acc"),
            ("remote", "abfss://box@acc.dfs.core.windows.net/x", "abfss://box@acc.dfs.core.windows.net/x"),
            ("exclude", "*@2x.png", "*@2x.png"),
        ] {
            assert_eq!(public(name, value), shown);
        }
    }
}
