//! `haul rb`: removes a container.

use clap::Args;
use haulage::store::StoreOptions;
use haulage::{Error, ErrorKind};
use serde_json::json;

use super::help;
use crate::args::{OutputArgs, StoreArgs};
use crate::output::{self, Lines};
use crate::render::public_url;
use crate::runtime::block_on_interruptible;
use crate::stop::Ending;
use haulage::access;

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
            if !self.force {
                refuse_unless_empty(&self.url, &options).await?;
            }
            access::remove_container(&self.url, &options).await?;
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

/// The service itself would delete a full container without a word.
async fn refuse_unless_empty(url: &str, options: &StoreOptions) -> Result<(), Error> {
    let mut listing = access::list(url, true, options).await?;
    while let Some(page) = listing.next_page().await? {
        if !page.objects.is_empty() || !page.problems.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "remove", public_url(url), "it holds objects")
                .hint("add --force to remove them as well; haul du counts them"));
        }
    }
    Ok(())
}
