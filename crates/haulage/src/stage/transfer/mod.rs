//! Attempts: one try of one step, and when to try again.

mod attempt;
mod object;
mod retry;

pub(crate) use attempt::{DIGEST_PIECE, Task, look, run};
pub(crate) use object::{Done, Ended, Object, Purpose, Then};
pub(crate) use retry::{backoff, pause, with_retries};
