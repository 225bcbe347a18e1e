//! `haul mv`: copies, then deletes what was copied.

use clap::Args;
use haulage::Job;
use haulage::job::{Work, links_folder};

use super::help;
use crate::args::{
    AttributeArgs, OutputArgs, OverwriteArgs, RecordArgs, SelectArgs, StoreArgs, TransferArgs, copy_options,
};
use crate::job::{self, Data};
use crate::stop::Ending;

/// Move files, folders, objects or prefixes: each source is deleted when its copy is proven
#[derive(Args, Debug)]
#[command(
    override_usage = "haul mv [OPTIONS] SRC... DST",
    after_help = help!(
        "  haul mv az://climate/new/ az://climate/cmip6/  within an account; the service copies by itself
  haul mv scratch/run-7/ s3://archive/run-7/     files that are proven to be there are deleted here
  haul mv az://climate/new/ . --dry-run          what would be moved"
    )
)]
pub struct Mv {
    /// Local paths or URLs, as for cp
    #[arg(value_name = "SRC", required = true, num_args = 1..)]
    sources: Vec<String>,
    /// Where to; a trailing / means into
    #[arg(value_name = "DST", required = true)]
    destination: String,
    /// Only say what would be done, and why
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    transfer: TransferArgs,
    #[command(flatten)]
    attributes: AttributeArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    overwrite: OverwriteArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    record: RecordArgs,
}

impl Mv {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let mut options = copy_options(&self.transfer, self.select, &self.store)?;
        options.links = links_folder();
        self.attributes.apply(&mut options);
        options.overwrite = self.overwrite.overwrite;
        self.record.apply(&mut options);
        options.dry_run = self.dry_run;
        let work = Work::Move { sources: self.sources, destination: self.destination };
        job::run(Job::new(work, options), Data::of(output, self.dry_run), output)
    }
}
