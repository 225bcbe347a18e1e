//! Blob names as file names: readable where possible, unable to escape always.
//!
//! A name keeps its slashes as folders. `%`, control characters, backslashes and the first dot of
//! a segment become `%XX`, an empty segment becomes `%` alone; so `..` is never a segment, nothing
//! is hidden, and two names never share a path. Where that path is taken (the blob `a` is a file,
//! so `a/b` has no folder; or the other way round) the whole name goes into one segment that begins
//! with `%=`, which the first form never writes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use haulage::checksum::Md5;

/// What the usual file systems allow for a segment.
const LONGEST_SEGMENT: usize = 255;
/// Well below what the usual kernels allow for a whole path.
const LONGEST_PATH: usize = 3_000;
/// How a flat path begins.
const FLAT: &str = "%=";

/// The path below the container's folder; `None` where the name has a segment too long for one.
pub(super) fn nested(name: &str) -> Option<PathBuf> {
    let segments: Vec<String> = name.split('/').map(segment).collect();
    let fits = segments.iter().all(|segment| segment.len() <= LONGEST_SEGMENT);
    let path = segments.join("/");
    (fits && path.len() <= LONGEST_PATH).then(|| path.into())
}

/// The path in one segment, for names whose nested path is taken or too long.
pub(super) fn flat(name: &str) -> PathBuf {
    let text = format!("{FLAT}{}", segment(name).replace('/', "%2F"));
    if text.len() <= LONGEST_SEGMENT { text.into() } else { format!("%~{}", hash(name)).into() }
}

/// A fixed-width stand-in for a name, for sidecars.
pub(super) fn hash(name: &str) -> String {
    Md5::of(name.as_bytes()).to_string()
}

/// The name of a file that has no sidecar; `None` where no blob would have been stored there.
pub(super) fn decode(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let name = match text.strip_prefix(FLAT) {
        Some(flat) => unescape(flat)?,
        None => text.split('/').map(unescape).collect::<Option<Vec<String>>>()?.join("/"),
    };
    (nested(&name).as_deref() == Some(path) || flat(&name) == path).then_some(name)
}

fn segment(text: &str) -> String {
    if text.is_empty() {
        return "%".to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for (index, c) in text.char_indices() {
        if c == '%' || c == '\\' || c.is_ascii_control() || (c == '.' && index == 0) {
            // Writing to a String cannot fail.
            let _ = write!(safe, "%{:02X}", c as u32);
        } else {
            safe.push(c);
        }
    }
    safe
}

fn unescape(segment: &str) -> Option<String> {
    if segment == "%" {
        return Some(String::new());
    }
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(segment).collect();
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_names_stay_plain() {
        for name in ["a/b.nc", "with space #?+:&.txt", "ünï/☃", "trailing."] {
            assert_eq!(nested(name).unwrap(), PathBuf::from(name));
        }
    }

    #[test]
    fn awkward_names_are_made_safe() {
        let text = |name| nested(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!(text("../../etc/passwd"), "%2E./%2E./etc/passwd");
        assert_eq!(text("/root"), "%/root");
        assert_eq!(text("dir/"), "dir/%");
        assert_eq!(text(".haul/x%"), "%2Ehaul/x%25");
        assert_eq!(flat("a/b").to_str(), Some("%=a%2Fb"));
        assert!(nested(&"x".repeat(300)).is_none());
    }

    proptest! {
        #[test]
        fn every_name_has_a_path_inside_and_reads_back(name in "[ -~/.%é\\\\\u{1}]{1,40}") {
            for path in [nested(&name).unwrap(), flat(&name)] {
                prop_assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
                prop_assert_eq!(decode(&path), Some(name.clone()));
            }
        }
    }
}
