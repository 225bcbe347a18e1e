//! Which names are wanted.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::error::{Error, ErrorKind, Result};

/// Globs on the name below the source; `*` passes `/`, so that `*.nc` finds files in every folder.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl Filter {
    pub(crate) fn new(include: &[String], exclude: &[String]) -> Result<Self> {
        let included = (!include.is_empty()).then(|| globs(include)).transpose()?;
        Ok(Self { include: included, exclude: globs(exclude)? })
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        self.include.as_ref().is_none_or(|globs| globs.is_match(name)) && !self.exclude.is_match(name)
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if pattern.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "parse", "\"\"", "an empty glob matches nothing")
                .hint("globs use *, ?, [a-z] and {a,b}; quote them for the shell"));
        }
        let glob = Glob::new(pattern).map_err(|e| bad(pattern, &e))?;
        set.add(glob);
    }
    set.build().map_err(|e| bad(&patterns.join(" "), &e))
}

fn bad(pattern: &str, error: &globset::Error) -> Error {
    Error::new(ErrorKind::Usage, "parse", pattern, error.kind().to_string())
        .hint("globs use *, ?, [a-z] and {a,b}; quote them for the shell")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclude_wins_over_include() {
        let filter = Filter::new(&["*.nc".into()], &["tmp/*".into()]).unwrap();
        assert!(filter.wants("a.nc") && filter.wants("deep/er/a.nc"));
        assert!(!filter.wants("a.txt") && !filter.wants("tmp/a.nc"));
        assert!(Filter::new(&[], &[]).unwrap().wants("anything"));
        assert_eq!(Filter::new(&["[".into()], &[]).unwrap_err().kind(), ErrorKind::Usage);
    }
}
