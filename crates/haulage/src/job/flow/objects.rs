//! The objects on their way: what each needs next, and how each ended. Pure: what follows is left as effects.

mod ending;
mod tasks;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::effects::{Effects, Said};
use crate::control::Limits;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Failure;
use crate::options::Overwrite;
use crate::stage::schedule::{Step, Unit};
use crate::stage::transfer::{Copying, Done, Ended, Object, Then, Turns};
use crate::store::BlockWriter;

/// An active object and how many of its requests are in flight.
pub(super) struct Active {
    pub(super) object: Object,
    pub(super) in_flight: u32,
    /// When its first request went out.
    pub(super) first_ns: Option<u64>,
    pub(super) role: Role,
}

/// What an object is to its job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// One of those that the user named.
    #[default]
    Own,
    /// The backup of what another one replaces, which waits for it.
    Replaced(u64),
    /// The backup of what will be deleted.
    Extra,
}

impl Active {
    fn never_overwrites(&self) -> bool {
        // What was read of a stream is lost if it is left, and whoever has written it shall know.
        let never = |copying: &Copying| copying.rule.overwrite == Overwrite::Never && copying.feed.is_none();
        self.object.copying().is_some_and(never)
    }

    fn writer(&self) -> Option<Arc<dyn BlockWriter>> {
        self.object.copying()?.writer.clone()
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Objects {
    by_id: HashMap<u64, Active>,
    total: u64,
    /// Of these, sources that are deleted: each has been counted as it was copied.
    copied_before: u64,
    bytes_total: u64,
    /// Payload that arrived, of ended objects and of active ones.
    bytes_done: u64,
    /// Of these, what an earlier run had sent.
    bytes_resumed: u64,
    /// Where all are committed together: the commits that wait for the others.
    staged: Option<Vec<Unit>>,
    /// Steps in a row that services would not copy by themselves, and whether that is known of the job by now.
    refusals: u32,
    refused: bool,
    /// A stream, which goes alone, has not come to its end.
    open: bool,
    /// What could not be kept of objects: said once for each reason.
    warned: HashSet<String>,
    /// What becomes of sources: they are deleted in the end, or told apart in a receipt.
    pub(super) moves: bool,
    pub(super) versions: bool,
    turns: Turns,
    effects: Effects,
}

/// So many refusals in a row, and services are not asked to copy any more.
const REFUSALS_MAX: u32 = 3;

impl Objects {
    /// None yet; `together` holds all commits back until they are released.
    pub(super) fn new(together: bool) -> Self {
        Self { staged: together.then(Vec::new), ..Self::default() }
    }

    /// Whether all there are wait for their commits.
    pub(super) fn all_staged(&self) -> bool {
        let waiting = |staged: &Vec<Unit>| !staged.is_empty() && staged.len() == self.by_id.len();
        self.staged.as_ref().is_some_and(waiting)
    }

    /// Lets all commits go, and those to come too.
    pub(super) fn release_commits(&mut self, now_ns: u64) {
        let staged = self.staged.take().into_iter().flatten();
        self.effects.steps.extend(staged.map(|unit| (Unit { queued_ns: now_ns, ..unit }, 0)));
    }

    /// Ends all that wait for their commits, also those of which a needless second request has not come back.
    pub(super) fn fail_staged(&mut self, failure: &Failure, now_ns: u64) {
        for unit in self.staged.take().into_iter().flatten() {
            self.fail(unit.object, failure, now_ns);
        }
    }

    /// What is to be applied.
    pub(super) fn effects(&mut self) -> &mut Effects {
        &mut self.effects
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Counts names whose objects were counted as they were copied: the first of their numbers.
    pub(super) fn count_copied(&mut self, count: u64) -> u64 {
        self.copied_before += count;
        self.count_names(count)
    }

    /// The names among all that stand for objects that were counted before.
    pub(super) fn counted_twice(&self) -> u64 {
        self.copied_before
    }

    /// Whether more bytes may be found in objects that are here already.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Bytes found and bytes arrived.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.bytes_total, self.bytes_done)
    }

    /// Bytes that arrived in an earlier run.
    pub(super) fn bytes_resumed(&self) -> u64 {
        self.bytes_resumed
    }

    pub(super) fn active(&self) -> impl Iterator<Item = &Active> {
        self.by_id.values().filter(|it| it.in_flight > 0)
    }

    /// Takes in a new object; one that the service of the job does not copy is cut by `limits` anew.
    pub(super) fn add(&mut self, mut object: Object, role: Role, limits: &Limits) -> u64 {
        if self.refused {
            object.turn_back_early(limits);
        }
        let assigned = object.subject.pair.assigned.as_ref().map(|assigned| assigned.id);
        let id = assigned.unwrap_or(self.total);
        self.total += 1;
        // A list may claim any size.
        self.bytes_total = self.bytes_total.saturating_add(object.to_move());
        self.by_id.insert(id, Active { object, in_flight: 0, first_ns: None, role });
        id
    }

    /// Counts an object that is skipped, and says no more of it.
    pub(super) fn pass(&mut self) {
        self.total += 1;
        self.effects.said.push(Said::Skipped);
    }

    /// Decides anew in what pieces an object moves, before it does.
    pub(super) fn cut(&mut self, id: u64, limits: &Limits) {
        if let Some(it) = self.by_id.get_mut(&id) {
            it.object.cut(limits);
        }
    }

    /// The first steps of a new object.
    pub(super) fn start(&mut self, id: u64, now_ns: u64) {
        let Some(it) = self.by_id.get_mut(&id) else { return };
        let then = it.object.start();
        self.open |= it.object.is_open();
        self.follow(id, then, now_ns);
    }

    /// The next stretch of an object, without taking it.
    pub(super) fn peek_range(&self, id: u64, wanted: u64) -> Option<Step> {
        self.by_id.get(&id)?.object.peek_range(wanted)
    }

    /// Halves of a stretch, to be moved instead of it.
    pub(super) fn split(&mut self, unit: &Unit) -> Option<[Step; 2]> {
        self.by_id.get_mut(&unit.object)?.object.split(unit.step)
    }

    /// Takes the stretch of an object that [`Self::peek_range`] gave; true with the last one.
    pub(super) fn take_range(&mut self, id: u64, wanted: u64) -> bool {
        self.by_id.get_mut(&id).is_some_and(|it| it.object.take_range(wanted))
    }

    /// Notes that an attempt of a step went into flight.
    pub(super) fn launched(&mut self, unit: &Unit, now_ns: u64) {
        if let Some(it) = self.by_id.get_mut(&unit.object) {
            it.first_ns.get_or_insert(now_ns);
            it.in_flight += 1;
            it.object.attempts += u32::from(!unit.step.is_read());
        }
    }

    /// Notes that a step came out of flight.
    pub(super) fn came_back(&mut self, unit: &Unit) {
        if let Some(it) = self.by_id.get_mut(&unit.object) {
            it.in_flight -= 1;
        }
    }

    /// Takes in what a step came to.
    pub(super) fn advance(&mut self, unit: Unit, result: Result<Done>, now_ns: u64) {
        let Some(it) = self.by_id.get_mut(&unit.object) else { return };
        let then = match result {
            Ok(done) => {
                let (size, before) = (it.object.subject.pair.meta.size, it.object.subject.bytes_done);
                let resumed = it.object.bytes_resumed();
                let then = it.object.advance(done);
                self.bytes_done = self.bytes_done + it.object.subject.bytes_done - before;
                self.bytes_resumed += it.object.bytes_resumed();
                self.bytes_resumed = self.bytes_resumed.saturating_sub(resumed);
                if self.open {
                    self.bytes_total += it.object.subject.pair.meta.size - size;
                    self.open = it.object.is_open();
                }
                then
            }
            Err(error) if it.object.may_go_unseen(unit.step, &error) => {
                it.object.advance(Done::Looked { there: None, told: None })
            }
            Err(error) if error.kind() == ErrorKind::Exists && it.never_overwrites() => {
                // Somebody else was quicker: what was written is of no use.
                self.effects.said.extend(it.writer().map(Said::Abandon));
                Then::End(Ended::skipped("there already"))
            }
            Err(error) => Then::End(Ended::failed(error)),
        };
        self.follow(unit.object, then, now_ns);
    }

    /// Has the bytes of an object pass this machine after all: the service would not copy `unit`. What follows for the object, and
    /// for others once it is clear that the service never will.
    pub(super) fn turn_back(&mut self, unit: &Unit, error: &Error, limits: &Limits, now_ns: u64) {
        let Some(it) = self.by_id.get_mut(&unit.object) else { return };
        let before = it.object.subject.bytes_done;
        let then = it.object.turn_back(unit.step, limits);
        self.bytes_done = self.bytes_done + it.object.subject.bytes_done - before;
        let name = it.object.subject.pair.source.name();
        self.follow(unit.object, then, now_ns);
        self.refusals += 1;
        if self.refusals == 1 && !self.refused {
            let message = format!(
                "copied through this machine, because the service did not copy it: {}",
                error.cause()
            );
            self.effects.said.push(Said::Warning(name, message));
        }
        if self.refusals == REFUSALS_MAX && !self.refused {
            self.refused = true;
            self.by_id
                .values_mut()
                .filter(|it| it.in_flight == 0)
                .for_each(|it| it.object.turn_back_early(limits));
        }
    }

    /// A service has copied something.
    pub(super) fn copied_by_service(&mut self) {
        self.refusals = 0;
    }

    fn follow(&mut self, id: u64, then: Then, now_ns: u64) {
        let Some(it) = self.by_id.get(&id) else { return };
        let size = it.object.subject.pair.meta.size;
        let unit = |step| Unit::first(id, step, now_ns);
        match then {
            Then::Wait => {}
            Then::Steps(steps) => {
                for step in steps {
                    match &mut self.staged {
                        Some(staged) if step == Step::Commit => staged.push(unit(step)),
                        _ => self.effects.steps.push((unit(step), size)),
                    }
                }
            }
            Then::StepsAndRanges(steps) => {
                self.effects.steps.extend(steps.into_iter().map(|step| (unit(step), size)));
                self.effects.opened.push((id, size));
            }
            Then::Ranges => {
                self.effects.opened.push((id, size));
                if it.object.copying().is_some_and(Copying::wants_digest) {
                    self.effects.steps.push((unit(Step::Digest), size));
                }
            }
            Then::BackUp => self.effects.backups.push(id),
            Then::End(ended) => self.end(id, ended, now_ns),
        }
    }

    /// The number of a name that is no object on its way.
    pub(super) fn count_name(&mut self) -> u64 {
        self.count_names(1)
    }

    /// The first of the numbers of so many.
    pub(super) fn count_names(&mut self, count: u64) -> u64 {
        self.total += count;
        self.total - count
    }

    /// Notes that what an object replaces is safe.
    pub(super) fn backed_up(&mut self, id: u64) {
        if let Some(it) = self.by_id.get_mut(&id) {
            it.object.backed_up();
        }
    }

    /// An object on its way.
    pub(super) fn get(&self, id: u64) -> Option<&Object> {
        self.by_id.get(&id).map(|it| &it.object)
    }

    /// Whether the object is still on its way.
    pub(super) fn contains(&self, id: u64) -> bool {
        self.by_id.contains_key(&id)
    }
}
