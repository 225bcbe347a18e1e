//! `haul emulate`: a local endpoint over a shaped, faulty link.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use haulage::store::check_local;
use haulage::{Error, ErrorKind};
use haulage_emulator::{Emulator, EmulatorConfig, FaultSpec, LinkSpec, StoreKind, TlsFiles, start};
use serde_json::json;

use super::help;
use crate::args::OutputArgs;
use crate::output::{self, Lines};
use crate::render::{emulator_lines, served_lines};
use crate::runtime::block_on;
use crate::signal::Interrupt;
use crate::stop::{Ending, Stop};
use crate::value;

const SAS_VALID: Duration = Duration::from_secs(24 * 60 * 60);
const SAS_PERMISSIONS: &str = "racwdl";

/// Serve Azure Blob storage on this machine, as slow and as faulty as you like
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul emulate
  haul emulate --link wan --faults busy=5%,cut=5%,seed=7
  haul emulate --store null --link rtt=60ms,conn=20mbit,total=1gbit,at=10s:total=2.3mbit
  haul emulate --listen 127.0.0.1:0 --store /data/blobs --json

Ctrl-C stops it, with exit code 0."
))]
pub struct Emulate {
    /// Address and port; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:10000", value_parser = value::listen)]
    listen: SocketAddr,
    /// Where the bytes go: memory, null (dropped; reads give a pattern) or a folder
    #[arg(long, value_name = "memory|null|DIR", default_value = "memory")]
    store: StoreKind,
    /// The link: wan, lan, none, or such as rtt=60ms,conn=20mbit,total=1gbit
    #[arg(long, value_name = "SPEC", default_value = "none")]
    link: LinkSpec,
    /// Faults by share of requests, such as busy=5%,cut=5%,stall=1%,flip=1%,seed=7
    #[arg(long, value_name = "SPEC", default_value = "none")]
    faults: FaultSpec,
    /// Serve https with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Listen beyond this machine; the account's key is public knowledge
    #[arg(long)]
    allow_remote: bool,
}

impl Emulate {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        if !self.listen.ip().is_loopback() && !self.allow_remote {
            let cause = "other machines could reach it, and its key is public knowledge";
            let error = Error::new(ErrorKind::Usage, "listen", self.listen.to_string(), cause);
            return Err(error.hint("add --allow-remote if that is meant").into());
        }
        if let StoreKind::Directory(path) = &self.store {
            check_local(path)?;
        }
        block_on(|interrupt| self.serve(output, interrupt))
    }

    async fn serve(self, output: OutputArgs, mut interrupt: Interrupt) -> Ending {
        let terms = format!("store {}, link {}, faults {}", self.store, self.link, self.faults);
        let emulator = start(EmulatorConfig {
            listen: self.listen,
            store: self.store,
            link: self.link,
            faults: self.faults,
            tls: self.tls_cert.zip(self.tls_key).map(|(certificate, key)| TlsFiles { certificate, key }),
            ..EmulatorConfig::default()
        })
        .await?;
        let mut lines = Lines::stdout();
        announce(&emulator, &terms, output.json, &mut lines)?;
        interrupt.wait().await;
        let stats = emulator.stats();
        emulator.shutdown().await;
        if output.json {
            lines.json(&json!({ "event": "served", "stats": stats }))?;
            lines.flush()?;
        } else if !output.quiet {
            served_lines(&stats).iter().for_each(output::say);
        }
        Ok(0)
    }
}

fn announce(emulator: &Emulator, terms: &str, json: bool, lines: &mut Lines) -> Result<(), Stop> {
    let (endpoint, connection) = (emulator.endpoint(), emulator.connection_string());
    let sas = emulator.sas(SAS_PERMISSIONS, SystemTime::now() + SAS_VALID);
    if json {
        lines.json(&json!({
            "event": "serving", "address": emulator.address().to_string(), "endpoint": endpoint,
            "connection_string": connection, "sas": sas, "terms": terms,
        }))?;
    } else {
        let text = emulator_lines(&endpoint, &connection, &sas, terms);
        text.iter().try_for_each(|line| lines.line(line))?;
    }
    lines.flush()
}
