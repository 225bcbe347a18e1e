//! A job to start, and the handle on it while it runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::flow::Flow;
use super::logged::{Logged, with_log};
use super::{CopyOptions, Work};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Progress, Summary, Told};
use crate::gate::{Allowance, Gate};
use crate::http::Cap;
use crate::stage::record::{Attempts, Sink, Sinks};

/// Events that may wait for a listener before the job waits for it.
pub(super) const EVENTS: usize = 4096;

/// Work and how to do it.
#[derive(Clone, Debug)]
pub struct Job {
    /// What.
    pub work: Work,
    /// How.
    pub options: CopyOptions,
    listen: bool,
    sinks: Vec<Sink>,
}

impl Job {
    /// A job with these options.
    pub fn new(work: Work, options: CopyOptions) -> Self {
        Self { work, options, listen: false, sinks: Vec::new() }
    }

    /// Queues events for [`JobHandle::next_event`], which must then be called until it gives `None`:
    /// outcomes are never dropped, so a full queue holds the job.
    #[must_use]
    pub fn listen(mut self) -> Self {
        self.listen = true;
        self
    }

    /// Tells a sink of all events, beside others. Outcomes are never dropped, so a sink that does not take what it is told
    /// holds the job; one whose receiver is gone is forgotten.
    #[must_use]
    pub fn tell(mut self, sink: mpsc::Sender<Told>) -> Self {
        self.sinks.push(Sink { to: sink, attempts: Attempts::All });
        self
    }

    /// The same for one that can do without attempts, which are most of what there is to tell.
    #[must_use]
    pub(crate) fn tell_of_objects(mut self, sink: mpsc::Sender<Told>) -> Self {
        self.sinks.push(Sink { to: sink, attempts: Attempts::None });
        self
    }

    /// Starts the job on the current tokio runtime.
    ///
    /// # Errors
    /// Only what is wrong before anything is asked of a store: a bad option or URL, no credentials,
    /// a record file that cannot be written.
    pub fn start(mut self) -> Result<JobHandle> {
        let (cancel, cancelled) = watch::channel(false);
        let (sender, events) = self.listen.then(|| mpsc::channel(EVENTS)).unzip();
        let progress = Arc::new(Mutex::new(Progress::default()));
        self.sinks.extend(sender.map(|to| Sink { to, attempts: Attempts::All }));
        let (sinks, logged) = Logged::open(&mut self.options, false, self.sinks)?;
        let sinks = Sinks::of(&self.options.job, &self.options.node, sinks);
        let limit = self.options.max_duration;
        let flow = Flow::new(self.work, self.options, sinks, cancelled, Arc::clone(&progress))?;
        let (cap, gate) = (flow.cap(), flow.gate());
        stop_after(limit, &cancel);
        let task = with_log(tokio::spawn(flow.run()), logged);
        Ok(JobHandle::of(events, progress, cancel, cap, gate, task))
    }
}

/// Stops a job after this long, unless it has ended by then.
pub(super) fn stop_after(limit: Option<Duration>, cancel: &watch::Sender<bool>) {
    let Some(limit) = limit else { return };
    let cancel = cancel.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = tokio::time::sleep(limit) => drop(cancel.send_replace(true)),
            () = cancel.closed() => {}
        }
    });
}

/// A job at work. Dropping the handle cancels the job.
#[derive(Debug)]
pub struct JobHandle {
    events: Option<mpsc::Receiver<Told>>,
    progress: Arc<Mutex<Progress>>,
    cancel: watch::Sender<bool>,
    cap: Cap,
    gate: Gate,
    /// `None` once the result is taken in.
    task: Option<JoinHandle<Result<Summary>>>,
    result: Option<Result<Summary>>,
}

impl JobHandle {
    /// The handle on a job that runs as `task`.
    pub(super) fn of(
        events: Option<mpsc::Receiver<Told>>,
        progress: Arc<Mutex<Progress>>,
        cancel: watch::Sender<bool>,
        cap: Cap,
        gate: Gate,
        task: JoinHandle<Result<Summary>>,
    ) -> Self {
        Self { events, progress, cancel, cap, gate, task: Some(task), result: None }
    }

    /// Start of the clock of the job, in nanoseconds since 1970.
    pub fn began_unix_ns(&self) -> u64 {
        self.gate.clock().began_unix_ns()
    }

    /// The next event; `None` after the [`Event::Summary`]. Without [`Job::listen`] there are none, and
    /// this waits for the end of the job. Safe to drop while it waits.
    pub async fn next_event(&mut self) -> Option<Event> {
        if let Some(events) = &mut self.events {
            return events.recv().await.map(|told| Arc::unwrap_or_clone(told.event));
        }
        self.ended().await;
        None
    }

    /// A sample of how far the job has come, at most 100 ms old; cheap, callable at any time.
    pub fn progress(&self) -> Progress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops at once: requests in flight are dropped, and the summary says what was done. What has arrived of objects in
    /// several blocks stays where it is, for a later run to go on from: in partial files, or as blocks with the service.
    pub fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    /// The bound on the rate on the wire, to be changed at any time.
    pub fn cap(&self) -> &Cap {
        &self.cap
    }

    /// What the job shares with others, to be bounded at any time by whoever shares it out.
    pub fn lease(&self) -> Lease {
        Lease { cap: self.cap.clone(), gate: self.gate.clone() }
    }

    /// Waits until the job has ended, and leaves its result for [`Self::wait`]. Safe to drop while it waits.
    async fn ended(&mut self) {
        if let Some(task) = &mut self.task {
            self.result = Some(match task.await {
                Ok(result) => result,
                Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
                Err(_) => Err(Error::new(ErrorKind::Cancelled, "run", "job", "the runtime shuts down")),
            });
            self.task = None;
        }
    }

    /// Whether the job has ended.
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end. Events that nobody took are let go.
    ///
    /// # Errors
    /// What stopped the whole job before any object was found, or that nobody reads the stream any more that it writes. Everything
    /// else is an outcome in the summary.
    pub fn wait(mut self) -> BoxFuture<'static, Result<Summary>> {
        Box::pin(async move {
            while self.next_event().await.is_some() {}
            self.ended().await;
            let never = || Err(Error::new(ErrorKind::Cancelled, "run", "job", "it has no result"));
            self.result.take().unwrap_or_else(never)
        })
    }
}

/// Bounds that somebody else sets while a job runs. Clones are the same.
#[derive(Clone, Debug)]
pub struct Lease {
    cap: Cap,
    gate: Gate,
}

impl Lease {
    /// From now on the job takes no more than this, and no more than it takes by itself.
    pub fn allow(&self, allowance: Allowance) {
        self.cap.lease(allowance.rate);
        self.gate.allow(allowance);
    }

    /// The requests a second that the services of this job were found to take, if one refused more.
    pub fn learnt(&self) -> Option<f64> {
        self.gate.learnt()
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        self.cancel();
    }
}
