//! What a job is about.

use super::{CopyOptions, Deleting, Feed, without_query};
use crate::store::{Address, StoreOptions};

/// What a job shall do.
#[derive(Clone, Debug)]
pub enum Work {
    /// Copy files, folders, blobs or prefixes into one destination.
    Copy {
        /// Paths or URLs.
        sources: Vec<String>,
        /// Path or URL; with more than one source, or a trailing `/`, they go into it.
        destination: String,
    },
    /// Copy each source file or blob to exactly its own destination.
    CopyPairs(Vec<(String, String)>),
    /// Compare contents by checksum.
    Verify {
        /// Path or URL, or the path of a receipt.
        source: String,
        /// Path or URL.
        destination: String,
        /// Trust the checksums stored with remote objects instead of reading them again.
        stored: bool,
        /// Compare a receipt with the contents of the destination, and not only with what the store says of them.
        deep: bool,
    },
    /// Copy what another machine has listed and planned, as it comes.
    Fed(Feed),
    /// Make the destination equal to the source: copy what differs, and delete what only the destination has where `delete` says so.
    Sync {
        /// Path or URL.
        source: String,
        /// Path or URL.
        destination: String,
        /// What may be deleted; nothing where `None`.
        delete: Option<Deleting>,
    },
    /// Copy, then delete each source whose copy is proven by a checksum.
    Move {
        /// Paths or URLs.
        sources: Vec<String>,
        /// Path or URL; with more than one source, or a trailing `/`, they go into it.
        destination: String,
    },
}

impl Work {
    /// What it is called in records.
    pub(crate) fn operation(&self) -> &'static str {
        match self {
            Self::Copy { .. } | Self::CopyPairs(_) | Self::Fed(_) => "copy",
            Self::Verify { .. } => "verify",
            Self::Sync { .. } => "sync",
            Self::Move { .. } => "move",
        }
    }

    /// The one place that is written to, if there is one.
    pub(crate) fn destination(&self) -> Option<&str> {
        match self {
            Self::Copy { destination, .. }
            | Self::Sync { destination, .. }
            | Self::Move { destination, .. } => Some(destination),
            Self::CopyPairs(_) | Self::Verify { .. } | Self::Fed(_) => None,
        }
    }

    /// Whether bytes go to a service: judged by the destination, of many by the first.
    pub(super) fn is_upload(&self, options: &StoreOptions) -> bool {
        let destination = match self {
            Self::Copy { destination, .. }
            | Self::Sync { destination, .. }
            | Self::Move { destination, .. } => destination,
            Self::CopyPairs(pairs) => match pairs.first() {
                Some((_, destination)) => destination,
                None => return false,
            },
            Self::Verify { .. } => return false,
            Self::Fed(feed) => return feed.like.is_upload(options),
        };
        matches!(Address::parse(destination, options), Ok(Address::Azure(_) | Address::S3(_)))
    }

    /// Which way bytes go: `up` to a service, `down` from one, `across` from one to another, or `local`.
    pub(crate) fn direction(&self, options: &StoreOptions) -> &'static str {
        let source = match self {
            Self::Copy { sources, .. } | Self::Move { sources, .. } => sources.first(),
            Self::CopyPairs(pairs) => pairs.first().map(|(source, _)| source),
            Self::Verify { source, .. } | Self::Sync { source, .. } => Some(source),
            Self::Fed(feed) => return feed.like.direction(options),
        };
        let remote =
            |name: &str| matches!(Address::parse(name, options), Ok(Address::Azure(_) | Address::S3(_)));
        match (source.is_some_and(|source| remote(source)), self.is_upload(options)) {
            (true, true) => "across",
            (false, true) => "up",
            (true, false) => "down",
            // What a comparison reads comes from the other side.
            (false, false) if matches!(self, Self::Verify { destination, .. } if remote(destination)) => {
                "down"
            }
            (false, false) => "local",
        }
    }

    /// Whether a run that was stopped leaves something from which the next one continues: neither a comparison nor a dry run nor a
    /// stream does.
    pub fn resumes(&self, options: &CopyOptions) -> bool {
        let streams = match self {
            Self::Copy { sources, destination } => {
                let reads = |name: &String| {
                    Address::parse(name, &options.store).is_ok_and(|from| from.source_stream().is_some())
                };
                let to = Address::parse(destination, &options.store);
                sources.iter().any(reads) || to.is_ok_and(|to| to.destination_stream().is_some())
            }
            _ => false,
        };
        !(streams || options.dry_run || matches!(self, Self::Verify { .. }))
    }

    /// Whether bytes go into files, where they need not be gathered first.
    pub(super) fn writes_files(&self, options: &StoreOptions) -> bool {
        match self {
            Self::Copy { destination, .. }
            | Self::Sync { destination, .. }
            | Self::Move { destination, .. } => {
                Address::parse(destination, options).is_ok_and(|to| to.destination_stream().is_none())
            }
            Self::CopyPairs(_) => true,
            Self::Verify { .. } => false,
            Self::Fed(feed) => feed.like.writes_files(options),
        }
    }

    /// Sources and destination for the record: never with a secret in them.
    pub(crate) fn names(&self) -> (Vec<String>, String) {
        match self {
            Self::Copy { sources, destination } | Self::Move { sources, destination } => {
                (sources.iter().map(|name| without_query(name)).collect(), without_query(destination))
            }
            Self::CopyPairs(pairs) => (vec![format!("{} pairs", pairs.len())], String::new()),
            Self::Verify { source, destination, .. } | Self::Sync { source, destination, .. } => {
                (vec![without_query(source)], without_query(destination))
            }
            Self::Fed(feed) => feed.like.names(),
        }
    }
}
