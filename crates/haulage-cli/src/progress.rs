//! Shows on standard error how far the work has come.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use console::Term;
use haulage::event::Progress;
use haulage::units::format_duration;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::{MissedTickBehavior, interval_at};

use crate::args::{OutputArgs, ProgressMode};
use crate::screen::{Screen, width_of};
use crate::{output, render};

/// How often a bar is drawn anew.
pub const FRAME: Duration = Duration::from_millis(100);
/// How often a log gets a line; a job that is shorter gets none.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Shows progress in the way that was asked for.
#[derive(Debug)]
pub enum Show {
    /// Nothing.
    None,
    /// Lines for a log.
    Plain {
        /// When the next line is due.
        due: Instant,
    },
    /// Lines that are drawn anew.
    Bar {
        /// Draws.
        bar: ProgressBar,
        /// Knows the width, which may change while the job runs.
        term: Term,
    },
}

impl Show {
    /// Begins to show.
    pub fn new(output: OutputArgs) -> Self {
        match mode(output, draws()) {
            ProgressMode::Bar => {
                // Given as a terminal of our own, because indicatif hides a bar where there is none and
                // `--progress bar` means what it says.
                let target = ProgressDrawTarget::term_like(Box::new(Screen::stderr()));
                let bar = ProgressBar::with_draw_target(None, target);
                if let Ok(style) = ProgressStyle::with_template("{msg}") {
                    bar.set_style(style);
                }
                Self::Bar { bar, term: Term::stderr() }
            }
            ProgressMode::Plain | ProgressMode::Auto => Self::Plain { due: Instant::now() + PLAIN_EVERY },
            ProgressMode::None => Self::None,
        }
    }

    /// Shows this state of a job, where a new line is due.
    pub fn job(&mut self, progress: impl FnOnce() -> Progress) {
        self.show(
            || {
                let progress = progress();
                (render::plain_line(&progress), render::slow_line(&progress), progress)
            },
            |(line, slow, _)| slow.into_iter().fold(line, |line, slow| format!("{line}\n{slow}")),
            |(.., progress), width| render::bar_lines(&progress, width).join("\n"),
        );
    }

    /// Shows that something without a measure goes on.
    pub fn waiting(&mut self, what: &str, elapsed: Duration) {
        let line = |()| format!("{what}… {}", format_duration(elapsed));
        self.show(|| (), line, |(), width| console::truncate_str(&line(()), width, "…").into_owned());
    }

    fn show<S>(
        &mut self,
        state: impl FnOnce() -> S,
        plain: impl FnOnce(S) -> String,
        drawn: impl FnOnce(S, usize) -> String,
    ) {
        match self {
            Self::None => {}
            Self::Plain { due } if Instant::now() < *due => {}
            Self::Plain { due } => {
                *due += PLAIN_EVERY;
                plain(state()).lines().for_each(output::say);
            }
            Self::Bar { bar, term } => {
                bar.set_message(drawn(state(), usize::from(width_of(term))));
            }
        }
    }

    /// Writes something else without disturbing the bar.
    pub fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match self {
            Self::Bar { bar, .. } => bar.suspend(write),
            _ => write(),
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        if let Self::Bar { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

/// Whether standard error is a terminal that lines can be drawn anew on.
fn draws() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stderr().is_terminal() && Term::stderr().features().is_attended() && !dumb
}

/// Waits for `work`, showing that it goes on.
pub async fn while_waiting<T>(what: &str, output: OutputArgs, work: impl Future<Output = T>) -> T {
    let mut show = Show::new(output);
    let began = Instant::now();
    let mut frames = frames();
    tokio::pin!(work);
    let result = loop {
        tokio::select! {
            result = &mut work => break result,
            _ = frames.tick() => show.waiting(what, began.elapsed()),
        }
    };
    show.finish();
    result
}

/// Ticks when a frame is due; the first not at once, so that quick work shows nothing.
pub fn frames() -> tokio::time::Interval {
    let mut frames = interval_at(tokio::time::Instant::now() + FRAME, FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
    frames
}

/// What `auto` means here.
fn mode(output: OutputArgs, terminal: bool) -> ProgressMode {
    match output.progress {
        _ if output.quiet => ProgressMode::None,
        // Lines would run through a bar.
        ProgressMode::Auto if terminal && output.verbose == 0 => ProgressMode::Bar,
        ProgressMode::Auto => ProgressMode::Plain,
        asked => asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_a_bar_only_on_a_terminal_and_quiet_is_quiet() {
        let output = |progress, quiet| OutputArgs { quiet, progress, ..OutputArgs::default() };
        assert_eq!(mode(output(ProgressMode::Auto, false), true), ProgressMode::Bar);
        assert_eq!(mode(output(ProgressMode::Auto, false), false), ProgressMode::Plain);
        let verbose = OutputArgs { verbose: 1, ..OutputArgs::default() };
        assert_eq!(mode(verbose, true), ProgressMode::Plain);
        assert_eq!(mode(output(ProgressMode::Bar, false), false), ProgressMode::Bar);
        assert_eq!(mode(output(ProgressMode::Bar, true), true), ProgressMode::None);
    }
}
