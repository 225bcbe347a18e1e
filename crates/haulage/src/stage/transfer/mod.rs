//! Attempts: one try of one step, and when to try again.

mod attempt;
mod object;
mod retry;

pub(crate) use attempt::{DIGEST_PIECE, LOOK, Task, joined, look, off_thread, run};
pub(crate) use object::{Done, Ended, Held, Object, Purpose, Then};
pub(crate) use retry::{backoff, pause, was_too_slow, with_retries};
