//! How a service wants to be asked: how many requests a second it takes, and how many may be sent again. What one job
//! learns of it holds for all that ask the same service in the same session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::control::{RequestPace, RetryBudget};

/// The pace and the retry budget of one service. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Manners(Arc<Held>);

#[derive(Debug)]
struct Held {
    /// Jobs have clocks of their own; this one is common to them.
    began: Instant,
    learnt: Mutex<Learnt>,
}

#[derive(Debug, Default)]
struct Learnt {
    pace: RequestPace,
    retries: RetryBudget,
}

impl Default for Manners {
    fn default() -> Self {
        Self(Arc::new(Held { began: Instant::now(), learnt: Mutex::default() }))
    }
}

impl Manners {
    fn now(&self) -> Duration {
        self.0.began.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, Learnt> {
        self.0.learnt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The services that a job or a question asks. Who refuses is not known where there are two, so that either slows both.
#[derive(Debug)]
pub(super) struct Services {
    all: Vec<Manners>,
    /// Nobody has said yet which services these are.
    unnamed: bool,
}

impl Default for Services {
    fn default() -> Self {
        Self { all: vec![Manners::default()], unnamed: true }
    }
}

impl Services {
    /// This is one of them.
    pub(super) fn name(&mut self, service: &Manners) {
        if std::mem::take(&mut self.unnamed) {
            self.all.clear();
        }
        if !self.all.iter().any(|known| Arc::ptr_eq(&known.0, &service.0)) {
            self.all.push(service.clone());
        }
    }

    /// Takes in how requests ended since the last call.
    pub(super) fn observe(&self, succeeded: u32, busy: u32) {
        for service in &self.all {
            let now = service.now();
            let mut learnt = service.lock();
            learnt.pace.observe(succeeded, busy, now);
            learnt.retries.succeeded(succeeded);
        }
    }

    /// How long the next request has to wait; `None` for not at all.
    pub(super) fn wait(&self) -> Option<Duration> {
        let wait = |service: &Manners| {
            let now = service.now();
            Some(service.lock().pace.wait(now)?.saturating_sub(now))
        };
        self.all.iter().filter_map(wait).max()
    }

    /// Notes that a request goes.
    pub(super) fn sent(&self) {
        self.all.iter().for_each(|service| service.lock().pace.sent());
    }

    /// Takes one retry, and says how long it has to wait for its turn.
    pub(super) fn retry(&self) -> Duration {
        let turn = |service: &Manners| {
            let now = service.now();
            service.lock().retries.take(now)
        };
        self.all.iter().map(turn).max().unwrap_or_default()
    }

    /// The requests a second that were found to be taken, if one of the services refused more.
    pub(super) fn learnt(&self) -> Option<f64> {
        self.all.iter().filter_map(|service| service.lock().pace.learnt()).reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_spends_of_a_service_another_lacks() {
        let (service, other) = (Manners::default(), Manners::default());
        let (mut first, mut second, mut elsewhere) =
            (Services::default(), Services::default(), Services::default());
        first.name(&service);
        second.name(&service);
        second.name(&service);
        elsewhere.name(&other);
        let spent = (0..400).map(|_| first.retry()).max();
        assert!(spent > Some(Duration::from_secs(1)), "{spent:?}");
        assert!(second.retry() > Duration::from_secs(1), "the same service");
        assert!(elsewhere.retry().is_zero(), "another one");
        assert_eq!(second.all.len(), 1);
    }

    #[test]
    fn whoever_asks_two_services_keeps_to_the_slower_one() {
        let (slow, quick) = (Manners::default(), Manners::default());
        let mut both = Services::default();
        both.name(&quick);
        both.name(&slow);
        for _ in 0..400 {
            slow.lock().retries.take(Duration::ZERO);
        }
        assert!(both.retry() > Duration::from_secs(1));
        assert_eq!((both.wait(), both.learnt()), (None, None));
    }
}
