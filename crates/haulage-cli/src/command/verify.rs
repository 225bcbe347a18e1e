//! `haul verify`: compares contents by checksum.

use clap::Args;
use haulage::Job;
use haulage::job::Work;

use super::help;
use crate::args::{OutputArgs, RecordArgs, SelectArgs, StoreArgs, TransferArgs, copy_options};
use crate::job::{self, Data};
use crate::stop::Ending;

/// Compare contents by checksum; name what differs, is missing or is extra
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul verify model-output/ az://climate/cmip6/           read both sides
  haul verify model-output/ az://climate/cmip6/ --stored  trust the checksums stored with the objects"
))]
pub struct Verify {
    /// Path or URL
    #[arg(value_name = "SRC")]
    source: String,
    /// Path or URL to compare with
    #[arg(value_name = "DST")]
    destination: String,
    /// Trust the checksums stored with remote objects instead of reading them again
    #[arg(long)]
    stored: bool,
    #[command(flatten)]
    transfer: TransferArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    record: RecordArgs,
}

impl Verify {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let mut options = copy_options(&self.transfer, self.select, &self.store);
        options.record = self.record.record;
        let work = Work::Verify { source: self.source, destination: self.destination, stored: self.stored };
        let data = if output.json { Data::Events } else { Data::Differences };
        job::run(Job::new(work, options), data, output)
    }
}
