//! The list beside a partial file: which ranges of its source are in it, for a later run to go on from.
//!
//! A line says of what source, then comes a line for every range that was written and checked, appended when it was.
//! The list is a hint, never a proof: a run that goes on reads each range again and compares its CRC64. So a torn
//! line, a lost page or a foreign file costs time, not content.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::file;
use crate::error::Result;
use crate::store::{BlockId, BlockRange, Kept};

/// What the partial file is of. Written and compared as text; nothing parses it.
#[derive(Serialize)]
struct Head<'a> {
    haulage: &'static str,
    file: &'a str,
    source_etag: &'a str,
    size_bytes: u64,
}

/// The first line for a file of this name, source and size.
pub(super) fn head(file_name: &str, source_etag: &str, size: u64) -> String {
    let head = Head { haulage: "ranges 1", file: file_name, source_etag, size_bytes: size };
    // Strings and numbers always have a text.
    serde_json::to_string(&head).unwrap_or_default() + "\n"
}

/// A range as a line: whether the source vouched for it, then what it holds.
pub(super) fn line(kept: &Kept) -> String {
    format!("{} {}\n", if kept.vouched { 'v' } else { '-' }, kept.id.encode())
}

/// The ranges within `size` bytes that a list with this head tells; the last word on each. `None` where the list is of something
/// else.
pub(super) fn parse(text: &str, head: &str, size: u64) -> Option<HashMap<BlockRange, Kept>> {
    let ranges = text.strip_prefix(head)?;
    let whole = ranges.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let kept = whole.filter_map(|line| {
        let (vouched, id) = line.split_once(' ')?;
        // Beyond the end nothing can be read, and nothing has the checksum of nothing.
        let id = BlockId::decode(id).filter(|id| id.range.len > 0 && id.range.end() <= size)?;
        Some((id.range, Kept { id, vouched: vouched == "v" }))
    });
    Some(kept.collect())
}

/// The list of one partial file, open for more.
pub(super) struct RangeList {
    path: PathBuf,
    file: File,
    /// What an earlier run has left.
    found: HashMap<BlockRange, Kept>,
}

impl RangeList {
    /// Opens the list at `path`, or begins a new one where there is none of this source, or where `usable` says that the
    /// partial file is not what it tells of.
    pub(super) fn open(
        path: PathBuf,
        name: &str,
        source_etag: &str,
        size: u64,
        usable: bool,
    ) -> Result<Self> {
        let head = head(name, source_etag, size);
        let text = std::fs::read(&path).unwrap_or_default();
        let found =
            std::str::from_utf8(&text).ok().filter(|_| usable).and_then(|text| parse(text, &head, size));
        let io = |e| file::io("write", &path, e);
        let going_on = found.is_some();
        let mut file = OpenOptions::new().append(true).create(true).open(&path).map_err(io)?;
        if going_on {
            // Whatever a torn line ends with, the next one begins anew.
            if !text.ends_with(b"\n") {
                file.write_all(b"\n").map_err(io)?;
            }
        } else {
            file.set_len(0).map_err(io)?;
            file.write_all(head.as_bytes()).map_err(io)?;
        }
        Ok(Self { path, file, found: found.unwrap_or_default() })
    }

    pub(super) fn found(&self) -> &HashMap<BlockRange, Kept> {
        &self.found
    }

    /// Adds a range whose bytes are in the file.
    pub(super) fn add(&self, kept: &Kept) -> Result<()> {
        // One short write at the end of the file: lines of several threads do not mix.
        (&self.file).write_all(line(kept).as_bytes()).map_err(|e| file::io("write", &self.path, e))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Crc64;
    use proptest::prelude::*;

    fn kept(offset: u64, vouched: bool) -> Kept {
        Kept {
            id: BlockId { range: BlockRange { offset, len: 10 }, crc64: Crc64::from_u64(offset + 1) },
            vouched,
        }
    }

    #[test]
    fn a_list_tells_what_was_added_and_nothing_of_another_source() {
        let head_ = head("a\n\"b", "etag", 100);
        assert_eq!(head_.lines().count(), 1);
        let text = head_.clone() + &line(&kept(0, true)) + &line(&kept(10, false));
        let found = parse(&text, &head_, 100).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[&kept(0, true).id.range], kept(0, true));
        assert_eq!(found[&kept(10, true).id.range], kept(10, false));
        for other in [head("a", "etag", 100), head("a\n\"b", "etag2", 100), head("a\n\"b", "etag", 101)] {
            assert!(parse(&text, &other, 100).is_none());
        }
    }

    #[test]
    fn ranges_beyond_the_end_and_empty_ones_do_not_count() {
        let none = BlockId { range: BlockRange { offset: 4, len: 0 }, crc64: Crc64::EMPTY };
        let head_ = head("f", "e", 19);
        let empty = Kept { id: none, vouched: true };
        let text = head_.clone() + &line(&kept(0, true)) + &line(&kept(10, true)) + &line(&empty);
        let found = parse(&text, &head_, 19).unwrap();
        assert_eq!(found.into_values().collect::<Vec<_>>(), [kept(0, true)]);
    }

    proptest! {
        #[test]
        fn a_torn_or_foreign_list_is_no_trouble(cut in 0_usize..200, noise in ".{0,80}") {
            let head_ = head("f", "e", 20);
            let text = head_.clone() + &line(&kept(0, true)) + &line(&kept(10, true));
            let torn = format!("{}{noise}", &text[..cut.min(text.len())]);
            let all = [kept(0, true), kept(10, true)];
            for (range, found) in parse(&torn, &head_, 20).unwrap_or_default() {
                // Noise may make a word of its own only by being one.
                prop_assert!(all.iter().any(|one| one.id.range == range && one.id == found.id) || !noise.is_empty());
            }
        }
    }
}
