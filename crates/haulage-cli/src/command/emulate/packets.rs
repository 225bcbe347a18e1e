//! The endpoint behind a link of real packets.

use std::ffi::OsString;

#[cfg(target_os = "linux")]
use haulage::units::ByteRate;
use haulage_emulator::{EmulatorConfig, PacketLinkSpec};
#[cfg(target_os = "linux")]
use serde_json::json;

use crate::args::OutputArgs;
use crate::signal::Interrupt;
use crate::stop::Ending;

/// What is asked for.
pub(super) struct Asked {
    pub(super) spec: PacketLinkSpec,
    pub(super) here: bool,
    pub(super) command: Vec<OsString>,
}

/// Serves behind the link until Ctrl-C, or until the command has ended.
#[cfg(target_os = "linux")]
pub(super) async fn serve(
    Asked { spec, here, command }: Asked,
    config: EmulatorConfig,
    output: OutputArgs,
    interrupt: Interrupt,
) -> Ending {
    use haulage_emulator::{NearEnd, PacketLink};

    use super::{SAS_PERMISSIONS, Serving, last_words, run_or_wait, valid_until};
    use crate::render::{packet_lines, served_lines};

    let terms = format!("store {}, link packets:{spec}, faults {}", config.store, config.faults);
    let near = if here { NearEnd::Here } else { NearEnd::New };
    let link = PacketLink::start(&spec, near, config)?;
    let endpoint = link.endpoint();
    let serving = Serving {
        address: endpoint.address(),
        endpoint: endpoint.endpoint(),
        connection: endpoint.connection_string(),
        sas: endpoint.sas(SAS_PERMISSIONS, valid_until()),
        s3: endpoint.s3(),
        ends: Some(json!({ "near": link.near(), "far": link.far(), "bulk": link.bulk().to_string() })),
    };
    let code =
        run_or_wait(&serving, &terms, command, output, interrupt, |mut command| link.spawn(&mut command))
            .await?;
    let (stats, (up, down), competing) = (link.endpoint().stats(), link.counts(), link.competing());
    let bits = |rate: Option<ByteRate>| rate.map(ByteRate::bits);
    let line = json!({
        "event": "served", "stats": stats, "packets": { "up": up, "down": down },
        "competing_bits_per_second": { "up": bits(competing.0), "down": bits(competing.1) },
    });
    let text = [served_lines(&stats), packet_lines((up, down), competing)].concat();
    drop(link);
    last_words(output, &line, &text)?;
    Ok(code)
}

/// Says that there are no such links here.
#[cfg(not(target_os = "linux"))]
pub(super) async fn serve(asked: Asked, _: EmulatorConfig, _: OutputArgs, _: Interrupt) -> Ending {
    use haulage::{Error, ErrorKind};

    let _ = (asked.here, asked.command);
    let cause = "links of packets need the network namespaces of Linux";
    Err(Error::new(ErrorKind::Unsupported, "emulate", asked.spec.to_string(), cause).into())
}
