//! The terminal as bars are drawn on it: narrower than it is, so that the `^C` that it shows when a key is pressed breaks no line.

use std::io;

use console::Term;
use indicatif::TermLike;

/// Columns of `^C`, and the last, after which some terminals wrap at once.
const ROOM: u16 = 3;

/// Standard error.
#[derive(Debug)]
pub struct Screen(Term);

impl Screen {
    /// Writes whole frames.
    pub fn stderr() -> Self {
        Self(Term::buffered_stderr())
    }
}

/// Columns of this terminal that lines may take.
pub fn width_of(term: &Term) -> u16 {
    term.size().1.saturating_sub(ROOM)
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        width_of(&self.0)
    }

    fn height(&self) -> u16 {
        TermLike::height(&self.0)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.0.write_line(s)
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.0.write_str(s)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}
