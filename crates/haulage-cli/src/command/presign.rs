//! `haul presign`: URLs that let others in for a while.

use std::time::{Duration, SystemTime};

use clap::Args;
use haulage::access;
use haulage::store::{Access, Presigned};
use serde_json::json;

use super::help;
use crate::args::{OutputArgs, StoreArgs};
use crate::output::{self, Lines};
use crate::render::timestamp;
use crate::runtime::block_on_interruptible;
use crate::stop::Ending;
use crate::value;

/// Print a URL by which anybody can read or write an object for a while, with no credential of their own
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul presign az://climate/cmip6/tas.nc              to read it, for an hour
  haul presign s3://archive/tas.nc --expires 7d
  haul presign az://climate/inbox/new.nc --write      to write it: curl -T new.nc -H 'x-ms-blob-type: BlockBlob' URL
  haul presign s3://archive/inbox/new.nc --write      to write it: curl -T new.nc URL
  haul presign az://climate                           a whole container, for haul ls and haul cp"
))]
pub struct Presign {
    /// Objects; at Azure containers too
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// How long the URL is good: at most 7d at S3, and at Azure if you signed in with Entra
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = value::duration)]
    expires: Duration,
    /// Let others write the object, rather than read it
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl Presign {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        let options = self.store.options()?;
        let access = if self.write { Access::Write } else { Access::Read };
        block_on_interruptible("presign", async {
            let mut lines = Lines::stdout();
            for url in &self.urls {
                let signed = access::presign(url, access, self.expires, &options).await?;
                match output.json {
                    true => lines.json(&as_json(&signed))?,
                    false => lines.line(&signed.url)?,
                }
                lines.flush()?;
                if !output.quiet && !output.json {
                    told(&signed).iter().for_each(output::say);
                }
            }
            Ok(0)
        })
    }
}

fn as_json(signed: &Presigned) -> serde_json::Value {
    let headers: serde_json::Map<_, _> =
        signed.headers.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({
        "event": "presigned", "object": signed.object, "url": signed.url, "method": signed.method,
        "headers": headers, "expires": when(signed.expires), "ends": signed.ends.map(when),
    })
}

/// What to know besides the URL.
fn told(signed: &Presigned) -> Vec<String> {
    let mut lines = Vec::new();
    if !signed.headers.is_empty() {
        let headers: Vec<String> =
            signed.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        lines.push(format!("send it with {} and the header {}", signed.method, headers.join(", ")));
    }
    if let Some(ends) = signed.ends {
        lines.push(format!("warning: the keys that sign it end at {}, and the URL with them", when(ends)));
    }
    lines
}

fn when(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    timestamp(i128::try_from(since.as_nanos()).unwrap_or_default())
}
