//! Work beside the threads that serve connections, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::RwLock;
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

/// How long what was called off waits for work that takes back what it left. People who press Ctrl-C wait no longer.
const WITHIN: Duration = Duration::from_secs(2);

/// Work that goes on where whoever waits for it is called off, because it takes back itself what it leaves at a service.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uninterrupted(Arc<RwLock<()>>);

impl Uninterrupted {
    /// Does the work.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let standing = Arc::clone(&self.0).read_owned().await;
        let whole = async move {
            let done = work.await;
            drop(standing);
            done
        };
        joined(tokio::spawn(whole).await)?
    }

    /// Waits until all that was begun has ended, but not for long.
    pub(crate) async fn settle(&self) {
        let _ = tokio::time::timeout(WITHIN, self.0.write()).await;
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

    #[tokio::test(start_paused = true)]
    async fn work_that_is_called_off_is_ended_but_not_waited_for_for_ever() {
        let (all, began) = (Uninterrupted::default(), tokio::time::Instant::now());
        all.settle().await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        let (tell, mut told) = tokio::sync::oneshot::channel();
        for work in [Some(tell), None] {
            let mine = all.clone();
            let waiting = tokio::spawn(async move {
                let work = async move {
                    let Some(tell) = work else { return std::future::pending().await };
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    tell.send(()).map_err(|()| unreachable!())
                };
                mine.run(work).await
            });
            tokio::task::yield_now().await;
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
        }
        all.settle().await;
        assert_eq!((told.try_recv(), began.elapsed()), (Ok(()), WITHIN));
    }

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
