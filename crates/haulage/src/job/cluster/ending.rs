//! How a job of many nodes ends: what nobody has moved is named, and what the nodes say becomes one summary and one record.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;

use super::record::{NodeRecord, merge};
use super::run::Run;
use super::shared::{Message, NodeSeen, Phase, locked};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Failure, Summary};
use crate::store::Address;
use crate::task::off_thread;

/// The rows of what this machine itself asks for, until those of the nodes have come.
pub(super) const OWN_RECORD: &str = "coordinator.parquet";

impl Run {
    pub(super) async fn finish(mut self, listed: bool, outcome: Result<()>) -> Result<Summary> {
        while let Ok(message) = self.told.try_recv() {
            if let Message::Ended(ended) = message {
                self.take_in(ended).await;
            }
        }
        self.sample(listed);
        let failure = locked(&self.shared.failure).take();
        let interrupted = *self.shared.phase.borrow() == Phase::Stop && failure.is_none();
        // Where the nodes could not be reached nothing was tried: that is one failure, and not one for each object.
        let reached = failure.is_none() || !locked(&self.shared.nodes).is_empty();
        if let Err(error) = &outcome {
            self.recorder.failure(Failure::from(error));
        }
        let failure = failure.or_else(|| {
            let left = !interrupted && outcome.is_ok() && !(listed && locked(&self.shared.deal).is_done());
            left.then(left_undone)
        });
        if let Some(failure) = &failure {
            let left = if reached { locked(&self.shared.deal).abandon(failure) } else { Vec::new() };
            if left.is_empty() {
                self.recorder.failure(failure.clone());
            }
            self.take_in(left).await;
        }
        let nodes = std::mem::take(&mut *locked(&self.shared.nodes));
        let silent: Vec<&String> =
            nodes.iter().filter(|(_, seen)| seen.end.is_none()).map(|(name, _)| name).collect();
        if !silent.is_empty() && !interrupted {
            self.flush_for_others().await;
            let names: Vec<_> = silent.iter().map(|name| name.as_str()).collect();
            let words = "what they sent and their rows of the record are not counted".to_owned();
            self.recorder.warn(names.join(", ").into(), words).await;
        }
        let of_nodes = self.count_nodes(&nodes).await;
        let interrupted = interrupted || self.clear(&outcome, listed).await;
        let wire = of_nodes + self.opener.meter().total();
        let total = locked(&self.shared.deal).objects();
        let words = if nodes.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", nodes.len()) };
        self.recorder.rest_beside(self.beside.take()).await;
        self.recorder.count_beside(self.gate.counted());
        let recorded = self.write_record(nodes).await;
        if let Err(error) = recorded {
            self.recorder.not_written(error, interrupted);
        }
        let summary = self.recorder.finish(interrupted, total, wire, words).await;
        match (failure, outcome) {
            (Some(failure), _) if summary.objects_done + summary.objects_skipped == 0 => {
                Err(Error::from(&failure))
            }
            (_, Err(error)) if total == 0 => Err(error),
            _ => Ok(summary),
        }
    }

    /// Brings to the disk what nodes have written that could not do so themselves any more, as far as this machine can.
    async fn flush_for_others(&mut self) {
        let Some(destination) = self.work.destination() else { return };
        let options = &self.shared.options.store;
        let (true, Ok(Address::Local(path))) = (options.flush, Address::parse(destination, options)) else {
            return;
        };
        let flushed = off_thread(move || {
            let there = path.ancestors().find(|path| path.is_dir()).map(std::fs::File::open);
            there.map_or(Ok(()), |folder| rustix::fs::syncfs(folder?).map_err(std::io::Error::from))
        });
        if let Err(error) =
            flushed.await.and_then(|done| done.map_err(|e| Error::from_io("flush", "files", e)))
        {
            self.recorder.not_on_disk(&error);
        }
    }

    /// Adds what the nodes say of the wire; the bytes on it.
    async fn count_nodes(&mut self, nodes: &BTreeMap<String, NodeSeen>) -> u64 {
        let mut wire = 0;
        // Parts that were committed were sent by this job, and are not what an earlier one has left.
        let mut committed = locked(&self.shared.deal).committed();
        let mut told = BTreeSet::new();
        for end in nodes.values().filter_map(|seen| seen.end.as_ref()) {
            wire += end.summary.bytes_wire;
            let found = end.summary.bytes_resumed;
            let bytes_resumed = found.saturating_sub(committed);
            committed -= committed.min(found);
            self.recorder.count_node(&Summary { bytes_resumed, ..end.summary.clone() });
            // What failed as files were brought to the disk is no object's end.
            let of_node =
                end.failure.iter().chain(end.summary.failures.iter().filter(|f| f.operation == "flush"));
            for failure in of_node {
                self.recorder.not_on_disk(&Error::from(failure));
            }
            told.extend(&end.summary.warnings);
        }
        for warning in told {
            let (object, message) = warning.split_once(": ").unwrap_or(("node", warning));
            self.recorder.warn(object.into(), message.to_owned()).await;
        }
        wire
    }

    /// Writes the record of all nodes.
    async fn write_record(&mut self, nodes: BTreeMap<String, NodeSeen>) -> Result<()> {
        let (Some(path), Some(scratch)) = (self.shared.options.record.clone(), self.scratch.take()) else {
            return Ok(());
        };
        self.recorder.close_rows().await?;
        let own = File::open(scratch.path().join(OWN_RECORD));
        let own = own.map_err(|e| Error::from_io("read", "the record of this machine", e))?;
        let began = self.shared.began_unix_ns;
        let mut records = vec![NodeRecord { rows: own, shift_ns: 0 }];
        for seen in nodes.into_values() {
            let shift_ns = seen.end.as_ref().map(|end| seen.shift_ns(end.began_unix_ns, began));
            if let (Some(rows), Some(shift_ns)) = (seen.record, shift_ns) {
                records.push(NodeRecord { rows, shift_ns });
            }
        }
        let shared = Arc::clone(&self.shared);
        off_thread(move || {
            let deal = locked(&shared.deal);
            merge(&path, records, |id| deal.object_of(id))
        })
        .await?
    }
}

/// Why objects failed that nobody has moved.
fn left_undone() -> Failure {
    let cause = "the nodes ended before it was moved";
    let hint = "run the same command again; what has arrived is not sent again";
    Failure::from(&Error::new(ErrorKind::NodeLost, "copy", "the nodes", cause).hint(hint))
}
