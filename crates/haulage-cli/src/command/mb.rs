//! `haul mb`: makes a container.

use clap::Args;
use haulage::access;
use serde_json::json;

use super::help;
use crate::args::{OutputArgs, StoreArgs};
use crate::output::{self, Lines};
use crate::render::public_url;
use crate::runtime::block_on_interruptible;
use crate::stop::Ending;

/// Create a container
#[derive(Args, Debug)]
#[command(after_help = help!("  haul mb az://climate\n  haul mb s3://climate"))]
pub struct Mb {
    /// The container
    #[arg(value_name = "CONTAINER-URL")]
    url: String,
    #[command(flatten)]
    store: StoreArgs,
}

impl Mb {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        block_on_interruptible("make", async {
            access::make_container(&self.url, &self.store.options()?).await?;
            let url = public_url(&self.url);
            if output.json {
                let mut lines = Lines::stdout();
                lines.json(&json!({ "event": "made", "url": url }))?;
                lines.flush()?;
            } else if !output.quiet {
                output::say(format!("made {url}"));
            }
            Ok(0)
        })
    }
}
