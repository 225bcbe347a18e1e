//! The export of a table to a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::assemble::{Batches, Columns};
use super::fetch::{Counters, Fetch, blocking};
use super::page::{PARTITION_KEY, ROW_KEY};
use super::recording::Recording;
use super::sink::{Format, Formulas, Sink};
use super::spool::{Spool, Subject};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Gate;
use crate::http::WireMeter;
use crate::stage::record::Recorder;
use crate::store::StoreOptions;
use crate::store::azure::table::TableService;

/// The form of a spool; another one is not gone on with.
const VERSION: u32 = 1;

/// Queries in flight unless somebody says otherwise. The pages of each are decoded beside, so that few keep two processors busy; over
/// a link of 60 ms so many bring 250,000 rows a second.
const QUERIES: usize = 16;

/// How to export.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// How the service is reached.
    pub store: StoreOptions,
    /// The form of the file; by its name where nothing is said.
    pub format: Option<Format>,
    /// Rows, in the language of the service.
    pub filter: Option<String>,
    /// Properties, besides the keys; all where nothing is said.
    pub select: Vec<String>,
    /// Queries in flight; 16 where nothing is said.
    pub concurrency: Option<usize>,
    /// What becomes of text in CSV that a spreadsheet would run.
    pub formulas: Formulas,
    /// Where a row for every request goes, as Parquet.
    pub record: Option<PathBuf>,
}

/// What an export has done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exported {
    /// The table.
    pub table: String,
    /// The file.
    pub path: String,
    /// Rows in the file.
    pub rows: u64,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Names of properties with several types, and these: each has a column `NAME@TYPE`.
    pub mixed: Vec<(String, Vec<&'static str>)>,
    /// Requests that were sent, repeats included.
    pub requests: u64,
    /// Of these, repeats.
    pub retries: u64,
    /// Bytes on the wire, both ways.
    pub bytes_wire: u64,
    /// How long it took.
    pub seconds: f64,
    /// A hash over the rows, whatever their order.
    pub hash: String,
    /// Rows that an earlier run had fetched.
    pub resumed_rows: u64,
    /// When the first rows were asked for, perhaps by an earlier run, in seconds since 1970.
    pub since_unix_s: u64,
    /// Texts of a CSV file that have an apostrophe in front, because a spreadsheet would run them as formulas.
    pub disarmed: u64,
}

/// How far it is.
#[derive(Clone, Debug)]
pub struct Progress {
    counters: Arc<Counters>,
    meter: Arc<WireMeter>,
    gate: Gate,
}

impl Progress {
    /// Rows that have come.
    pub fn rows(&self) -> u64 {
        self.counters.rows.load(Ordering::Relaxed)
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

/// An export that is to run.
pub struct Export {
    fetch: Arc<Fetch>,
    options: ExportOptions,
    path: PathBuf,
    format: Format,
    progress: Progress,
    recorder: Option<Recorder>,
}

impl Export {
    /// Looks at the arguments, and at what an export that was broken off has left. Sends nothing.
    ///
    /// # Errors
    /// `Usage` for arguments that make no sense, `Exists` where another process exports to this file.
    pub fn new(table: &str, path: &Path, options: ExportOptions) -> Result<Self> {
        let shown = path.display().to_string();
        let usage = |cause: &str, hint: &str| {
            Err(Error::new(ErrorKind::Usage, "export", shown.as_str(), cause).hint(hint))
        };
        if path.is_dir() {
            return usage("this is a folder", "name a file in it");
        }
        let format = match options.format.or_else(|| Format::of_name(&shown)) {
            Some(format) => format,
            None => {
                return usage(
                    "the format of the file is unknown",
                    "use a name ending in .parquet, .arrow, .csv or .jsonl, or pass --format",
                );
            }
        };
        let service = TableService::open(table, &options.store)?;
        service.names_a_table("export")?;
        let subject = Subject {
            version: VERSION,
            table: service.url(),
            filter: options.filter.clone(),
            select: (!options.select.is_empty()).then(|| options.select.join(",")),
        };
        let gate = Gate::default();
        let recorder = options.record.as_deref();
        let recorder = recorder.map(|path| Recording::create("export", &gate, path)).transpose()?;
        let spool = Spool::open(&spool_of(path))?;
        let select = select_of(&options.select);
        let meter = Arc::clone(service.meter());
        let fetch = Arc::new(Fetch::new(service, gate.clone(), subject, select, spool)?);
        let progress = Progress { counters: Arc::clone(&fetch.counters), meter, gate };
        Ok(Self { fetch, options, path: path.to_path_buf(), format, progress, recorder })
    }

    /// How far it is, to be looked at while it runs.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Runs it to its end. Dropped, what has come stays on the disk, and the next export to the same file goes on from there.
    ///
    /// # Errors
    /// Those of the service and of the disk.
    pub fn run(self) -> BoxFuture<'static, Result<Exported>> {
        Box::pin(async move {
            let began = Instant::now();
            let Self { fetch, options, path, format, progress, recorder } = self;
            let workers = options.concurrency.unwrap_or(QUERIES).max(1);
            fetch.gate.guide(workers);
            fetch.service.prepare(1);
            let recording = recorder.map(|recorder| Recording::begin(recorder, &fetch.gate));
            let fetched = Arc::clone(&fetch).run(workers).await;
            let recorded = match recording {
                Some(recording) => recording.end().await,
                None => Ok(()),
            };
            fetched?;
            let (order, since_unix_s) = (fetch.order(), fetch.since_unix_s());
            let name = fetch.service.name();
            let fetch = Arc::into_inner(fetch).ok_or_else(|| {
                Error::new(ErrorKind::Cancelled, "export", name.as_str(), "a worker is still at it")
            })?;
            let (spool, shown) = (fetch.spool, path.display().to_string());
            let (object, table) = (name.clone(), fetch.service.table().to_owned());
            let (columns, disarmed) = blocking(move || {
                let columns = Columns::of(&spool, &order, &object)?;
                let words = [
                    ("haulage:table", table),
                    ("haulage:rows", columns.hash.rows.to_string()),
                    ("haulage:hash", columns.hash.hex()),
                ];
                let mut sink = Sink::create(
                    &path,
                    (format, options.formulas),
                    &columns.schema,
                    columns.names(),
                    &words,
                )?;
                let mut batches = Batches::new(&spool, &columns, &order, &object);
                while let Some(batch) = batches.next()? {
                    sink.write(&batch)?;
                }
                let disarmed = sink.finish()?;
                spool.remove()?;
                Ok((columns, disarmed))
            })
            .await?;
            recorded?;
            let counted = progress.gate.counted();
            Ok(Exported {
                table: name,
                path: shown,
                rows: columns.hash.rows,
                columns: columns.schema.fields().iter().map(|field| field.name().clone()).collect(),
                mixed: columns.mixed,
                requests: counted.requests,
                retries: counted.retries,
                bytes_wire: progress.bytes_wire(),
                seconds: rounded(began.elapsed()),
                hash: columns.hash.hex(),
                resumed_rows: progress.counters.resumed.load(Ordering::Relaxed),
                since_unix_s,
                disarmed,
            })
        })
    }
}

/// Fetches all rows of a table to this folder: what is there, in which order, and the table's name.
pub(super) async fn fetched(
    table: &str,
    folder: &Path,
    store: &StoreOptions,
) -> Result<(Spool, Vec<u32>, String)> {
    let service = TableService::open(table, store)?;
    let name = service.name();
    let subject = Subject { version: VERSION, table: service.url(), filter: None, select: None };
    let gate = Gate::default();
    gate.guide(QUERIES);
    let fetch = Arc::new(Fetch::new(service, gate, subject, None, Spool::open(folder)?)?);
    Arc::clone(&fetch).run(QUERIES).await?;
    let order = fetch.order();
    let fetch = Arc::into_inner(fetch).ok_or_else(|| {
        Error::new(ErrorKind::Cancelled, "compare", name.as_str(), "a worker is still at it")
    })?;
    Ok((fetch.spool, order, name))
}

/// Where an export to a file keeps what has come.
fn spool_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name == "-" {
        return std::env::temp_dir().join(format!("haul-export-{:016x}", fastrand::u64(..)));
    }
    path.with_file_name(format!(".{name}.haul-export"))
}

/// The properties to ask for: the keys tell rows apart, so that they always come.
fn select_of(select: &[String]) -> Option<String> {
    if select.is_empty() {
        return None;
    }
    let asked = select.iter().map(String::as_str).filter(|name| ![PARTITION_KEY, ROW_KEY].contains(name));
    Some([PARTITION_KEY, ROW_KEY].into_iter().chain(asked).collect::<Vec<_>>().join(","))
}

pub(super) fn rounded(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1e6).round() / 1e6
}
