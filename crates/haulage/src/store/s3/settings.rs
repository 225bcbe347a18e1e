//! What the options, the environment and AWS's own configuration file say about the service.
//!
//! The names are those that AWS's tools use. An option comes before a variable, a variable before the file.

use std::path::PathBuf;

use super::endpoint::{Addressing, Endpoint, USUAL_REGION};
use crate::error::{Error, ErrorKind, Result};
use crate::store::StoreOptions;
use crate::store::surroundings::read_small;
use crate::variable::meant;

/// Where the service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) endpoint: Endpoint,
    /// Where nobody names one, the service is asked.
    pub(super) region: String,
    /// Whether somebody did.
    pub(super) region_named: bool,
    pub(super) addressing: Option<Addressing>,
    /// The certificates that are trusted in place of the system's.
    pub(super) ca_bundle: Option<PathBuf>,
}

impl Settings {
    /// Reads the process's environment and the configuration file of this user; of `profile`, where one is given.
    pub(super) fn find(options: &StoreOptions, profile: Option<&str>) -> Result<Self> {
        let chosen = |name: &str| profile.filter(|_| name == "AWS_PROFILE").map(str::to_owned);
        Self::from_lookup(
            options,
            |name| chosen(name).or_else(|| std::env::var(name).ok()),
            |path| String::from_utf8(read_small(path).ok()?).ok(),
        )
    }

    /// Reads any other source of variables and files. Empty variables count as unset.
    pub(super) fn from_lookup(
        options: &StoreOptions,
        lookup: impl Fn(&str) -> Option<String>,
        read: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let get = |name: &str| lookup(name).as_deref().and_then(meant);
        let home = get("HOME");
        let place = |path: String| match (path.strip_prefix("~/"), &home) {
            (Some(below), Some(home)) => format!("{home}/{below}"),
            _ => path,
        };
        let file = |variable: &str, usual: &str| {
            let path = place(get(variable).unwrap_or_else(|| usual.to_owned()));
            read(&path).unwrap_or_default()
        };
        let mut config = Config::parse(&file("AWS_CONFIG_FILE", "~/.aws/config"));
        config.add_profiles(&file("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"));
        let profile = PROFILES.into_iter().find_map(get);
        let profile = profile.as_deref().unwrap_or(DEFAULT);
        let endpoint = match options.endpoint.clone().or_else(|| configured(&config, profile, &get)) {
            Some(url) => Endpoint::parse(&url)?,
            None => Endpoint::Aws,
        };
        let named = options.region.clone();
        let named = named.or_else(|| get("AWS_REGION")).or_else(|| get("AWS_DEFAULT_REGION"));
        let named = named.or_else(|| config.of_profile(profile, "region"));
        let named = named.or_else(|| endpoint.region().map(str::to_owned));
        let region = named.clone().unwrap_or_else(|| USUAL_REGION.to_owned());
        check_region(&region)?;
        let style = match config.of_profile(profile, "s3.addressing_style").as_deref() {
            Some("path") => Some(Addressing::Path),
            Some("virtual") => Some(Addressing::Virtual),
            _ => None,
        };
        let addressing = options.addressing.or(style);
        // A file of certificates that was named for this call comes before.
        let bundle = || get("AWS_CA_BUNDLE").or_else(|| config.of_profile(profile, "ca_bundle"));
        let ca_bundle = if options.ca.is_none() { bundle().map(place).map(PathBuf::from) } else { None };
        Ok(Self { endpoint, region, region_named: named.is_some(), addressing, ca_bundle })
    }
}

/// The endpoint that the surroundings name for S3.
fn configured(config: &Config, profile: &str, get: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let ignored = get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
        .or_else(|| config.of_profile(profile, "ignore_configured_endpoint_urls"));
    if ignored.is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return None;
    }
    let services = || {
        let section = format!("services {}", config.of_profile(profile, "services")?);
        config.get(&section, "s3.endpoint_url")
    };
    get("AWS_ENDPOINT_URL_S3")
        .or_else(|| get("AWS_ENDPOINT_URL"))
        .or_else(services)
        .or_else(|| config.of_profile(profile, "endpoint_url"))
}

/// A region stands in what is signed, and in hosts.
pub(super) fn check_region(region: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=64).contains(&region.len()) && region.bytes().all(plain) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, "open", region, "this is no region")
        .hint("write a region such as eu-west-1"))
}

/// The variables that name a profile, the first that is set.
pub(super) const PROFILES: [&str; 2] = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"];
/// The profile that is taken where none is named.
pub(super) const DEFAULT: &str = "default";

/// A configuration file: section, name and value of each line, in order. What is indented below a name belongs to it:
/// `s3.endpoint_url`.
#[derive(Debug, Default)]
struct Config(Vec<(String, String, String)>);

impl Config {
    fn parse(text: &str) -> Self {
        let (mut lines, mut section, mut parent) = (Vec::new(), String::new(), String::new());
        for line in text.trim_start_matches('\u{feff}').lines() {
            let indented = line.starts_with([' ', '\t']);
            let line = line.split(" #").next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                section = words(name);
                parent.clear();
                continue;
            }
            let Some((name, value)) = line.split_once('=') else { continue };
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
            if indented && !parent.is_empty() {
                lines.push((section.clone(), format!("{parent}.{name}"), value));
                continue;
            }
            parent = if value.is_empty() { name.clone() } else { String::new() };
            lines.push((section.clone(), name, value));
        }
        Self(lines)
    }

    /// Adds what the file of credentials says of profiles: it goes before, and calls them by their names alone.
    fn add_profiles(&mut self, text: &str) {
        let named = |(section, name, value)| (format!("profile {section}"), name, value);
        self.0.extend(Self::parse(text).0.into_iter().map(named));
    }

    fn get(&self, section: &str, name: &str) -> Option<String> {
        let found = self.0.iter().rev().find(|line| line.0 == section && line.1 == name);
        found.map(|line| line.2.clone()).filter(|value| !value.is_empty())
    }

    fn of_profile(&self, profile: &str, name: &str) -> Option<String> {
        let own = self.get(&format!("profile {profile}"), name);
        own.or_else(|| if profile == DEFAULT { self.get(DEFAULT, name) } else { None })
    }
}

/// The name of a section with single spaces and without quotes.
fn words(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# mine
[default]
region = eu-north-1
[profile lab]
region=eu-west-2 # near
services = local
s3 =
  addressing_style = virtual
  max_concurrent_requests = 20
endpoint_url = https://lab.example
ca_bundle = ~/lab.pem
[services local]
ec2 =
  endpoint_url = https://ec2.example
s3 =
  endpoint_url = https://s3.example:8443
";

    fn settings(options: &StoreOptions, variables: &[(&str, &str)]) -> Settings {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let read = |path: &str| match path {
            "/h/.aws/config" => Some(format!("\u{feff}{}", FILE.replace('\n', "\r\n"))),
            "/h/.aws/credentials" => Some("[keys]\naws_access_key_id = id\nregion = ap-south-1\n".to_owned()),
            _ => None,
        };
        Settings::from_lookup(options, lookup, read).unwrap()
    }

    fn endpoint(variables: &[(&str, &str)]) -> String {
        settings(&StoreOptions::default(), variables).endpoint.to_string()
    }

    const HOME: (&str, &str) = ("HOME", "/h");
    const LAB: (&str, &str) = ("AWS_PROFILE", "lab");

    #[test]
    fn the_endpoint_is_found_in_the_order_of_aws() {
        let all = ("AWS_ENDPOINT_URL", "https://all.example");
        let own = ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:7070");
        assert_eq!(endpoint(&[HOME, LAB, all, own]), "http://127.0.0.1:7070");
        assert_eq!(endpoint(&[HOME, LAB, all]), "https://all.example");
        assert_eq!(endpoint(&[HOME, LAB]), "https://s3.example:8443");
        assert_eq!(endpoint(&[HOME, ("AWS_PROFILE", "other")]), "AWS");
        assert_eq!(endpoint(&[HOME, LAB, all, ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")]), "AWS");
        let options =
            StoreOptions { endpoint: Some("https://here.example".to_owned()), ..StoreOptions::default() };
        assert_eq!(settings(&options, &[HOME, LAB, own]).endpoint.to_string(), "https://here.example");
    }

    #[test]
    fn the_region_is_named_by_option_variable_file_or_host() {
        let region = |options: &StoreOptions, variables: &[(&str, &str)]| {
            let found = settings(options, variables);
            (found.region, found.region_named)
        };
        let plain = StoreOptions::default();
        let given = StoreOptions { region: Some("x-1".to_owned()), ..StoreOptions::default() };
        let both = [HOME, LAB, ("AWS_REGION", "us-west-1"), ("AWS_DEFAULT_REGION", "us-west-2")];
        assert_eq!(region(&given, &both), ("x-1".to_owned(), true));
        assert_eq!(region(&plain, &both), ("us-west-1".to_owned(), true));
        assert_eq!(region(&plain, &[HOME, LAB, both[3]]), ("us-west-2".to_owned(), true));
        assert_eq!(region(&plain, &[HOME, LAB]), ("eu-west-2".to_owned(), true));
        assert_eq!(region(&plain, &[HOME]), ("eu-north-1".to_owned(), true));
        assert_eq!(region(&plain, &[HOME, ("AWS_PROFILE", "\"keys\"\n")]), ("ap-south-1".to_owned(), true));
        assert_eq!(region(&plain, &[HOME, ("AWS_CONFIG_FILE", "~/.aws/config")]).0, "eu-north-1");
        assert_eq!(region(&plain, &[]), ("us-east-1".to_owned(), false));
        let host = ("AWS_ENDPOINT_URL", "https://s3.eu-west-3.amazonaws.com");
        assert_eq!(region(&plain, &[host]), ("eu-west-3".to_owned(), true));
        let wrong = StoreOptions { region: Some("evil.example/".to_owned()), ..StoreOptions::default() };
        let error = Settings::from_lookup(&wrong, |_| None, |_| None).unwrap_err();
        assert_eq!(error.hint_text(), Some("write a region such as eu-west-1"));
    }

    #[test]
    fn certificates_are_those_of_the_call_the_variable_or_the_profile() {
        let bundle = |ca: Option<&str>, variables: &[(&str, &str)]| {
            settings(&StoreOptions { ca: ca.map(Into::into), ..StoreOptions::default() }, variables).ca_bundle
        };
        let variable = ("AWS_CA_BUNDLE", "/all.pem");
        assert_eq!(bundle(None, &[HOME]), None);
        assert_eq!(bundle(None, &[HOME, LAB]), Some("/h/lab.pem".into()));
        assert_eq!(bundle(None, &[HOME, LAB, variable]), Some("/all.pem".into()));
        assert_eq!(bundle(Some("/call.pem"), &[HOME, LAB, variable]), None);
    }

    #[test]
    fn the_style_is_that_of_the_option_or_of_the_profile() {
        let style = |addressing, variables: &[(&str, &str)]| {
            settings(&StoreOptions { addressing, ..StoreOptions::default() }, variables).addressing
        };
        assert_eq!(style(None, &[HOME]), None);
        assert_eq!(style(None, &[HOME, LAB]), Some(Addressing::Virtual));
        assert_eq!(style(Some(Addressing::Path), &[HOME, LAB]), Some(Addressing::Path));
    }
}
