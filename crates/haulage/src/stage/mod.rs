//! The six stages of a job, in the order of the flow.
//!
//! [`list`] streams pairs of names, [`plan`] decides what to do with each, [`schedule`] chooses the
//! next request, [`transfer`] makes one attempt of it, [`verify`] judges what arrived, [`record`] keeps
//! all of it. Planning, scheduling and verifying are pure; only listing and transfer touch a store. When all is done, [`remove`] deletes
//! what is to go, each name by [`taking`].

pub(crate) mod list;
pub(crate) mod plan;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod remove;
pub(crate) mod schedule;
pub(crate) mod taking;
pub(crate) mod transfer;
pub(crate) mod verify;
