//! `haul cat`: objects to standard output.

use clap::Args;
use haulage::access;
use tokio::io::AsyncWriteExt as _;

use super::help;
use crate::args::StoreArgs;
use crate::runtime::block_on_interruptible;
use crate::stop::{Ending, Stop};

/// Write objects to standard output, one after another
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul cat az://climate/README.md
  haul cat az://logs/2026-01.csv az://logs/2026-02.csv > all.csv"
))]
pub struct Cat {
    /// Objects or files
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

impl Cat {
    pub(super) fn run(self) -> Ending {
        block_on_interruptible("read", async {
            let options = self.store.options()?;
            let mut writer = tokio::io::stdout();
            for url in &self.urls {
                access::cat(url, &options, &mut writer).await.map_err(Stop::from_writer)?;
            }
            writer.flush().await.map_err(Stop::from_write)?;
            Ok(0)
        })
    }
}
