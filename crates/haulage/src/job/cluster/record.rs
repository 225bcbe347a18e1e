//! The records of all nodes become one, on one clock.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

use crate::error::{Error, ErrorKind, Result};
use crate::output::{Kind, OutputFile};
use crate::stage::record::{JOB, record_writer, since_began};

/// The record of one node.
pub(super) struct NodeRecord {
    pub(super) rows: File,
    /// What is to be added to its times, so that they count from the beginning of the job of all.
    pub(super) shift_ns: i64,
}

/// Writes one record out of those of this machine, which comes first, and of the nodes. `object_of` says the number of an object by that of a portion.
pub(super) fn merge(path: &Path, nodes: Vec<NodeRecord>, object_of: impl Fn(u64) -> u64) -> Result<()> {
    let (output, file) = OutputFile::create(path, Kind::Record)?;
    write_all(file, nodes, object_of).map_err(|error| {
        Error::new(ErrorKind::Io, "record", path.display().to_string(), error.to_string())
            .hint("the copy itself is done; only the record is incomplete")
    })?;
    output.finish().map_err(|e| Error::from_io("record", path.display().to_string(), e))
}

fn write_all(
    file: File,
    nodes: Vec<NodeRecord>,
    object_of: impl Fn(u64) -> u64,
) -> std::result::Result<(), ParquetError> {
    let mut writer = record_writer(file)?;
    // Lanes and connections are numbered on each node from the beginning.
    let (mut lanes, mut connections) = (0_u32, 0_u64);
    for (number, node) in nodes.into_iter().enumerate() {
        let (first_lane, first_connection) = (lanes, connections);
        let rows = ParquetRecordBatchReaderBuilder::try_new(node.rows)?;
        let said = rows.metadata().file_metadata().key_value_metadata().into_iter().flatten();
        // How the job began, as this machine has it; a node has its own part of it.
        said.filter(|said| number == 0 && said.key == JOB)
            .for_each(|said| writer.append_key_value_metadata(said.clone()));
        for batch in rows.build()? {
            let batch = batch?;
            let schema = batch.schema();
            let at = |name: &str| schema.index_of(name);
            let mut arrays = batch.columns().to_vec();
            for name in since_began() {
                let time = &mut arrays[at(name)?];
                *time = mapped(time, |time| time.saturating_add_signed(node.shift_ns));
            }
            let object = &mut arrays[at("object_id")?];
            *object = mapped(object, &object_of);
            let lane = &mut arrays[at("lane")?];
            let moved: UInt32Array =
                lane.as_primitive::<UInt32Type>().unary(|one| one.saturating_add(first_lane));
            lanes = lanes.max(moved.iter().flatten().max().map_or(0, |last| last.saturating_add(1)));
            *lane = Arc::new(moved);
            let connection = &mut arrays[at("connection")?];
            let number = |one: u64| if one == 0 { 0 } else { one + first_connection };
            let moved: UInt64Array = connection.as_primitive::<UInt64Type>().unary(number);
            connections = connections.max(moved.iter().flatten().max().unwrap_or(0));
            *connection = Arc::new(moved);
            writer.write(&RecordBatch::try_new(batch.schema(), arrays)?)?;
        }
    }
    writer.close().map(drop)
}

fn mapped(column: &ArrayRef, map: impl Fn(u64) -> u64) -> ArrayRef {
    Arc::new(column.as_primitive::<UInt64Type>().unary::<_, UInt64Type>(map))
}
