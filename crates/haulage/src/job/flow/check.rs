//! What is refused before anything is touched.

use crate::error::{Error, ErrorKind, Result};
use crate::job::{CopyOptions, Work};
use crate::stage::list::Filter;
use crate::store::Address;

/// Refuses what cannot work before anything is touched.
pub(super) fn check(work: &Work, options: &CopyOptions) -> Result<()> {
    Filter::new(&options.include, &options.exclude)?;
    if options.atomic {
        check_atomic(work, options)?;
    }
    let mut streams = 0;
    let (sources, destination) = match work {
        Work::Copy { sources, destination } => (sources.iter().collect(), Some(destination)),
        Work::Verify { source, destination, .. } => (vec![source], Some(destination)),
        Work::CopyPairs(_) => (Vec::new(), None),
    };
    for name in sources.into_iter().chain(destination) {
        streams += usize::from(Address::parse(name, &options.store)? == Address::Stdio);
    }
    let alone = matches!(work, Work::Copy { sources, .. } if sources.len() == 1);
    if streams > 1 || (streams == 1 && !alone) {
        return Err(Error::new(
            ErrorKind::Usage,
            "copy",
            "-",
            "- stands for one stream, alone with one other name",
        )
        .hint("haul cp - URL, or haul cp URL -"));
    }
    Ok(())
}

/// Refuses a destination where nothing can be staged unseen.
fn check_atomic(work: &Work, options: &CopyOptions) -> Result<()> {
    let destinations: Vec<&String> = match work {
        Work::Copy { destination, .. } => vec![destination],
        Work::CopyPairs(pairs) => pairs.iter().map(|(_, destination)| destination).collect(),
        Work::Verify { .. } => Vec::new(),
    };
    for name in destinations {
        if !matches!(Address::parse(name, &options.store)?, Address::Azure(_)) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "copy",
                name,
                "only an object store can commit a collection at once",
            )
            .hint("leave out --atomic; each file by itself appears at once and whole in any case"));
        }
    }
    let streamed = matches!(work, Work::Copy { sources, .. } if sources.iter().any(|source| source == "-"));
    if streamed {
        return Err(Error::new(
            ErrorKind::Usage,
            "copy",
            "-",
            "a stream is one object: it appears at once in any case",
        )
        .hint("leave out --atomic"));
    }
    Ok(())
}
