//! What is found becomes objects with first steps.

use super::effects::Said;
use super::objects::Role;
use super::{Flow, not_started};
use crate::control::Limits;
use crate::options::Work;
use crate::stage::list::Listed;
use crate::stage::plan::{Decision, Pair, Rule, decide};
use crate::stage::transfer::{Object, Purpose};

impl Flow {
    /// Takes in what was found; nothing where all is.
    pub(super) fn plan(&mut self, batch: Vec<Listed>) {
        self.listed = batch.is_empty();
        self.locate(&batch);
        let limits = self.limits(self.objects.len() + batch.len());
        let now = self.clock.now_ns();
        for listed in batch {
            match listed {
                // A sync says in the end that it has deleted nothing.
                Listed::Unsure { .. } if self.deletes() => {}
                Listed::Unsure { extras } => self.objects.unsure(extras),
                Listed::Extras(extras) => self.clearing.extras = Some(*extras),
                Listed::Doomed(pair) => self.plan_backup(*pair, Role::Extra, now),
                Listed::Emptied(folder) => self.clearing.emptied.push(*folder),
                Listed::Extra { full, name } => self.objects.extra(full, name, now),
                Listed::NotAFile(error) => self.objects.not_a_file(&error, now),
                Listed::Problem(error) => self.objects.problem(&error, now),
                Listed::Warning { object, message } => {
                    self.objects.effects().said.push(Said::Warning(object.into(), message));
                }
                Listed::Pair(pair) if self.passes(&pair) => self.objects.pass(),
                Listed::Pair(pair) => self.plan_object(*pair, &limits, now),
            }
        }
        self.check_collection();
    }

    fn plan_object(&mut self, pair: Pair, limits: &Limits, now_ns: u64) {
        let mut object = Object::new(pair, self.purpose, &self.options, now_ns);
        if self.objects.moves {
            object.for_a_move();
        }
        object.cut(limits);
        let id = self.objects.add(object, Role::Own, limits);
        match &self.stop {
            Some(stop) => self.objects.fail(id, &not_started(stop), now_ns),
            None => self.objects.start(id, now_ns),
        }
    }

    /// Whether an object is there already and nobody wants to hear of it: of millions it is most.
    fn passes(&self, pair: &Pair) -> bool {
        let Purpose::Copy = self.purpose else { return false };
        let skipped = |pair| matches!(decide(pair, Rule::from(&*self.options)), Decision::Skip(_));
        !self.recorder.wants_objects() && !self.objects.moves && skipped(pair)
    }

    /// Whether what only the destination has is to be deleted.
    fn deletes(&self) -> bool {
        matches!(self.work, Work::Sync { delete: Some(_), .. })
    }

    /// What the controller allows, seen among this many objects.
    pub(super) fn limits(&self, objects: usize) -> Limits {
        self.controller.limits().among(objects)
    }
}
