//! Signals: Ctrl-C, SIGTERM and the end of a terminal ask the command to stop, and end the process at once when they come again;
//! SIGUSR1 and SIGUSR2 change the cap.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use haulage::Error;
use rustix::process;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Watches for SIGINT, SIGTERM and SIGHUP until it is dropped.
#[derive(Debug)]
pub struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
    /// `None` where whoever started the command wants it to outlive the terminal.
    hang_up: Option<Signal>,
    actions: Vec<SigId>,
}

impl Interrupt {
    /// Begins to watch. Needs a tokio runtime.
    pub fn watch() -> Result<Self, Error> {
        let failed = |error| Error::from_io("watch", "signals", error);
        let seen = Arc::new(AtomicBool::new(false));
        let mut actions = Vec::new();
        let outlives = is_ignored(SIGHUP);
        for number in [SIGINT, SIGTERM].into_iter().chain((!outlives).then_some(SIGHUP)) {
            // In this order the first signal only raises the flag and the second finds it raised. All of it
            // happens within the handler, so the second works even if every thread of ours is stuck.
            actions.push(flag::register_conditional_default(number, seen.clone()).map_err(failed)?);
            actions.push(flag::register(number, seen.clone()).map_err(failed)?);
        }
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            hang_up: (!outlives).then(|| signal(SignalKind::hangup())).transpose().map_err(failed)?,
            actions,
        })
    }

    /// Returns at the first signal.
    pub async fn wait(&mut self) {
        self.which().await;
    }

    /// Returns the first signal.
    pub async fn which(&mut self) -> process::Signal {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => process::Signal::INT,
            _ = self.terminate.recv() => process::Signal::TERM,
            _ = hang_up => process::Signal::HUP,
        }
    }
}

/// Whether what is typed at a terminal reaches this process and those that it has started.
pub fn is_at_terminal() -> bool {
    let terminal = std::fs::File::open("/dev/tty").and_then(|tty| Ok(rustix::termios::tcgetpgrp(tty)?));
    terminal.is_ok_and(|foreground| foreground == process::getpgrp())
}

/// Whether this process was started so that it ignores a signal, as `nohup` does. Where the system does not tell, it is taken to be so.
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_none_or(|mask| mask >> (number - 1) & 1 == 1)
}

/// Watches for the signals that change the cap.
#[derive(Debug)]
pub struct CapSignals {
    halve: Signal,
    double: Signal,
}

/// What a signal asks of the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapChange {
    /// SIGUSR1: half of it, or half of the current rate if there is none.
    Halve,
    /// SIGUSR2: twice as much.
    Double,
}

impl CapSignals {
    /// Begins to watch. Needs a tokio runtime.
    pub fn watch() -> Result<Self, Error> {
        let failed = |error| Error::from_io("watch", "signals", error);
        Ok(Self {
            halve: signal(SignalKind::user_defined1()).map_err(failed)?,
            double: signal(SignalKind::user_defined2()).map_err(failed)?,
        })
    }

    /// Returns at the next signal.
    pub async fn next(&mut self) -> CapChange {
        tokio::select! {
            _ = self.halve.recv() => CapChange::Halve,
            _ = self.double.recv() => CapChange::Double,
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for action in self.actions.drain(..) {
            low_level::unregister(action);
        }
    }
}
