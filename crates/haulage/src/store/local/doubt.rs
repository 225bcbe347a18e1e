//! Which files a power failure may have emptied: what the marks in and above their folder tell of ([`super::mark`]).
//!
//! A line of a mark is a boot and the moment from which files were written in it; a third field is the moment at which a later
//! boot found that line, for what is written from then on is its own. Lines are only added, and the last one taken off.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::retry_on_intr;

use super::leftover::MARK;

/// A file may be older by the clock than the mark that was set before it: clocks are corrected.
const SLACK_NS: i128 = 60_000_000_000;

/// Lines of more boots than anybody has.
const LARGEST: u64 = 64 << 10;

/// Moments, in nanoseconds since 1970: a file whose last change is in one of these may have lost what was written to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubt(Vec<Range<i128>>);

/// What is told of a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) boot: String,
    pub(super) since_ns: i128,
    /// When a later boot found it; `None` while none has.
    pub(super) until_ns: Option<i128>,
}

impl Doubt {
    /// The same, and what the mark in this folder tells of.
    pub(super) fn and_of(&self, folder: BorrowedFd<'_>) -> Self {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let open = || rustix::fs::openat(folder, MARK, flags, Mode::empty());
        let Ok(file) = retry_on_intr(open).map(File::from) else { return self.clone() };
        let earlier = earlier(&lines(&text(&file)));
        let moments = |line: Line| line.since_ns.saturating_sub(SLACK_NS)..line.until_ns.unwrap_or(i128::MAX);
        Self(self.0.iter().cloned().chain(earlier.into_iter().map(moments)).collect())
    }

    pub(super) fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    pub(super) fn is_about(&self, found: &Stat) -> bool {
        let changed_ns = i128::from(found.st_ctime) * 1_000_000_000 + found.st_ctime_nsec as i128;
        self.0.iter().any(|moments| moments.contains(&changed_ns))
    }
}

/// What is told of other boots than this one.
pub(super) fn earlier(lines: &[Line]) -> Vec<Line> {
    // Where the system does not tell its boots, no mark is set, and none tells anything.
    let Some(boot) = this_boot() else { return Vec::new() };
    lines.iter().filter(|line| line.boot != boot).cloned().collect()
}

/// What a mark says; empty where it cannot be read.
pub(super) fn text(mut file: &File) -> String {
    let mut bytes = Vec::new();
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    let _ = is_file && file.rewind().and_then(|()| file.take(LARGEST + 1).read_to_end(&mut bytes)).is_ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(super) fn lines(text: &str) -> Vec<Line> {
    if text.len() as u64 > LARGEST {
        // What the rest says is not known.
        return vec![Line { boot: String::new(), since_ns: 0, until_ns: None }];
    }
    let mut lines: Vec<Line> = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [boot, since, ref until @ ..] = fields[..] else { continue };
        let Ok(since_ns) = since.parse() else { continue };
        let until_ns = until.first().and_then(|until| until.parse().ok());
        let line = Line { boot: boot.to_owned(), since_ns, until_ns };
        let open = |known: &&mut Line| known.boot == line.boot && known.until_ns.is_none();
        match lines.iter_mut().rfind(open).filter(|_| until_ns.is_some()) {
            Some(known) => known.until_ns = until_ns,
            None => lines.push(line),
        }
    }
    lines
}

/// The name that the system gives to the time since it was started.
pub(super) fn this_boot() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    BOOT.get_or_init(|| read().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())).as_deref()
}
