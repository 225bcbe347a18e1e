//! A local endpoint: the REST interfaces of Azure Blob, Azure Tables and S3 over a shaped, faulty link.
//!
//! The laboratory measures against it, the tests kill and resume against it, and people try the
//! command on it. A request passes these layers, from the wire up:
//!
//! 1. `link`: rates and round trips, beneath HTTP; `tls` above it where asked for;
//! 2. `server`: connections, one task each, hyper's HTTP/1;
//! 3. `dialect`: Azure's below the account's name, blobs or tables; S3's everywhere else;
//! 4. `request` and `auth`: what is asked for, and whether it may be;
//! 5. `fault`: what goes wrong with this one;
//! 6. `api`: a file for each family of operations; `s3` and `table` have their own of 4 and 6;
//! 7. `store`: the catalogue of names, and memory, nothing or a directory for the bytes.
//!
//! `packets` puts it behind a link of real packets instead, on Linux.
//!
//! ```
//! # async fn demo() -> haulage::Result<()> {
//! use haulage_emulator::{EmulatorConfig, start};
//! let config = EmulatorConfig { link: "wan".parse()?, ..EmulatorConfig::default() };
//! let emulator = start(config).await?;
//! println!("{}", emulator.connection_string());
//! emulator.shutdown().await;
//! # Ok(()) }
//! ```

mod api;
mod auth;
mod change;
mod config;
mod dialect;
mod fault;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod link;
mod packets;
mod request;
mod s3;
mod server;
mod service;
mod stats;
mod store;
mod table;
mod thread;
mod tls;
mod wire;

pub use config::{EmulatorConfig, StoreKind, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY};
pub use fault::FaultSpec;
pub use link::{LinkChange, LinkSpec};
#[cfg(target_os = "linux")]
pub use packets::{NearEnd, PacketLink};
pub use packets::{PacketChange, PacketLinkSpec, Queue, WayCounts};
pub use s3::S3Access;
pub use server::{Emulator, Starting, start};
pub use stats::{EmulatorStats, FaultCounts};
pub use thread::EmulatorThread;
pub use tls::TlsFiles;
