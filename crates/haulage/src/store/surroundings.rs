//! What the credential sources may use of this machine: files, commands, and our own HTTP client.
//! None of them may hang: each has its deadline.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use reqsign_core::{CommandExecute, CommandOutput, Env, Error, FileRead, HttpSend, OsEnv, Result};

use crate::http::{HttpClient, Origin};
use crate::store::Trace;
use crate::variable::meant;

/// The metadata service answers within milliseconds where it exists; elsewhere nothing answers at all.
const METADATA_TIMEOUT: Duration = Duration::from_secs(2);
const LOGIN_TIMEOUT: Duration = Duration::from_secs(20);
/// `az` starts in a second or two and may fetch a token over a slow link.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// What a command has printed is in the pipe when it ends; a child that it leaves may hold the pipe open for ever.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// A token and its wrapping take some kilobytes.
const ANSWER_MAX: usize = 1 << 20;
/// No token lives longer. A time beyond all calendars would end the process where it is added to now.
const LIFE_MAX: u64 = 366 * 24 * 3600;

/// Why one of these failed, in our own words, which may be shown.
#[derive(Debug)]
pub(super) struct Cause(pub(super) String);

impl Cause {
    pub(super) fn error(self) -> Error {
        Error::unexpected(self.0.clone()).with_source(self)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Cause {}

fn failed(cause: impl Into<String>) -> Error {
    Cause(cause.into()).error()
}

/// The variables of this process, as they were meant.
#[derive(Debug)]
pub(super) struct Variables;

impl Env for Variables {
    fn var(&self, name: &str) -> Option<String> {
        let text = meant(&OsEnv.var(name)?)?;
        // Azure's own libraries take a host alone, too.
        let bare = name == "AZURE_AUTHORITY_HOST" && !text.contains("://");
        Some(if bare { format!("https://{text}") } else { text })
    }

    fn vars(&self) -> HashMap<String, String> {
        OsEnv.vars()
    }

    fn home_dir(&self) -> Option<PathBuf> {
        OsEnv.home_dir()
    }
}

/// Files, read off the I/O threads.
#[derive(Debug)]
pub(super) struct Files;

impl FileRead for Files {
    async fn file_read(&self, path: &str) -> Result<Vec<u8>> {
        let path = path.to_owned();
        let read = tokio::task::spawn_blocking(move || read_small(&path)).await;
        let content = read
            .map_err(|_| failed("the runtime shuts down"))?
            .map_err(|error| failed(format!("cannot read the token file: {error}")))?;
        // Some editors put it before what they save.
        Ok(content.strip_prefix("\u{feff}".as_bytes()).map_or(content.clone(), <[u8]>::to_vec))
    }
}

/// Reads a small file. A pipe would make us wait for its writer, and a device may never end.
pub(super) fn read_small(path: &str) -> std::io::Result<Vec<u8>> {
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.read(true).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut content = Vec::new();
    file.take(ANSWER_MAX as u64 + 1).read_to_end(&mut content)?;
    if content.len() > ANSWER_MAX {
        return Err(std::io::Error::other("larger than 1 MiB"));
    }
    Ok(content)
}

/// Commands, run off the I/O threads.
#[derive(Debug)]
pub(super) struct Commands;

impl CommandExecute for Commands {
    async fn command_execute<'a>(&'a self, program: &'a str, args: &'a [&'a str]) -> Result<CommandOutput> {
        let (program, args) =
            (program.to_owned(), args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>());
        tokio::task::spawn_blocking(move || run(&program, &args, COMMAND_TIMEOUT))
            .await
            .map_err(|_| failed("the runtime shuts down"))?
    }
}

/// Runs a command for what it prints to its standard output; what it complains of nobody may show.
fn run(program: &str, args: &[String], timeout: Duration) -> Result<CommandOutput> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => failed(format!("{program} is not installed")),
            _ => failed(format!("cannot run {program}: {error}")),
        })?;
    let printed = listen(&mut child);
    let deadline = Instant::now() + timeout;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() > deadline => {
                // It may have ended just now, which is as good.
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(format!("{program} did not answer within 30 s")));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(failed(format!("cannot wait for {program}: {error}"))),
        }
    };
    let mut stdout = Vec::new();
    let until = Instant::now() + LAST_WORDS;
    while let Ok(piece) = printed.recv_timeout(until.saturating_duration_since(Instant::now())) {
        stdout.extend(piece);
    }
    Ok(CommandOutput { status: status.code().unwrap_or(-1), stdout, stderr: Vec::new() })
}

/// Reads what a command prints on a thread of its own, which stays for as long as anybody holds the pipe.
fn listen(child: &mut Child) -> mpsc::Receiver<Vec<u8>> {
    let (tell, printed) = mpsc::channel();
    if let Some(mut pipe) = child.stdout.take() {
        std::thread::spawn(move || {
            let (mut piece, mut left) = ([0; 8192], ANSWER_MAX);
            while let Ok(read @ 1..) = pipe.read(&mut piece) {
                let kept = read.min(left);
                left -= kept;
                if tell.send(piece[..kept].to_vec()).is_err() {
                    break;
                }
            }
        });
    }
    printed
}

/// Requests through our own client. Its errors name host and cause only, never a header or body.
#[derive(Debug)]
pub(super) struct Requests(pub(super) HttpClient);

impl HttpSend for Requests {
    async fn http_send(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
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
            let body = body.collect_up_to(ANSWER_MAX).await?;
            Ok::<_, crate::Error>(Response::from_parts(parts, with_bounded_life(body)))
        };
        match tokio::time::timeout(limit, exchange).await {
            Ok(answer) => answer.map_err(|error| failed(error.cause())),
            Err(_) => Err(failed(format!("no answer from {}", origin.host()))),
        }
    }
}

/// The answer of a sign-in, with a life of the token that a clock can be set to.
fn with_bounded_life(body: Bytes) -> Bytes {
    let Ok(mut answer) = serde_json::from_slice::<serde_json::Value>(&body) else { return body };
    match answer.get_mut("expires_in") {
        Some(life) if life.as_u64().is_some_and(|life| life > LIFE_MAX) => {
            *life = LIFE_MAX.into();
            answer.to_string().into()
        }
        _ => body,
    }
}

/// Why a source of credentials gave none, in our own words. What a command printed or a server answered may hold a secret.
pub(super) fn words(error: &reqsign_core::Error) -> String {
    let mut source = std::error::Error::source(error);
    while let Some(deeper) = source {
        if let Some(cause) = deeper.downcast_ref::<Cause>() {
            return cause.0.clone();
        }
        source = deeper.source();
    }
    let status = error.context().iter().find_map(|context| {
        let digits = context.strip_prefix("http_status: ")?.get(..3)?;
        digits.parse::<u16>().ok()
    });
    match status {
        Some(status) => format!("the sign-in was refused (HTTP {status})"),
        None => "it gave nothing usable".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_in_our_own_words() {
        let echo = Error::credential_invalid("Azure CLI command failed: refresh_token=leaked");
        assert_eq!(words(&echo), "it gave nothing usable");
        let refused = Error::credential_invalid("leaked").with_context("http_status: 401 Unauthorized");
        assert_eq!(words(&refused), "the sign-in was refused (HTTP 401)");
        let ours = Cause("az is not installed".to_owned()).error();
        assert_eq!(words(&ours), "az is not installed");
        let deep = Error::unexpected("leaked").with_source(ours);
        assert_eq!(words(&deep), "az is not installed");
    }

    #[test]
    fn a_token_lives_no_longer_than_a_year() {
        let life = |text: &str| {
            let body = format!("{{\"access_token\":\"t\",\"expires_in\":{text}}}");
            serde_json::from_slice::<serde_json::Value>(&with_bounded_life(body.into())).unwrap()["expires_in"].clone()
        };
        assert_eq!(life("3599"), 3599);
        assert_eq!(life("18446744073709551615"), LIFE_MAX);
        assert_eq!(with_bounded_life(Bytes::from_static(b"no json")), "no json");
    }

    #[cfg(unix)]
    #[test]
    fn a_token_is_read_from_a_small_regular_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("token"), "t").unwrap();
        assert_eq!(read_small(&path("token")).unwrap(), b"t");
        std::fs::write(path("large"), vec![b't'; ANSWER_MAX + 1]).unwrap();
        assert!(read_small(&path("large")).is_err());
        assert!(read_small("/dev/zero").is_err());
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RWXU).unwrap();
        assert!(read_small(&path("pipe")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_command_that_leaves_a_child_or_never_ends_is_not_waited_for() {
        let sh = |script: &str, timeout| run("sh", &["-c".to_owned(), script.to_owned()], timeout);
        let began = Instant::now();
        let output = sh("sleep 20 & echo token; echo secret >&2", COMMAND_TIMEOUT).unwrap();
        assert_eq!((output.status, &*output.stdout, &*output.stderr), (0, &b"token\n"[..], &b""[..]));
        assert!(sh("sleep 20", Duration::from_millis(100)).is_err());
        // More than a pipe holds.
        let output = sh("head -c 300000 /dev/zero", COMMAND_TIMEOUT).unwrap();
        assert_eq!(output.stdout.len(), 300_000);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
