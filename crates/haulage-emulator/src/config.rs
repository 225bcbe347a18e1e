//! What to serve, and how badly.

use std::convert::Infallible;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use crate::fault::FaultSpec;
use crate::link::LinkSpec;
use crate::tls::TlsFiles;

/// The account that every emulator of this service offers.
pub const WELL_KNOWN_ACCOUNT: &str = "devstoreaccount1";

/// Its key. Published by the service's own documentation, so it protects nothing.
pub const WELL_KNOWN_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// All that [`start`](crate::start) needs to know.
///
/// ```
/// use haulage_emulator::EmulatorConfig;
/// let config = EmulatorConfig {
///     store: "null".parse().unwrap(),
///     link: "wan".parse().unwrap(),
///     faults: "busy=5%,seed=7".parse().unwrap(),
///     ..EmulatorConfig::default()
/// };
/// assert_eq!(config.listen.to_string(), "127.0.0.1:0");
/// ```
#[derive(Clone)]
pub struct EmulatorConfig {
    /// Where to listen; port 0 takes any free one. Default `127.0.0.1:0`.
    pub listen: SocketAddr,
    /// Where the bytes go. Default memory.
    pub store: StoreKind,
    /// How the link behaves. Default: as fast as the machine.
    pub link: LinkSpec,
    /// What goes wrong. Default: nothing.
    pub faults: FaultSpec,
    /// Serve https with this certificate. Default: plain http.
    pub tls: Option<TlsFiles>,
    /// The account's name, the first segment of every path.
    pub account: String,
    /// The account's key in Base64.
    pub key: String,
    /// Seeds the bytes that the null store gives back. Faults have a seed of their own in
    /// [`FaultSpec`].
    pub seed: u64,
    /// Show blobs as an account with a hierarchical namespace does: those that are folders, by their metadata, are said to be
    /// directories, and go only when they are empty. They are not made of themselves. Default: no.
    pub hierarchical: bool,
}

impl Default for EmulatorConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            store: StoreKind::Memory,
            link: LinkSpec::default(),
            faults: FaultSpec::default(),
            tls: None,
            account: WELL_KNOWN_ACCOUNT.to_owned(),
            key: WELL_KNOWN_KEY.to_owned(),
            seed: 0,
            hierarchical: false,
        }
    }
}

impl EmulatorConfig {
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// Leaves the key out.
impl fmt::Debug for EmulatorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmulatorConfig")
            .field("listen", &self.listen)
            .field("store", &self.store)
            .field("link", &self.link)
            .field("faults", &self.faults)
            .field("tls", &self.tls)
            .field("account", &self.account)
            .field("seed", &self.seed)
            .field("hierarchical", &self.hierarchical)
            .finish_non_exhaustive()
    }
}

/// Where the bytes go. Parses `memory`, `null`, or the path of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreKind {
    /// Kept in memory until the emulator stops.
    #[default]
    Memory,
    /// Names, sizes, properties and block lists are kept, bytes are not: reads get a seeded
    /// pattern that depends on the position, so checksums of the content are not kept either.
    /// For measurements.
    Null,
    /// Kept as plain files below a directory; survives a restart.
    Directory(PathBuf),
}

impl FromStr for StoreKind {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "memory" => Self::Memory,
            "null" => Self::Null,
            path => Self::Directory(path.into()),
        })
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Null => f.write_str("null"),
            Self::Directory(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_parse_and_print_back() {
        for text in ["memory", "null", "some/dir", "./null"] {
            assert_eq!(text.parse::<StoreKind>().unwrap().to_string(), text);
        }
        assert_eq!("./null".parse(), Ok(StoreKind::Directory("./null".into())));
    }

    #[test]
    fn the_key_is_not_printed() {
        assert!(!format!("{:?}", EmulatorConfig::default()).contains("Eby8"));
    }
}
