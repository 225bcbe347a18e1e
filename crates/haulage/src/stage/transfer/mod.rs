//! Attempts: one try of one step, and what it says of the object.

mod attempt;
mod attributes;
mod by_service;
mod compare;
mod object;
mod settled;
mod staged;
mod turns;
mod whole;

pub(crate) use attempt::{DIGEST_PIECE, Task, look_at, run};
pub(crate) use by_service::is_refusal;
pub(crate) use object::{Copying, Done, Ended, Held, Object, Purpose, Then};
pub(crate) use turns::Turns;
