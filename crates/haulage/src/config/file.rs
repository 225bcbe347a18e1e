//! One file of configuration: read, and taken apart with an error that says what may stand there.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::Deserialize;
use toml::Value;

use super::profile::{Profile, open_regular};
use super::remote::{Remote, Settings};
use super::{Config, GivenOption, OF_MACHINE};
use crate::error::{Error, ErrorKind, Result};
use crate::http::AllowedHosts;

/// Some hundred remotes; more of a file is a mistake.
const LARGEST: u64 = 1 << 20;

/// What may stand at the top of a file.
const TABLES: &str = "allowed_endpoints = [...], [defaults], [remotes.NAME] and [profiles.NAME]";

/// A file, before its parts are checked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Parts {
    allowed_endpoints: Option<Vec<String>>,
    defaults: BTreeMap<String, Value>,
    remotes: BTreeMap<String, Settings>,
    profiles: BTreeMap<String, Profile>,
}

/// The text of a file, and whether others may read it.
pub(super) struct Text {
    text: String,
    is_private: bool,
}

/// Reads the file; `None` where there is none, unless it must be there.
pub(super) fn read(path: &Path, must: bool) -> Result<Option<Text>> {
    let shown = path.display().to_string();
    let mut text = String::new();
    let opened = open_regular(path).and_then(|file| {
        // On this machine no group has but its owner is no use of ours: only the mode is looked at.
        let is_private = file.metadata()?.mode() & 0o077 == 0;
        file.take(LARGEST).read_to_string(&mut text)?;
        Ok(is_private)
    });
    match opened {
        Ok(is_private) => Ok(Some(Text { text, is_private })),
        Err(error) if !must && is_absent(path, &error) => Ok(None),
        Err(error) => {
            let hint = match must {
                true => "HAULAGE_CONFIG names the configuration file; unset it, or name another",
                false => "make it readable for you, or name another in HAULAGE_CONFIG",
            };
            Err(Error::from_io("read the configuration", &shown, error).hint(hint))
        }
    }
}

/// Whether there is no file. In somebody else's home, which a command that was started as another user may still be told of, there
/// is none for us; the machine's is for all, and must not be passed over.
fn is_absent(path: &Path, error: &std::io::Error) -> bool {
    let closed = || std::fs::symlink_metadata(path).is_err() && path != Path::new(OF_MACHINE);
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => true,
        std::io::ErrorKind::PermissionDenied => closed(),
        _ => false,
    }
}

/// What a file says.
pub(super) fn parse(read: &Text, path: &Path) -> Result<Config> {
    let shown = path.display().to_string();
    let wrong =
        |object: String, cause: String| Error::new(ErrorKind::Usage, "read the configuration", object, cause);
    let parts: Parts = toml::from_str(&read.text).map_err(|error| {
        let line = error.span().map(|span| read.text[..span.start].matches('\n').count() + 1);
        let place = line.map_or_else(|| shown.clone(), |line| format!("{shown}:{line}"));
        // The line itself may hold a secret.
        wrong(place, error.message().to_owned()).hint(format!("a configuration holds {TABLES}"))
    })?;
    let mut config = Config::default();
    for (name, value) in parts.defaults {
        let values = values(&value).ok_or_else(|| {
            wrong(
                format!("{shown}: defaults.{name}"),
                "the value of an option is a text, a number, true or false".into(),
            )
            .hint("write it as on the command line: cap = \"500mbit\", exclude = [\"*.tmp\"]")
        })?;
        config.defaults.insert(name, GivenOption { values, file: path.to_owned() });
    }
    for (name, settings) in parts.remotes {
        if !read.is_private && settings.holds_secret() {
            return Err(Error::new(
                ErrorKind::Permission,
                "read the configuration",
                format!("{shown}: remotes.{name}"),
                "it holds a secret, and others on this machine may read the file",
            )
            .hint(format!("chmod 600 {shown}, or name a variable: account_key = {{ env = \"NAME\" }}")));
        }
        let place = format!("{shown}: remotes.{name}");
        let remote = Remote::new(&name, settings).map_err(|error| error.object(place))?;
        config.remotes.insert(name, remote);
    }
    if let Some((name, _)) = parts.profiles.iter().find(|(_, profile)| profile.begins_with_nothing()) {
        return Err(wrong(format!("{shown}: profiles.{name}"), "zero is too few".to_owned()).hint(
            "concurrency = 32, block_size = \"1MiB\" and single_put_max = \"4MiB\", each if you like",
        ));
    }
    config.profiles = parts.profiles;
    if let Some(hosts) = parts.allowed_endpoints {
        config.allowed = AllowedHosts::new(&hosts, path)?;
    }
    Ok(config)
}

/// As on the command line: an array is a flag that is given several times.
fn values(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(several) => several.iter().map(one).collect(),
        value => one(value).map(|value| vec![value]),
    }
}

fn one(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(whether) => Some(whether.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str, is_private: bool) -> Result<Config> {
        parse(&Text { text: text.to_owned(), is_private }, Path::new("/etc/config.toml"))
    }

    #[test]
    fn options_are_written_as_on_the_command_line() {
        let config = config(
            "[defaults]\nconcurrency = 8\npolite = true\nexclude = [\"*.tmp\", \"core\"]\ncap = \"5mbit\"",
            false,
        )
        .unwrap();
        let said: Vec<_> =
            config.defaults.iter().map(|(name, given)| (name.as_str(), given.values.join(" "))).collect();
        let expected =
            [("cap", "5mbit"), ("concurrency", "8"), ("exclude", "*.tmp core"), ("polite", "true")];
        assert_eq!(said, expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn a_mistake_is_told_with_its_place_and_no_secret() {
        for (text, place) in [
            ("[remote.x]\nurl = \"az://c\"", "config.toml:1"),
            ("x = 1", "config.toml:1"),
            ("[defaults]\ncap = \"5\"\n\ncap = \"6\"", "config.toml:4"),
            ("[defaults]\ncap = 1.5", "defaults.cap"),
            ("[defaults]\ncap = { up = 1 }", "defaults.cap"),
            ("[remotes.x]\nkey = \"hush-hush-hush\"", "config.toml:"),
            ("[remotes.x]\nurl = \"az://c\"\naccount_key = hush-hush", "config.toml:3"),
            ("[remotes.az]\nurl = \"az://c\"", "remotes.az"),
            ("[remotes.x]\nurl = \"ftp://c\"", "remotes.x"),
            ("allowed_endpoints = [\"https://a/b\"]", "allowed_endpoints"),
        ] {
            let error = config(text, true).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}: {error}");
            let said = format!("{error} {:?}", error.hint_text());
            assert!(said.contains(place) && !said.contains("hush-hush"), "{text}: {said}");
            assert!(error.hint_text().is_some(), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_with_a_secret_is_for_its_owner_alone() {
        let text = "[remotes.work]\nurl = \"https://acc.blob.core.windows.net/c\"\nsas_token = \"sv=1&sig=hushhushhush\"";
        let error = config(text, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert!(error.hint_text().unwrap().starts_with("chmod 600 /etc/config.toml"));
        config(text, true).unwrap();
        let in_url = "[remotes.work]\nurl = \"https://acc.blob.core.windows.net/c?sv=1&sig=hushhushhush\"";
        assert_eq!(config(in_url, false).unwrap_err().kind(), ErrorKind::Permission);
        let named =
            "[remotes.work]\nurl = \"https://acc.blob.core.windows.net/c\"\nsas_token = { env = \"SAS\" }";
        config(named, false).unwrap();
    }
}
