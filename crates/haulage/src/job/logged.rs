//! A job that writes what happens to a log.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};

use crate::error::{ErrorKind, Result};
use crate::event::Summary;
use crate::eventlog::{EventLog, LogOptions};
use crate::options::{CopyOptions, random_name};
use crate::stage::record::Sink;

/// How long the end of a job may wait for its log, ...
const PATIENCE: Duration = Duration::from_secs(5);

/// ... and where somebody waits for the end: the job was stopped, or is one of several.
const SOON: Duration = Duration::from_secs(2);

/// The log of a job.
pub(super) struct Logged {
    log: Arc<EventLog>,
    /// Ends when all is written that the job has told.
    told: JoinHandle<()>,
    patience: Duration,
}

impl Logged {
    /// Opens the log that the options name, if they do, and gives the job a name that both share. Returns who hears of the job:
    /// `sinks`, or the log, which passes on to them what it has kept.
    ///
    /// # Errors
    /// As for [`EventLog::open`].
    pub(super) fn open(
        options: &mut CopyOptions,
        coordinator: bool,
        sinks: Vec<Sink>,
    ) -> Result<(Vec<Sink>, Option<Self>)> {
        let Some(url) = options.log.clone() else { return Ok((sinks, None)) };
        let patience = if options.job.is_empty() { PATIENCE } else { SOON };
        if options.job.is_empty() {
            options.job = random_name(16);
        }
        let (job, node) = (options.job.clone(), options.node.clone());
        let whose = LogOptions { url, job, node, coordinator, outbox: None };
        let log = Arc::new(EventLog::open(&whose, &options.store)?);
        let (sink, told) = log.listen(sinks);
        Ok((vec![sink], Some(Self { log, told, patience })))
    }

    /// The log, for what is no event of the engine.
    pub(super) fn log(&self) -> Arc<EventLog> {
        Arc::clone(&self.log)
    }

    /// Waits for the end of the job and of its log; what the log lacks is a warning.
    pub(super) async fn follow(self, job: JoinHandle<Result<Summary>>) -> Result<Summary> {
        let ended = job.await;
        if let Err(failed) = &ended
            && failed.is_panic()
        {
            // The bug is what ends the job; that it could not be told too is of no matter.
            let _ = self.log.say("panic", r#"{"message": "the engine failed: this is a bug of it"}"#);
        }
        // All is told by now, and the task only writes to this machine.
        let _ = self.told.await;
        let stopped =
            matches!(&ended, Ok(Ok(summary)) if summary.exit_code == ErrorKind::Cancelled.exit_code());
        let closed = self.log.close(if stopped { SOON } else { self.patience }).await;
        let mut ended = ended.unwrap_or_else(resume)?;
        let dropped = self.log.dropped();
        if dropped > 0 {
            ended
                .warnings
                .push(format!("log: {dropped} lines were lost, because this machine's disk is full"));
        }
        if let Err(error) = closed {
            ended.warnings.push(format!(
                "log: not all of it is there yet, and the next job that writes to it sends the rest: {error}"
            ));
        }
        Ok(ended)
    }
}

/// The task of a job, which with a log ends with that.
pub(super) fn with_log(
    job: JoinHandle<Result<Summary>>,
    logged: Option<Logged>,
) -> JoinHandle<Result<Summary>> {
    match logged {
        Some(logged) => tokio::spawn(logged.follow(job)),
        None => job,
    }
}

fn resume(failed: JoinError) -> Result<Summary> {
    crate::task::joined(Err(failed))
}
