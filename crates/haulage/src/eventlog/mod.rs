//! A log that outlives whoever writes it: events go to a file on this machine at once, and from there to a store.
//!
//! Whatever is said is a line in the outbox (`outbox`) before anything else happens to it, so that a process that is killed
//! loses nothing. A task of its own (`send`) carries lines to the log, a folder or a prefix of a store, and never holds up
//! whoever says them. What could not be sent is sent by the next one that writes to the same log. `line` says how a line
//! looks. The files of a log, and what readers may rely on, stand in `docs/reference/log.md`.

mod line;
mod outbox;
mod send;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::line::Lines;
use self::outbox::{Head, Outbox};
use self::send::{Ended, Sender};
use crate::config::base_folder;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Told;
use crate::gate::Gate;
use crate::options::{host_name, random_name};
use crate::stage::record::{Attempts, Sink};
use crate::store::{Address, StoreOpener, StoreOptions};

/// Events that may wait to be written to the outbox.
const EVENTS: usize = 4096;

/// Events that are written at once.
const TOGETHER: usize = 1024;

/// Which attempts have a line.
const KEPT: Attempts = Attempts::Failed;

/// Whose log it is, and where it goes.
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    /// A folder, or a prefix of a store.
    pub url: String,
    /// The name of the run, which all of its streams share; a random one where empty.
    pub job: String,
    /// This machine; its host name where empty.
    pub node: String,
    /// It speaks for the whole of a job of many nodes.
    pub coordinator: bool,
    /// Where lines lie until they are sent; [`outbox_folder`] where there is none.
    pub outbox: Option<PathBuf>,
}

/// A log that is being written. Dropped, it leaves what is not sent yet to the next one.
#[derive(Debug)]
pub struct EventLog {
    shared: Arc<Shared>,
    job: String,
    node: String,
    stream: String,
    /// Where it goes, as it is called from everywhere.
    url: String,
    /// The process that may write: a forked child needs one of its own.
    process: u32,
    /// Set where nothing more is said.
    closing: watch::Sender<bool>,
    sending: tokio::sync::Mutex<Sending>,
}

/// What sends it, or what came of that.
#[derive(Debug)]
enum Sending {
    On(JoinHandle<Ended>),
    Whole,
    Left,
}

/// What whoever says something and whoever sends it share.
#[derive(Debug)]
struct Shared {
    lines: Mutex<Lines>,
    outbox: Mutex<Outbox>,
    /// Bytes in the outbox.
    written: watch::Sender<u64>,
    /// Bytes of it that are in the log.
    sent: watch::Sender<u64>,
}

impl EventLog {
    /// Opens a log; sends nothing yet. Must be called on a runtime.
    ///
    /// # Errors
    /// `Usage` for what is no place for a log; what keeps a store from being opened; `Io` where no line can be kept here.
    pub fn open(options: &LogOptions, store: &StoreOptions) -> Result<Self> {
        let store = StoreOptions { cap: None, ..store.clone() };
        match Address::parse(&options.url, &store)? {
            Address::Azure(_) | Address::S3(_) | Address::Local(_) => {}
            Address::Memory { .. } | Address::Stdio => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    "open log",
                    &options.url,
                    "nobody could read it there",
                )
                .hint("name a folder, az://container/prefix or s3://bucket/prefix"));
            }
        }
        let opener = StoreOpener::through(store, Gate::default())?;
        let location = opener.open(&options.url)?;
        let node = match options.node.as_str() {
            "" => host_name(),
            given => given.to_owned(),
        };
        let job = if options.job.is_empty() { random_name(16) } else { options.job.clone() };
        if !outbox::is_name(&job, 16) {
            return Err(Error::new(ErrorKind::Usage, "open log", job, "not the name of a run")
                .hint("leave it out, or give 16 hexadecimal digits"));
        }
        let stream = random_name(8);
        let url = location.store.identity(location.key.trim_end_matches('/'));
        let url = url.trim_end_matches('/').to_owned();
        let head = Head::new(url.clone(), job.clone(), node.clone(), stream.clone());
        let folder = options.outbox.clone().unwrap_or_else(outbox_folder);
        let (outbox, waiting) = Outbox::create(&folder, head)?;
        let left = outbox::left_over(&folder, &url);
        let lines = Lines::new(&job, &node, &stream, options.coordinator);
        let (written, told) = watch::channel(0);
        let (closing, closed) = watch::channel(false);
        let sender = Sender::new(location, waiting);
        let shared = Arc::new(Shared {
            lines: Mutex::new(lines),
            outbox: Mutex::new(outbox),
            written,
            sent: watch::channel(0).0,
        });
        let sending = tokio::spawn(send::all(sender, left, Arc::clone(&shared), told, closed));
        Ok(Self {
            shared,
            job,
            node,
            stream,
            url,
            process: std::process::id(),
            closing,
            sending: tokio::sync::Mutex::new(Sending::On(sending)),
        })
    }

    /// The name of the run.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// The name of this machine.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The name of what this process says.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// Says something that is no event of the engine. `fields` is an object of JSON; secrets in it are hidden. Waits for no network.
    ///
    /// # Errors
    /// `Usage` where the fields are no object of JSON, and in a forked child.
    pub fn say(&self, event: &str, fields: &str) -> Result<()> {
        if std::process::id() != self.process {
            let cause = "it belongs to the process that has opened it";
            return Err(
                Error::new(ErrorKind::Usage, "write log", event, cause).hint("open it in each process")
            );
        }
        self.shared.say(event, fields)
    }

    /// Gives a sign of life as often, until it is closed: also while whoever writes to it cannot, such as a program in Python that
    /// holds the interpreter. Must be called on a runtime.
    pub fn beat(&self, every: Duration) {
        let (shared, mut closing) = (Arc::clone(&self.shared), self.closing.subscribe());
        tokio::spawn(async move {
            let began = Instant::now();
            while timeout(every, closing.wait_for(|closing| *closing)).await.is_err() {
                let elapsed = format!("{{\"elapsed_ns\": {}}}", began.elapsed().as_nanos());
                // What cannot be kept is counted where lines are.
                let _ = shared.say("progress", &elapsed);
            }
        });
    }

    /// Lines that found no room on this machine's disk. Readers see that they are missing.
    pub fn dropped(&self) -> u64 {
        self.shared.outbox.lock().unwrap_or_else(PoisonError::into_inner).dropped()
    }

    /// Waits until all that was said is in the log; false where that takes longer.
    pub async fn flush(&self, patience: Duration) -> bool {
        let said = *self.shared.written.borrow();
        let mut sent = self.shared.sent.subscribe();
        timeout(patience, sent.wait_for(|sent| *sent >= said)).await.is_ok_and(|done| done.is_ok())
    }

    /// Says no more, and sends what is left.
    ///
    /// # Errors
    /// What keeps it from being sent within this time; then it stays here, and the next one that writes to the same log sends it.
    pub async fn close(&self, patience: Duration) -> Result<()> {
        self.closing.send_replace(true);
        let mut sending = self.sending.lock().await;
        let failed = |kind, cause: String| Err(Error::new(kind, "write log", &*self.url, cause));
        let left = || failed(ErrorKind::Cancelled, "it was closed before all of it was there".to_owned());
        let ended = match &mut *sending {
            Sending::Whole => return Ok(()),
            Sending::Left => return left(),
            Sending::On(task) => timeout(patience, task).await,
        };
        match ended {
            Ok(Ok(Ended::Whole)) => {
                *sending = Sending::Whole;
                Ok(())
            }
            Ok(ended) => {
                *sending = Sending::Left;
                match ended {
                    Ok(Ended::Left(Some(error))) => Err(error),
                    _ => left(),
                }
            }
            Err(_) => failed(
                ErrorKind::Stalled,
                format!("it did not take all lines within {} s", patience.as_secs()),
            ),
        }
    }

    /// Keeps what a job tells, of attempts only those that failed, and passes it on to `sinks` when it is kept: what they have heard
    /// is in the log, also after a kill. The task ends when the sink that is returned is gone.
    pub(crate) fn listen(self: &Arc<Self>, mut sinks: Vec<Sink>) -> (Sink, JoinHandle<()>) {
        let (to, mut told) = mpsc::channel::<Told>(EVENTS);
        let log = Arc::clone(self);
        let attempts = sinks.iter().map(|sink| sink.attempts).fold(KEPT, Attempts::max);
        // A disk that stands still holds up this thread, and the job only when very much waits: outcomes are never dropped.
        let task = tokio::task::spawn_blocking(move || {
            let mut events = Vec::with_capacity(TOGETHER);
            while told.blocking_recv_many(&mut events, TOGETHER) > 0 {
                let mut lines = log.shared.lines.lock().unwrap_or_else(PoisonError::into_inner);
                for told in events.iter().filter(|told| KEPT.want(&told.event)) {
                    lines.event(&told.event);
                }
                log.shared.keep(&mut lines);
                drop(lines);
                for told in events.drain(..) {
                    sinks.retain(|sink| {
                        !sink.attempts.want(&told.event) || sink.to.blocking_send(told.clone()).is_ok()
                    });
                }
            }
        });
        (Sink { to, attempts }, task)
    }
}

impl Shared {
    fn say(&self, event: &str, fields: &str) -> Result<()> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.foreign(event, fields)?;
        self.keep(&mut lines);
        Ok(())
    }

    /// Puts the lines that are made into the outbox.
    fn keep(&self, lines: &mut Lines) {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        let written = outbox.add(lines.made());
        self.written.send_replace(written);
    }

    /// Keeps no more lines, if all of them are sent; whether they are.
    fn finish(&self, sent: u64) -> bool {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner).finish(sent)
    }
}

/// `$XDG_STATE_HOME/haulage/log/HOST`, or below `~/.local/state`, or in the folder for temporary files. Machines may share a home.
pub fn outbox_folder() -> PathBuf {
    let base = base_folder("XDG_STATE_HOME", ".local/state");
    let ours = || std::env::temp_dir().join(format!("haulage-{}", rustix::process::geteuid().as_raw()));
    base.map_or_else(ours, |base| base.join("haulage")).join("log").join(send::safe(&host_name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Progress};

    #[tokio::test]
    async fn what_others_hear_is_kept_before() {
        let dir = tempfile::tempdir().unwrap();
        let url = dir.path().join("log").display().to_string();
        let options = LogOptions { url, outbox: Some(dir.path().join("outbox")), ..LogOptions::default() };
        let log = Arc::new(EventLog::open(&options, &StoreOptions::default()).unwrap());
        let (to, mut heard) = mpsc::channel(1);
        let (sink, task) = log.listen(vec![Sink { to, attempts: Attempts::None }]);
        let event = Arc::new(Event::Progress(Progress::default()));
        sink.to.send(Told { job: "job".into(), node: "node".into(), event }).await.unwrap();
        heard.recv().await.unwrap();
        assert!(*log.shared.written.borrow() > 0);
        drop(sink);
        task.await.unwrap();
        assert!(heard.recv().await.is_none());
    }
}
