//! One job by many nodes: one machine lists and plans, others transfer and verify, and the record is one.
//!
//! The [`Coordinator`] runs where the command was given. It cuts what is to be moved into [shards](deal), and takes in what became
//! of them. A [`Node`] runs in each process that moves bytes: one job of the engine all through, which shards are fed into as they
//! come, so that nothing of what it has learnt of the link is lost between two. How shards come to nodes and who runs them is no
//! concern of the engine: what travels are bytes, which a scheduler such as Dask carries.
//!
//! A node may be lost at any moment. Its shards go to others, with the time since when it may have written: what it has finished is
//! there, and is found by a look; blocks that it has staged are gone on with, as after any interruption.

mod clearing;
mod coordinator;
mod deal;
mod ending;
mod node;
mod parted;
mod placed;
mod places;
mod record;
mod run;
mod shared;
mod spread;
mod wire;

pub use coordinator::Coordinator;
pub use deal::Dealt;
pub use node::Node;
pub use shared::Phase;
