//! `haul rm`: removes objects.

use clap::Args;
use haulage::access::{self, Removal, RemoveOptions, RemoveReport};
use haulage::event::Failure;
use haulage::store::{Address, StoreOptions};
use haulage::units::ByteSize;
use haulage::{Error, ErrorKind};
use serde_json::json;

use super::help;
use crate::args::{GlobArgs, OutputArgs, RemoveArgs, StoreArgs};
use crate::output::{self, Lines};
use crate::progress::while_waiting;
use crate::render::{count, public_url};
use crate::runtime::block_on_interruptible;
use crate::stop::{Ending, Stop};

/// Remove one object, or with -r everything below a prefix; never a local file
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul rm az://climate/cmip6/tas.nc                one object
  haul rm -r --dry-run az://climate/cmip6/         the names of all below a prefix
  haul rm -r --max-delete 100 az://climate/cmip6/  remove them, if they are not too many
  haul rm -r --include '*.tmp' az://climate        what matches, in a container, which stays"
))]
pub struct Rm {
    /// Objects; with -r containers and prefixes too
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Remove everything below
    #[arg(long, short)]
    recursive: bool,
    #[command(flatten)]
    remove: RemoveArgs,
    #[command(flatten)]
    globs: GlobArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Rm {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let options = self.store.options()?;
        // All are checked before the first is gone.
        for url in &self.urls {
            access::check_remote("rm", url, &options)?;
            names_one_object(url, &options, self.recursive)?;
        }
        let what = RemoveOptions {
            recursive: self.recursive,
            wildcards: true,
            dry_run: self.remove.dry_run,
            include: self.globs.include,
            exclude: self.globs.exclude,
            max_delete: self.remove.max_delete,
        };
        block_on_interruptible("remove", async {
            let finding = Removal::find(&self.urls, &what, &options);
            let mut removal = while_waiting("listing", output, finding).await?;
            let mut tally = Tally::default();
            while let Some(report) = next(&mut removal, what.dry_run, output).await? {
                tally.add(report.objects, &report.failures);
            }
            Ok(tally.exit_code())
        })
    }
}

/// Removes what the next URL names, and says so.
async fn next(
    removal: &mut Removal,
    dry_run: bool,
    output: OutputArgs,
) -> Result<Option<RemoveReport>, Stop> {
    let mut lines = Lines::stdout();
    let mut written = Ok(());
    let mut tell = |name: &str| {
        if !output.json && written.is_ok() {
            written = lines.line(name);
        }
    };
    let removed = while_waiting("removing", output, removal.remove_next(&mut tell)).await?;
    written?;
    let Some((url, report)) = removed else { return Ok(None) };
    output::failures(&report.failures);
    if output.json {
        lines.json(&json!({
            "event": "removed", "url": public_url(&url), "dry_run": dry_run,
            "objects": report.objects, "size_bytes": report.bytes, "failures": report.failures,
        }))?;
    }
    lines.flush()?;
    if !output.json && !output.quiet {
        output::say(said(&report, dry_run));
    }
    Ok(Some(report))
}

/// What all URLs of a removal came to.
#[derive(Default)]
pub(super) struct Tally {
    removed: u64,
    kinds: Vec<ErrorKind>,
}

impl Tally {
    pub(super) fn add(&mut self, removed: u64, failures: &[Failure]) {
        self.removed += removed;
        self.kinds.extend(failures.iter().map(|failure| failure.kind));
        self.kinds.dedup();
    }

    /// As of a copy: where nothing was removed, always for the same reason, that reason's.
    pub(super) fn exit_code(&self) -> u8 {
        match self.kinds[..] {
            [] => 0,
            [kind] if self.removed == 0 => kind.exit_code(),
            _ => 1,
        }
    }
}

/// What is said of an object that was named itself: perhaps a default excludes it that nobody had in mind.
const LEFT_OUT: &str =
    "; what was named stays, because --include or --exclude, or a default of them, leaves it out";

/// How much was removed, or would be.
pub(super) fn said(report: &RemoveReport, dry_run: bool) -> String {
    let verb = if dry_run { "would remove" } else { "removed" };
    let kept = if report.left_out { LEFT_OUT } else { "" };
    let folders = match report.folders {
        0 => String::new(),
        folders => format!(", and {}", count(folders, "folder marker")),
    };
    format!("{verb} {}, {}{folders}{kept}", count(report.objects, "object"), ByteSize::new(report.bytes))
}

/// Refuses what stands for many objects, unless they are meant.
fn names_one_object(url: &str, options: &StoreOptions, recursive: bool) -> Result<(), Error> {
    let key = match Address::parse(url, options)? {
        Address::Azure(address) => address.key,
        Address::S3(address) => address.key,
        Address::Memory { key, .. } => key,
        // The engine says it best.
        Address::Local(_) | Address::Stdio => return Ok(()),
    };
    let refuse = |cause, hint| Err(Error::new(ErrorKind::Usage, "remove", public_url(url), cause).hint(hint));
    match key.as_str() {
        _ if recursive => Ok(()),
        "" => refuse(
            "this is a whole container",
            "add -r to remove every object in it; haul rb removes the container itself",
        ),
        key if key.ends_with('/') => {
            refuse("this is a prefix, not an object", "add -r to remove all below it")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_objects_are_removed_only_when_asked() {
        let options = StoreOptions::default();
        assert!(names_one_object("mem://store/a.nc", &options, false).is_ok());
        assert!(names_one_object("mem://store/a/", &options, true).is_ok());
        for url in ["mem://store", "mem://store/a/"] {
            assert_eq!(names_one_object(url, &options, false).unwrap_err().kind(), ErrorKind::Usage);
        }
        assert!(names_one_object("", &options, true).is_err());
    }

    fn failed(kind: ErrorKind) -> Failure {
        Failure::from(&Error::new(kind, "delete", "az://data/a", "refused"))
    }

    #[test]
    fn one_reason_for_everything_is_the_reason_of_the_command() {
        let code = |removed, kinds: &[ErrorKind]| {
            let mut tally = Tally::default();
            for kind in kinds {
                tally.add(removed, &[failed(*kind), failed(*kind)]);
            }
            tally.exit_code()
        };
        assert_eq!(code(0, &[]), 0);
        assert_eq!(code(0, &[ErrorKind::Permission, ErrorKind::Permission]), 3);
        assert_eq!(code(1, &[ErrorKind::Permission]), 1);
        assert_eq!(code(0, &[ErrorKind::Permission, ErrorKind::NotFound]), 1);
    }
}
