//! `haul cp`: copies files, folders, objects and prefixes.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use haulage::Job;
use haulage::job::{Work, links_folder, read_pairs};

use super::help;
use crate::args::{
    AttributeArgs, OutputArgs, OverwriteArgs, RecordArgs, SelectArgs, StoreArgs, TransferArgs, copy_options,
};
use crate::cluster::Nodes;
use crate::job::{self, Data};
use crate::stop::Ending;

/// Copy files, folders, objects or prefixes; run it again to resume
#[derive(Args, Debug)]
#[command(
    override_usage = "haul cp [OPTIONS] SRC... DST",
    after_help = help!(
        "  haul cp a.nc az://climate/                     one file into a container
  haul cp model-output/ az://climate/cmip6/      the contents of a folder below a prefix
  haul cp az://climate/cmip6/ . --include '*.nc' download what matches
  haul cp az://climate/cmip6/ s3://climate/      from one cloud to another
  tar c logs | haul cp - az://archive/logs.tar   upload a stream
  haul cp az://archive/logs.tar - | tar t        download to a pipe
  haul cp az://climate/ . --files-from names.txt only these names; nothing is listed
  haul cp --pairs list.csv                       each source to its own destination
  haul cp big/ az://climate/ --block-size 4MiB --concurrency 8 --record run.parquet"
    )
)]
pub struct Cp {
    /// Local paths, az://container/path, s3://bucket/path, http(s)://host/container/path[?SAS], or - for standard input
    #[arg(value_name = "SRC", required = true, num_args = 1..)]
    sources: Vec<String>,
    /// Destination; a trailing / means into; - is standard output
    #[arg(value_name = "DST", required = true)]
    destination: Option<String>,
    /// Copy each source in this file to its own destination, in place of SRC and DST: CSV or JSON lines with source and
    /// destination, Parquet or an Arrow stream; - for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Selection")]
    #[arg(conflicts_with_all = ["sources", "destination", "files_from", "files_from0", "include", "exclude"])]
    pairs: Option<PathBuf>,
    #[command(flatten)]
    transfer: TransferArgs,
    /// Commit all objects together at the end: readers see the whole new version, or none of it
    #[arg(long, help_heading = "Transfer")]
    atomic: bool,
    /// Do not wait for files to reach the disk; a power failure may lose them
    #[arg(long, help_heading = "Transfer")]
    no_flush: bool,
    #[command(flatten)]
    attributes: AttributeArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    overwrite: OverwriteArgs,
    /// Only say what would be copied, and why
    #[arg(long, conflicts_with_all = ["scheduler", "scheduler_file", "nodes"])]
    dry_run: bool,
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    record: RecordArgs,
    /// Write the destination's objects and checksums to this file, for haul verify
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    receipt: Option<PathBuf>,
}

impl Cp {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let mut options = copy_options(&self.transfer, self.select, &self.store)?;
        options.links = links_folder();
        options.atomic = self.atomic;
        self.attributes.apply(&mut options);
        options.overwrite = self.overwrite.overwrite;
        self.record.apply(&mut options);
        options.receipt = self.receipt;
        options.store.flush = !self.no_flush;
        options.dry_run = self.dry_run;
        let work = match (self.pairs, self.destination) {
            (Some(list), _) => Work::CopyPairs(read_pairs(&list)?),
            (None, destination) => {
                Work::Copy { sources: self.sources, destination: destination.unwrap_or_default() }
            }
        };
        let data = match self.dry_run && !output.json {
            true => Data::Plan,
            false => job::data_for(output, &work, &options.store)?,
        };
        match self.nodes.is_wanted() {
            true => job::run_on(self.nodes, work, options, data, output),
            false => job::run(Job::new(work, options), data, output),
        }
    }
}
