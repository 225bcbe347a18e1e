//! Who hears of what happens.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::event::{Event, Told};
use crate::options::{host_name, random_name};

/// Who is told of all that happens, and whose job it is.
#[derive(Debug)]
pub(crate) struct Sinks {
    pub(crate) job: Arc<str>,
    pub(crate) node: Arc<str>,
    pub(crate) all: Vec<Sink>,
}

/// Somebody who is told what happens.
#[derive(Clone, Debug)]
pub(crate) struct Sink {
    pub(crate) to: mpsc::Sender<Told>,
    pub(crate) attempts: Attempts,
}

/// Which attempts somebody wants to hear of; most of what there is to tell are attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Attempts {
    None,
    Failed,
    All,
}

impl Attempts {
    /// Whether somebody who wants these wants to hear of this.
    pub(crate) fn want(self, event: &Event) -> bool {
        match event {
            Event::Attempt(attempt) => self >= wanted_by(attempt.failed()),
            _ => true,
        }
    }
}

/// Who wants to hear of an attempt.
fn wanted_by(failed: bool) -> Attempts {
    if failed { Attempts::Failed } else { Attempts::All }
}

impl Sinks {
    /// Those of a job of this name, on the machine that the user calls `node`; where they are empty, of a random name and on one
    /// of its host name.
    pub(crate) fn of(job: &str, node: &str, all: Vec<Sink>) -> Self {
        let job = if job.is_empty() { random_name(16).into() } else { job.into() };
        let node = if node.is_empty() { host_name().into() } else { node.into() };
        Self { job, node, all }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether any of them wants to hear of an attempt.
    pub(super) fn want_attempt(&self, failed: bool) -> bool {
        self.all.iter().any(|sink| sink.attempts >= wanted_by(failed))
    }

    fn told(&self, event: Event) -> Told {
        Told { job: Arc::clone(&self.job), node: Arc::clone(&self.node), event: Arc::new(event) }
    }

    /// Tells all of them; waits where one is slow, because outcomes are never dropped. Those that are gone are forgotten.
    pub(super) async fn tell(&mut self, event: Event) {
        if !self.all.iter().any(|sink| sink.attempts.want(&event)) {
            return;
        }
        let told = self.told(event);
        let mut gone = Vec::new();
        for (number, sink) in self.all.iter().enumerate() {
            if sink.attempts.want(&told.event) && sink.to.send(told.clone()).await.is_err() {
                gone.push(number);
            }
        }
        for number in gone.into_iter().rev() {
            self.all.remove(number);
        }
    }

    /// Tells those of them that are not behind; how many are.
    pub(super) fn sample(&self, event: Event) -> u64 {
        let told = self.told(event);
        self.all.iter().filter(|sink| sink.to.try_send(told.clone()).is_err()).count() as u64
    }
}
