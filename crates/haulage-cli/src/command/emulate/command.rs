//! A command that runs against the endpoint, and with it ends.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use haulage::{Error, ErrorKind};
use rustix::process::{Pid, Signal, kill_process};

use super::{Serving, announce};
use crate::args::OutputArgs;
use crate::render::s3_variables;
use crate::signal::{Interrupt, is_at_terminal};
use crate::stop::Stop;

/// How often a command is looked after.
const LOOK: Duration = Duration::from_millis(20);

/// After so long a command that has not ended is taken for one that a signal has not reached. A second one makes many give up at once.
const UNTOLD: Duration = Duration::from_secs(1);

/// How long a command may take to end once it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs the command, if there is one, and gives its exit code; else says where the endpoint is and waits for Ctrl-C.
pub(super) async fn run_or_wait(
    serving: &Serving,
    terms: &str,
    command: Vec<OsString>,
    output: OutputArgs,
    mut interrupt: Interrupt,
    spawn: impl FnOnce(Command) -> io::Result<Child>,
) -> Result<u8, Stop> {
    let mut words = command.into_iter();
    let Some(program) = words.next() else {
        announce(serving, terms, output.json)?;
        interrupt.wait().await;
        return Ok(0);
    };
    let mut command = Command::new(&program);
    command.args(words).env("AZURE_STORAGE_CONNECTION_STRING", &serving.connection);
    command.envs(s3_variables(&serving.s3));
    if let Some(bulk) = serving.ends.as_ref().and_then(|ends| ends["bulk"].as_str()) {
        command.env("HAUL_BULK", bulk);
    }
    let child = spawn(command).map_err(|error| not_run(&program, &error))?;
    wait_for(child, &mut interrupt).await.map_err(|error| not_run(&program, &error).into())
}

/// Waits for the command. A signal reaches it as well if it was sent to all, as from a terminal; else it is passed on. It may take its
/// time to end.
async fn wait_for(mut child: Child, interrupt: &mut Interrupt) -> io::Result<u8> {
    let mut asked: Option<(Instant, Option<Signal>)> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
            return Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            signal = interrupt.which(), if asked.is_none() => {
                asked = Some((Instant::now(), Some(signal).filter(|_| !is_at_terminal())));
            }
        }
        let Some((at, signal)) = &mut asked else { continue };
        if at.elapsed() >= PATIENCE {
            child.kill()?;
        } else if at.elapsed() >= UNTOLD
            && let Some(signal) = signal.take()
        {
            // It is a child of ours that has not been waited for, so nobody else has its number.
            kill_process(Pid::from_child(&child), signal)?;
        }
    }
}

fn not_run(program: &OsString, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        _ => ErrorKind::Io,
    };
    Error::new(kind, "run", program.to_string_lossy(), error.to_string())
        .hint("give a command and its arguments after --")
}
