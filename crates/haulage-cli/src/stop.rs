//! Why a command ends before its end.

use std::io;

use haulage::event::Failure;
use haulage::{Error, ErrorKind};
use serde::Serialize;

use crate::output;

/// Why a command ended early.
#[derive(Debug)]
pub enum Stop {
    /// It failed.
    Error(Error),
    /// Nobody reads standard output any more (`haul ls ... | head`): no failure.
    ClosedPipe,
}

/// What a command ends with: its exit code, or why it stopped early.
pub type Ending = Result<u8, Stop>;

impl Stop {
    /// What a failed write to standard output means.
    pub fn from_write(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::Error(Error::from_io("write", "standard output", error))
    }

    /// As `From`, for calls that write to standard output themselves.
    pub fn from_writer(error: Error) -> Self {
        if error.is_closed_pipe() { Self::ClosedPipe } else { Self::Error(error) }
    }

    /// Says why, once for people and, with `--json`, once for programs; returns the exit code.
    pub fn report(&self, json: bool) -> u8 {
        let Self::Error(error) = self else { return 0 };
        if json {
            let mut lines = output::Lines::stdout();
            // Nobody may be reading; the line on standard error is said either way.
            let _ = lines.json(&ErrorLine::from(error)).and_then(|()| lines.flush());
        }
        output::error(error);
        error.kind().exit_code()
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// The error for a command that a signal stopped.
pub fn interrupted(command: &'static str) -> Stop {
    Error::new(ErrorKind::Cancelled, command, "", "interrupted").hint("run the same command again").into()
}

/// A failure of the command as a line for programs.
#[derive(Debug, Serialize)]
pub struct ErrorLine {
    event: &'static str,
    #[serde(flatten)]
    failure: Failure,
    exit_code: u8,
}

impl From<&Error> for ErrorLine {
    fn from(error: &Error) -> Self {
        Self { event: "error", failure: Failure::from(error), exit_code: error.kind().exit_code() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_failure_wherever_it_is_noticed() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(matches!(Stop::from_write(closed()), Stop::ClosedPipe));
        assert!(matches!(Stop::from_writer(Error::from_io("write", "-", closed())), Stop::ClosedPipe));
        assert_eq!(Stop::ClosedPipe.report(true), 0);
    }

    #[test]
    fn an_error_line_holds_all_that_a_program_needs() {
        let error =
            Error::new(ErrorKind::NotFound, "read", "az://data/a.nc", "no such blob").hint("check it");
        assert_eq!(
            serde_json::to_value(ErrorLine::from(&error)).unwrap(),
            serde_json::json!({
                "event": "error", "kind": "not_found", "operation": "read", "object": "az://data/a.nc",
                "cause": "no such blob", "hint": "check it", "exit_code": 4,
            })
        );
    }
}
