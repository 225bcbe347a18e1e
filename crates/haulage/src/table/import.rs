//! The import of a file into a table: rows are read, gathered by partition into transactions, and written by several requests at
//! once. What was done is kept, so that an import that was killed goes on; what the service refuses goes to a file with the reason.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::export::rounded;
use super::journal::{Journal, Subject};
use super::page::{PARTITION_KEY, ROW_KEY};
use super::prepare::{Preparation, Refused};
use super::recording::Recording;
use super::rows_in::RowsIn;
use super::sink::Format;
use super::template::Template;
use super::transaction::{Mode, Ready};
use super::waiting::{InFlight, Waiting};
use super::write::{Settled, create, still_has, write};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Gate;
use crate::http::WireMeter;
use crate::stage::record::Recorder;
use crate::store::StoreOptions;
use crate::store::azure::table::TableService;

/// Transactions in flight unless somebody says otherwise.
const TRANSACTIONS: usize = 16;

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// How the service is reached.
    pub store: StoreOptions,
    /// The form of the file; by its name where nothing is said.
    pub format: Option<Format>,
    /// What becomes of rows whose keys are there already.
    pub mode: Mode,
    /// A template of the PartitionKey; the column of this name where nothing is said.
    pub partition_key: Option<String>,
    /// A template of the RowKey; the column of this name where nothing is said.
    pub row_key: Option<String>,
    /// Columns that are not stored.
    pub exclude: Vec<String>,
    /// Write the rows of an index table instead: its partitions are the values of this template, and each of its rows leads to a row
    /// of the table that the same import writes without this.
    pub index: Option<String>,
    /// Make the table where none is.
    pub create: bool,
    /// Where refused rows go; beside the source where nothing is said.
    pub dead_letters: Option<PathBuf>,
    /// Transactions in flight; 16 where nothing is said.
    pub concurrency: Option<usize>,
    /// Where a row for every request goes, as Parquet.
    pub record: Option<PathBuf>,
}

/// What an import has done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Imported {
    /// The table.
    pub table: String,
    /// The file.
    pub path: String,
    /// Rows in the file.
    pub rows: u64,
    /// Of these, in the table now.
    pub written: u64,
    /// Of these, refused.
    pub refused: u64,
    /// Where the refused rows are, if there are any.
    pub dead_letters: Option<String>,
    /// Rows that an earlier run had done.
    pub resumed_from: u64,
    /// Requests that were sent, repeats included.
    pub requests: u64,
    /// Of these, repeats.
    pub retries: u64,
    /// Bytes on the wire, both ways.
    pub bytes_wire: u64,
    /// How long it took.
    pub seconds: f64,
}

/// How far it is.
#[derive(Clone, Debug)]
pub struct ImportProgress {
    done: Arc<AtomicU64>,
    meter: Arc<WireMeter>,
    gate: Gate,
}

impl ImportProgress {
    /// Rows that are written or refused.
    pub fn rows(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Bytes on the wire, both ways.
    pub fn bytes_wire(&self) -> u64 {
        self.meter.total()
    }

    /// Requests that have ended.
    pub fn requests(&self) -> u64 {
        self.gate.counted().requests
    }
}

/// An import that is to run.
pub struct Import {
    service: TableService,
    gate: Gate,
    source: PathBuf,
    format: Format,
    preparation: Preparation,
    journal: Journal,
    subject: Subject,
    options: ImportOptions,
    progress: ImportProgress,
    recorder: Option<Recorder>,
}

impl Import {
    /// Looks at the arguments, at the columns of the file, and at what an import that was broken off has left. Sends nothing.
    ///
    /// # Errors
    /// `Usage` for arguments that make no sense and columns that no table can hold, `Exists` where another process is at it.
    pub fn new(source: &Path, table: &str, options: ImportOptions) -> Result<Self> {
        let shown = source.display().to_string();
        let format = options.format.or_else(|| Format::of_name(&shown)).ok_or_else(|| {
            Error::new(ErrorKind::Usage, "import", shown.as_str(), "nothing says which format the file has")
                .hint("give --format parquet, arrow, csv or jsonl")
        })?;
        let template = |text: &Option<String>| text.as_deref().map(Template::parse).transpose();
        let preparation = Preparation {
            // Keys that are there are keys already: nothing in them is escaped once more.
            partition: template(&options.partition_key)?.filter(|one| one.as_column() != Some(PARTITION_KEY)),
            row: template(&options.row_key)?.filter(|one| one.as_column() != Some(ROW_KEY)),
            exclude: options.exclude.clone(),
            index: template(&options.index)?,
            object: shown.clone(),
        };
        if let Some(schema) = RowsIn::open(source, format)?.schema() {
            preparation.check(&schema)?;
        }
        let service = TableService::open(table, &options.store)?;
        service.names_a_table("import")?;
        let url = service.url();
        let mut how = vec![format!("{:?}", options.mode)];
        how.extend(
            [&options.partition_key, &options.row_key, &options.index]
                .map(|key| key.clone().unwrap_or_default()),
        );
        how.extend(options.exclude.clone());
        let subject = Subject::of(source, url, how)?;
        let beside = |end: &str| {
            let name = source.file_name().unwrap_or_default().to_string_lossy();
            source.with_file_name(format!("{name}.{}.{end}", service.table()))
        };
        let letters = options.dead_letters.clone().unwrap_or_else(|| beside("refused.jsonl"));
        let journal = Journal::open(beside("haul-import"), &letters, subject.clone())?;
        let gate = Gate::default();
        let recorder = options.record.as_deref();
        let recorder = recorder.map(|path| Recording::create("import", &gate, path)).transpose()?;
        let progress = ImportProgress {
            done: Arc::new(AtomicU64::new(journal.from())),
            meter: Arc::clone(service.meter()),
            gate: gate.clone(),
        };
        let source = source.to_path_buf();
        Ok(Self { service, gate, source, format, preparation, journal, subject, options, progress, recorder })
    }

    /// How far it is, to be looked at while it runs.
    pub fn progress(&self) -> ImportProgress {
        self.progress.clone()
    }

    /// Runs it to its end. Dropped, the next import of the same goes on from where it was.
    ///
    /// # Errors
    /// Those of the service and of the disk; rows that are refused are none.
    pub fn run(mut self) -> BoxFuture<'static, Result<Imported>> {
        Box::pin(async move {
            let recording = self.recorder.take().map(|recorder| Recording::begin(recorder, &self.gate));
            let imported = self.run_to_its_end().await;
            let recorded = match recording {
                Some(recording) => recording.end().await,
                None => Ok(()),
            };
            recorded.and(imported)
        })
    }

    async fn run_to_its_end(self) -> Result<Imported> {
        let began = Instant::now();
        let Self {
            service, gate, source, format, preparation, mut journal, subject, options, progress, ..
        } = self;
        let concurrency = options.concurrency.unwrap_or(TRANSACTIONS).max(1);
        gate.guide(concurrency);
        let made = options.create && created(&service, &gate).await?;
        if journal.from() > 0 && (made || !has_what_was_written(&service, &gate, &journal).await?) {
            // Somebody has removed the table since, or restarted an endpoint that keeps it in memory.
            journal.begin_anew()?;
            progress.done.store(0, Ordering::Relaxed);
        }
        let resumed_from = journal.from();
        let mut read = reading(&source, format, preparation, resumed_from);
        let (mut waiting, mut running, mut in_flight) =
            (Waiting::default(), JoinSet::new(), InFlight::default());
        let mut rows = resumed_from;
        loop {
            // Full transactions go at once; others when there is no room for more, or no more rows.
            let more = if waiting.has_full() || waiting.is_full() { None } else { read.recv().await };
            match more {
                Some(batch) => {
                    let Batch { ready, refused, until } = batch?;
                    journal.read(until, ready.iter().map(|row| row.number));
                    rows = rows.max(until);
                    for one in refused {
                        journal.refused(&one)?;
                        progress.done.fetch_add(1, Ordering::Relaxed);
                    }
                    ready.into_iter().for_each(|row| waiting.add(row));
                }
                None => {
                    let Some(transaction) = waiting.take() else { break };
                    while running.len() >= concurrency || in_flight.holds_any_of(&transaction) {
                        let Some(ended) = running.join_next().await else { break };
                        in_flight.landed(settle(ended, &mut journal, &progress)?);
                    }
                    let keys = in_flight.left(&transaction);
                    let writing = write(service.clone(), gate.clone(), transaction, options.mode);
                    running.spawn(async move { writing.await.map(|settled| (keys, settled)) });
                }
            }
            while let Some(ended) = running.try_join_next() {
                in_flight.landed(settle(ended, &mut journal, &progress)?);
            }
            journal.keep()?;
        }
        while let Some(ended) = running.join_next().await {
            settle(ended, &mut journal, &progress)?;
            journal.keep()?;
        }
        if !subject.still(&source) {
            let cause = "the file changed while it was read: what was written may be of both";
            return Err(Error::new(ErrorKind::SourceChanged, "import", source.display().to_string(), cause)
                .hint("run the same command again"));
        }
        let (refused, counted) = (journal.count_refused(), gate.counted());
        let letters = journal.finish()?;
        Ok(Imported {
            table: service.name(),
            path: source.display().to_string(),
            rows,
            written: rows - refused,
            refused,
            dead_letters: letters.map(|path| path.display().to_string()),
            resumed_from,
            requests: counted.requests,
            retries: counted.retries,
            bytes_wire: progress.bytes_wire(),
            seconds: rounded(began.elapsed()),
        })
    }
}

/// Rows that were read.
struct Batch {
    ready: Vec<Ready>,
    refused: Vec<Refused>,
    /// All rows before this one were read.
    until: u64,
}

/// Reads on a thread of its own.
fn reading(
    source: &Path,
    format: Format,
    preparation: Preparation,
    from: u64,
) -> mpsc::Receiver<Result<Batch>> {
    let (sender, receiver) = mpsc::channel(4);
    let source = source.to_path_buf();
    tokio::task::spawn_blocking(move || {
        let mut rows = match RowsIn::open(&source, format) {
            Ok(rows) => rows,
            Err(error) => return drop(sender.blocking_send(Err(error))),
        };
        while let Some(read) = rows.next().transpose() {
            let prepared = read.and_then(|read| {
                let until = rows.number();
                if until <= from {
                    return Ok(None);
                }
                let (ready, refused) = preparation.rows(read, from)?;
                Ok(Some(Batch { ready, refused, until }))
            });
            let ended = prepared.is_err();
            // Nobody listens any more where the import has ended.
            if let Some(batch) = prepared.transpose()
                && sender.blocking_send(batch).is_err()
            {
                return;
            }
            if ended {
                return;
            }
        }
    });
    receiver
}

/// Takes in how a transaction ended; the keys that are not in flight any more.
fn settle(
    ended: std::result::Result<Result<(Vec<u64>, Settled)>, tokio::task::JoinError>,
    journal: &mut Journal,
    progress: &ImportProgress,
) -> Result<Vec<u64>> {
    let (keys, settled) = match ended {
        Ok(settled) => settled?,
        Err(lost) if lost.is_panic() => std::panic::resume_unwind(lost.into_panic()),
        Err(_) => return Ok(Vec::new()),
    };
    progress.done.fetch_add((settled.written.len() + settled.refused.len()) as u64, Ordering::Relaxed);
    settled.refused.iter().try_for_each(|one| journal.refused(one))?;
    journal.written(&settled.written, settled.last);
    Ok(keys)
}

/// Makes the table if there is none; whether there was none.
async fn created(service: &TableService, gate: &Gate) -> Result<bool> {
    match create(service, gate).await {
        Err(error) if error.kind() == ErrorKind::Exists => Ok(false),
        made => made.map(|()| true),
    }
}

/// Whether the table has what earlier runs have written, as far as one row tells.
async fn has_what_was_written(service: &TableService, gate: &Gate, journal: &Journal) -> Result<bool> {
    match journal.witness() {
        Some(keys) => still_has(service, gate, keys).await,
        None => Ok(true),
    }
}
