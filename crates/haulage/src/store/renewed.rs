//! What is good for a while and then fetched anew: a token, a set of keys. One caller fetches while the others wait, or go
//! on with the old one while it is good.

use std::sync::{PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use tokio::sync::Mutex;

use crate::error::Result;

/// What is this close to its end is replaced; the old one serves until the new one is there.
const REFRESH_BEFORE: Duration = Duration::from_secs(300);
/// What is this close to its end may be refused by a clock a little ahead of ours.
const TOO_LATE: Duration = Duration::from_secs(20);

/// Something with an end, fetched when it is first needed and again in time.
#[derive(Debug)]
pub(super) struct Renewed<T> {
    current: RwLock<Option<Held<T>>>,
    /// Held by whoever fetches.
    fetching: Mutex<()>,
}

#[derive(Clone, Copy, Debug)]
struct Held<T> {
    value: T,
    ends: SystemTime,
}

impl<T> Held<T> {
    fn good_for(&self, at_least: Duration) -> bool {
        self.ends > SystemTime::now() + at_least
    }
}

impl<T> Default for Renewed<T> {
    fn default() -> Self {
        Self { current: RwLock::new(None), fetching: Mutex::new(()) }
    }
}

impl<T: Clone> Renewed<T> {
    /// What is held, or what `fetch` gives, with its end, where that is nothing or near its end. Where fetching fails, what
    /// is held serves as long as it is good.
    pub(super) async fn get(&self, fetch: impl Future<Output = Result<(T, SystemTime)>>) -> Result<T> {
        let held = self.current();
        if let Some(held) = held.as_ref().filter(|held| held.good_for(REFRESH_BEFORE)) {
            return Ok(held.value.clone());
        }
        let usable = held.filter(|held| held.good_for(TOO_LATE));
        let _fetching = match (&usable, self.fetching.try_lock()) {
            (_, Ok(guard)) => guard,
            // Somebody fetches the next one already; this one still serves.
            (Some(held), Err(_)) => return Ok(held.value.clone()),
            (None, Err(_)) => self.fetching.lock().await,
        };
        if let Some(held) = self.current().filter(|held| held.good_for(REFRESH_BEFORE)) {
            return Ok(held.value);
        }
        match (fetch.await, usable) {
            (Ok((value, ends)), _) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) =
                    Some(Held { value: value.clone(), ends });
                Ok(value)
            }
            (Err(_), Some(held)) => Ok(held.value),
            (Err(error), None) => Err(error),
        }
    }

    /// Whether something is held, good or not.
    pub(super) fn is_held(&self) -> bool {
        self.current().is_some()
    }

    /// Forgets what is held, because somebody refused it: true where there was something to forget.
    pub(super) fn forget(&self) -> bool {
        self.current.write().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }

    fn current(&self) -> Option<Held<T>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
