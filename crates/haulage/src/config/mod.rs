//! What a machine and its user have written down for every job: remotes, defaults, profiles, and where data may go.
//!
//! Two files of TOML are read: that of the machine, `/etc/haulage/config.toml`, and that of the user,
//! `~/.config/haulage/config.toml`. What the user says goes first, but a bound on where data may go holds in both.

mod file;
mod profile;
mod remote;
mod setting;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

pub use profile::{Profile, StartValues};
pub use remote::Remote;

use crate::error::Result;
use crate::http::AllowedHosts;
use crate::verbose::verbose;

/// The file that holds for everybody on this machine.
const OF_MACHINE: &str = "/etc/haulage/config.toml";

/// Names the user's file, in place of the usual one.
pub const CONFIG_VARIABLE: &str = "HAULAGE_CONFIG";

/// What the files of configuration say. Holds nothing where there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Files that are looked for, and whether they are there. The user's comes last.
    pub files: Vec<(PathBuf, bool)>,
    /// Places with a name: `work:path`.
    pub remotes: BTreeMap<String, Remote>,
    /// Options of the command, by the long name of the flag with `_` for `-`, with the file that says so.
    pub defaults: BTreeMap<String, GivenOption>,
    /// Where jobs begin their search, by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Which hosts may be reached at all.
    pub allowed: AllowedHosts,
}

/// The value of an option in a file: one text, or one for each time that the flag would be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenOption {
    /// As they would be written on the command line.
    pub values: Vec<String>,
    /// Which file says so.
    pub file: PathBuf,
}

/// What the files looked like when they were read.
type Stamps = Vec<(PathBuf, Option<(SystemTime, u64)>)>;

impl Config {
    /// What the files say now. They are read anew only when they have changed, so that calls which follow each other share what
    /// remotes have opened.
    ///
    /// # Errors
    /// `Usage` for what is no configuration, `Permission` for a file that cannot be read, or that holds secrets and can be read by
    /// others, `NotFound` where `HAULAGE_CONFIG` names a file that is not there.
    pub fn current() -> Result<Arc<Self>> {
        static READ: Mutex<Option<(Stamps, Arc<Config>)>> = Mutex::new(None);
        let (files, named) = files();
        let stamp = |path: &PathBuf| {
            let meta = std::fs::metadata(path).ok();
            (path.clone(), meta.and_then(|meta| Some((meta.modified().ok()?, meta.len()))))
        };
        let stamps: Stamps = files.iter().map(stamp).collect();
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, config)) = read.as_ref()
            && *known == stamps
        {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(Self::read(&files, named)?);
        *read = Some((stamps, Arc::clone(&config)));
        Ok(config)
    }

    /// Reads these files, the one that goes first last. `named`: the user has named the last, so that it must be there.
    fn read(files: &[PathBuf], named: bool) -> Result<Self> {
        let mut config = Self::default();
        for (at, path) in files.iter().enumerate() {
            let must = named && at + 1 == files.len();
            let text = file::read(path, must)?;
            let found = if text.is_some() { "read" } else { "not there" };
            verbose!(Info, "configuration {}: {found}", path.display());
            config.files.push((path.clone(), text.is_some()));
            if let Some(text) = text {
                config.add(file::parse(&text, path)?);
            }
        }
        Ok(config)
    }

    /// Puts what another file says over this.
    fn add(&mut self, other: Self) {
        self.remotes.extend(other.remotes);
        self.defaults.extend(other.defaults);
        self.profiles.extend(other.profiles);
        self.allowed = self.allowed.and(&other.allowed);
    }

    /// The remote that a name such as `work:path` begins with, and what follows the colon.
    pub(crate) fn remote<'a>(&self, text: &'a str) -> Option<(&Remote, &'a str)> {
        let (name, path) = text.split_once(':')?;
        self.remotes.get(name).map(|remote| (remote, path))
    }

    /// The user's file, whether or not it is there.
    pub fn own_file(&self) -> Option<&Path> {
        self.files.last().map(|(path, _)| path.as_path())
    }
}

/// The files to look for, and whether the user has named the last.
fn files() -> (Vec<PathBuf>, bool) {
    let named = std::env::var_os(CONFIG_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let is_named = named.is_some();
    let own = match named {
        // As other tools have it: no file.
        Some(path) if path == Path::new("/dev/null") => None,
        Some(path) => Some(path),
        None => base_folder("XDG_CONFIG_HOME", ".config").map(|base| base.join("haulage/config.toml")),
    };
    let is_named = is_named && own.is_some();
    ([PathBuf::from(OF_MACHINE)].into_iter().chain(own).collect(), is_named)
}

/// The folder for files of one kind that the variable names, or the one below the home of the user.
pub(crate) fn base_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set(variable).or_else(|| set("HOME").map(|home| home.join(below_home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(texts: &[&str]) -> Result<Config> {
        let folder = tempfile::tempdir().unwrap();
        let write = |(at, text): (usize, &&str)| {
            let path = folder.path().join(format!("{at}.toml"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let paths: Vec<PathBuf> = texts.iter().enumerate().map(write).collect();
        Config::read(&paths, false)
    }

    #[test]
    fn the_user_goes_first_but_not_beyond_the_bounds_of_the_machine() {
        let config = config(&[
            "allowed_endpoints = [\"*.example\"]\n[defaults]\ncap = \"1gbit\"\nproxy = \"none\"\n[remotes.aa]\nurl = \"az://a\"",
            "allowed_endpoints = [\"s3.example\", \"elsewhere\"]\n[defaults]\ncap = \"5mbit\"\n[remotes.bb]\nurl = \"s3://b\"",
        ])
        .unwrap();
        assert_eq!(config.defaults["cap"].values, ["5mbit"]);
        assert_eq!(config.defaults["proxy"].values, ["none"]);
        assert!(config.remotes.contains_key("aa") && config.remotes.contains_key("bb"));
        let allows = |host: &str| config.allowed.allows(&crate::http::Origin::parse("https", host).unwrap());
        assert!(allows("s3.example"));
        assert!(!allows("elsewhere") && !allows("az.example"));
    }

    #[test]
    fn no_files_say_nothing_and_a_file_that_was_named_must_be_there() {
        let missing = [PathBuf::from("/no/such/config.toml")];
        let config = Config::read(&missing, false).unwrap();
        assert_eq!(config, Config { files: vec![(missing[0].clone(), false)], ..Config::default() });
        let error = Config::read(&missing, true).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::NotFound);
    }
}
