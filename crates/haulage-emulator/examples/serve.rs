//! Serves until interrupted: `serve [LISTEN] [STORE] [LINK] [FAULTS]`, for trying clients by hand.
//!
//! ```text
//! cargo run --release -p haulage-emulator --example serve -- 127.0.0.1:10000 null wan busy=5%
//! ```

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::time::{Duration, SystemTime};

use haulage_emulator::{EmulatorConfig, start};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default| arguments.get(index).map_or(default, String::as_str);
    let config = EmulatorConfig {
        listen: argument(0, "127.0.0.1:0").parse()?,
        store: argument(1, "memory").parse()?,
        link: argument(2, "none").parse()?,
        faults: argument(3, "none").parse()?,
        ..EmulatorConfig::default()
    };
    let emulator = start(config).await?;
    let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
    println!("{}", emulator.connection_string());
    println!("{}", emulator.sas("rwdlacut", tomorrow));
    tokio::signal::ctrl_c().await?;
    println!("{:?}", emulator.stats());
    emulator.shutdown().await;
    Ok(())
}
