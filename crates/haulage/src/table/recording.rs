//! A row for every request of an export or import, as the jobs of the engine record theirs.

use std::path::Path;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::error::Result;
use crate::gate::Gate;
use crate::stage::record::{Recorder, Sinks};

/// Keeps the rows of a gate while it is there. Dropped, the record is not written.
pub(super) struct Recording {
    stop: oneshot::Sender<()>,
    keeping: JoinSet<Result<bool>>,
}

impl Recording {
    /// Creates the file, so that one that cannot be written is noticed before anything is sent.
    pub(super) fn create(operation: &'static str, gate: &Gate, path: &Path) -> Result<Recorder> {
        Recorder::new(operation, gate.clock(), Sinks::of("", "", Vec::new()), Some(path))
    }

    /// From now on every request leaves a row.
    pub(super) fn begin(mut recorder: Recorder, gate: &Gate) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let mut rows = gate.keep_rows();
        let mut keeping = JoinSet::new();
        keeping.spawn(async move {
            loop {
                tokio::select! {
                    Some(row) = rows.recv() => recorder.attempt(|| row).await,
                    _ = &mut stopped => break,
                }
            }
            recorder.rest_beside(Some(rows)).await;
            recorder.close_rows().await
        });
        Self { stop, keeping }
    }

    /// Completes the file.
    pub(super) async fn end(mut self) -> Result<()> {
        // Whoever keeps the rows is there until it is told.
        let _ = self.stop.send(());
        match self.keeping.join_next().await {
            Some(Ok(kept)) => kept.map(drop),
            Some(Err(lost)) if lost.is_panic() => std::panic::resume_unwind(lost.into_panic()),
            _ => Ok(()),
        }
    }
}
