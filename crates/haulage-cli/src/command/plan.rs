//! `haul plan`: what a copy would do.

use clap::Args;
use haulage::event::Failure;
use haulage::job::{self, CopyOptions};
use haulage::{Error, ErrorKind};

use super::help;
use crate::args::{OutputArgs, OverwriteArgs, SelectArgs, StoreArgs, TransferArgs, copy_options};
use crate::output::Lines;
use crate::progress::while_waiting;
use crate::render::plan_lines;
use crate::runtime::block_on_interruptible;
use crate::stop::Ending;

/// Show what cp would do: objects, requests, methods, block sizes, time
#[derive(Args, Debug)]
#[command(
    override_usage = "haul plan [OPTIONS] SRC... DST",
    after_help = help!(
        "  haul plan model-output/ az://climate/cmip6/
  haul plan az://climate/cmip6/ . --include '*.nc' --json"
    )
)]
pub struct Plan {
    /// Local paths or URLs, as for cp
    #[arg(value_name = "SRC", required = true, num_args = 1..)]
    sources: Vec<String>,
    /// Destination
    #[arg(value_name = "DST", required = true)]
    destination: String,
    #[command(flatten)]
    transfer: TransferArgs,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    overwrite: OverwriteArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Plan {
    /// What the engine is told.
    pub(crate) fn options(&self) -> Result<CopyOptions, Error> {
        let mut options = copy_options(&self.transfer, self.select.clone(), &self.store)?;
        options.overwrite = self.overwrite.overwrite;
        Ok(options)
    }

    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let options = self.options()?;
        block_on_interruptible("plan", async {
            let plan = job::plan(&self.sources, &self.destination, &options);
            let report = while_waiting("listing", output, plan).await?;
            let mut lines = Lines::stdout();
            if output.json {
                lines.json(&report)?;
            } else {
                plan_lines(&report).iter().try_for_each(|line| lines.line(line))?;
            }
            lines.flush()?;
            // As a copy would end; what is left out on purpose is no failure.
            let failed = |problem: &Failure| problem.kind != ErrorKind::Unsupported;
            Ok(u8::from(report.problems.iter().any(failed)))
        })
    }
}
