//! `haul emulate`: a local endpoint over a shaped, faulty link.

mod command;
mod packets;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use clap::Args;
use haulage::store::check_local;
use haulage::{Error, ErrorKind};
use haulage_emulator::{
    EmulatorConfig, FaultSpec, LinkSpec, PacketLinkSpec, S3Access, StoreKind, TlsFiles, start,
};
use serde_json::{Value, json};

use self::command::run_or_wait;
use super::help;
use crate::args::OutputArgs;
use crate::output::{self, Lines};
use crate::render::{emulator_lines, served_lines};
use crate::runtime::block_on;
use crate::signal::Interrupt;
use crate::stop::{Ending, Stop};
use crate::value;

const SAS_VALID: Duration = Duration::from_secs(24 * 60 * 60);
const SAS_PERMISSIONS: &str = "racwdltu";

/// What stands before a link of real packets.
const PACKETS: &str = "packets:";

/// Serve Azure Blob storage and S3 on this machine, as slow and as faulty as you like
#[derive(Args, Debug)]
#[command(after_help = help!(
    "  haul emulate
  haul emulate --link wan --faults busy=5%,cut=5%,seed=7
  haul emulate --store null --link rtt=60ms,conn=20mbit,total=1gbit,at=10s:total=2.3mbit
  haul emulate --link packets:rtt=80ms,total=200mbit,loss=0.5% -- ./measure.sh
  haul emulate --listen 127.0.0.1:0 --store /data/blobs --json

Ctrl-C stops it, with exit code 0; with a command, its exit code is passed on."
))]
pub struct Emulate {
    /// Address and port; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:10000", value_parser = value::listen)]
    listen: SocketAddr,
    /// Where to keep data: memory, null (discarded; reads return a pattern) or a folder
    #[arg(long, value_name = "memory|null|DIR", default_value = "memory")]
    store: StoreKind,
    /// Link to emulate: wan, lan, none, or for example rtt=60ms,conn=20mbit,total=1gbit; the prefix packets: makes a link
    /// of real packets (Linux, root)
    #[arg(long, value_name = "SPEC", default_value = "none")]
    link: Link,
    /// Faults, as shares of the requests, such as busy=5%,cut=5%,stall=1%,flip=1%,seed=7
    #[arg(long, value_name = "SPEC", default_value = "none")]
    faults: FaultSpec,
    /// Serve https with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Let other machines connect; the account's key is public knowledge
    #[arg(long)]
    allow_remote: bool,
    /// Put the near end of a packets: link into this process's network namespace, which nothing else may use
    #[arg(long)]
    here: bool,
    /// Run this command with the environment that Azure and S3 clients need, and stop when it ends
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How the link is made.
#[derive(Clone, Debug)]
enum Link {
    /// By sharing out bytes.
    Bytes(LinkSpec),
    /// By carrying packets.
    Packets(Box<PacketLinkSpec>),
}

impl FromStr for Link {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.strip_prefix(PACKETS) {
            Some(spec) => spec.parse().map(|spec| Self::Packets(Box::new(spec))),
            None => text.parse().map(Self::Bytes),
        }
    }
}

/// What a client needs to know of a running endpoint.
struct Serving {
    address: SocketAddr,
    endpoint: String,
    connection: String,
    sas: String,
    s3: S3Access,
    /// Of a link of packets: where its ends are.
    ends: Option<Value>,
}

impl Emulate {
    pub(super) fn run(self, output: OutputArgs) -> Ending {
        if !self.listen.ip().is_loopback() && !self.allow_remote {
            let cause = "other machines could reach it, and its key is public knowledge";
            let error = Error::new(ErrorKind::Usage, "listen", self.listen.to_string(), cause);
            return Err(error.hint("add --allow-remote if you want that").into());
        }
        if let StoreKind::Directory(path) = &self.store {
            check_local(path)?;
        }
        block_on(|interrupt| self.serve(output, interrupt))
    }

    async fn serve(self, output: OutputArgs, interrupt: Interrupt) -> Ending {
        let mut config = EmulatorConfig {
            listen: self.listen,
            store: self.store,
            faults: self.faults,
            tls: self.tls_cert.zip(self.tls_key).map(|(certificate, key)| TlsFiles { certificate, key }),
            ..EmulatorConfig::default()
        };
        let link = match self.link {
            Link::Bytes(link) => link,
            Link::Packets(spec) => {
                let asked = packets::Asked { spec: *spec, here: self.here, command: self.command };
                return packets::serve(asked, config, output, interrupt).await;
            }
        };
        let terms = format!("store {}, link {link}, faults {}", config.store, config.faults);
        config.link = link;
        let emulator = start(config).await?;
        let serving = Serving {
            address: emulator.address(),
            endpoint: emulator.endpoint(),
            connection: emulator.connection_string(),
            sas: emulator.sas(SAS_PERMISSIONS, valid_until()),
            s3: emulator.s3(),
            ends: None,
        };
        let code =
            run_or_wait(&serving, &terms, self.command, output, interrupt, |mut command| command.spawn())
                .await?;
        let stats = emulator.stats();
        emulator.shutdown().await;
        last_words(output, &json!({ "event": "served", "stats": stats }), &served_lines(&stats))?;
        Ok(code)
    }
}

fn valid_until() -> SystemTime {
    SystemTime::now() + SAS_VALID
}

/// Says where it serves.
fn announce(serving: &Serving, terms: &str, json: bool) -> Result<(), Stop> {
    let mut lines = Lines::stdout();
    let Serving { address, endpoint, connection, sas, s3, ends } = serving;
    if json {
        let mut line = json!({
            "event": "serving", "address": address.to_string(), "endpoint": endpoint,
            "connection_string": connection, "sas": sas, "s3": s3, "terms": terms,
        });
        if let (Some(line), Some(Value::Object(ends))) = (line.as_object_mut(), ends) {
            line.extend(ends.clone());
        }
        lines.json(&line)?;
    } else {
        emulator_lines(endpoint, connection, sas, s3, terms).iter().try_for_each(|line| lines.line(line))?;
        if let Some(near) = ends.as_ref().and_then(|ends| ends["near"].as_str()) {
            lines.line(format!(
                "# it is reached from the near end of the link only: nsenter --net={near} COMMAND"
            ))?;
        }
    }
    lines.flush()
}

/// Says what was served.
fn last_words(output: OutputArgs, line: &Value, text: &[String]) -> Result<(), Stop> {
    if output.json {
        let mut lines = Lines::stdout();
        lines.json(line)?;
        lines.flush()?;
    } else if !output.quiet {
        text.iter().for_each(output::say);
    }
    Ok(())
}
