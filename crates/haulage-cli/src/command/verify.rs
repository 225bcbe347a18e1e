//! `haul verify`: compares contents by checksum.

use clap::Args;
use haulage::Job;
use haulage::job::Work;

use super::help;
use crate::args::{OutputArgs, RecordArgs, ReportArgs, SelectArgs, StoreArgs, TransferArgs, copy_options};
use crate::job::{self, Data};
use crate::stop::Ending;

/// Compare contents by checksum; list what differs, is missing or is extra
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul verify model-output/ az://climate/cmip6/           read both sides
  haul verify model-output/ az://climate/cmip6/ --stored  trust the checksums stored with the objects
  haul verify receipt.jsonl az://climate/cmip6/           is everything in the receipt still there?
  haul verify receipt.jsonl az://climate/cmip6/ --deep    the same, reading every byte
  haul verify model-output/ az://climate/cmip6/ --missing missing.txt --differs differs.txt
                                                          names by kind, for haul cp --files-from
  haul verify model-output/ az://climate/cmip6/ --combined -
                                                          all names, each behind a sign: = * + - !"
))]
pub struct Verify {
    /// Path or URL, or a receipt of cp --receipt
    #[arg(value_name = "SRC")]
    source: String,
    /// Path or URL to compare with
    #[arg(value_name = "DST")]
    destination: String,
    /// Trust the checksums stored with remote objects instead of reading them again
    #[arg(long)]
    stored: bool,
    /// Read the contents, even if the receipt can be checked against the store's own checksums
    #[arg(long, conflicts_with = "stored")]
    deep: bool,
    #[command(flatten)]
    reports: ReportArgs,
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
        let mut options = copy_options(&self.transfer, self.select, &self.store)?;
        self.record.apply(&mut options);
        let data = match self.reports.apply(&mut options, output.json)? {
            Some(kind) => Data::Report(kind),
            None if output.json => Data::Events,
            None => Data::Differences,
        };
        let Self { source, destination, stored, deep, .. } = self;
        let work = Work::Verify { source, destination, stored, deep };
        job::run(Job::new(work, options), data, output)
    }
}
