//! `haul clean`: removes what interrupted copies have left.

use clap::Args;
use haulage::access::{CleanReport, Cleaning, RemoveOptions};
use haulage::units::ByteSize;
use serde_json::json;

use super::help;
use crate::args::{GlobArgs, OutputArgs, RemoveArgs, StoreArgs};
use crate::output::{self, Lines};
use crate::progress::while_waiting;
use crate::render::{count, public_url};
use crate::runtime::block_on_interruptible;
use crate::stop::{Ending, Stop};

/// Remove what interrupted copies left behind: partial files and uncommitted blocks
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul clean --dry-run here/               what is there?
  haul clean here/                         partial files that nobody is writing
  haul clean az://climate/cmip6/           blocks of uploads; run none there meanwhile"
))]
pub struct Clean {
    /// Folders, containers or prefixes
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    remove: RemoveArgs,
    #[command(flatten)]
    globs: GlobArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Clean {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let what = RemoveOptions {
            recursive: true,
            dry_run: self.remove.dry_run,
            include: self.globs.include.clone(),
            exclude: self.globs.exclude.clone(),
            max_delete: self.remove.max_delete,
            ..RemoveOptions::default()
        };
        let options = self.store.options()?;
        block_on_interruptible("clean", async {
            let mut cleaning =
                while_waiting("listing", output, Cleaning::find(&self.urls, &what, &options)).await?;
            let mut code = 0;
            while let Some((url, report)) = while_waiting("cleaning", output, cleaning.remove_next()).await? {
                tell(&url, &report, what.dry_run, output)?;
                code = code.max(u8::from(!report.failures.is_empty()));
            }
            Ok(code)
        })
    }
}

/// Says what was removed at a URL.
fn tell(url: &str, report: &CleanReport, dry_run: bool, output: OutputArgs) -> Result<(), Stop> {
    output::failures(&report.failures);
    let mut lines = Lines::stdout();
    if output.json {
        lines.json(&json!({
            "event": "cleaned", "url": public_url(url), "dry_run": dry_run,
            "leftovers": report.leftovers, "size_bytes": report.bytes,
            "in_use": report.in_use, "names": report.names, "failures": report.failures,
        }))?;
    } else if dry_run {
        report.names.iter().try_for_each(|name| lines.line(name))?;
    }
    lines.flush()?;
    if !output.json && !output.quiet {
        output::say(said(report, dry_run));
    }
    Ok(())
}

fn said(report: &CleanReport, dry_run: bool) -> String {
    let verb = if dry_run { "would remove" } else { "removed" };
    let mut text = format!("{verb} {}", count(report.leftovers, "leftover"));
    match report.bytes {
        Some(bytes) => text += &format!(", {}", ByteSize::new(bytes)),
        None if report.leftovers > 0 => text += " of unknown size",
        None => {}
    }
    if report.in_use > 0 {
        text += &format!("; left {} that somebody is using", report.in_use);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_size_is_made_up() {
        let report = |leftovers, bytes| CleanReport { leftovers, bytes, ..CleanReport::default() };
        assert_eq!(said(&report(2, None), true), "would remove 2 leftovers of unknown size");
        assert_eq!(said(&report(0, None), false), "removed 0 leftovers");
        assert_eq!(said(&report(1, Some(0)), false), "removed 1 leftover, 0 B");
    }
}
