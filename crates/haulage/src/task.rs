//! Work beside the threads that serve connections, and what came of it.

use tokio::task::JoinError;

use crate::error::{Error, ErrorKind, Result};

/// Does what would hold other connections up on a thread of its own.
pub(crate) async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    joined(tokio::task::spawn_blocking(work).await)
}

/// What a task gave; its panic goes on here.
pub(crate) fn joined<T>(ended: Result<T, JoinError>) -> Result<T> {
    match ended {
        Ok(value) => Ok(value),
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        Err(_) => Err(Error::new(ErrorKind::Cancelled, "run", "a task", "the runtime shuts down")),
    }
}
