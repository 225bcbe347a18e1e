//! `haul du`: how many objects and bytes there are.

use clap::Args;
use haulage::units::ByteSize;
use haulage::{Error, access};
use serde_json::json;

use super::help;
use crate::args::{GlobArgs, OutputArgs, StoreArgs};
use crate::output::{self, Lines};
use crate::progress::while_waiting;
use crate::render::{count, printable, public_url};
use crate::runtime::block_on_interruptible;
use crate::stop::Ending;

/// Count the objects and bytes below a container, prefix or folder
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul du az://climate/cmip6/
  haul du --bytes az://climate az://archive
  haul du 'az://climate/cmip6/*.nc'             what matches"
))]
pub struct Du {
    /// Containers, prefixes or folders; with wildcards what matches
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Show sizes in bytes
    #[arg(long)]
    bytes: bool,
    #[command(flatten)]
    globs: GlobArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Du {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        block_on_interruptible("measure", async {
            let options = self.store.options()?;
            let GlobArgs { include, exclude } = &self.globs;
            let usage_of = |url| access::disk_usage(url, include, exclude, &options);
            let mut lines = Lines::stdout();
            let mut code = 0;
            for url in &self.urls {
                let usage = while_waiting("counting", output, usage_of(url)).await?;
                let (objects, bytes, url) = (usage.objects, usage.bytes, public_url(url));
                for problem in &usage.problems {
                    code = code.max(output::problem(&Error::from(problem), output.quiet));
                }
                if output.json {
                    lines.json(&json!({ "url": url, "objects": objects, "size_bytes": bytes }))?;
                } else {
                    let size = if self.bytes { bytes.to_string() } else { ByteSize::new(bytes).to_string() };
                    lines.line(format!("{size}  {}  {}", count(objects, "object"), printable(url)))?;
                }
                lines.flush()?;
            }
            Ok(code)
        })
    }
}
