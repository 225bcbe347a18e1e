//! The life of an object that a receipt tells of, and that is looked at where it should lie.

use super::{Capabilities, Comparing, Done, Ended, Subject, Then};
use crate::event::{Method, Outcome, Proof};
use crate::stage::plan::Pieces;
use crate::stage::schedule::Step;
use crate::stage::verify;

/// How it is checked.
pub(crate) struct Checking {
    /// What the store states is enough.
    stored: bool,
    whole: Comparing,
}

impl Checking {
    pub(super) fn new(stored: bool) -> Self {
        Self { stored, whole: Comparing::new(stored) }
    }

    pub(super) fn start(&mut self, it: &mut Subject, bounds: (Capabilities, Capabilities)) -> Then {
        let there = match it.counterpart() {
            Ok(there) => there,
            Err(instead) => return instead,
        };
        if self.stored && !there.weak && !there.etag.is_empty() && there.etag == it.pair.meta.etag {
            let crc64 = it.pair.meta.crc64;
            return Then::End(Ended { crc64, ..Ended::new(Outcome::Equal, Method::None, Proof::Etag) });
        }
        if self.stored || it.pieces == Pieces::Whole {
            return Then::Steps(vec![Step::Compare(None)]);
        }
        it.cut_ranges(bounds, std::iter::empty(), u64::MAX, None);
        // An empty object has no stretches to wait for.
        if it.size() == 0 { all_seen(it) } else { Then::Ranges }
    }

    pub(super) fn advance(&mut self, it: &mut Subject, done: Done) -> Then {
        match done {
            Done::Seen(part) => {
                it.take(part);
                if it.ranges_left() > 0 { Then::Wait } else { all_seen(it) }
            }
            done => self.whole.advance(it, done),
        }
    }
}

/// With the last range seen, compares the whole with what the receipt says.
fn all_seen(it: &Subject) -> Then {
    let name = it.pair.source.name();
    let whole = verify::combine(&name, &it.parts(), it.size());
    let checked = |whole| verify::check_crc64(&name, whole, it.pair.meta.crc64).map(|()| whole);
    match whole.and_then(|whole| whole.map(checked).transpose()) {
        Ok(crc64 @ Some(_)) => {
            Then::End(Ended { crc64, ..Ended::new(Outcome::Equal, Method::Blocks, Proof::Crc64) })
        }
        Ok(None) | Err(_) => Then::End(it.differs("the contents are not what the receipt says")),
    }
}
