//! `haul sync`: makes one side equal to the other.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use haulage::Job;
use haulage::job::{Compare, Deleting, MaxDelete, Work, links_folder};

use super::help;
use crate::args::{AttributeArgs, OutputArgs, RecordArgs, SelectArgs, StoreArgs, TransferArgs, copy_options};
use crate::cluster::Nodes;
use crate::job::{self, Data};
use crate::stop::Ending;

/// Make the destination equal to the source: copy what differs, with --delete remove what is only there
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul sync model-output/ az://climate/cmip6/                 copy what is new or has changed
  haul sync model-output/ az://climate/cmip6/ --delete --dry-run
                                                              what would be copied and deleted, and why
  haul sync model-output/ az://climate/cmip6/ --delete --max-delete 10%
                                                              delete what is gone here, unless it is too much
  haul sync data/ s3://archive/data/ --delete --backup-dir s3://archive/old/
  haul sync data/ s3://archive/data/ --receipt data.jsonl --compare receipt
  haul sync data/ az://archive/data/ --delete --scheduler-file cluster.json
                                                              by the workers of a Dask cluster"
))]
pub struct Sync {
    /// Folder, container or prefix to make the destination equal to
    #[arg(value_name = "SRC")]
    source: String,
    /// Folder, container or prefix to change
    #[arg(value_name = "DST")]
    destination: String,
    /// Delete what only the destination has, when everything else is done and went well
    #[arg(long, help_heading = "Removal")]
    delete: bool,
    /// Delete nothing at all where it would be more than this: a number of objects, or a share such as 10%
    #[arg(long, value_name = "N|SHARE%", requires = "delete", help_heading = "Removal")]
    max_delete: Option<MaxDelete>,
    /// Delete everything at the destination if the source is empty; else that is refused
    #[arg(long, requires = "delete", help_heading = "Removal")]
    allow_empty: bool,
    /// Copy what is replaced or deleted to this folder or prefix first
    #[arg(long, value_name = "URL", value_hint = ValueHint::AnyPath, help_heading = "Removal")]
    #[arg(conflicts_with_all = ["scheduler", "scheduler_file", "nodes"])]
    backup_dir: Option<String>,
    /// Only say what would be done, and why
    #[arg(long, conflicts_with_all = ["scheduler", "scheduler_file", "nodes"])]
    dry_run: bool,
    /// What tells that an object is unchanged: auto (checksum, or size and time), size, time, checksum, or receipt (the one
    /// that --receipt names)
    #[arg(long, value_name = "HOW", default_value = "auto", hide_possible_values = true)]
    compare: Compare,
    #[command(flatten)]
    transfer: TransferArgs,
    /// Do not wait for files to reach the disk; a power failure may lose them
    #[arg(long, help_heading = "Transfer")]
    no_flush: bool,
    #[command(flatten)]
    attributes: AttributeArgs,
    #[command(flatten)]
    select: SelectArgs,
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

impl Sync {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let mut options = copy_options(&self.transfer, self.select, &self.store)?;
        options.links = links_folder();
        self.attributes.apply(&mut options);
        self.record.apply(&mut options);
        options.receipt = self.receipt;
        options.store.flush = !self.no_flush;
        options.compare = self.compare;
        options.dry_run = self.dry_run;
        options.backup = self.backup_dir;
        let delete = Deleting { max: self.max_delete, allow_empty: self.allow_empty };
        let delete = self.delete.then_some(delete);
        let work = Work::Sync { source: self.source, destination: self.destination, delete };
        let data = Data::of(output, self.dry_run);
        match self.nodes.is_wanted() {
            true => job::run_on(self.nodes, work, options, data, output),
            false => job::run(Job::new(work, options), data, output),
        }
    }
}
