//! Wildcards in names that the user wrote: `az://climate/tas_*.nc`. A name that is there wins over what it might match.

use super::filter::Filter;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{ListRequest, Location};

/// A name with wildcards, as the folder below which it matches, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// What stands before the first word with a wildcard, with its `/`.
    pub(crate) folder: String,
    /// What every name that matches begins with.
    begin: String,
    /// What is compared with the names below the folder; `*` passes `/`, as in `--include`.
    glob: String,
}

impl Pattern {
    /// The pattern that a key is, where it has wildcards. Brackets alone are none: names have them, as in `data[1].csv`, and when such an
    /// object is gone another one is not meant.
    pub(crate) fn of(key: &str) -> Option<Self> {
        let at = key.find(['*', '?', '[', '{']).filter(|_| key.contains(['*', '?']))?;
        let slash = key[..at].rfind('/').map_or(0, |slash| slash + 1);
        let (folder, glob) = key.split_at(slash);
        let all_below = if glob.ends_with('/') { "**" } else { "" };
        Some(Self {
            folder: folder.to_owned(),
            begin: key[..at].to_owned(),
            glob: format!("{glob}{all_below}"),
        })
    }

    /// What matches it.
    ///
    /// # Errors
    /// `Usage` where it is no glob.
    pub(crate) fn filter(&self) -> Result<Filter> {
        Filter::new(std::slice::from_ref(&self.glob), &[])
    }

    /// The list of all that may match. A folder of a disk is listed whole.
    pub(crate) fn request(&self, place: &Location) -> ListRequest {
        let whole = place.store.capabilities().folders;
        let prefix = if whole { self.folder.clone() } else { self.begin.clone() };
        ListRequest { prefix, ..ListRequest::default() }
    }

    /// The folder.
    pub(crate) fn place(&self, place: &Location) -> Location {
        Location { key: self.folder.clone(), ..place.clone() }
    }

    /// That nothing matches it.
    pub(crate) fn matches_nothing(place: &Location) -> Error {
        let name = place.store.name(&place.key);
        Error::new(ErrorKind::NotFound, "list", name, "no object has this name, and none matches it")
            .hint("* passes /, and ?, [a-z] and {a,b} work too; quotes keep them from the shell")
    }
}

/// What is not there may have been meant as a pattern, where one object is wanted.
pub(crate) fn with_list_hint(error: Error, name: &str) -> Error {
    match Pattern::of(name).filter(|_| error.kind() == ErrorKind::NotFound) {
        Some(_) => error.hint(format!("one object is wanted here; haul ls '{name}' lists what matches")),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_folder_and_what_is_compared_below_it() {
        let of = |key: &str| Pattern::of(key).map(|found| (found.folder, found.begin, found.glob));
        let found = |folder: &str, begin: &str, glob: &str| Some((folder.into(), begin.into(), glob.into()));
        assert_eq!(of("a/b/tas_*.nc"), found("a/b/", "a/b/tas_", "tas_*.nc"));
        assert_eq!(of("*.nc"), found("", "", "*.nc"));
        assert_eq!(of("a/{b,c}/*.nc"), found("a/", "a/", "{b,c}/*.nc"));
        assert_eq!((of("a/data[1].csv"), of("a/{b,c}.nc")), (None, None));
        assert_eq!(of("a/20*/"), found("a/", "a/20", "20*/**"));
        assert_eq!(of("a/b.nc"), None);
        let filter = Pattern::of("a/20*/").unwrap().filter().unwrap();
        assert!(filter.wants("2026/x/y.nc") && !filter.wants("20.nc") && !filter.wants("1/20/x"));
    }
}
