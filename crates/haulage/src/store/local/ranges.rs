//! The list beside a partial file: which ranges of its source are in it, for a later run to go on from.
//!
//! A line says of what source, then comes a line for every range that was written and checked, appended when it was.
//! The list is a hint, never a proof: a run that goes on reads each range again and compares its CRC64. So a torn
//! line, a lost page or a foreign file costs time, not content.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Write as _};

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::Serialize;

use super::file;
use super::tree::{Place, os};
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

/// Ranges are no smaller than this, but for the last ones of a file: a list has so many lines, some more than once.
pub(super) const RANGE_MIN: u64 = 32 << 10;

/// A line is 59 bytes, and the head some hundred.
const LINE: u64 = 64;

/// Longer than any list of ours for a file of this size: whatever it is, it is not read.
fn longest(head: &str, size: u64) -> u64 {
    head.len() as u64 + LINE * (1024 + 2 * (size / RANGE_MIN)).min(1 << 20)
}

/// The list of one partial file, open for more.
pub(super) struct RangeList {
    destination: Place,
    name: String,
    file: File,
    /// What an earlier run has left.
    found: HashMap<BlockRange, Kept>,
}

impl RangeList {
    /// Opens the list of this name, or begins a new one where there is none of this source, or where `usable` says that
    /// the partial file is not what it tells of. `None` where something that is no file of ours has its name.
    pub(super) fn open(
        destination: &Place,
        name: String,
        source_etag: &str,
        size: u64,
        usable: bool,
    ) -> Result<Option<Self>> {
        let failed = |e| file::io("write", &destination.path(), e);
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
        let mut file = match destination.folder.open(&name, flags) {
            Ok(file) => file,
            Err(Errno::LOOP | Errno::ACCESS | Errno::ISDIR | Errno::NXIO) => return Ok(None),
            Err(error) => return Err(failed(os(error))),
        };
        let there = rustix::fs::fstat(&file).map_err(|e| failed(os(e)))?;
        // With a second name it would be written under both.
        if !file::is_regular(&there) || there.st_nlink != 1 {
            return Ok(None);
        }
        let head = head(&destination.name, source_etag, size);
        let longest = longest(&head, size);
        let mut text = Vec::new();
        if usable && there.st_size as u64 <= longest {
            (&mut file).take(longest).read_to_end(&mut text).map_err(failed)?;
        }
        let found = std::str::from_utf8(&text).ok().and_then(|text| parse(text, &head, size));
        if found.is_none() {
            file.set_len(0).and_then(|()| file.write_all(head.as_bytes())).map_err(|error| {
                // It tells of nothing, and whoever reads it next would find no more.
                let _ = destination.folder.remove(&name);
                failed(error)
            })?;
        } else if !text.ends_with(b"\n") {
            // Whatever a torn line ends with, the next one begins anew.
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok(Some(Self { destination: destination.clone(), name, file, found: found.unwrap_or_default() }))
    }

    pub(super) fn found(&self) -> &HashMap<BlockRange, Kept> {
        &self.found
    }

    /// Adds a range whose bytes are in the file.
    pub(super) fn add(&self, kept: &Kept) -> Result<()> {
        // One short write at the end of the file: lines of several threads do not mix.
        let written = (&self.file).write_all(line(kept).as_bytes());
        written.map_err(|e| file::io("write", &self.destination.path(), e))
    }

    /// Its name beside the partial file.
    pub(super) fn name(&self) -> &str {
        &self.name
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
