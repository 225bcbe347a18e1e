//! `haul ls`: lists objects, page by page as they come.

use clap::Args;
use haulage::access;
use haulage::store::ListPage;
use serde_json::json;

use super::help;
use crate::args::{GlobArgs, OutputArgs, StoreArgs};
use crate::output::{self, Lines};
use crate::render::{ObjectLine, list_line, prefix_line};
use crate::runtime::block_on_interruptible;
use crate::stop::{Ending, Stop};

/// List objects: size, modification time (UTC), name within the container
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul ls az://climate                one level, like a folder
  haul ls -r az://climate/cmip6/      all names below a prefix
  haul ls 'az://climate/cmip6/*.nc'   what matches, at all depths
  haul ls -r --json az://climate      one object a line, with ETag and checksums"
))]
pub struct Ls {
    /// Containers, prefixes, objects or local folders; with wildcards what matches, at all depths
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// List everything below, not just one level
    #[arg(long, short)]
    recursive: bool,
    /// Show sizes in bytes
    #[arg(long)]
    bytes: bool,
    /// Taken for the habit: sizes and times are always shown
    #[arg(short = 'l', hide = true)]
    long: bool,
    #[command(flatten)]
    globs: GlobArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Ls {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        block_on_interruptible("list", async {
            let GlobArgs { include, exclude } = &self.globs;
            let options = self.store.options()?;
            let mut lines = Lines::stdout();
            let mut code = 0;
            for url in &self.urls {
                let listing = access::list_matching(url, self.recursive, &options).await?;
                let mut listing = listing.matching(include, exclude)?;
                // Each page is written before the next is asked for: a million names are never held.
                while let Some(page) = listing.next_page().await? {
                    self.write(&page, output.json, &mut lines)?;
                    lines.flush()?;
                    for problem in &page.problems {
                        code = code.max(output::problem(problem, output.quiet));
                    }
                }
            }
            Ok(code)
        })
    }

    fn write(&self, page: &ListPage, json: bool, lines: &mut Lines) -> Result<(), Stop> {
        for prefix in &page.prefixes {
            match json {
                true => lines.json(&json!({ "prefix": prefix }))?,
                false => lines.line(prefix_line(prefix, self.bytes))?,
            }
        }
        for object in &page.objects {
            match json {
                true => lines.json(&ObjectLine::from(object))?,
                false => {
                    lines.text(&list_line(object, self.bytes))?;
                    lines.text("\n")?;
                }
            }
        }
        Ok(())
    }
}
