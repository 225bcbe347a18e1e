//! When to try again.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Retry};

/// Tries of one request before its object fails. With one request in five failing, one in five
/// million needs more.
pub(crate) const ATTEMPTS_MAX: u32 = 10;

/// The same where the server is likely to be a wrong one.
const ATTEMPTS_FEW: u32 = 3;

const BACKOFF_FIRST: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(20);

/// A service that asks for more patience than this, all in all, does not get it: the user sees a failure.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(120);

/// How long to wait before the attempt after `attempt`; `None` to give up.
///
/// Exponential with full jitter: clients that failed together must not come back together. `random`
/// is from 0 to 1.
pub(crate) fn backoff(error: &Error, attempt: u32, random: f64) -> Option<Duration> {
    if attempt >= ATTEMPTS_MAX {
        return None;
    }
    let ceiling = BACKOFF_FIRST.saturating_mul(1 << attempt.min(16)).min(BACKOFF_MAX);
    match error.retry_advice() {
        Retry::Never => None,
        Retry::Few if attempt >= ATTEMPTS_FEW => None,
        // Bytes that were flipped on the way, or a reused connection that was closed, say nothing
        // of load: the first repeat need not wait.
        Retry::Backoff
            if attempt == 1 && matches!(error.kind(), ErrorKind::Integrity | ErrorKind::Connection) =>
        {
            Some(Duration::ZERO)
        }
        Retry::Backoff | Retry::Few => Some(ceiling.mul_f64(random)),
        // As if it had asked for as much each time before.
        Retry::After(wait) if wait.saturating_mul(attempt) > RETRY_AFTER_MAX => None,
        Retry::After(wait) => Some(wait + BACKOFF_FIRST.mul_f64(random)),
    }
}

/// Whether the time ran out: the same again would run out of time again.
pub(crate) fn was_too_slow(error: &Error) -> bool {
    error.kind() == ErrorKind::Stalled
        || error.status() == Some(408)
        || matches!(error.service_code(), Some("OperationTimedOut" | "RequestTimeout"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(retry: Retry) -> Error {
        Error::new(ErrorKind::Busy, "write", "a", "busy").retry(retry)
    }

    #[test]
    fn waits_grow_to_a_bound_and_end() {
        let wait = |attempt| backoff(&error(Retry::Backoff), attempt, 1.0);
        assert_eq!(wait(1), Some(Duration::from_millis(200)));
        assert_eq!(wait(2), Some(Duration::from_millis(400)));
        assert_eq!(wait(9), Some(BACKOFF_MAX));
        assert_eq!(wait(ATTEMPTS_MAX), None);
        assert_eq!(backoff(&error(Retry::Never), 1, 1.0), None);
    }

    #[test]
    fn the_services_own_word_is_kept() {
        let wait = backoff(&error(Retry::After(Duration::from_secs(3))), 1, 0.5).unwrap();
        assert!(wait >= Duration::from_secs(3) && wait < Duration::from_secs(4));
        assert_eq!(backoff(&error(Retry::After(Duration::from_secs(86_400))), 1, 0.5), None);
        let waits = |seconds| {
            let after = error(Retry::After(Duration::from_secs(seconds)));
            (1..).map_while(|attempt| backoff(&after, attempt, 0.0)).sum::<Duration>()
        };
        assert_eq!((waits(30).as_secs(), waits(120).as_secs(), waits(1).as_secs()), (120, 120, 9));
    }

    #[test]
    fn a_server_that_makes_no_sense_gets_three_tries() {
        let wait = |attempt| backoff(&error(Retry::Few), attempt, 1.0);
        assert!(wait(2).is_some());
        assert_eq!(wait(3), None);
    }
}
