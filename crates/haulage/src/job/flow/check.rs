//! What is refused before anything is touched.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::checksum::ChecksumMode;
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Compare, CopyOptions, Portion, Work};
use crate::output::identity;
use crate::stage::list::{Filter, check_names};
use crate::store::{Address, is_tier_of_azure};

/// Refuses what cannot work before anything is touched.
pub(in crate::job) fn check(work: &Work, options: &CopyOptions) -> Result<()> {
    Filter::new(&options.include, &options.exclude)?;
    options.bounds.check()?;
    if let Some(names) = &options.names {
        check_names(names, work, &options.store)?;
    }
    check_outputs(work, options)?;
    check_kept(work, options)?;
    if options.atomic {
        check_atomic(work, options)?;
    }
    if options.portion != Portion::All {
        check_portion(work, options)?;
    }
    if let Some(tier) = options.tier.named() {
        check_tier(tier, work, options)?;
    }
    let (sources, destinations): (Vec<_>, Vec<_>) = match work {
        Work::Copy { sources, destination } | Work::Move { sources, destination } => {
            (sources.iter().collect(), vec![destination])
        }
        Work::Verify { source, destination, .. } | Work::Sync { source, destination, .. } => {
            (vec![source], vec![destination])
        }
        Work::CopyPairs(pairs) => pairs.iter().map(|(source, destination)| (source, destination)).unzip(),
        // Of what is fed, whoever planned it has seen to that.
        Work::Fed(_) => (Vec::new(), Vec::new()),
    };
    let mut streams = Vec::new();
    for name in sources {
        streams.extend(Address::parse(name, &options.store)?.source_stream().map(|_| name));
    }
    for name in destinations {
        streams.extend(Address::parse(name, &options.store)?.destination_stream().map(|_| name));
    }
    match (work, &streams[..]) {
        (_, []) => Ok(()),
        (Work::Copy { sources, .. }, [_]) if sources.len() == 1 && !options.dry_run => Ok(()),
        (Work::Sync { .. } | Work::Move { .. }, [name, ..]) => {
            Err(Error::new(ErrorKind::Unsupported, "list", *name, "a stream is neither synced nor moved")
                .hint("copy it with haul cp"))
        }
        (Work::Verify { .. }, [name, ..]) => {
            Err(Error::new(ErrorKind::Unsupported, "verify", *name, "a stream cannot be read twice")
                .hint("copy it to a file, then compare that"))
        }
        (Work::Copy { sources, .. }, [name]) if sources.len() == 1 => Err(Error::new(
            ErrorKind::Usage,
            "copy",
            *name,
            "the contents of a stream are unknown before it is copied",
        )
        .hint("leave out --dry-run")),
        (_, [name, ..]) => {
            Err(Error::new(ErrorKind::Usage, "copy", *name, "a stream goes alone with one other name")
                .hint("haul cp - URL, or haul cp URL -"))
        }
    }
}

/// Refuses what would compare with a receipt that nobody keeps, or delete what a link leads to.
fn check_kept(work: &Work, options: &CopyOptions) -> Result<()> {
    let usage = |name: &str, cause: &str| Error::new(ErrorKind::Usage, "compare", name, cause);
    if options.compare == Compare::Receipt && options.receipt.is_none() {
        return Err(usage("--compare receipt", "no receipt is named")
            .hint("add --receipt FILE: it is read, then written anew"));
    }
    if matches!(work, Work::Move { .. }) && options.store.follow_symlinks {
        let cause = "what a link leads to is not moved: it may lie anywhere";
        return Err(Error::new(ErrorKind::Usage, "move", "--symlinks follow", cause)
            .hint("leave it out, or copy with haul cp --symlinks follow"));
    }
    if let Work::Move { sources, .. } = work {
        for path in local(&sources.iter().collect::<Vec<_>>(), options)? {
            let is_link = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
            if is_link && path.is_file() {
                let cause =
                    "this is a symbolic link, and what a link leads to is not moved: it may lie anywhere";
                return Err(Error::new(ErrorKind::Usage, "move", path.display().to_string(), cause)
                    .hint("move the file that it points to, or copy with haul cp"));
            }
        }
    }
    Ok(())
}

/// Refuses a portion of several objects, and one that nobody else can add to.
fn check_portion(work: &Work, options: &CopyOptions) -> Result<()> {
    let usage = |name: &str, cause: &str| Error::new(ErrorKind::Usage, "stage", name, cause);
    let (source, destination) = match work {
        Work::Copy { sources, destination } if sources.len() == 1 => (&sources[0], destination),
        Work::CopyPairs(pairs) if pairs.len() == 1 => (&pairs[0].0, &pairs[0].1),
        _ => return Err(usage("", "several jobs share one object at a time").hint("name one source")),
    };
    let nothing = matches!(options.portion, Portion::Stretch(stretch) if stretch.len == 0);
    if options.source_etag.is_none() && !nothing {
        return Err(usage(source, "several jobs must move the same version of it")
            .hint("begin it with a stretch of no bytes, and give the ETag that this tells to the others"));
    }
    if options.checksum == ChecksumMode::None {
        return Err(usage(source, "parts of several jobs are identified by their CRC64")
            .hint("leave out --checksum none"));
    }
    if options.atomic {
        return Err(usage(destination, "what is staged appears with its commit in any case")
            .hint("leave out --atomic for portions"));
    }
    let from_stream = Address::parse(source, &options.store)?.source_stream().is_some();
    let to_service =
        matches!(Address::parse(destination, &options.store)?, Address::Azure(_) | Address::S3(_));
    if from_stream || !to_service {
        let cause = "only an object store keeps parts of several jobs, and no job reads a stream of another";
        let error = Error::new(
            ErrorKind::Unsupported,
            "stage",
            if from_stream { source } else { destination },
            cause,
        );
        return Err(error.hint("copy it whole"));
    }
    Ok(())
}

/// Refuses a tier where there are none, or not this one.
fn check_tier(tier: &str, work: &Work, options: &CopyOptions) -> Result<()> {
    let destinations: Vec<&String> = match work {
        Work::Copy { destination, .. } | Work::Sync { destination, .. } | Work::Move { destination, .. } => {
            vec![destination]
        }
        Work::CopyPairs(pairs) => pairs.iter().map(|(_, destination)| destination).collect(),
        Work::Verify { .. } | Work::Fed(_) => Vec::new(),
    };
    for name in destinations {
        let (cause, hint) = match Address::parse(name, &options.store)? {
            Address::S3(_) => continue,
            Address::Azure(_) if is_tier_of_azure(tier) => continue,
            Address::Azure(_) => ("Azure has no such access tier", "write hot, cool, cold or archive"),
            _ => ("only objects of Azure and S3 are in a tier or storage class", "leave out --tier"),
        };
        return Err(Error::new(ErrorKind::Usage, "copy", format!("--tier {tier}"), cause).hint(hint));
    }
    Ok(())
}

/// Refuses a record, a receipt or a report where a source or the destination is.
fn check_outputs(work: &Work, options: &CopyOptions) -> Result<()> {
    let outputs: Vec<&Path> = options.outputs().map(PathBuf::as_path).collect();
    let refuse = |path: &Path, cause: String| {
        Err(Error::new(ErrorKind::Usage, "create", path.display().to_string(), cause)
            .hint("use a separate file, outside the destination"))
    };
    for (place, one) in outputs.iter().enumerate() {
        let known = identity(one);
        if known.is_some() && outputs[..place].iter().any(|other| identity(other) == known) {
            return refuse(one, "records, receipts and reports cannot share a file".to_owned());
        }
    }
    if !options.reports.is_empty() && !matches!(work, Work::Verify { .. }) {
        return Err(Error::new(ErrorKind::Usage, "create", "reports", "only a comparison writes reports")
            .hint("compare with haul verify"));
    }
    let (sources, destinations): (Vec<&String>, Vec<&String>) = match work {
        Work::Copy { sources, destination } | Work::Move { sources, destination } => {
            (sources.iter().collect(), vec![destination])
        }
        Work::Verify { source, destination, .. } => (vec![source, destination], vec![destination]),
        Work::Sync { source, destination, .. } => (vec![source], vec![destination]),
        Work::CopyPairs(pairs) => pairs.iter().map(|(source, destination)| (source, destination)).unzip(),
        Work::Fed(_) => (Vec::new(), Vec::new()),
    };
    // Nothing marks a list of names, so that one must not be among files that may be taken for one.
    let reports: Vec<&Path> = options.reports.iter().map(|(_, path)| path.as_path()).collect();
    for folder in local(&sources, options)? {
        let folder = folder.canonicalize().ok();
        let inside = |path: &&&Path| {
            identity(path).zip(folder.as_ref()).is_some_and(|(path, folder)| path.starts_with(folder))
        };
        if let Some(report) = reports.iter().find(inside) {
            let name = report.display().to_string();
            return Err(Error::new(
                ErrorKind::Usage,
                "create",
                name,
                "a report cannot be among what is compared",
            )
            .hint("name a file outside what is compared"));
        }
    }
    for output in outputs {
        for source in local(&sources, options)? {
            if is_same(output, &source) {
                return refuse(output, format!("this is {}, which is read", source.display()));
            }
        }
        for destination in local(&destinations, options)? {
            let place = destination.canonicalize().ok().or_else(|| identity(&destination));
            if place.zip(identity(output)).is_some_and(|(place, output)| output.starts_with(place)) {
                return refuse(
                    output,
                    format!("it would lie in {}, among what is copied or compared", destination.display()),
                );
            }
        }
    }
    Ok(())
}

/// Those of the names that are local paths.
fn local(names: &[&String], options: &CopyOptions) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for name in names {
        if let Address::Local(path) = Address::parse(name, &options.store)? {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Whether two paths are of one file, by whatever names.
fn is_same(one: &Path, other: &Path) -> bool {
    let inode = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    match (inode(one), inode(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// Refuses a destination where nothing can be staged unseen.
fn check_atomic(work: &Work, options: &CopyOptions) -> Result<()> {
    let destinations: Vec<&String> = match work {
        Work::Copy { destination, .. } | Work::Sync { destination, .. } | Work::Move { destination, .. } => {
            vec![destination]
        }
        Work::CopyPairs(pairs) => pairs.iter().map(|(_, destination)| destination).collect(),
        Work::Verify { .. } | Work::Fed(_) => Vec::new(),
    };
    for name in destinations {
        if !matches!(Address::parse(name, &options.store)?, Address::Azure(_) | Address::S3(_)) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "copy",
                name,
                "only an object store can commit a collection at once",
            )
            .hint("leave out --atomic; each file appears only when it is complete in any case"));
        }
    }
    let (Work::Copy { sources, .. } | Work::Move { sources, .. }) = work else { return Ok(()) };
    for name in sources {
        if Address::parse(name, &options.store)?.source_stream().is_some() {
            let cause = "a stream is one object: it appears at once in any case";
            return Err(Error::new(ErrorKind::Usage, "copy", name, cause).hint("leave out --atomic"));
        }
    }
    Ok(())
}
