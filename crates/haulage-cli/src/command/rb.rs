//! `haul rb`: removes a container.

use clap::Args;
use haulage::access::{self, RemoveOptions};
use serde_json::json;

use super::help;
use super::rm::{Tally, said};
use crate::args::{OutputArgs, RemoveArgs, StoreArgs};
use crate::output::{self, Lines};
use crate::progress::while_waiting;
use crate::render::public_url;
use crate::runtime::block_on_interruptible;
use crate::stop::Ending;

/// Remove a container if it is empty
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul rb az://scratch
  haul rb --force --dry-run az://scratch   how much is in it
  haul rb --force az://scratch             with all that is in it"
))]
pub struct Rb {
    /// The container
    #[arg(value_name = "CONTAINER-URL")]
    url: String,
    /// Remove it together with all objects in it
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    remove: RemoveArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Rb {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let RemoveArgs { dry_run, max_delete } = self.remove;
        let what = RemoveOptions { dry_run, max_delete, ..RemoveOptions::default() };
        block_on_interruptible("remove", async {
            let options = self.store.options()?;
            let removal = access::remove_container(&self.url, self.force, &what, &options);
            let report = while_waiting("removing", output, removal).await?;
            let url = public_url(&self.url);
            output::failures(&report.failures);
            if output.json {
                let mut lines = Lines::stdout();
                lines.json(&json!({
                    "event": "removed", "url": url, "dry_run": dry_run,
                    "objects": report.objects, "size_bytes": report.bytes, "failures": report.failures,
                }))?;
                lines.flush()?;
            } else if !output.quiet && report.failures.is_empty() {
                output::say(format!("{} with container {url}", said(&report, dry_run)));
            } else if !output.quiet {
                output::say(format!("{}; container {url} stays", said(&report, dry_run)));
            }
            let mut tally = Tally::default();
            tally.add(report.objects, &report.failures);
            Ok(tally.exit_code())
        })
    }
}
