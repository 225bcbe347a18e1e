//! A row for every attempt, as Parquet, written by one thread while the job runs.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, StringBuilder, UInt16Builder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use tokio::sync::mpsc;

use crate::error::{Error, ErrorKind, Result};
use crate::event::{AttemptRecord, JobStarted};
use crate::output::{CREATED_BY, Kind, OutputFile};
use crate::secret::redacted;

/// Rows in a batch: with few, making the columns costs more than filling them, and each wakes the thread. With
/// many, the memory of a batch is fresh from the system each time, which takes longer than to fill it.
const BATCH: usize = 1024;

/// Batches that may wait for the writer before the job waits for it: some megabytes.
const QUEUE: usize = 16;

/// Rows after which their columns are compressed: while the job runs, not when it ends.
const PAGE: usize = 4 * BATCH;

/// What the footer calls the event with which the job began.
pub(crate) const JOB: &str = "haulage.job_started";

/// What requests are called that only ask what is there.
const ASKING: [&str; 8] = [
    "Look",
    "List",
    "GetBlobProperties",
    "ListBlobs",
    "ListContainers",
    "HeadObject",
    "ListObjectsV2",
    "ListBuckets",
];

/// Gathers rows for the thread that writes them.
pub(super) struct RowWriter {
    output: OutputFile,
    /// Whether a row tells of more than questions what is there already.
    told: bool,
    rows: Vec<AttemptRecord>,
    /// How the job began, for the footer.
    head: Option<JobStarted>,
    batches: mpsc::Sender<Vec<AttemptRecord>>,
    /// Those that are written come back: their memory is at hand here, and fresh memory is not.
    written: mpsc::UnboundedReceiver<Vec<AttemptRecord>>,
    thread: std::thread::JoinHandle<Result<ArrowWriter<File>, ParquetError>>,
}

impl RowWriter {
    /// Creates the file and its writer.
    pub(super) fn create(path: &Path, node: Arc<str>) -> Result<Self> {
        let (output, file) = OutputFile::create(path, Kind::Record)?;
        let writer = record_writer(file).map_err(|e| failed(path, &e))?;
        let (batches, queue) = mpsc::channel(QUEUE);
        let (back, written) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new()
            .name("haul-record".into())
            .spawn(move || write_all(writer, queue, &back, &node))
            .map_err(|e| Error::from_io("record", path.display().to_string(), e))?;
        let rows = Vec::with_capacity(BATCH);
        Ok(Self { output, told: false, rows, head: None, batches, written, thread })
    }

    /// Keeps how the job began beside the rows.
    pub(super) fn begin(&mut self, started: &JobStarted) {
        self.head = Some(started.clone());
    }

    /// Adds a row; [`RowWriter::hand_over`] is to follow.
    pub(super) fn push(&mut self, row: AttemptRecord) {
        self.told |= row.fate != "ok" || !ASKING.contains(&row.api);
        self.rows.push(row);
    }

    /// Gives the rows to the writer when there are enough. A writer that has failed says so when it is closed.
    pub(super) async fn hand_over(&mut self) {
        if self.rows.len() >= BATCH {
            let mut empty = self.written.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
            empty.clear();
            let _ = self.batches.send(std::mem::replace(&mut self.rows, empty)).await;
        }
    }

    /// Writes the rest and the footer, and gives the file its name. False where the former record stays, because there
    /// is nothing to record.
    pub(super) async fn close(self) -> Result<bool> {
        let Self { output, told, rows, head, batches, thread, written: _ } = self;
        let path = output.path().to_path_buf();
        let _ = batches.send(rows).await;
        drop(batches);
        let ended = move || {
            thread.join().map(|written| {
                let mut writer = written?;
                if let Some(head) =
                    head.map(without_secrets).and_then(|head| serde_json::to_string(&head).ok())
                {
                    writer.append_key_value_metadata(KeyValue::new(JOB.to_owned(), head));
                }
                writer.close().map(drop)
            })
        };
        let joined = tokio::task::spawn_blocking(ended).await;
        match joined {
            Ok(Ok(result)) => result.map_err(|e| failed(&path, &e))?,
            _ => {
                return Err(Error::new(
                    ErrorKind::Io,
                    "record",
                    path.display().to_string(),
                    "the writer failed",
                ));
            }
        }
        if !told && output.there_before() {
            return Ok(false);
        }
        output.finish().map_err(|e| Error::from_io("record", path.display().to_string(), e))?;
        Ok(true)
    }
}

/// Secrets that became known only after the job began, in names too.
fn without_secrets(head: JobStarted) -> JobStarted {
    let clean = |texts: Vec<String>| texts.into_iter().map(redacted).collect();
    JobStarted {
        sources: clean(head.sources),
        destination: redacted(head.destination),
        options: clean(head.options),
        ..head
    }
}

fn failed(path: &Path, error: &ParquetError) -> Error {
    Error::new(ErrorKind::Io, "record", path.display().to_string(), error.to_string())
        .hint("the copy itself is done; only the record is incomplete")
}

/// The columns of times that count from the beginning of the job; those behind them are durations.
pub(crate) fn since_began() -> impl Iterator<Item = &'static str> {
    NS_COLUMNS.iter().map(|(name, _)| *name).take_while(|name| *name != "backoff_ns")
}

/// Writes a record into `file`.
pub(crate) fn record_writer(file: File) -> Result<ArrowWriter<File>, ParquetError> {
    let mut properties = WriterProperties::builder()
        // Nobody looks for a page by what is in it.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_data_page_row_count_limit(PAGE)
        .set_created_by(CREATED_BY.to_owned());
    // A compressor takes a megabyte of fresh memory for each page, so only texts have one. Times differ by little from
    // row to row, and are never the same, so that a dictionary of them would be built in vain.
    for (name, _) in NS_COLUMNS {
        properties = properties.set_column_encoding(name.into(), Encoding::DELTA_BINARY_PACKED);
    }
    for name in ["object_id", "offset_bytes"] {
        properties = properties.set_column_encoding(name.into(), Encoding::DELTA_BINARY_PACKED);
    }
    for name in ["object", "request_id", "cause"] {
        let zstd = Compression::ZSTD(ZstdLevel::default());
        properties = properties.set_column_compression(name.into(), zstd);
    }
    let unlike = NS_COLUMNS.iter().map(|(name, _)| *name);
    let properties = ["object", "object_id", "offset_bytes", "request_id"]
        .into_iter()
        .chain(unlike)
        .fold(properties, |properties, name| properties.set_column_dictionary_enabled(name.into(), false))
        .build();
    ArrowWriter::try_new(file, schema(), Some(properties))
}

fn write_all(
    mut writer: ArrowWriter<File>,
    mut queue: mpsc::Receiver<Vec<AttemptRecord>>,
    back: &mpsc::UnboundedSender<Vec<AttemptRecord>>,
    node: &str,
) -> Result<ArrowWriter<File>, ParquetError> {
    while let Some(batch) = queue.blocking_recv() {
        writer.write(&columns(&batch, node)?)?;
        // Nobody takes it where the job is at its end.
        let _ = back.send(batch);
    }
    Ok(writer)
}

/// The names and types of the columns; units are in the names.
fn schema() -> SchemaRef {
    let field = |name: &str, kind: DataType, nullable: bool| Field::new(name, kind, nullable);
    let mut fields = vec![
        field("object_id", DataType::UInt64, true),
        field("object", DataType::Utf8, false),
        field("api", DataType::Utf8, false),
        field("offset_bytes", DataType::UInt64, false),
        field("size_bytes", DataType::UInt64, false),
        field("attempt", DataType::UInt32, false),
        field("lane", DataType::UInt32, false),
        field("connection", DataType::UInt64, false),
        field("connection_reused", DataType::Boolean, false),
        field("fate", DataType::Utf8, false),
        field("status", DataType::UInt16, true),
        field("cause", DataType::Utf8, true),
        field("request_id", DataType::Utf8, true),
    ];
    fields.push(field("node", DataType::Utf8, false));
    fields.push(field("remote", DataType::Utf8, true));
    fields.push(field("proxied", DataType::Boolean, false));
    fields.push(field("tcp_retransmits", DataType::UInt32, true));
    fields.extend(NS_COLUMNS.iter().map(|(name, _)| field(name, DataType::UInt64, true)));
    Arc::new(Schema::new(fields))
}

type NsColumn = (&'static str, fn(&AttemptRecord) -> Option<u64>);

/// The times in nanoseconds: since the job began, and from the backoff on durations.
const NS_COLUMNS: [NsColumn; 18] = [
    ("queued_ns", |row| row.phases.queued_ns),
    ("slot_ns", |row| row.phases.slot_ns),
    ("ready_ns", |row| row.phases.ready_ns),
    ("connected_ns", |row| row.phases.connected_ns),
    ("sent_ns", |row| row.phases.sent_ns),
    ("first_byte_ns", |row| row.phases.first_byte_ns),
    ("last_byte_ns", |row| row.phases.last_byte_ns),
    ("committed_ns", |row| row.phases.committed_ns),
    ("ended_ns", |row| Some(row.ended_ns)),
    ("backoff_ns", |row| row.backoff_ns),
    ("dns_ns", |row| row.dns_ns),
    ("proxy_ns", |row| row.proxy_ns),
    ("tls_ns", |row| row.tls_ns),
    ("retry_after_ns", |row| row.retry_after_ns),
    ("tcp_rtt_ns", |row| row.tcp_rtt_ns),
    ("tcp_busy_ns", |row| row.tcp_busy_ns),
    ("tcp_rwnd_limited_ns", |row| row.tcp_rwnd_limited_ns),
    ("tcp_sndbuf_limited_ns", |row| row.tcp_sndbuf_limited_ns),
];

fn columns(rows: &[AttemptRecord], node: &str) -> Result<RecordBatch, ParquetError> {
    let mut object_id = UInt64Builder::with_capacity(rows.len());
    let (mut object, mut api, mut fate) = (StringBuilder::new(), StringBuilder::new(), StringBuilder::new());
    let (mut offset, mut size, mut connection) =
        (UInt64Builder::new(), UInt64Builder::new(), UInt64Builder::new());
    let (mut attempt, mut lane) = (UInt32Builder::new(), UInt32Builder::new());
    let (mut reused, mut status) = (BooleanBuilder::new(), UInt16Builder::new());
    let mut proxied = BooleanBuilder::new();
    let (mut cause, mut request_id) = (StringBuilder::new(), StringBuilder::new());
    let (mut remote, mut retransmits) = (StringBuilder::new(), UInt32Builder::new());
    for row in rows {
        object_id.append_option(row.object_id);
        object.append_value(&row.object);
        api.append_value(row.api);
        offset.append_value(row.offset_bytes);
        size.append_value(row.size_bytes);
        attempt.append_value(row.attempt);
        lane.append_value(row.lane);
        connection.append_value(row.connection);
        reused.append_value(row.connection_reused);
        fate.append_value(row.fate);
        status.append_option(row.status);
        cause.append_option(row.cause.as_deref());
        request_id.append_option(row.request_id.as_deref());
        match row.remote {
            // A builder is written to as a text is; it never fails.
            Some(address) => {
                let _ = write!(remote, "{address}");
                remote.append_value("");
            }
            None => remote.append_null(),
        }
        proxied.append_value(row.proxied);
        retransmits.append_option(row.tcp_retransmits);
    }
    let mut arrays: Vec<ArrayRef> = vec![
        Arc::new(object_id.finish()),
        Arc::new(object.finish()),
        Arc::new(api.finish()),
        Arc::new(offset.finish()),
        Arc::new(size.finish()),
        Arc::new(attempt.finish()),
        Arc::new(lane.finish()),
        Arc::new(connection.finish()),
        Arc::new(reused.finish()),
        Arc::new(fate.finish()),
        Arc::new(status.finish()),
        Arc::new(cause.finish()),
        Arc::new(request_id.finish()),
        Arc::new(StringArray::from_iter_values(std::iter::repeat_n(node, rows.len()))),
        Arc::new(remote.finish()),
        Arc::new(proxied.finish()),
        Arc::new(retransmits.finish()),
    ];
    for (_, value) in NS_COLUMNS {
        let mut column = UInt64Builder::with_capacity(rows.len());
        rows.iter().for_each(|row| column.append_option(value(row)));
        arrays.push(Arc::new(column.finish()));
    }
    Ok(RecordBatch::try_new(schema(), arrays)?)
}
