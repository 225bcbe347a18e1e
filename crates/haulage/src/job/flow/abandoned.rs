//! The removal of what was staged in vain: it goes on beside the job, and a service that is slow with it keeps nobody waiting.

use std::time::Duration;

use tokio::task::JoinSet;

/// How long a job that has ended waits for it. What a service does not remove in this time, a cleaning will.
const WITHIN: Duration = Duration::from_secs(10);

/// Removals that are on their way. Dropped, they stop.
#[derive(Default)]
pub(super) struct Abandoned(JoinSet<()>);

impl Abandoned {
    pub(super) fn add(&mut self, removal: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(removal);
    }

    /// Waits until all have ended, but not for long.
    pub(super) async fn settle(&mut self) {
        let ended = async { while self.0.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(WITHIN, ended).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_removal_that_never_ends_holds_up_neither_the_others_nor_the_end_of_the_job() {
        let (mut abandoned, began) = (Abandoned::default(), Instant::now());
        let removed = Arc::new(AtomicBool::new(false));
        abandoned.add(std::future::pending());
        let done = Arc::clone(&removed);
        abandoned.add(async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            done.store(true, Relaxed);
        });
        assert_eq!(began.elapsed(), Duration::ZERO);
        abandoned.settle().await;
        assert_eq!((removed.load(Relaxed), began.elapsed()), (true, WITHIN));
    }
}
