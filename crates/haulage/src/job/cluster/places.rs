//! Where a job of many nodes goes from and to: what only one process can reach is refused, and paths are made full.

use crate::checksum::ChecksumMode;
use crate::error::{Error, ErrorKind, Result};
use crate::options::{CopyOptions, Portion, Work};
use crate::store::{Address, StoreOptions};

/// Refuses what only this process can reach; whether a service is written to, and one that keeps uploads.
pub(super) fn check_places(work: &Work, options: &CopyOptions) -> Result<(bool, bool)> {
    let usage = |name: &str, cause: &str| Error::new(ErrorKind::Unsupported, "run", name, cause);
    if options.portion != Portion::All {
        return Err(usage("portion", "nodes are given portions by themselves").hint("copy the whole object"));
    }
    if options.atomic && options.checksum == ChecksumMode::None {
        return Err(usage("--atomic", "parts that several nodes stage are identified by their CRC64")
            .hint("leave out --checksum none"));
    }
    if options.source_etag.is_some() {
        return Err(usage("source_etag", "nodes are given versions by themselves").hint("leave it out"));
    }
    if options.dry_run || options.backup.is_some() {
        return Err(
            usage("nodes", "dry runs and backups are done by one machine").hint("leave out the nodes")
        );
    }
    if options.profile.is_some() {
        return Err(usage("--profile", "a profile is of the link of one machine")
            .hint("leave it out: each node follows its own link"));
    }
    if options.store.keys.is_some() {
        return Err(usage("credentials", "credentials of this process do not travel to other nodes")
            .hint("set them in the environment of each node, or use a managed identity"));
    }
    let names: Vec<(&String, bool)> = match work {
        Work::Copy { sources, destination } => {
            sources.iter().map(|source| (source, false)).chain([(destination, true)]).collect()
        }
        Work::CopyPairs(pairs) => {
            pairs.iter().flat_map(|(source, destination)| [(source, false), (destination, true)]).collect()
        }
        Work::Sync { source, destination, .. } => vec![(source, false), (destination, true)],
        Work::Verify { .. } | Work::Fed(_) | Work::Move { .. } => {
            return Err(usage("nodes", "only copies and syncs can be divided among them"));
        }
    };
    let (mut to_service, mut begins) = (true, false);
    for (name, is_destination) in names {
        let address = Address::parse(name, &options.store)?;
        let stream =
            address.clone().source_stream().is_some() || address.clone().destination_stream().is_some();
        match &address {
            Address::Memory { .. } => {
                return Err(usage(name, "memory is seen by this process alone").hint("copy without nodes"));
            }
            _ if stream => {
                return Err(usage(name, "a stream goes through one process").hint("copy it without nodes"));
            }
            Address::Azure(_) => {}
            Address::S3(_) => begins |= is_destination,
            Address::Local(_) | Address::Stdio => to_service &= !is_destination,
        }
    }
    Ok((to_service, begins))
}

/// The same work with local paths in full: other processes stand in other folders.
pub(super) fn absolute(work: Work, store: &StoreOptions) -> Result<Work> {
    let full = |name| full(name, store);
    Ok(match work {
        Work::Copy { sources, destination } => Work::Copy {
            sources: sources.into_iter().map(full).collect::<Result<_>>()?,
            destination: full(destination)?,
        },
        Work::CopyPairs(pairs) => Work::CopyPairs(
            pairs.into_iter().map(|(from, to)| Ok((full(from)?, full(to)?))).collect::<Result<_>>()?,
        ),
        Work::Sync { source, destination, delete } => {
            Work::Sync { source: full(source)?, destination: full(destination)?, delete }
        }
        other => other,
    })
}

/// A path as it is called from everywhere on this machine; a URL as it stands.
pub(super) fn full(name: String, store: &StoreOptions) -> Result<String> {
    let Address::Local(path) = Address::parse(&name, store)? else { return Ok(name) };
    // As a folder, whether or not it is there.
    let into = name.ends_with('/') || name.ends_with("/.") || name == ".";
    let path = std::path::absolute(&path).map_err(|e| Error::from_io("open", &*name, e))?;
    let text = path.to_str().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "open", &*name, "the name of its folder is not valid UTF-8")
    })?;
    Ok(if into && !text.ends_with('/') { format!("{text}/") } else { text.to_owned() })
}
