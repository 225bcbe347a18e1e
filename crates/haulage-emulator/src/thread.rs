//! The endpoint for programs without a tokio runtime of their own.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use haulage::{Error, Result};
use tokio::runtime::{Builder, Runtime};

use crate::config::EmulatorConfig;
use crate::s3::S3Access;
use crate::server::{Emulator, start};
use crate::stats::EmulatorStats;

/// An [`Emulator`] on threads of its own. Stops when dropped.
#[derive(Debug)]
pub struct EmulatorThread {
    /// Taken in `drop`; the runtime must outlive it.
    emulator: Option<Emulator>,
    runtime: Option<Runtime>,
}

impl EmulatorThread {
    /// Starts the endpoint on two threads of its own. Fails as [`start`] does.
    pub fn start(config: EmulatorConfig) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("haul-emulator")
            .enable_all()
            .build()
            .map_err(|error| Error::from_io("start", "emulator", error))?;
        let emulator = runtime.block_on(start(config))?;
        Ok(Self { emulator: Some(emulator), runtime: Some(runtime) })
    }

    fn emulator(&self) -> &Emulator {
        self.emulator.as_ref().expect("only drop takes it")
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.emulator().address()
    }

    /// As [`Emulator::endpoint`].
    pub fn endpoint(&self) -> String {
        self.emulator().endpoint()
    }

    /// As [`Emulator::connection_string`].
    pub fn connection_string(&self) -> String {
        self.emulator().connection_string()
    }

    /// As [`Emulator::s3`].
    pub fn s3(&self) -> S3Access {
        self.emulator().s3()
    }

    /// As [`Emulator::sas`].
    pub fn sas(&self, permissions: &str, expiry: SystemTime) -> String {
        self.emulator().sas(permissions, expiry)
    }

    /// As [`Emulator::stats`].
    pub fn stats(&self) -> EmulatorStats {
        self.emulator().stats()
    }

    /// Stops it and waits until its connections are closed. Dropping does the same.
    pub fn shutdown(self) {}
}

impl Drop for EmulatorThread {
    fn drop(&mut self) {
        let (emulator, runtime) = (self.emulator.take(), self.runtime.take());
        // On a thread of its own: a runtime may not be waited for from within another one.
        let stopping = std::thread::spawn(move || {
            if let (Some(emulator), Some(runtime)) = (emulator, runtime) {
                runtime.block_on(emulator.shutdown());
                runtime.shutdown_timeout(Duration::from_secs(1));
            }
        });
        let _ = stopping.join();
    }
}
