//! The engine of Haulage: moves collections of objects between stores, proves that every byte
//! arrived, and records what every request went through.
//!
//! A job is one flow of six stages, in [`stage`]: **list** the names, **plan** what to do with each,
//! **schedule** the requests, **transfer** them, **verify** what arrived, **record** all of it.
//! [`job`] runs that flow; [`store`] is the seam to whatever holds objects, and a [`Session`] what jobs and single questions
//! share of it; [`control`] decides
//! how much to do at once; [`budget`] sees that no more is in flight, at the one gate that every request
//! passes; [`event`] is all the engine says. [`table`] is beside the flow: rows are no objects.
//!
//! The engine knows no Python, no command line and no terminal. It never prints and never exits; [`verbose`] tells whoever
//! listens what it decides.

pub mod access;
pub mod budget;
pub mod buffer;
pub mod checksum;
pub mod config;
pub mod control;
pub mod error;
pub mod event;
pub mod eventlog;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod gate;
pub mod generate;
pub mod http;
pub mod job;
mod metrics;
mod options;
mod output;
mod pairs;
pub mod receipt;
pub mod report;
mod secret;
mod spool;
pub mod stage;
pub mod store;
pub mod table;
mod task;
pub mod trace;
pub mod units;
mod variable;
pub mod verbose;
mod wait;

pub use error::{Error, ErrorKind, Result};
pub use job::{CopyOptions, Job, JobHandle};
pub use store::Session;
