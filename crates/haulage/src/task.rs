//! Work beside the threads that serve connections, and what came of it.

use tokio::task::{JoinError, JoinHandle};

use crate::error::{Error, ErrorKind, Result};

/// Does what would hold other connections up on a thread of its own. Work that has not begun when nobody waits for it any more is
/// not done: an attempt that was given up may have waited for a thread for longer than its job lasts.
pub(crate) async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let mut begun = Begun(tokio::task::spawn_blocking(work));
    joined((&mut begun.0).await)
}

struct Begun<T>(JoinHandle<T>);

impl<T> Drop for Begun<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a task gave; its panic goes on here.
pub(crate) fn joined<T>(ended: Result<T, JoinError>) -> Result<T> {
    match ended {
        Ok(value) => Ok(value),
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        Err(_) => Err(Error::new(ErrorKind::Cancelled, "run", "a task", "the runtime shuts down")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn what_nobody_waits_for_is_not_begun() {
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let (go, gone) = mpsc::channel::<()>();
            let (tell, told) = mpsc::channel();
            let say = |word| {
                let tell = tell.clone();
                off_thread(move || tell.send(word).unwrap())
            };
            let first = tokio::spawn(off_thread(move || gone.recv().unwrap()));
            let given_up = tokio::spawn(say("given up"));
            tokio::task::yield_now().await;
            given_up.abort();
            assert!(given_up.await.is_err());
            go.send(()).unwrap();
            first.await.unwrap().unwrap();
            say("done").await.unwrap();
            drop(tell);
            assert_eq!(told.iter().collect::<Vec<_>>(), ["done"]);
        });
    }
}
