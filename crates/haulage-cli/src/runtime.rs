//! The runtime of one command, built only by commands that need it.

use std::thread::available_parallelism;
use std::time::Duration;

use haulage::Error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Builder;

use crate::signal::Interrupt;
use crate::stop::{Ending, Stop, interrupted};

/// Threads of the pool may sit in a read of a terminal or a dead network drive; nothing waits for those.
const PATIENCE: Duration = Duration::from_millis(200);

/// More than requests, listings and files of any job need; some programs that we start go through all that they may have.
const OPEN_FILES: u64 = 65_536;

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
    raise_open_files();
    let ending = runtime.block_on(async {
        let interrupt = Interrupt::watch()?;
        command(interrupt).await
    });
    runtime.shutdown_timeout(PATIENCE);
    ending
}

/// Allows more open files where the system lets this process have them: files and connections are open side by side, and a shell
/// often gives a small part. What is refused is said where a file cannot be opened.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if limit.current.is_some_and(|now| now < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    }
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
