//! What was measured on the way to an endpoint, so that the next job begins where the last experiment ended.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::control::Start;
use crate::error::{Error, ErrorKind, Result};
use crate::units::ByteSize;

/// A profile is some lines; more of a file is not read.
const LARGEST: u64 = 64 << 10;

/// A file of TOML, as `haul lab` writes it. Only where the search begins: the job goes on following the link.
///
/// What it says besides, such as when and on which link it was measured, is for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// For both directions.
    #[serde(flatten)]
    pub both: StartValues,
    /// For uploads, in the table `[up]`; what it leaves out is as for both.
    pub up: StartValues,
    /// For downloads and comparisons, in the table `[down]`.
    pub down: StartValues,
}

/// Where the search begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StartValues {
    /// Requests in flight.
    pub concurrency: Option<usize>,
    /// Size of blocks and ranges, such as `"1MiB"`.
    pub block_size: Option<ByteSize>,
    /// Objects up to this size travel in one request, such as `"4MiB"`.
    pub single_put_max: Option<ByteSize>,
}

/// Opens a regular file; a pipe would be waited for.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no regular file"))
    }
}

impl Profile {
    /// Reads the profile of this name, or at this path: one that has a `/` or ends in `.toml`.
    ///
    /// # Errors
    /// `NotFound` where there is none, `Usage` where it is no profile.
    pub fn load(name: &str) -> Result<Self> {
        if name.is_empty() {
            let cause = "the name is empty";
            return Err(Error::new(ErrorKind::Usage, "read the profile", "\"\"", cause)
                .hint("name a profile, or leave out --profile"));
        }
        let path = path_of(name);
        let shown = path.display().to_string();
        let mut text = String::new();
        let read = open_regular(&path).and_then(|file| file.take(LARGEST).read_to_string(&mut text));
        read.map_err(|error| {
            Error::from_io("read the profile", &shown, error)
                .hint("use the name of a profile that haul lab has written, or the path of its file")
        })?;
        Self::parse(&text, &shown)
    }

    /// The profile that this text is; `shown` names it.
    pub(crate) fn parse(text: &str, shown: &str) -> Result<Self> {
        let bad = |cause: String| {
            Error::new(ErrorKind::Usage, "read the profile", shown, cause).hint(
                "concurrency = 32, block_size = \"1MiB\" and single_put_max = \"4MiB\", each if you like",
            )
        };
        let profile: Self = toml::from_str(text).map_err(|error| bad(error.message().to_owned()))?;
        if profile.begins_with_nothing() {
            return Err(bad("zero is too few".to_owned()));
        }
        Ok(profile)
    }

    /// Whether a value of it is zero, with which no job could begin.
    pub(crate) fn begins_with_nothing(&self) -> bool {
        let empty = |size: Option<ByteSize>| size.is_some_and(|size| size.bytes() == 0);
        let is_nothing = |values: &StartValues| {
            values.concurrency == Some(0) || empty(values.block_size) || empty(values.single_put_max)
        };
        [&self.both, &self.up, &self.down].into_iter().any(is_nothing)
    }

    /// The values for an upload, or for what comes down.
    pub(crate) fn start(&self, upload: bool) -> Start {
        let (both, own) = (&self.both, if upload { &self.up } else { &self.down });
        Start {
            concurrency: own.concurrency.or(both.concurrency),
            block_size: own.block_size.or(both.block_size),
            single_put_max: own.single_put_max.or(both.single_put_max),
        }
    }
}

/// `$XDG_CONFIG_HOME/haulage/profiles/NAME.toml`, or the file itself.
fn path_of(name: &str) -> PathBuf {
    if name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        return PathBuf::from(name);
    }
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base =
        set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config"))).unwrap_or_default();
    base.join("haulage/profiles").join(format!("{name}.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Profile> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("link.toml");
        std::fs::write(&path, text).unwrap();
        Profile::load(path.to_str().unwrap())
    }

    #[test]
    fn a_profile_says_where_to_begin_and_may_say_more() {
        let profile = load("concurrency = 48\nblock_size = \"1MiB\"\n[measured]\nlink = \"wan\"\n").unwrap();
        let both = Start { concurrency: Some(48), block_size: Some(ByteSize::mib(1)), single_put_max: None };
        assert_eq!((profile.start(true), profile.start(false)), (both, both));
        assert_eq!(load("").unwrap(), Profile::default());
    }

    #[test]
    fn each_direction_may_begin_elsewhere() {
        let text =
            "concurrency = 48\nblock_size = \"1MiB\"\n[up]\nblock_size = \"4MiB\"\n[down]\nconcurrency = 9\n";
        let profile = load(text).unwrap();
        let values = |upload| {
            let Start { concurrency, block_size, .. } = profile.start(upload);
            (concurrency.unwrap(), block_size.unwrap())
        };
        assert_eq!(values(true), (48, ByteSize::mib(4)));
        assert_eq!(values(false), (9, ByteSize::mib(1)));
    }

    #[test]
    fn what_is_no_profile_is_refused_with_a_hint() {
        for bad in [
            "concurrency = 0",
            "[up]\nconcurrency = 0",
            "block_size = 8",
            "block_size = \"0B\"",
            "concurrency =",
            "concurrency = -1",
        ] {
            let error = load(bad).unwrap_err();
            assert_eq!(
                (error.kind(), error.hint_text().is_some()),
                (ErrorKind::Usage, true),
                "{bad}: {error}"
            );
        }
        assert_eq!(Profile::load("no/such.toml").unwrap_err().kind(), ErrorKind::NotFound);
    }
}
