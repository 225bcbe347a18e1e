//! Which request is next: one queue over all objects, big and small mixed. Pure.
//!
//! Steps that bring an object to its end go first, for they free memory and make progress visible. Then
//! blocks of the largest object and whole small objects share the slots, so that the link is full
//! and files per second do not starve: small ones keep at least a quarter. Among each kind the largest
//! object goes first, because it has the longest tail.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::store::BlockRange;

/// One thing to do for an object; an attempt of it is one slot of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Ask what is at the destination.
    Look,
    /// Read the next stretch of a stream.
    Read(BlockRange),
    /// Move it in one request.
    Whole,
    /// Prepare the destination for blocks.
    Begin,
    /// Move one block.
    Block(BlockRange),
    /// Compute the MD5 of the whole, in order.
    Digest,
    /// Make the blocks the object.
    Commit,
    /// Compare the two sides over this stretch, or by what they state of the whole.
    Compare(Option<BlockRange>),
}

impl Step {
    /// Whether this is one stretch of several.
    pub(crate) fn is_ranged(self) -> bool {
        matches!(self, Self::Block(_) | Self::Compare(Some(_)))
    }

    /// Whether this is no request, but waits for whoever writes a stream.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Read(_))
    }
}

/// A step of an object, and how often it was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unit {
    pub(crate) object: u64,
    pub(crate) step: Step,
    /// 1 for the first try.
    pub(crate) attempt: u32,
    /// When it was put into the queue.
    pub(crate) queued_ns: u64,
    /// An earlier attempt was given up or not answered: it may have done its work, and may still do it.
    pub(crate) unanswered: bool,
}

impl Unit {
    /// The first try of a step.
    pub(crate) fn first(object: u64, step: Step, queued_ns: u64) -> Self {
        Self { object, step, attempt: 1, queued_ns, unanswered: false }
    }
}

/// What there is to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This step.
    Step(Unit),
    /// The next block of this object.
    BlockOf(u64),
    /// Nothing before this time.
    Wait(u64),
    /// Nothing.
    Empty,
}

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    urgent: VecDeque<Unit>,
    /// Objects to be begun, by size. Each holds an open file or so from then on, so that no more are begun
    /// than can be served.
    begins: BinaryHeap<(u64, Reverse<Unit>)>,
    /// Steps of objects that travel whole, the largest first: what starts last should end soon.
    small: BinaryHeap<(u64, Reverse<Unit>)>,
    /// Objects with blocks still to send, by size.
    large: BinaryHeap<(u64, Reverse<u64>)>,
    later: BinaryHeap<Reverse<(u64, Unit)>>,
    large_in_flight: usize,
}

impl Schedule {
    /// Adds a step of an object of `size` bytes.
    pub(crate) fn push(&mut self, unit: Unit, size: u64) {
        match unit.step {
            Step::Commit | Step::Digest => self.urgent.push_back(unit),
            Step::Begin => self.begins.push((size, Reverse(unit))),
            _ => self.small.push((size, Reverse(unit))),
        }
    }

    /// Adds a step that must wait until `due_ns`.
    pub(crate) fn push_later(&mut self, unit: Unit, due_ns: u64) {
        self.later.push(Reverse((due_ns, unit)));
    }

    /// Adds an object whose blocks may now be sent.
    pub(crate) fn push_large(&mut self, object: u64, size: u64) {
        self.large.push((size, Reverse(object)));
    }

    /// Takes out the object that [`Self::peek`] chose, when it has no more blocks to send.
    pub(crate) fn finish_large(&mut self, object: u64) {
        if self.large.peek().is_some_and(|(_, Reverse(top))| *top == object) {
            self.large.pop();
        }
    }

    /// Chooses what is next, without taking it.
    pub(crate) fn peek(&self, now_ns: u64, concurrency: usize) -> Next {
        if let Some(Reverse((due, unit))) = self.later.peek()
            && *due <= now_ns
        {
            return Next::Step(*unit);
        }
        if let Some(unit) = self.urgent.front() {
            return Next::Step(*unit);
        }
        if let Some((_, Reverse(unit))) = self.begins.peek()
            && self.large.len() < concurrency
        {
            return Next::Step(*unit);
        }
        match (self.large.peek(), self.small.peek().map(|(_, Reverse(unit))| unit)) {
            (Some((_, Reverse(object))), None) => Next::BlockOf(*object),
            (None, Some(unit)) => Next::Step(*unit),
            (Some((_, Reverse(object))), Some(unit)) => {
                let share = concurrency - concurrency.div_ceil(4);
                if self.large_in_flight < share { Next::BlockOf(*object) } else { Next::Step(*unit) }
            }
            (None, None) => match self.later.peek() {
                Some(Reverse((due, _))) => Next::Wait(*due),
                None => Next::Empty,
            },
        }
    }

    /// Takes out the step that [`Self::peek`] chose.
    pub(crate) fn take(&mut self, unit: &Unit) {
        if self.later.peek().is_some_and(|Reverse((_, later))| later == unit) {
            self.later.pop();
        } else if self.urgent.front() == Some(unit) {
            self.urgent.pop_front();
        } else if self.begins.peek().is_some_and(|(_, Reverse(next))| next == unit) {
            self.begins.pop();
        } else if self.small.peek().is_some_and(|(_, Reverse(next))| next == unit) {
            self.small.pop();
        }
    }

    /// Notes that a block went into flight (`true`) or came out of it.
    pub(crate) fn note_block(&mut self, started: bool) {
        if started {
            self.large_in_flight += 1;
        } else {
            self.large_in_flight -= 1;
        }
    }

    /// Forgets everything that waits.
    pub(crate) fn clear(&mut self) {
        *self = Self { large_in_flight: self.large_in_flight, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(object: u64, step: Step) -> Unit {
        Unit::first(object, step, 0)
    }

    #[test]
    fn ends_go_first_then_the_largest_and_small_ones_do_not_starve() {
        let mut schedule = Schedule::default();
        schedule.push(unit(1, Step::Whole), 1);
        schedule.push_large(2, 100);
        schedule.push_large(3, 900);
        schedule.push(unit(4, Step::Commit), 1);
        assert_eq!(schedule.peek(0, 4), Next::Step(unit(4, Step::Commit)));
        schedule.take(&unit(4, Step::Commit));
        for _ in 0..3 {
            assert_eq!(schedule.peek(0, 4), Next::BlockOf(3));
            schedule.note_block(true);
        }
        assert_eq!(schedule.peek(0, 4), Next::Step(unit(1, Step::Whole)), "a quarter is for small ones");
        schedule.take(&unit(1, Step::Whole));
        schedule.finish_large(3);
        assert_eq!(schedule.peek(0, 4), Next::BlockOf(2));
    }

    #[test]
    fn a_backoff_is_waited_for_and_then_served_first() {
        let mut schedule = Schedule::default();
        schedule.push_later(unit(1, Step::Whole), 50);
        assert_eq!(schedule.peek(0, 4), Next::Wait(50));
        schedule.push(unit(2, Step::Whole), 1);
        assert_eq!(schedule.peek(0, 4), Next::Step(unit(2, Step::Whole)));
        assert_eq!(schedule.peek(50, 4), Next::Step(unit(1, Step::Whole)));
        schedule.take(&unit(1, Step::Whole));
        schedule.take(&unit(2, Step::Whole));
        assert_eq!(schedule.peek(60, 4), Next::Empty);
    }
}
