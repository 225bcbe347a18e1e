//! Who carries shards to nodes: the host of this command, which is Python.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use clap::{Args, ValueHint};
use haulage::job::{Coordinator, Work};
use haulage::{CopyOptions, Error, JobHandle};

use crate::python::needed;

/// Where the nodes of a job are.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Nodes")]
pub struct Nodes {
    /// Distribute the work among the workers of this Dask scheduler
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["scheduler_file", "nodes"])]
    pub scheduler: Option<String>,
    /// The same, with the file written by dask scheduler --scheduler-file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "nodes")]
    pub scheduler_file: Option<PathBuf>,
    /// Distribute the work among this many processes on this machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub nodes: Option<u16>,
}

/// Carries shards from the coordinator to nodes until the job ends; says nothing by itself if it is to be quiet.
pub type Host = fn(Coordinator, &Nodes, quiet: bool);

static HOST: OnceLock<Host> = OnceLock::new();

/// How long the nodes may take to go away when the job has ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Says who carries shards to nodes in this process.
pub fn host(host: Host) {
    // The same one each time.
    let _ = HOST.set(host);
}

impl Nodes {
    /// Whether the user wants any.
    pub fn is_wanted(&self) -> bool {
        *self != Self::default()
    }

    /// Starts a job that nodes are to do. What it gives besides ends when they are gone.
    pub fn start(
        self,
        work: Work,
        options: CopyOptions,
        listen: bool,
        quiet: bool,
    ) -> Result<(JobHandle, Gone), Error> {
        let host = HOST.get().ok_or_else(|| needed("run", "nodes".to_owned(), "cluster"))?;
        let (handle, coordinator) = Coordinator::start(work, options, listen)?;
        let (ended, gone) = channel();
        let started = std::thread::Builder::new().name("haul-nodes".into()).spawn(move || {
            host(coordinator, &self, quiet);
            let _ = ended.send(());
        });
        started.map_err(|e| Error::from_io("run", "nodes", e))?;
        Ok((handle, Gone(gone)))
    }
}

/// Waits for the nodes to go away.
#[derive(Debug)]
pub struct Gone(Receiver<()>);

impl Gone {
    /// Waits for a while.
    pub fn wait(self) {
        // Whether they are gone or take too long: the job has ended, and was told of.
        let _ = self.0.recv_timeout(PATIENCE);
    }
}
