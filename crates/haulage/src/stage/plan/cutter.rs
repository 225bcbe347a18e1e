//! The pieces of one object, as they are cut and as they arrive. Pure.

use std::collections::{BTreeMap, VecDeque};

use super::pieces::bounds;
use crate::store::{BlockRange, Capabilities, CutRules, Part};

/// One in so many of the blocks that a service allows is kept for splits.
const KEPT_FOR_SPLITS: u64 = 50;

/// Of a stream the second tenth of the pieces is at least twice as large as this, the third four times, and so on: on Azure
/// they suffice for 4.8 TiB.
const OPEN_LEAST: u64 = 1 << 20;

/// Below twice this, a half is not worth a request.
const SPLIT_MIN: u64 = 64 << 10;

/// Cuts one object into blocks or ranges as they are wanted, and knows which are there.
///
/// Sizes may differ from one to the next, as the link changes, within the rules of the store. Stretches that an earlier run has
/// staged are cut exactly so again, whatever size is wanted now.
#[derive(Debug)]
pub(crate) struct Cutter {
    /// Of a stream nobody knows it before its end: then it is more than can be.
    size: u64,
    open: bool,
    rules: CutRules,
    /// Every piece begins at a multiple of this.
    granule: u64,
    least: u64,
    /// What the source can vouch for, where that is enough.
    vouched_max: u64,
    /// The size of all pieces but the last, where they must be even and one is cut.
    even: Option<u64>,
    /// The first byte that is in no piece yet, and the one after the last that is to be in one.
    next: u64,
    until: u64,
    /// Pieces cut so far.
    count: u64,
    /// Staged by an earlier run, not yet cut; in order, without overlap.
    staged: VecDeque<BlockRange>,
    there: BTreeMap<u64, Part>,
    left: u64,
    /// Up to here everything is there.
    joined: u64,
    /// No piece begins further beyond that.
    ahead: u64,
}

impl Cutter {
    /// An object of `size` bytes between two stores.
    pub(crate) fn new(size: u64, from: &Capabilities, to: &Capabilities) -> Self {
        let (least, vouched_max) = bounds(size, from, to);
        let (staged, there) = Default::default();
        Self {
            size,
            rules: to.cut,
            granule: to.cut.granule(size),
            least,
            vouched_max,
            even: None,
            next: 0,
            until: size,
            count: 0,
            staged,
            there,
            left: size,
            open: false,
            joined: 0,
            ahead: u64::MAX,
        }
    }

    /// A stream, of which nobody knows the size before its end.
    pub(crate) fn open(from: &Capabilities, to: &Capabilities) -> Self {
        Self { size: u64::MAX, until: u64::MAX, left: u64::MAX, open: true, ..Self::new(0, from, to) }
    }

    /// Cuts only so many bytes ahead of what is there: from or for a stream, in which nothing can be passed over.
    pub(crate) fn keep_close(&mut self, ahead: u64) {
        self.ahead = ahead;
    }

    /// The stream ends here, which may be within the last piece.
    pub(crate) fn end(&mut self, size: u64) {
        let there = u64::MAX - self.left;
        (self.size, self.next, self.until, self.left, self.open) = (size, size, size, size - there, false);
    }

    /// Cuts only this stretch, of which nothing is cut yet; false where a piece cannot begin or end there.
    pub(crate) fn only(&mut self, stretch: BlockRange) -> bool {
        let unit = self.even.unwrap_or(self.granule);
        let begins = |at: u64| at.is_multiple_of(unit) || at == self.size;
        let settled = !self.rules.even || self.even.is_some() || stretch.len == 0;
        let Some(end) = stretch.offset.checked_add(stretch.len).filter(|end| *end <= self.size) else {
            return false;
        };
        if !begins(stretch.offset) || !begins(end) || !settled {
            return false;
        }
        self.staged.retain(|range| range.offset >= stretch.offset && range.end() <= end);
        // The pieces that a service allows are for all of the object.
        let rest = u128::from(self.size - stretch.len) * u128::from(self.slots());
        self.count = rest.div_ceil(u128::from(self.size.max(1))) as u64;
        (self.next, self.until, self.left, self.joined) = (stretch.offset, end, stretch.len, stretch.offset);
        true
    }

    /// Whether this is a stream that has not come to its end.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// The first byte that is in no piece yet.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Whether a piece may be cut now. If not, and there is more to cut, one may when the next has arrived.
    pub(crate) fn may_cut(&self) -> bool {
        !self.is_cut() && self.next <= self.joined.saturating_add(self.ahead)
    }

    /// Takes over the stretches of an earlier run, as far as they fit the rules and each other and none is larger than `largest`.
    pub(crate) fn resume(&mut self, staged: impl Iterator<Item = BlockRange>, largest: u64) {
        let largest = largest.min(self.vouched_max);
        let mut staged: Vec<BlockRange> = staged.filter(|range| self.is_legal(*range, largest)).collect();
        if self.rules.even {
            // What an earlier run chose is the size for all.
            self.even = self.even.or_else(|| staged.iter().map(|range| range.len).max());
            staged.retain(|range| {
                let fits = |even: u64| {
                    range.offset.is_multiple_of(even) && (range.len == even || range.end() == self.size)
                };
                self.even.is_some_and(fits)
            });
        }
        // Of those that begin together the longest: it leaves the least to send.
        staged.sort_unstable_by_key(|range| (range.offset, u64::MAX - range.len));
        // A service bounds the blocks; very many small ones with gaps between would leave none for the rest.
        let slots = self.slots() / 10 * 9;
        let (mut end, mut count) = (0, 0);
        staged.retain(|range| {
            let follows = range.offset >= end && count < slots;
            if follows {
                count += 1 + u64::from(range.offset > end);
                end = range.end();
            }
            follows
        });
        self.staged = staged.into();
    }

    /// From now on all pieces but the last are of this size, where the store has settled one.
    pub(crate) fn settle(&mut self, size: Option<u64>) {
        self.even = size.or(self.even);
    }

    /// Cuts from now on for bytes that pass this machine, none of it larger than `largest`, where the service was to copy them. The
    /// pieces in which the one goes that it refused.
    pub(crate) fn turn_back(
        &mut self,
        refused: BlockRange,
        largest: u64,
        from: &Capabilities,
        to: &Capabilities,
    ) -> Vec<BlockRange> {
        (self.least, self.vouched_max) = bounds(self.size, from, to);
        if self.rules.even {
            return vec![refused];
        }
        self.even = None;
        self.staged.retain(|staged| staged.len <= largest);
        let len = (self.vouched_max.min(largest) / self.granule * self.granule).max(self.granule);
        let offsets = (refused.offset..refused.end()).step_by(usize::try_from(len).unwrap_or(usize::MAX));
        let pieces: Vec<_> =
            offsets.map(|offset| BlockRange { offset, len: len.min(refused.end() - offset) }).collect();
        self.count += pieces.len() as u64 - 1;
        pieces
    }

    /// Whether a stretch could have been cut here.
    fn is_legal(&self, range: BlockRange, largest: u64) -> bool {
        let Some(end) = range.offset.checked_add(range.len).filter(|end| *end <= self.size) else {
            return false;
        };
        let whole = range.len.is_multiple_of(self.granule) || end == self.size;
        range.len > 0 && range.len <= largest && range.offset.is_multiple_of(self.granule) && whole
    }

    /// Pieces that may be cut from the beginning to the end.
    fn slots(&self) -> u64 {
        self.rules.count - self.rules.count / KEPT_FOR_SPLITS
    }

    /// The next piece where one of `wanted` bytes is asked for, without taking it.
    pub(crate) fn peek(&self, wanted: u64) -> Option<BlockRange> {
        let left = self.until - self.next;
        if !self.may_cut() {
            return None;
        }
        if let Some(staged) = self.staged.front()
            && staged.offset == self.next
        {
            return Some(*staged);
        }
        let room = self.staged.front().map_or(left, |staged| staged.offset - self.next);
        let len = self.even.unwrap_or_else(|| self.fit(wanted, left)).min(room);
        Some(BlockRange { offset: self.next, len })
    }

    /// The legal size that is nearest to the wanted one, where `left` bytes are not cut yet.
    fn fit(&self, wanted: u64, left: u64) -> u64 {
        if self.open {
            return self.fit_open(wanted);
        }
        let used = self.count + self.staged.len() as u64;
        let kept = if self.slots() > used { self.slots() } else { self.rules.count };
        let least = left.div_ceil(kept.saturating_sub(used).max(1)).max(self.least);
        let len = wanted.min(self.vouched_max).max(least.next_multiple_of(self.granule)).min(self.rules.most);
        (len / self.granule * self.granule).max(self.granule)
    }

    /// The same of a stream: the pieces must not run out, so with every tenth of them that is used up they are twice as large at
    /// least.
    fn fit_open(&self, wanted: u64) -> u64 {
        let tenth = (self.rules.count / 10).max(1);
        let doubled = (self.count / tenth).min(20);
        let least = self.least.max(if doubled > 0 { OPEN_LEAST << doubled } else { 1 });
        wanted.max(least).min(self.rules.most).max(1)
    }

    /// Takes the next piece.
    pub(crate) fn take(&mut self, wanted: u64) -> Option<BlockRange> {
        let piece = self.peek(wanted)?;
        if self.staged.front() == Some(&piece) {
            self.staged.pop_front();
        }
        if self.rules.even {
            self.even.get_or_insert(piece.len);
        }
        self.next = piece.end();
        self.count += 1;
        Some(piece)
    }

    /// Whether all pieces are cut.
    pub(crate) fn is_cut(&self) -> bool {
        self.next == self.until
    }

    /// Two halves of a piece that was too much for the link; `None` where it stays as it is.
    pub(crate) fn split(&mut self, piece: BlockRange) -> Option<[BlockRange; 2]> {
        // On a boundary that later runs are likely to cut at as well.
        let half = (piece.len / 2).next_multiple_of(SPLIT_MIN.max(self.granule));
        let enough = half >= self.least.max(SPLIT_MIN) && half < piece.len;
        if !enough || self.rules.even || self.count >= self.rules.count {
            return None;
        }
        self.count += 1;
        let first = BlockRange { offset: piece.offset, len: half };
        Some([first, BlockRange { offset: first.end(), len: piece.len - half }])
    }

    /// Notes a piece that has arrived; false where it, or a part of it, was there.
    pub(crate) fn put(&mut self, part: Part) -> bool {
        let BlockRange { offset, len } = part.id.range;
        let last_before = self.there.range(..part.id.range.end()).next_back();
        if last_before.is_some_and(|(_, other)| other.id.range.end() > offset) {
            return false;
        }
        self.there.insert(offset, part);
        self.left -= len;
        while let Some(part) = self.there.get(&self.joined).filter(|part| part.id.range.len > 0) {
            self.joined = part.id.range.end();
        }
        true
    }

    /// Bytes that have not arrived.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// What is there, in order.
    pub(crate) fn parts(&self) -> Vec<Part> {
        self.there.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests;
