//! What the credential sources may use of this machine: files, commands, and our own HTTP client.
//! None of them may hang: each has its deadline.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use reqsign_core::{CommandExecute, CommandOutput, Error, FileRead, HttpSend, Result};

use crate::http::{HttpClient, Origin};
use crate::store::Trace;

/// The metadata service answers within milliseconds where it exists; elsewhere nothing answers at all.
const METADATA_TIMEOUT: Duration = Duration::from_secs(2);
const LOGIN_TIMEOUT: Duration = Duration::from_secs(20);
/// `az` starts in a second or two and may fetch a token over a slow link.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// A token and its wrapping take some kilobytes.
const ANSWER_MAX: usize = 1 << 20;

/// Files, read off the I/O threads.
#[derive(Debug)]
pub(super) struct Files;

impl FileRead for Files {
    async fn file_read(&self, path: &str) -> Result<Vec<u8>> {
        let path = path.to_owned();
        let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
        read.map_err(|error| Error::unexpected(error.to_string()))?
            .map_err(|error| Error::unexpected(format!("cannot read the token file: {error}")))
    }
}

/// Commands, run off the I/O threads.
#[derive(Debug)]
pub(super) struct Commands;

impl CommandExecute for Commands {
    async fn command_execute<'a>(&'a self, program: &'a str, args: &'a [&'a str]) -> Result<CommandOutput> {
        let (program, args) =
            (program.to_owned(), args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>());
        tokio::task::spawn_blocking(move || run(&program, &args))
            .await
            .map_err(|error| Error::unexpected(error.to_string()))?
    }
}

fn run(program: &str, args: &[String]) -> Result<CommandOutput> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::credential_invalid(format!("{program} is not installed")),
            _ => Error::credential_invalid(format!("cannot run {program}: {error}")),
        })?;
    let deadline = Instant::now() + COMMAND_TIMEOUT;
    // What `az` prints fits into the pipe, so it can end before anybody reads.
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > deadline {
            // It may have ended just now, which is as good.
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::credential_invalid(format!("{program} did not answer within 30 s")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().map_err(|error| Error::unexpected(error.to_string()))?;
    Ok(CommandOutput {
        status: output.status.code().unwrap_or(-1),
        stdout: output.stdout,
        stderr: output.stderr,
    })
}

/// Requests through our own client. Its errors name host and cause only, never a header or body.
#[derive(Debug)]
pub(super) struct Requests(pub(super) HttpClient);

impl HttpSend for Requests {
    async fn http_send(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        let failed = |cause: &str| Error::unexpected(cause.to_owned());
        let (mut parts, body) = request.into_parts();
        let origin = Origin::of(&parts.uri).map_err(|error| failed(error.cause()))?;
        let path = parts.uri.path_and_query().cloned();
        parts.uri = path.map_or_else(http::Uri::default, http::Uri::from);
        let is_metadata = origin.ip().is_some();
        let limit = if is_metadata { METADATA_TIMEOUT } else { LOGIN_TIMEOUT };
        let exchange = async {
            let trace = Trace::detached();
            let request = Request::from_parts(parts, body);
            let answer = self.0.send(&origin, request, "sign in", origin.host(), &trace).await?;
            let (parts, body) = answer.into_parts();
            Ok::<_, crate::Error>(Response::from_parts(parts, body.collect_up_to(ANSWER_MAX).await?))
        };
        match tokio::time::timeout(limit, exchange).await {
            Ok(answer) => answer.map_err(|error| failed(error.cause())),
            Err(_) => Err(failed(&format!("no answer from {}", origin.host()))),
        }
    }
}
