//! The only place that writes: data to standard output, talk to standard error.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Stderr, Stdout, Write};
use std::sync::Arc;

use haulage::event::Failure;
use haulage::verbose::{self, Level, Listener};
use haulage::{Error, ErrorKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::render::{every_failure, printable};
use crate::stop::Stop;

/// Lines of data on their way to a writer, by default standard output; held back until
/// [`Lines::flush`] or a full buffer.
#[derive(Debug)]
pub struct Lines<W: Write = Stdout>(BufWriter<W>);

impl Lines {
    /// Lines for standard output.
    pub fn stdout() -> Self {
        Self::new(io::stdout())
    }
}

impl<W: Write> Lines<W> {
    /// Lines for `writer`.
    pub fn new(writer: W) -> Self {
        Self(BufWriter::with_capacity(64 << 10, writer))
    }

    /// Writes text and an end of line. What a terminal would not show as it stands is escaped.
    pub fn line(&mut self, text: impl AsRef<str>) -> Result<(), Stop> {
        self.text(&printable(text.as_ref()))?;
        self.text("\n")
    }

    /// Writes a name and an end of line: escaped on a terminal, and as it is where another program reads it.
    pub fn name(&mut self, name: &str) -> Result<(), Stop> {
        if io::stdout().is_terminal() {
            return self.line(name);
        }
        self.text(name)?;
        self.text("\n")
    }

    /// Writes text as it is.
    pub fn text(&mut self, text: &str) -> Result<(), Stop> {
        self.0.write_all(text.as_bytes()).map_err(Stop::from_write)
    }

    /// Writes a value as one line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Stop> {
        serde_json::to_writer(&mut self.0, value).map_err(|error| Stop::from_write(error.into()))?;
        self.0.write_all(b"\n").map_err(Stop::from_write)
    }

    /// Lets the reader have all of it.
    pub fn flush(&mut self) -> Result<(), Stop> {
        self.0.flush().map_err(Stop::from_write)
    }
}

/// Says a line to the person at the terminal. What a terminal would not show as it stands is escaped.
pub fn say(line: impl Display) {
    say_as_it_is(printable(&line.to_string()));
}

/// From now on says what the engine decides, up to this level; nothing with `None`.
pub fn listen(level: Option<Level>) {
    let tell: Listener = Arc::new(|level: Level, text: &str| say(format!("{}: {text}", level.word())));
    verbose::listen(level.map(|level| (level, tell)));
}

/// Says what failed, in one line.
pub fn error(error: &Error) {
    say_as_it_is(styled_error(error));
}

/// Says what a list could not show, and returns the exit code that follows from it. Links and devices are left out on purpose.
pub fn problem(problem: &Error, quiet: bool) -> u8 {
    if problem.kind() != ErrorKind::Unsupported {
        error(problem);
        return 1;
    }
    if !quiet {
        say(format!("warning: {}: skipped: {}", problem.object_name(), problem.cause()));
    }
    0
}

/// Says what failed; what a whole host refused once.
pub fn failures(failures: &[Failure]) {
    every_failure(failures, styled_error).iter().for_each(say_as_it_is);
}

/// Says a line that holds colours and nothing else that moves anything.
pub fn say_as_it_is(line: impl Display) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(stderr(), "{line}");
}

/// The line of [`error`], with colours where they show.
pub fn styled_error(error: &Error) -> String {
    error_line(error, colours())
}

/// `haul: operation object: cause (hint: ...)`.
pub fn error_line(error: &Error, colours: bool) -> String {
    let name = if colours { "\x1b[1;31mhaul:\x1b[0m" } else { "haul:" };
    // A failure of the command itself has no object.
    let text = error.to_string().replacen(" :", ":", usize::from(error.object_name().is_empty()));
    format!("{name} {}", printable(&text))
}

/// Whether standard output is a pipe that nobody reads any more.
pub fn stdout_is_closed() -> bool {
    let stdout = io::stdout();
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    // A poll that asks for nothing and does not wait still reports a pipe without a reader.
    poll(&mut watched, Some(&Timespec::default())).is_ok()
        && watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Whether standard error shows colours.
fn colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn stderr() -> Stderr {
    io::stderr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_whatever_the_name_holds() {
        let error =
            Error::new(ErrorKind::NotFound, "read", "a\nb\x1b[2J", "no such file").hint("check the path");
        assert_eq!(
            error_line(&error, false),
            "haul: read a\\nb\\u{1b}[2J: no such file (hint: check the path)"
        );
        assert!(error_line(&error, true).starts_with("\x1b[1;31mhaul:\x1b[0m read "));
    }

    #[test]
    fn data_is_held_back_until_the_flush() {
        let mut lines = Lines::new(Vec::new());
        lines.json(&[1, 2]).unwrap();
        lines.line("three").unwrap();
        assert!(lines.0.get_ref().is_empty());
        lines.flush().unwrap();
        assert_eq!(lines.0.get_ref(), b"[1,2]\nthree\n");
    }
}
