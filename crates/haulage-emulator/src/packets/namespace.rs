//! A network namespace: a network stack of its own, without a device but those that are made in it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::thread;

use haulage::{Error, ErrorKind};

/// A namespace that lives as long as this, or a process in it.
#[derive(Debug)]
pub(super) struct Namespace(File);

impl Namespace {
    /// Makes one. Threads that are there stay where they are.
    pub(super) fn new() -> Result<Self, Error> {
        let made = apart(|| {
            unshare()?;
            File::open("/proc/thread-self/ns/net")
        });
        made.map(Self).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => not_allowed("make", "a network namespace", &error),
            _ => Error::from_io("make", "a network namespace", error),
        })
    }

    /// The one that this process is in. Whoever asks makes sure that it is not in use ([`super::tun::is_ours`]).
    pub(super) fn here() -> Result<Self, Error> {
        const HERE: &str = "/proc/self/ns/net";
        File::open(HERE).map(Self).map_err(|error| Error::from_io("open", HERE, error))
    }

    /// Does something in it: sockets that are opened, and threads and processes that are started there, stay in it.
    pub(super) fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        apart(|| {
            enter(&self.0)?;
            Ok(work())
        })
    }

    /// Where other processes find it, for `nsenter --net=PATH`.
    pub(super) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }
}

/// What needs rights that are not here.
pub(super) fn not_allowed(what: &'static str, on: &str, error: &io::Error) -> Error {
    Error::new(ErrorKind::Permission, what, on, error.to_string())
        .hint("run it as root, or put `unshare --user --map-root-user` in front of the command")
}

/// Does something on a thread of its own, whose namespace nobody else shares.
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

#[allow(unsafe_code)]
fn unshare() -> io::Result<()> {
    // SAFETY: moves this thread alone into a new namespace; no memory is involved.
    match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[allow(unsafe_code)]
fn enter(namespace: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as `namespace` is borrowed; moves this thread alone.
    match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
