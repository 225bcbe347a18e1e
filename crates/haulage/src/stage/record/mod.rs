//! Keeps what happened: counts for the summary, events for whoever listens, rows for Parquet.

mod rows;
mod said;
mod sinks;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use self::rows::RowWriter;
pub(crate) use self::rows::{JOB, record_writer, since_began};
pub(crate) use self::sinks::{Attempts, Sink, Sinks};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{
    AttemptRecord, Clock, Event, Failure, JobStarted, ObjectRecord, Outcome, Progress, Proof, Summary,
};
use crate::gate::Counted;
use crate::metrics::{Labels, Look, Metrics};
use crate::options::CopyOptions;
use crate::receipt::{ReceiptHead, ReceiptObject, ReceiptWriter};
use crate::report::{OUTPUT_HINT, Reports};
use crate::secret::{redact_name, redacted, redacted_id};
use crate::stage::plan::{UNCHANGED, is_there};
use crate::units::ByteRate;
use crate::verbose::{self, Level};

/// Where events go, and what they add up to.
pub(crate) struct Recorder {
    clock: Clock,
    sinks: Sinks,
    rows: Option<RowWriter>,
    /// The receipt, or why it will not be whole.
    receipt: Option<Result<ReceiptWriter>>,
    /// Names by kind, of a comparison.
    reports: Reports,
    summary: Summary,
    /// Bytes of the objects that were compared without being read.
    unread: u64,
    found: Failures,
    /// Attempts that failed, by kind.
    errors: Vec<(ErrorKind, u64)>,
    metrics: Option<Metrics>,
}

/// What kinds of failure there were, for the exit code.
#[derive(Default)]
struct Failures {
    first: Option<ErrorKind>,
    several_kinds: bool,
    integrity: bool,
    source_changed: bool,
}

impl Failures {
    fn note(&mut self, kind: ErrorKind) {
        self.several_kinds |= self.first.is_some_and(|first| first != kind);
        self.first.get_or_insert(kind);
        self.integrity |= kind == ErrorKind::Integrity;
        self.source_changed |= kind == ErrorKind::SourceChanged;
    }
}

impl Recorder {
    /// A recorder for `operation`; a Parquet file is created at `record`.
    pub(crate) fn new(
        operation: &'static str,
        clock: Clock,
        sinks: Sinks,
        record: Option<&Path>,
    ) -> Result<Self> {
        let rows = record.map(|path| RowWriter::create(path, Arc::clone(&sinks.node))).transpose()?;
        let summary = Summary { operation, ..Summary::default() };
        Ok(Self {
            clock,
            sinks,
            rows,
            receipt: None,
            reports: Reports::none(),
            summary,
            found: Failures::default(),
            unread: 0,
            errors: Vec::new(),
            metrics: None,
        })
    }

    /// From now on says what would be done, and not that it was.
    pub(crate) fn only_plans(&mut self) {
        self.summary.dry_run = true;
    }

    /// Says that the job begins, and what it is about.
    pub(crate) async fn announce(
        &mut self,
        (sources, destination): (Vec<String>, String),
        options: &CopyOptions,
    ) {
        let started = JobStarted {
            job: Arc::clone(&self.sinks.job),
            node: Arc::clone(&self.sinks.node),
            operation: self.summary.operation,
            sources: sources.into_iter().map(redacted).collect(),
            destination: redacted(destination),
            options: options.words().into_iter().map(redacted).collect(),
            started_unix_ns: self.clock.began_unix_ns(),
            version: env!("CARGO_PKG_VERSION"),
        };
        if let Some(rows) = &mut self.rows {
            rows.begin(&started);
        }
        self.say(Event::JobStarted(started)).await;
    }

    /// From now on keeps what lies at the destination, in a receipt at `path`.
    pub(crate) fn keep_receipt(&mut self, path: &Path, names: (Vec<String>, String)) -> Result<()> {
        let (sources, destination) = names;
        let head = ReceiptHead::new(sources, destination, self.clock.began_unix_ns());
        self.receipt = Some(Ok(ReceiptWriter::create(path, head)?));
        Ok(())
    }

    /// From now on keeps the names of what is compared, by kind.
    pub(crate) fn keep_reports(&mut self, reports: Reports) {
        self.reports = reports;
    }

    /// From now on serves at this address how the job goes, and which way its bytes go.
    pub(crate) fn serve_metrics(&mut self, address: SocketAddr, direction: &'static str) -> Result<()> {
        let Sinks { job, node, .. } = &self.sinks;
        let labels = Labels { job: Arc::clone(job), node: Arc::clone(node), direction };
        self.metrics = Some(Metrics::serve(address, labels)?);
        Ok(())
    }

    /// Whether anybody wants to know of an attempt that failed, or of one that did not: of every one.
    pub(crate) fn wants_attempt(&self, failed: bool) -> bool {
        self.rows.is_some() || self.sinks.want_attempt(failed)
    }

    /// Says something to whoever listens; waits for who is slow.
    pub(crate) async fn say(&mut self, event: Event) {
        self.sinks.tell(event).await;
    }

    /// Gives a sample to those who are not behind; so many bytes have been on the wire.
    pub(crate) fn sample(&mut self, progress: &Progress, bytes_wire: u64) {
        if let Some(metrics) = &self.metrics {
            let (requests, errors) = (self.summary.requests, self.errors.clone());
            metrics.show(Look { progress: progress.clone(), requests, bytes_wire, errors });
        }
        if !self.sinks.is_empty() {
            self.summary.events_dropped += self.sinks.sample(Event::Progress(progress.clone()));
        }
    }

    /// Counts an attempt. `retried` says that it failed and will be sent again.
    pub(crate) fn count_attempt(&mut self, failed: Option<ErrorKind>, retried: bool) {
        self.summary.requests += 1;
        self.summary.retries += u64::from(retried);
        self.summary.integrity_retries += u64::from(retried && failed == Some(ErrorKind::Integrity));
        if let Some(kind) = failed {
            match self.errors.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += 1,
                None => self.errors.push((kind, 1)),
            }
        }
    }

    /// Counts the requests that were no steps of an object.
    pub(crate) fn count_beside(&mut self, beside: Counted) {
        self.summary.requests += beside.requests;
        self.summary.retries += beside.retries;
        self.summary.integrity_retries += beside.integrity_retries;
    }

    /// Counts a block that was cut in halves because it was too much for the link.
    pub(crate) fn split(&mut self) {
        self.summary.splits += 1;
    }

    /// Counts a second attempt beside a slow one, and what it costs.
    pub(crate) fn duplicated(&mut self, bytes: u64) {
        self.summary.duplicates += 1;
        self.summary.bytes_duplicated += bytes;
    }

    /// Keeps an attempt. It is made where it is kept: rows of half a kilobyte are not to be moved around.
    pub(crate) async fn attempt(&mut self, make: impl FnOnce() -> AttemptRecord) {
        // To look for secrets takes longer than all else here, and is of use only where somebody sees it.
        let hidden = |mut record: AttemptRecord| {
            hide(&mut record.object);
            record.request_id = record.request_id.map(redacted_id);
            record
        };
        if !self.sinks.want_attempt(true) {
            if let Some(rows) = &mut self.rows {
                rows.push(hidden(make()));
                rows.hand_over().await;
            }
            return;
        }
        let record = make();
        if self.rows.is_none() && !self.sinks.want_attempt(record.failed()) {
            return;
        }
        let record = hidden(record);
        if let Some(rows) = &mut self.rows {
            rows.push(record.clone());
            rows.hand_over().await;
        }
        self.say(Event::Attempt(record)).await;
    }

    /// Keeps the last of the requests that were no steps of an object.
    pub(crate) async fn rest_beside(&mut self, beside: Option<mpsc::Receiver<AttemptRecord>>) {
        let Some(mut rows) = beside else { return };
        rows.close();
        while let Some(row) = rows.recv().await {
            self.attempt(|| row).await;
        }
    }

    /// Whether anybody wants to know of every object.
    pub(crate) fn wants_objects(&self) -> bool {
        let files = self.receipt.is_some() || self.reports.are_wanted();
        files || !self.sinks.is_empty() || verbose::wants(Level::Debug)
    }

    /// Counts an object that was skipped because it is there already, and of which nobody wants to know.
    pub(crate) fn skipped(&mut self) {
        self.summary.objects_skipped += 1;
        self.summary.objects_there += 1;
    }

    /// Keeps the end of an object.
    pub(crate) async fn object(&mut self, mut record: ObjectRecord) {
        if self.wants_objects() {
            [&mut record.source, &mut record.destination, &mut record.name].into_iter().for_each(hide);
            record.etag = record.etag.map(redacted);
            record.source_etag = record.source_etag.map(redacted);
        }
        let summary = &mut self.summary;
        match record.outcome {
            Outcome::Copied | Outcome::Equal => {
                summary.objects_done += 1;
                summary.bytes_done += record.size_bytes;
                if record.by_service {
                    summary.objects_by_service += 1;
                    summary.bytes_by_service += record.size_bytes;
                }
                if matches!(record.proof, Proof::Etag | Proof::Stored) {
                    self.unread = self.unread.saturating_add(record.size_bytes);
                }
                let unproven = record.proof == Proof::Length && record.size_bytes > 0;
                summary.objects_unproven += u64::from(unproven);
                summary.proofs.count(record.proof);
            }
            Outcome::Staged => {
                summary.objects_done += 1;
                summary.bytes_done += record.parts.iter().map(|part| part.size_bytes).sum::<u64>();
            }
            Outcome::Skipped => {
                summary.objects_skipped += 1;
                summary.objects_there += u64::from(is_there(record.reason));
            }
            Outcome::Failed => summary.objects_failed += 1,
            Outcome::Differs => summary.objects_differ += 1,
            Outcome::Missing => summary.objects_missing += 1,
            Outcome::Extra => summary.objects_extra += 1,
            Outcome::Deleted | Outcome::WouldDelete => summary.objects_deleted += 1,
            Outcome::BackedUp | Outcome::WouldBackUp => summary.objects_backed_up += 1,
            Outcome::WouldCopy => {
                summary.objects_done += 1;
                summary.bytes_done = summary.bytes_done.saturating_add(record.size_bytes);
            }
        }
        // A copy that lacks an object is not the same collection.
        self.found.integrity |= matches!(record.outcome, Outcome::Missing | Outcome::Differs);
        if let Some(failure) = &record.failure {
            self.found.note(failure.kind);
            self.summary.keep_of_object(failure.clone());
        }
        if let Some(Ok(receipt)) = &mut self.receipt
            && let Some(object) = receipt_of(&record, self.clock)
            && let Err(error) = receipt.add(object)
        {
            self.receipt = Some(Err(error));
        }
        self.reports.add(&record);
        said::tell(&record);
        if !self.sinks.is_empty() {
            self.say(Event::Object(record)).await;
        }
    }

    /// Counts what another node has sent; its objects are counted by themselves.
    pub(crate) fn count_node(&mut self, node: &Summary) {
        let summary = &mut self.summary;
        summary.requests += node.requests;
        summary.retries += node.retries;
        summary.integrity_retries += node.integrity_retries;
        summary.splits += node.splits;
        summary.duplicates += node.duplicates;
        summary.bytes_duplicated += node.bytes_duplicated;
        summary.bytes_resumed += node.bytes_resumed;
        summary.events_dropped += node.events_dropped;
    }

    /// Counts what an earlier run had sent already.
    pub(crate) fn resumed(&mut self, bytes: u64) {
        self.summary.bytes_resumed += bytes;
    }

    /// Keeps a failure of the job for the summary and the exit code.
    pub(crate) fn failure(&mut self, failure: Failure) {
        self.found.note(failure.kind);
        self.summary.keep_of_job(failure);
    }

    /// What was written may not last: nothing vouches for it any more, so that there is no receipt either.
    pub(crate) fn not_on_disk(&mut self, error: &Error) {
        self.failure(Failure::from(error));
        self.receipt = None;
    }

    /// A warning.
    pub(crate) async fn warn(&mut self, mut object: Arc<str>, message: String) {
        hide(&mut object);
        let message = redacted(message);
        if self.summary.warnings.len() < Summary::WARNINGS_KEPT {
            self.summary.warnings.push(format!("{object}: {message}"));
        }
        self.say(Event::Warning { object: object.to_string(), message }).await;
    }

    /// Counts so far.
    pub(crate) fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Completes the record before all else ends. False where the former one stays, because there is nothing to record.
    pub(crate) async fn close_rows(&mut self) -> Result<bool> {
        match self.rows.take() {
            Some(rows) => rows.close().await,
            None => Ok(true),
        }
    }

    /// Closes the books: completes the summary, the Parquet file and the stream of events.
    pub(crate) async fn finish(mut self, cancelled: bool, total: u64, wire: u64, chosen: String) -> Summary {
        let elapsed = self.clock.elapsed();
        self.close_outputs(cancelled).await;
        let exit_code = self.exit_code(cancelled);
        let summary = &mut self.summary;
        summary.objects_total = total;
        summary.bytes_wire = wire;
        summary.elapsed_ns = elapsed.as_nanos() as u64;
        // What was not read has no rate, nor what an earlier run had sent.
        let before = self.unread.saturating_add(summary.bytes_resumed);
        let moved = if summary.dry_run { 0 } else { summary.bytes_done.saturating_sub(before) };
        summary.goodput_bits_per_second = ByteRate::over(moved, elapsed).bits();
        summary.chosen = chosen;
        summary.exit_code = exit_code;
        let summary = std::mem::take(&mut self.summary);
        self.say(Event::Summary(summary.clone())).await;
        summary
    }

    /// Completes the receipt, the reports and the record. One that cannot be written is a failure beside those of objects, of which
    /// everything is said all the same.
    async fn close_outputs(&mut self, cancelled: bool) {
        let receipt = match self.receipt.take() {
            // A part of a collection is no receipt for it.
            Some(Ok(receipt)) if !cancelled => receipt.finish(self.summary.objects_failed),
            Some(Err(error)) => Err(error),
            _ => Ok(()),
        };
        let reports = std::mem::replace(&mut self.reports, Reports::none());
        let reported = if cancelled { Ok(()) } else { reports.finish() };
        let recorded = self.close_rows().await;
        if let Ok(false) = recorded {
            let kept = "nothing was sent, so the former record stays";
            self.warn("record".into(), kept.to_owned()).await;
        }
        for error in [recorded.err(), reported.err(), receipt.err()].into_iter().flatten() {
            self.not_written(error, cancelled);
        }
    }

    /// A file that tells of the job could not be written.
    pub(crate) fn not_written(&mut self, error: Error, cancelled: bool) {
        // Its own hint says that all else is done.
        let done = !cancelled && self.found.first.is_none();
        let error = if done { error } else { error.hint(OUTPUT_HINT) };
        self.failure(Failure::from(&error));
    }

    /// Wrong bytes outrank everything; a job in which nothing worked, always for the same reason, gives
    /// that reason; otherwise some objects failed.
    fn exit_code(&self, cancelled: bool) -> u8 {
        let Summary { objects_done, objects_skipped, objects_deleted, .. } = self.summary;
        let nothing_worked = objects_done + objects_skipped + objects_deleted == 0;
        match &self.found {
            Failures { integrity: true, .. } => ErrorKind::Integrity.exit_code(),
            Failures { source_changed: true, .. } => ErrorKind::SourceChanged.exit_code(),
            _ if cancelled => ErrorKind::Cancelled.exit_code(),
            Failures { first: Some(kind), several_kinds: false, .. } if nothing_worked => kind.exit_code(),
            Failures { first: Some(_), .. } => 1,
            Failures { first: None, .. } => 0,
        }
    }
}

/// Names come from services, which may put into them what they were sent.
fn hide(name: &mut Arc<str>) {
    if let Cow::Owned(clean) = redact_name(name) {
        *name = clean.into();
    }
}

/// What a receipt tells of an object; nothing of one that is not there, or that may be another.
fn receipt_of(record: &ObjectRecord, clock: Clock) -> Option<ReceiptObject> {
    let there = match record.outcome {
        Outcome::Copied => true,
        Outcome::Skipped => record.reason == Some(UNCHANGED),
        Outcome::Staged
        | Outcome::Equal
        | Outcome::Failed
        | Outcome::Differs
        | Outcome::Missing
        | Outcome::Extra
        | Outcome::Deleted
        | Outcome::BackedUp
        | Outcome::WouldCopy
        | Outcome::WouldDelete
        | Outcome::WouldBackUp => false,
    };
    there.then(|| ReceiptObject {
        name: record.name.to_string(),
        source: record.source.to_string(),
        destination: record.destination.to_string(),
        size_bytes: record.size_bytes,
        crc64: record.crc64.map(|crc64| crc64.to_string()),
        md5: record.md5.map(|md5| md5.to_string()),
        etag: record.etag.clone(),
        outcome: record.outcome,
        proof: record.proof,
        ended_unix_ns: clock.began_unix_ns() + record.ended_ns,
        source_etag: record.source_etag.clone(),
    })
}
