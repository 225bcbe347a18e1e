//! The runtime of one command, built only by commands that need it.

use std::thread::available_parallelism;
use std::time::Duration;

use haulage::Error;
use tokio::runtime::Builder;

use crate::signal::Interrupt;
use crate::stop::{Ending, Stop, interrupted};

/// Threads of the pool may sit in a read of a terminal or a dead network drive; nothing waits for those.
const PATIENCE: Duration = Duration::from_millis(200);

/// Runs a command that deals with Ctrl-C itself.
pub fn block_on<F>(command: impl FnOnce(Interrupt) -> F) -> Ending
where
    F: Future<Output = Ending>,
{
    let workers = available_parallelism().map_or(2, |cores| cores.get().max(2));
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name("haul")
        .enable_all()
        .build()
        .map_err(|error| Error::from_io("start", "runtime", error))?;
    let ending = runtime.block_on(async {
        let interrupt = Interrupt::watch()?;
        command(interrupt).await
    });
    runtime.shutdown_timeout(PATIENCE);
    ending
}

/// Runs a command that Ctrl-C may stop at any point.
pub fn block_on_interruptible(name: &'static str, command: impl Future<Output = Ending>) -> Ending {
    block_on(|mut interrupt| async move {
        tokio::select! {
            ending = command => ending,
            () = interrupt.wait() => Err::<u8, Stop>(interrupted(name)),
        }
    })
}
