//! What was read of a stream and has not arrived yet: nobody can read it again.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Capabilities, Copying, Held, Subject, Then};
use crate::checksum::{Crc64, Md5Stream};
use crate::stage::plan::{Cutter, Pieces};
use crate::stage::schedule::Step;
use crate::store::BlockRange;

/// The pieces by their first byte, and the digest of all that was read.
#[derive(Default)]
pub(crate) struct Feed {
    pieces: BTreeMap<u64, (Bytes, Crc64)>,
    pub(super) md5: Option<Md5Stream>,
    /// A piece is being read.
    pub(super) reading: bool,
}

impl Feed {
    pub(super) fn new(digest: bool) -> Self {
        Self { md5: digest.then(Md5Stream::default), ..Self::default() }
    }

    /// The digest so far, to be carried on by whoever reads next.
    pub(crate) fn digest(&self) -> Option<Md5Stream> {
        self.md5.clone()
    }

    pub(super) fn keep(&mut self, offset: u64, bytes: Bytes, crc64: Crc64) {
        self.pieces.insert(offset, (bytes, crc64));
    }

    /// The bytes of a stretch that was read, in one piece.
    pub(crate) fn get(&self, range: BlockRange) -> Option<Held> {
        let (begins, (bytes, crc64)) = self.pieces.range(..=range.offset).next_back()?;
        let from = usize::try_from(range.offset - begins).ok()?;
        let to = from.checked_add(usize::try_from(range.len).ok()?).filter(|to| *to <= bytes.len())?;
        let part = bytes.slice(from..to);
        let crc64 = if part.len() == bytes.len() { *crc64 } else { Crc64::of(&part) };
        Some(Held { bytes: part, crc64, range_checked: true })
    }

    /// Lets go of a stretch that has arrived; what was read with it stays.
    pub(super) fn forget(&mut self, range: BlockRange) {
        let Some((&begins, _)) = self.pieces.range(..=range.offset).next_back() else { return };
        let Some((bytes, _)) = self.pieces.remove(&begins) else { return };
        let before = ((range.offset - begins) as usize).min(bytes.len());
        let after = ((range.end() - begins) as usize).min(bytes.len());
        for (at, rest) in [(0, bytes.slice(..before)), (after, bytes.slice(after..))] {
            if !rest.is_empty() {
                let crc64 = Crc64::of(&rest);
                self.pieces.insert(begins + at as u64, (rest, crc64));
            }
        }
    }
}

impl Copying {
    /// Begins with the first stretch of a stream. What it holds decides how the stream travels.
    pub(super) fn start_reading(
        &mut self,
        it: &mut Subject,
        (from, to): (Capabilities, Capabilities),
    ) -> Then {
        let mut cutter = Cutter::open(&from, &to);
        cutter.keep_close(self.ahead());
        let wanted = match it.pieces {
            Pieces::Blocks(size) => size,
            Pieces::Whole => to.cut.least,
        };
        let first = cutter.take(wanted);
        self.taken(&cutter);
        it.cutter = Some(cutter);
        Then::Steps(first.map(Step::Read).into_iter().collect())
    }

    /// Takes in what a stream has brought.
    pub(super) fn read(
        &mut self,
        it: &mut Subject,
        bounds: (Capabilities, Capabilities),
        asked: BlockRange,
        (bytes, crc64, md5): (Bytes, Crc64, Option<Md5Stream>),
    ) -> Then {
        let (Some(feed), Some(cutter)) = (&mut self.feed, &mut it.cutter) else { return Then::Wait };
        let came = BlockRange { offset: asked.offset, len: bytes.len() as u64 };
        let ended = came.len < asked.len;
        (feed.reading, feed.md5) = (false, md5);
        feed.keep(came.offset, bytes, crc64);
        if ended {
            cutter.end(came.end());
            self.md5 = feed.md5.take().map(Md5Stream::value);
        }
        it.grow(came.len);
        match &self.writer {
            None if ended => {
                it.pieces = Pieces::Whole;
                Then::Steps(vec![Step::Whole])
            }
            None => Then::Steps(vec![Step::Begin]),
            // It ended with the piece before, which may have arrived.
            Some(_) if came.len == 0 => self.when_all_there(it, bounds),
            Some(_) => self.go_on_reading(it, came),
        }
    }

    /// What was read is a block, and more may be read.
    pub(super) fn go_on_reading(&mut self, it: &mut Subject, came: BlockRange) -> Then {
        if let (Some(cutter), Some(writer)) = (&mut it.cutter, &self.writer) {
            cutter.settle(writer.block_len(cutter.next()));
        }
        let more = self.may_go_on(it);
        let steps = vec![Step::Block(came)];
        if more { Then::StepsAndRanges(steps) } else { Then::Steps(steps) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_piece_are_kept_until_each_has_arrived() {
        let mut feed = Feed::new(false);
        feed.keep(4, Bytes::from_static(b"abcdef"), Crc64::of(b"abcdef"));
        let range = |offset, len| BlockRange { offset, len };
        let get = |feed: &Feed, offset, len| {
            let held = feed.get(range(offset, len))?;
            assert_eq!(held.crc64, Crc64::of(&held.bytes));
            Some(held.bytes)
        };
        assert_eq!(get(&feed, 4, 6).unwrap(), "abcdef");
        assert_eq!(get(&feed, 6, 2).unwrap(), "cd");
        assert_eq!((get(&feed, 3, 1), get(&feed, 9, 2)), (None, None));
        feed.forget(range(4, 2));
        assert_eq!((get(&feed, 4, 2), get(&feed, 6, 4).unwrap()), (None, Bytes::from_static(b"cdef")));
        feed.forget(range(6, 4));
        assert!(feed.pieces.is_empty());
    }
}
