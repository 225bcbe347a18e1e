//! The life of an object that is compared with another, by what both stores hold of it.

use super::{Capabilities, Done, Ended, Subject, Then};
use crate::event::{Method, Outcome, Proof};
use crate::stage::plan::Pieces;
use crate::stage::schedule::Step;
use crate::store::BlockRange;

/// How it is compared, and what is known so far.
pub(crate) struct Comparing {
    /// What the stores state is enough.
    stored: bool,
    /// Stretches that seemed to differ and are looked at again.
    doubted: Vec<Option<BlockRange>>,
}

impl Comparing {
    pub(super) fn new(stored: bool) -> Self {
        Self { stored, doubted: Vec::new() }
    }

    pub(super) fn start(&mut self, it: &mut Subject, bounds: (Capabilities, Capabilities)) -> Then {
        if let Err(instead) = it.counterpart() {
            return instead;
        }
        if self.stored || it.pieces == Pieces::Whole {
            return Then::Steps(vec![Step::Compare(None)]);
        }
        it.cut_ranges(bounds, std::iter::empty(), u64::MAX, None);
        Then::Ranges
    }

    pub(super) fn advance(&mut self, it: &mut Subject, done: Done) -> Then {
        match done {
            Done::Equal { crc64, len } => {
                it.bytes_done += len;
                if it.bytes_done < it.size() {
                    return Then::Wait;
                }
                let method = if it.cutter.is_none() { Method::Whole } else { Method::Blocks };
                let proof = if self.stored { Proof::Stored } else { Proof::Crc64 };
                Then::End(Ended { crc64, ..Ended::new(Outcome::Equal, method, proof) })
            }
            // The wire may have lied: one more look.
            Done::Differs { range, sure: false, .. } if !self.doubted.contains(&range) => {
                self.doubted.push(range);
                Then::Steps(vec![Step::Compare(range)])
            }
            Done::Differs { cause, .. } => Then::End(it.differs(&cause)),
            _ => Then::Wait,
        }
    }
}
