//! Runs a job: its events to standard output, its progress to standard error, Ctrl-C to its handle.

use std::collections::HashSet;
use std::io::Stdout;

use haulage::checksum::ChecksumMode;
use haulage::event::{Event, Summary};
use haulage::job::Work;
use haulage::report::ReportKind;
use haulage::store::{Address, StoreOptions};
use haulage::units::ByteRate;
use haulage::{CopyOptions, Error, ErrorKind, Job, JobHandle};

use crate::args::OutputArgs;
use crate::cluster::{Gone, Nodes};
use crate::output::{self, Lines};
use crate::progress::{Show, frames};
use crate::render;
use crate::runtime::block_on;
use crate::signal::{CapChange, CapSignals, Interrupt};
use crate::stop::{Ending, ErrorLine, Stop};

const INTERRUPTED: u8 = ErrorKind::Cancelled.exit_code();

/// A signal does not bring the cap below this: a job that stands still is stopped by Ctrl-C.
const LEAST_CAP_BITS: u64 = 64_000;

/// What a job writes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Nothing.
    None,
    /// The copied object itself.
    Object,
    /// Each event as a line of JSON.
    Events,
    /// A line for each object that is not equal.
    Differences,
    /// A line for each object with which something would be done.
    Plan,
    /// The names of this kind that a comparison finds.
    Report(ReportKind),
}

impl Data {
    /// For work that never fills standard output by itself.
    pub fn of(output: OutputArgs, dry_run: bool) -> Self {
        match (output.json, dry_run) {
            (true, _) => Self::Events,
            (false, true) => Self::Plan,
            (false, false) => Self::None,
        }
    }
}

/// Runs the job to its end.
pub fn run(job: Job, data: Data, output: OutputArgs) -> Ending {
    let about = About::of(&job.work, &job.options);
    let start = |listens| if listens { job.listen().start() } else { job.start() };
    block_on(|interrupt| drive(start, Sink::new(data), about, output, interrupt))
}

/// The same on many nodes.
pub fn run_on(nodes: Nodes, work: Work, options: CopyOptions, data: Data, output: OutputArgs) -> Ending {
    let about = About::of(&work, &options);
    let mut leaving = None;
    let ending = block_on(|interrupt| {
        let start = |listens| {
            let (handle, gone) = nodes.start(work, options, listens, output.quiet)?;
            leaving = Some(gone);
            Ok(handle)
        };
        // What goes wrong with a cluster is to be seen while it is waited for.
        let sink = Sink { live: true, ..Sink::new(data) };
        drive(start, sink, about, output, interrupt)
    });
    leaving.into_iter().for_each(Gone::wait);
    ending
}

/// What the last words on a job depend on.
#[derive(Clone, Copy)]
struct About {
    checksum: ChecksumMode,
    /// The next run continues from what this one leaves.
    resumes: bool,
    /// All is copied from one folder of this machine to another.
    is_local: bool,
}

impl About {
    fn of(work: &Work, options: &CopyOptions) -> Self {
        let is_here = |name: &String| matches!(Address::parse(name, &options.store), Ok(Address::Local(_)));
        let is_local = match work {
            Work::Copy { sources, destination } | Work::Move { sources, destination } => {
                sources.iter().all(is_here) && is_here(destination)
            }
            Work::Sync { source, destination, .. } => is_here(source) && is_here(destination),
            _ => false,
        };
        Self { checksum: options.checksum, resumes: work.resumes(options), is_local }
    }
}

/// Whether a job to which a signal came may have ended for it: if not, all was done by then.
fn may_be_cut_short(summary: &Summary) -> bool {
    const UNKNOWN: [u8; 2] = [ErrorKind::Integrity.exit_code(), ErrorKind::SourceChanged.exit_code()];
    summary.exit_code == INTERRUPTED || UNKNOWN.contains(&summary.exit_code)
}

async fn drive(
    start: impl FnOnce(bool) -> Result<JobHandle, Error>,
    mut sink: Sink,
    about: About,
    output: OutputArgs,
    mut interrupt: Interrupt,
) -> Ending {
    let data = sink.data;
    let listens = sink.listens();
    let mut show = Show::new(output);
    let mut handle = start(listens)?;
    let interrupted = follow(&mut handle, &mut sink, &mut show, output, &mut interrupt).await?;
    let objects_done = handle.progress().objects_done;
    show.finish();
    let summary = match handle.wait().await {
        Err(error) if !interrupted => {
            sink.flush();
            return Err(if data == Data::Object { Stop::from_writer(error) } else { error.into() });
        }
        // A job that was stopped may have no summary; the last line must say how it ended all the same.
        Err(error) => {
            sink.json(&ErrorLine::from(&error));
            None
        }
        Ok(summary) => Some(summary),
    };
    sink.flush();
    if interrupted && summary.as_ref().is_none_or(may_be_cut_short) {
        let done = summary.map_or(objects_done, |summary| summary.objects_done);
        output::say(render::interrupted_line(done, about.resumes));
        return Ok(INTERRUPTED);
    }
    let summary = summary.unwrap_or_default();
    if summary.exit_code == INTERRUPTED {
        output::say(render::out_of_time_line(summary.objects_done, about.resumes));
        return Ok(INTERRUPTED);
    }
    // What was said as data is part of the work: a full disk behind standard output is a failure.
    let exit_code = if sink.failed && summary.exit_code == 0 { 1 } else { summary.exit_code };
    report_failures(&summary, &sink.told);
    if !output.quiet {
        if !listens {
            render::warning_lines(&summary).iter().for_each(output::say);
        }
        render::summary_lines(&summary, about.checksum).iter().for_each(output::say);
        if about.is_local && exit_code == 0 && summary.objects_done > 0 && !summary.dry_run {
            output::say("both names are of this machine; a container is written az://NAME or s3://NAME");
        }
        render::chosen_line(&summary).filter(|_| output.verbose > 0).iter().for_each(output::say);
    }
    Ok(exit_code)
}

/// Passes on what the job says until it has ended; returns whether a signal stopped it.
async fn follow(
    handle: &mut JobHandle,
    sink: &mut Sink,
    show: &mut Show,
    output: OutputArgs,
    interrupt: &mut Interrupt,
) -> Result<bool, Error> {
    let mut frames = frames();
    let mut interrupted = false;
    let mut cap_signals = CapSignals::watch()?;
    loop {
        tokio::select! {
            event = handle.next_event() => match event {
                Some(Event::Warning { object, message }) if !output.quiet => {
                    let line = format!("warning: {}: {}", render::printable(&object), render::printable(&message));
                    show.suspend(|| output::say(line));
                    sink.event(&Event::Warning { object, message });
                }
                Some(event) => sink.event(&event),
                None => return Ok(interrupted),
            },
            _ = frames.tick() => {
                show.job(|| handle.progress());
                if sink.pending {
                    show.suspend(|| sink.flush());
                }
            }
            change = cap_signals.next() => {
                let line = change_cap(handle, change);
                if !output.quiet {
                    show.suspend(|| output::say(line));
                }
            }
            () = interrupt.wait(), if !interrupted => {
                interrupted = true;
                handle.cancel();
            }
        }
    }
}

/// Changes the cap as a signal asks, and says what it is now.
fn change_cap(handle: &JobHandle, change: CapChange) -> String {
    let cap = handle.cap();
    let now = cap.get().map(ByteRate::bits);
    let next = match (change, now) {
        (CapChange::Halve, Some(bits)) => Some(bits / 2),
        (CapChange::Halve, None) => Some(handle.progress().rate_bits_per_second / 2),
        (CapChange::Double, bits) => bits.map(|bits| bits.saturating_mul(2)),
    };
    let next = next.map(|bits| ByteRate::bits_per_second(bits.max(LEAST_CAP_BITS)));
    cap.set(next);
    match next {
        Some(rate) => format!("cap: {rate}; SIGUSR1 halves it, SIGUSR2 doubles it"),
        None => "cap: none; SIGUSR1 sets it to half of the current rate".to_owned(),
    }
}

/// Says what failed, but for objects of which that was said.
fn report_failures(summary: &Summary, told: &HashSet<String>) {
    let mut left = summary.clone();
    left.failures.retain(|failure| !told.contains(&failure.object));
    if !told.is_empty() {
        left.objects_failed = 0;
    }
    render::failure_lines(&left, output::styled_error).iter().for_each(output::say_as_it_is);
}

/// Writes what the job says as data. Where nobody reads any more the job goes on: the copy is the
/// point, not its log.
struct Sink {
    data: Data,
    /// Warnings are told as they come.
    live: bool,
    lines: Lines<Stdout>,
    pending: bool,
    /// Something could not be written, though somebody reads.
    failed: bool,
    /// Objects whose failure is among the data, as many as the summary names.
    told: HashSet<String>,
}

impl Sink {
    fn new(data: Data) -> Self {
        Self {
            data,
            live: false,
            lines: Lines::stdout(),
            pending: false,
            failed: false,
            told: HashSet::new(),
        }
    }

    /// Whether single events matter, or only how it ends.
    fn listens(&self) -> bool {
        self.live || matches!(self.data, Data::Events | Data::Differences | Data::Plan | Data::Report(_))
    }

    fn event(&mut self, event: &Event) {
        match (self.data, event) {
            (Data::Events, event) => self.json(event),
            (Data::Differences, Event::Object(record)) => {
                if let Some(failure) = &record.failure
                    && self.told.len() < Summary::FAILURES_KEPT
                {
                    self.told.insert(failure.object.clone());
                }
                if let Some(line) = render::verify_line(record) {
                    self.written(|lines| lines.line(line));
                }
            }
            (Data::Report(kind), Event::Object(record)) => {
                if let Some(line) = kind.line(record) {
                    self.written(|lines| lines.name(&line));
                }
            }
            (Data::Plan, Event::Object(record)) => {
                if let Some(line) = render::planned_line(record) {
                    self.written(|lines| lines.line(line));
                }
            }
            _ => {}
        }
    }

    fn json(&mut self, value: &impl serde::Serialize) {
        if self.data == Data::Events {
            self.written(|lines| lines.json(value));
        }
    }

    fn flush(&mut self) {
        self.written(Lines::flush);
        self.pending = false;
    }

    fn written(&mut self, write: impl FnOnce(&mut Lines<Stdout>) -> Result<(), Stop>) {
        if matches!(self.data, Data::None | Data::Object) {
            return;
        }
        self.pending = true;
        if let Err(stop) = write(&mut self.lines) {
            self.data = Data::None;
            if let Stop::Error(error) = stop {
                self.failed = true;
                output::error(&error);
            }
        }
    }
}

/// Data for the options: `--json` asks for events, except where the work itself fills standard output.
pub fn data_for(output: OutputArgs, work: &Work, options: &StoreOptions) -> Result<Data, Error> {
    let stdout = match work {
        Work::Copy { destination, .. } => Address::parse(destination, options)? == Address::Stdio,
        _ => false,
    };
    match (output.json, stdout) {
        (true, true) => Err(Error::new(
            ErrorKind::Usage,
            "parse",
            "--json",
            "standard output cannot hold both the object and the events",
        )
        .hint("use --record FILE.parquet, or copy to a file")),
        (true, false) => Ok(Data::Events),
        (false, true) => Ok(Data::Object),
        (false, false) => Ok(Data::None),
    }
}
