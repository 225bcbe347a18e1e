//! A job: what to do, a handle on it while it runs, and the one flow that does it.

mod cluster;
mod flow;
mod handle;
mod logged;
mod plan;
mod writer;

pub use crate::gate::Allowance;
pub use crate::pairs::read_pairs;
pub use cluster::{Coordinator, Dealt, Node, Phase};
pub use handle::{Job, JobHandle, Lease};
pub use plan::{PlanReport, plan};
pub use writer::Writer;

pub use crate::options::{
    Bounds, Compare, CopyOptions, Deleting, Feed, MaxDelete, MethodChoice, NameList, Overwrite, Portion,
    Profile, ServerSide, Setting, StartValues, TierChoice, Work, links_folder,
};
