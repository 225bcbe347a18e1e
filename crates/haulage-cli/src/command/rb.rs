//! `haul rb`: removes a container.

use clap::Args;
use haulage::access;
use serde_json::json;

use super::help;
use crate::args::{OutputArgs, StoreArgs};
use crate::output::{self, Lines};
use crate::render::public_url;
use crate::runtime::block_on_interruptible;
use crate::stop::Ending;

/// Remove a container, if it is empty
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul rb az://scratch
  haul rb --force az://scratch     with all that is in it"
))]
pub struct Rb {
    /// The container
    #[arg(value_name = "CONTAINER-URL")]
    url: String,
    /// Remove it with all objects that are in it
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl Rb {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        block_on_interruptible("remove", async {
            let options = self.store.options();
            access::remove_container(&self.url, self.force, &options).await?;
            let url = public_url(&self.url);
            if output.json {
                let mut lines = Lines::stdout();
                lines.json(&json!({ "event": "removed", "url": url }))?;
                lines.flush()?;
            } else if !output.quiet {
                output::say(format!("removed {url}"));
            }
            Ok(0)
        })
    }
}
