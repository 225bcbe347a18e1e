//! `haul rm`: removes objects.

use clap::Args;
use haulage::access;
use haulage::store::{Address, StoreOptions};
use haulage::units::ByteSize;
use haulage::{Error, ErrorKind};
use serde_json::json;

use super::help;
use crate::args::{OutputArgs, StoreArgs};
use crate::output::{self, Lines};
use crate::progress::while_waiting;
use crate::render::{count, public_url};
use crate::runtime::block_on_interruptible;
use crate::stop::{Ending, Stop};

/// Remove one object, or with -r all below a prefix
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul rm az://climate/cmip6/tas.nc     one object
  haul rm -r az://climate/cmip6/        all below a prefix
  haul rm -r az://climate               all in a container, which stays"
))]
pub struct Rm {
    /// Objects; with -r containers and prefixes too
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// All names below
    #[arg(long, short)]
    recursive: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl Rm {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let options = self.store.options();
        if !self.recursive {
            // All are checked before the first is gone.
            self.urls.iter().try_for_each(|url| names_one_object(url, &options))?;
        }
        block_on_interruptible("remove", async {
            let mut code = 0;
            for url in &self.urls {
                code = code.max(self.remove(url, &options, output).await?);
            }
            Ok(code)
        })
    }

    async fn remove(&self, url: &str, options: &StoreOptions, output: OutputArgs) -> Result<u8, Stop> {
        let removal = access::remove(url, self.recursive, options);
        let report = while_waiting("removing", output, removal).await?;
        report.failures.iter().for_each(|failure| output::error(&Error::from(failure)));
        if output.json {
            let mut lines = Lines::stdout();
            lines.json(&json!({
                "event": "removed", "url": public_url(url),
                "objects": report.objects, "size_bytes": report.bytes, "failures": report.failures,
            }))?;
            lines.flush()?;
        } else if !output.quiet {
            let size = ByteSize::new(report.bytes);
            output::say(format!("removed {}, {size}", count(report.objects, "object")));
        }
        Ok(u8::from(!report.failures.is_empty()))
    }
}

/// Refuses what stands for many objects.
fn names_one_object(url: &str, options: &StoreOptions) -> Result<(), Error> {
    let key = match Address::parse(url, options)? {
        Address::Azure(address) => address.key,
        Address::Memory { key, .. } => key,
        Address::Local(_) | Address::Stdio => return Ok(()),
    };
    let refuse = |cause, hint| Err(Error::new(ErrorKind::Usage, "remove", public_url(url), cause).hint(hint));
    match key.as_str() {
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
        assert!(names_one_object("mem://store/a.nc", &options).is_ok());
        let error = names_one_object("mem://store", &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(names_one_object("mem://store/a/", &options).is_err());
    }
}
