//! Which names are wanted.

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::Pattern;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Bounds;
use crate::store::ObjectMeta;

/// Globs on the name below the source; `*` passes `/`, so that `*.nc` finds files in every folder.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    include: Option<GlobSet>,
    exclude: GlobSet,
    /// Of these the globs that end in a plain name, which may be meant for a folder, and the globs themselves.
    plain: GlobSet,
    plain_globs: Vec<String>,
    bounds: Bounds,
    now_ns: i128,
    /// What a source with wildcards matches.
    pattern: Option<GlobSet>,
}

impl Filter {
    /// From now on wants only what matches this, too.
    ///
    /// # Errors
    /// `Usage` where it is no glob.
    pub(super) fn matching(&mut self, pattern: Option<&Pattern>) -> Result<()> {
        self.pattern = pattern.map(Pattern::filter).transpose()?.and_then(|filter| filter.include);
        Ok(())
    }

    /// Whether it is of a source with wildcards.
    pub(super) fn is_of_pattern(&self) -> bool {
        self.pattern.is_some()
    }

    pub(crate) fn new(include: &[String], exclude: &[String]) -> Result<Self> {
        let included = (!include.is_empty()).then(|| globs(include)).transpose()?;
        let is_plain = |glob: &&String| {
            !glob.rsplit('/').next().unwrap_or(glob).contains(['*', '?', '[', ']', '{', '}', '\\'])
        };
        let excluded = globs(exclude)?;
        let plain_globs: Vec<String> = exclude.iter().filter(is_plain).cloned().collect();
        Ok(Self {
            include: included,
            exclude: excluded,
            plain: globs(&plain_globs)?,
            plain_globs,
            bounds: Bounds::default(),
            now_ns: 0,
            pattern: None,
        })
    }

    /// The same, within these bounds too; ages are counted from `now_ns`, in nanoseconds since 1970.
    ///
    /// # Errors
    /// `Usage` where nothing can be within them.
    pub(crate) fn within(self, bounds: Bounds, now_ns: u64) -> Result<Self> {
        bounds.check()?;
        Ok(Self { bounds, now_ns: i128::from(now_ns), ..self })
    }

    /// Whether an object is within the bounds. Its age is that of the file it was made from, where the store says so.
    pub(crate) fn takes(&self, meta: &ObjectMeta) -> bool {
        let Bounds { min_size, max_size, min_age, max_age } = self.bounds;
        let sized = min_size.is_none_or(|least| meta.size >= least.bytes())
            && max_size.is_none_or(|most| meta.size <= most.bytes());
        let age_ns = self.now_ns - meta.time_ns().unwrap_or(meta.modified_ns);
        sized
            && min_age.is_none_or(|least| age_ns >= least.as_nanos() as i128)
            && max_age.is_none_or(|most| age_ns <= most.as_nanos() as i128)
    }

    /// Whether it has bounds.
    pub(crate) fn is_bounded(&self) -> bool {
        self.bounds.is_any()
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        let within = |globs: &Option<GlobSet>| globs.as_ref().is_none_or(|globs| globs.is_match(name));
        within(&self.include) && within(&self.pattern) && !self.exclude.is_match(name)
    }
}

impl Filter {
    /// What is wrong with a glob that excludes the folder that a name is in, and not the name: nothing in that folder is left alone.
    pub(crate) fn misses(&self, name: &str) -> Option<Error> {
        if self.plain_globs.is_empty() {
            return None;
        }
        let mut folders = name.match_indices('/').map(|(at, _)| &name[..at]);
        let glob = folders.find_map(|folder| self.plain.matches(folder).first().copied())?;
        let glob = &self.plain_globs[glob];
        let cause =
            "this excludes no file: it is the name of a folder, and what is in the folder has other names";
        Some(
            Error::new(ErrorKind::Usage, "parse", format!("--exclude {glob}"), cause)
                .hint(format!("write '{glob}/**' for all below a folder")),
        )
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if pattern.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "parse", "\"\"", "an empty glob matches nothing")
                .hint("globs use *, ?, [a-z] and {a,b}; quote them for the shell"));
        }
        if let Some(hint) = of_others(pattern) {
            let cause =
                "a glob is compared with the whole name, which does not begin with / or ./ or end with /";
            return Err(Error::new(ErrorKind::Usage, "parse", pattern, cause).hint(hint));
        }
        let glob = Glob::new(pattern).map_err(|e| bad(pattern, &e))?;
        set.add(glob);
    }
    set.build().map_err(|e| bad(&patterns.join(" "), &e))
}

/// What to write in place of a pattern of rclone's or git's. It would match nothing here, and what was to be left alone would not be.
fn of_others(pattern: &str) -> Option<String> {
    let name = without_beginning(pattern);
    if name.is_empty() {
        return Some("for everything write '*'".to_owned());
    }
    if name.ends_with('/') {
        let folder = name.trim_end_matches('/');
        return Some(format!(
            "for all below a folder write '{folder}/**', or '*/{folder}/**' for one at any depth"
        ));
    }
    let anchored = name != pattern;
    anchored.then(|| format!("write '{name}'; only a pattern that begins with * matches at any depth"))
}

/// What is left of a pattern when the `/` and `./` at its beginning are gone, which no name has there.
fn without_beginning(pattern: &str) -> &str {
    let mut name = pattern;
    while let Some(rest) = name.strip_prefix('/').or_else(|| name.strip_prefix("./")) {
        name = rest;
    }
    name
}

fn bad(pattern: &str, error: &globset::Error) -> Error {
    Error::new(ErrorKind::Usage, "parse", pattern, error.kind().to_string())
        .hint("globs use *, ?, [a-z] and {a,b}; quote them for the shell")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::units::ByteSize;

    #[test]
    fn exclude_wins_over_include() {
        let filter = Filter::new(&["*.nc".into()], &["tmp/*".into()]).unwrap();
        assert!(filter.wants("a.nc") && filter.wants("deep/er/a.nc"));
        assert!(!filter.wants("a.txt") && !filter.wants("tmp/a.nc"));
        assert!(Filter::new(&[], &[]).unwrap().wants("anything"));
        assert_eq!(Filter::new(&["[".into()], &[]).unwrap_err().kind(), ErrorKind::Usage);
    }

    #[test]
    fn patterns_that_other_tools_anchor_are_refused_and_not_ignored() {
        for (pattern, instead) in [
            ("2026/", "'2026/**'"),
            ("/2026/**", "'2026/**'"),
            ("/a.txt", "'a.txt'"),
            ("./2026/**", "'2026/**'"),
            ("./a.txt", "'a.txt'"),
            (".//2026/", "'2026/**'"),
            ("./", "for everything write '*'"),
        ] {
            let error = Filter::new(&[], &[pattern.into()]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert!(error.to_string().contains(instead), "{error}");
        }
        // Names that have one there can still be meant.
        for hidden in [".a", "..a", ".*", ".git/**"] {
            Filter::new(&[], &[hidden.into()]).unwrap();
        }
        assert!(!Filter::new(&[], &["[/]a".into()]).unwrap().wants("/a"));
        assert!(!Filter::new(&[], &["*[/]".into()]).unwrap().wants("folder/"));
    }

    #[test]
    fn globs_that_name_a_folder_miss_what_is_in_it() {
        let filter = |glob: &str| Filter::new(&[], &[glob.into()]).unwrap();
        for (glob, name) in
            [(".git", ".git/x"), ("*/tmp", "a/b/tmp/c"), ("a/b", "a/b/c/d"), ("{a,b}/c", "b/c/d")]
        {
            let error = filter(glob).misses(name).unwrap();
            assert_eq!(error.hint_text(), Some(&*format!("write '{glob}/**' for all below a folder")));
        }
        for (glob, name) in [(".git", ".gitignore"), (".git/**", ".git/x"), ("*tmp", "tmp/x"), ("x", "a/x")] {
            assert!(filter(glob).misses(name).is_none(), "{glob}");
        }
    }

    #[test]
    fn bounds_belong_to_what_they_allow() {
        let bounds = |least: Option<u64>, most: Option<u64>| Bounds {
            min_size: least.map(ByteSize::new),
            max_size: most.map(ByteSize::new),
            ..Bounds::default()
        };
        let takes = |bounds: Bounds, size: u64| {
            let filter = Filter::new(&[], &[]).unwrap().within(bounds, 0).unwrap();
            filter.takes(&ObjectMeta { size, ..ObjectMeta::default() })
        };
        assert!(takes(bounds(Some(5), Some(5)), 5) && takes(bounds(None, None), 0));
        assert!(!takes(bounds(Some(5), None), 4) && !takes(bounds(None, Some(5)), 6));
        let nothing = Filter::new(&[], &[]).unwrap().within(bounds(Some(6), Some(5)), 0);
        assert_eq!(nothing.unwrap_err().kind(), ErrorKind::Usage);
    }

    #[test]
    fn the_age_is_that_of_the_file_where_the_store_says_so() {
        let hour = Duration::from_secs(3600);
        let old = Bounds { min_age: Some(hour), ..Bounds::default() };
        let new = Bounds { max_age: Some(hour), ..Bounds::default() };
        let now = 100 * hour.as_nanos() as u64;
        let meta = |modified: i128, source: Option<i128>| ObjectMeta {
            modified_ns: modified * hour.as_nanos() as i128,
            source_modified_ns: source.map(|hours| hours * hour.as_nanos() as i128),
            ..ObjectMeta::default()
        };
        let takes = |bounds: Bounds, meta: &ObjectMeta| {
            Filter::new(&[], &[]).unwrap().within(bounds, now).unwrap().takes(meta)
        };
        for (modified, source, is_old, is_new) in [
            (98, None, true, false),
            (99, None, true, true),
            (100, Some(2), true, false),
            (101, None, false, true),
        ] {
            let meta = meta(modified, source);
            assert_eq!((takes(old, &meta), takes(new, &meta)), (is_old, is_new), "{modified} {source:?}");
        }
    }
}
