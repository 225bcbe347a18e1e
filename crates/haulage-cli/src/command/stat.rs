//! `haul stat`: all that is known of an object.

use clap::Args;
use haulage::access;

use super::help;
use crate::args::{OutputArgs, StoreArgs};
use crate::output::Lines;
use crate::render::{ObjectLine, stat_lines};
use crate::runtime::block_on_interruptible;
use crate::stop::Ending;

/// Show an object's size, times, ETag and checksums
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul stat az://climate/cmip6/tas.nc
  haul stat --json az://climate/cmip6/tas.nc"
))]
pub struct Stat {
    /// Objects or files
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

impl Stat {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        block_on_interruptible("stat", async {
            let options = self.store.options()?;
            let mut lines = Lines::stdout();
            for (place, url) in self.urls.iter().enumerate() {
                let meta = access::stat(url, &options).await?;
                if output.json {
                    lines.json(&ObjectLine::from(&meta))?;
                } else {
                    if place > 0 {
                        lines.line("")?;
                    }
                    stat_lines(&meta).iter().try_for_each(|line| lines.line(line))?;
                }
                lines.flush()?;
            }
            Ok(0)
        })
    }
}
