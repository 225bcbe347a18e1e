//! The import of a file into a table: rows are read, gathered by partition into transactions, and written by several requests at
//! once. What was done is kept, so that an import that was killed goes on; what the service refuses goes to a file with the reason.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http::Method;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::export::rounded;
use super::hash::RowHasher;
use super::journal::{Journal, Subject};
use super::page::{PARTITION_KEY, Page, ROW_KEY};
use super::prepare::{Preparation, Refused};
use super::query;
use super::rows_in::RowsIn;
use super::sink::Format;
use super::template::Template;
use super::transaction::{self, BYTES_MAX, Mode, ROWS_MAX, Ready};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{Gate, through};
use crate::http::WireMeter;
use crate::store::StoreOptions;
use crate::store::azure::table::{TableRequest, TableService};

/// Transactions in flight unless somebody says otherwise.
const TRANSACTIONS: usize = 16;

/// Rows that wait for others of their partition, at most, and their bytes.
const WAITING_ROWS: usize = 50_000;
const WAITING_BYTES: usize = 32 << 20;

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
                .hint("give --format parquet, arrow or jsonl")
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
        if service.table().is_empty() {
            return Err(Error::new(ErrorKind::Usage, "import", service.name(), "no table is named")
                .hint("write az-table://TABLE, or https://ACCOUNT.table.core.windows.net/TABLE"));
        }
        let url = format!("{}/{}", service.endpoint(), service.table());
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
        let progress = ImportProgress {
            done: Arc::new(AtomicU64::new(journal.from())),
            meter: Arc::clone(service.meter()),
            gate: gate.clone(),
        };
        let source = source.to_path_buf();
        Ok(Self { service, gate, source, format, preparation, journal, subject, options, progress })
    }

    /// How far it is, to be looked at while it runs.
    pub fn progress(&self) -> ImportProgress {
        self.progress.clone()
    }

    /// Runs it to its end. Dropped, the next import of the same goes on from where it was.
    ///
    /// # Errors
    /// Those of the service and of the disk; rows that are refused are none.
    pub async fn run(self) -> Result<Imported> {
        let began = Instant::now();
        let Self { service, gate, source, format, preparation, mut journal, subject, options, progress } =
            self;
        let concurrency = options.concurrency.unwrap_or(TRANSACTIONS).max(1);
        gate.guide(concurrency);
        if options.create {
            create(&service, &gate).await?;
        }
        let resumed_from = journal.from();
        let mut read = reading(&source, format, preparation, resumed_from);
        let (mut waiting, mut running) = (Waiting::default(), JoinSet::new());
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
                    while running.len() >= concurrency {
                        let Some(ended) = running.join_next().await else { break };
                        settle(ended, &mut journal, &progress)?;
                    }
                    running.spawn(write(service.clone(), gate.clone(), transaction, options.mode));
                }
            }
            while let Some(ended) = running.try_join_next() {
                settle(ended, &mut journal, &progress)?;
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

/// Rows that wait for others of their partition.
#[derive(Default)]
struct Waiting {
    groups: HashMap<String, Group>,
    /// Partitions by when their first row came.
    order: VecDeque<String>,
    full: VecDeque<Vec<Ready>>,
    rows: usize,
    bytes: usize,
}

#[derive(Default)]
struct Group {
    rows: Vec<Ready>,
    keys: HashSet<String>,
    bytes: usize,
}

impl Waiting {
    fn add(&mut self, row: Ready) {
        let size = row.size();
        let group = match self.groups.get_mut(&row.partition) {
            Some(group) => group,
            None => {
                self.order.push_back(row.partition.clone());
                self.groups.entry(row.partition.clone()).or_default()
            }
        };
        // A transaction holds each row once.
        let closed =
            group.rows.len() == ROWS_MAX || group.bytes + size > BYTES_MAX || group.keys.contains(&row.row);
        if closed {
            let Group { rows, bytes, .. } = std::mem::take(group);
            (self.rows, self.bytes) = (self.rows - rows.len(), self.bytes - bytes);
            self.full.push_back(rows);
        }
        group.bytes += size;
        group.keys.insert(row.row.clone());
        group.rows.push(row);
        (self.rows, self.bytes) = (self.rows + 1, self.bytes + size);
    }

    fn has_full(&self) -> bool {
        !self.full.is_empty()
    }

    fn is_full(&self) -> bool {
        self.rows > WAITING_ROWS || self.bytes > WAITING_BYTES
    }

    /// A full transaction, or else the one that has waited longest.
    fn take(&mut self) -> Option<Vec<Ready>> {
        if let Some(full) = self.full.pop_front() {
            return Some(full);
        }
        loop {
            let partition = self.order.pop_front()?;
            let Some(group) = self.groups.remove(&partition) else { continue };
            if group.rows.is_empty() {
                continue;
            }
            (self.rows, self.bytes) = (self.rows - group.rows.len(), self.bytes - group.bytes);
            return Some(group.rows);
        }
    }
}

/// What became of the rows of a transaction.
struct Settled {
    written: Vec<u64>,
    refused: Vec<Refused>,
}

fn settle(
    ended: std::result::Result<Result<Settled>, tokio::task::JoinError>,
    journal: &mut Journal,
    progress: &ImportProgress,
) -> Result<()> {
    let settled = match ended {
        Ok(settled) => settled?,
        Err(lost) if lost.is_panic() => std::panic::resume_unwind(lost.into_panic()),
        Err(_) => return Ok(()),
    };
    progress.done.fetch_add((settled.written.len() + settled.refused.len()) as u64, Ordering::Relaxed);
    settled.refused.iter().try_for_each(|one| journal.refused(one))?;
    settled.written.into_iter().for_each(|number| journal.written(number));
    Ok(())
}

/// Writes rows of one partition, without those that the service refuses.
async fn write(service: TableService, gate: Gate, rows: Vec<Ready>, mode: Mode) -> Result<Settled> {
    let name = service.name();
    let mut settled = Settled { written: Vec::new(), refused: Vec::new() };
    let mut parts = vec![rows];
    while let Some(mut rows) = parts.pop() {
        if rows.is_empty() {
            continue;
        }
        let sent: Result<_> = through!(gate, "EntityGroupTransaction", name, trace => {
            transaction::send(&service, &rows, mode, trace).await
        });
        match sent {
            Ok(Ok(())) => settled.written.extend(rows.iter().map(|row| row.number)),
            Ok(Err((at, error))) => {
                let row = rows.remove(at);
                if error.kind() == ErrorKind::Exists && is_there(&service, &gate, &row).await? {
                    settled.written.push(row.number);
                } else {
                    let reason = error.cause().to_owned();
                    settled.refused.push(Refused { number: row.number, reason, text: row.body });
                }
                parts.push(rows);
            }
            Err(error) if error.kind() == ErrorKind::Usage || error.status() == Some(413) => {
                if rows.len() == 1 {
                    let reason = error.cause().to_owned();
                    settled.refused.extend(rows.pop().map(|row| Refused {
                        number: row.number,
                        reason,
                        text: row.body,
                    }));
                } else {
                    let half = rows.split_off(rows.len() / 2);
                    parts.extend([half, rows]);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(settled)
}

/// Whether a row of these keys is the one that was to be written: an answer that was lost looks as if another had written it.
async fn is_there(service: &TableService, gate: &Gate, row: &Ready) -> Result<bool> {
    let name = service.name();
    let answer: Result<_> = through!(gate, "GetEntity", name, trace => {
        let request = TableRequest {
            operation: "read a row of",
            method: Method::GET,
            path: transaction::address(service.table(), &row.partition, &row.row),
            query: &[],
            accept: query::TYPED,
            content_type: None,
            if_match: None,
            body: Bytes::new(),
            status: 200,
            largest: query::ROW_MAX,
            permission: 'r',
        };
        service.send(request, &name, trace).await
    });
    let answer = match answer {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        answer => answer?,
    };
    let hash = |json: &[u8]| -> Result<_> {
        let text = [b"{\"value\":[", json, b"]}"].concat();
        let page = Page::parse(&text, &name)?;
        Ok(RowHasher::new(&page.columns).hash(page.batch.columns(), 0..page.batch.num_rows()))
    };
    Ok(hash(&answer.body)? == hash(row.body.as_bytes())?)
}

/// Makes the table where none is.
pub(super) async fn create(service: &TableService, gate: &Gate) -> Result<()> {
    let name = service.name();
    let body = Bytes::from(serde_json::json!({"TableName": service.table()}).to_string());
    let made: Result<_> = through!(gate, "CreateTable", name, trace => {
        let request = TableRequest {
            operation: "create",
            method: Method::POST,
            path: "Tables".to_owned(),
            query: &[],
            accept: "application/json;odata=nometadata",
            content_type: Some("application/json"),
            if_match: None,
            body: body.clone(),
            status: 204,
            largest: query::PAGE_MAX,
            permission: 'c',
        };
        service.send(request, &name, trace).await
    });
    match made {
        Err(error) if error.kind() == ErrorKind::Exists => Ok(()),
        made => made.map(drop),
    }
}
