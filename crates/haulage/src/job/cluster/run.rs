//! The job of many nodes itself, where it was started: list, plan, deal out, and keep the one record.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Interval};

use super::parted::PARTED_MIN;
use super::shared::{Message, Phase, Shared, locked};
use crate::error::Result;
use crate::event::{AttemptRecord, Clock, ObjectRecord, Progress, Summary};
use crate::gate::Gate;
use crate::job::flow::atomic::too_large;
use crate::job::flow::next_row;
use crate::job::plan::look;
use crate::options::Work;
use crate::stage::list::{Extras, Listed, Listing};
use crate::stage::plan::{Decision, Pair, Rule, decide};
use crate::stage::record::Recorder;
use crate::store::StoreOpener;
use crate::task::joined;

/// How often the progress is put together.
pub(super) const TICK: Duration = Duration::from_millis(200);

/// Names taken at once.
const BATCH: usize = 256;

/// How long nodes may take to stop before the job ends without a word of theirs.
const STOP_PATIENCE: Duration = Duration::from_secs(12);

/// What the job takes in.
enum Happened {
    /// Names were found; none where there are no more.
    Found(Vec<Listed>),
    /// Something was told of the nodes; nothing where whoever carries shards is gone.
    Told(Option<Message>),
    /// A request of this machine has ended.
    Beside(Box<AttemptRecord>),
    /// It is time to look how far all have come.
    Tick,
    /// The job is to stop.
    Stopped,
}

/// The job itself.
pub(super) struct Run {
    pub(super) work: Work,
    pub(super) opener: StoreOpener,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
    pub(super) cancelled: watch::Receiver<bool>,
    pub(super) told: mpsc::UnboundedReceiver<Message>,
    pub(super) shared: Arc<Shared>,
    pub(super) progress: Arc<Mutex<Progress>>,
    pub(super) gate: Gate,
    /// The rows of requests of this machine.
    pub(super) beside: Option<mpsc::Receiver<AttemptRecord>>,
    /// Where its own record is.
    pub(super) scratch: Option<TempDir>,
    /// All that only the destination has, once both lists are known to be complete.
    pub(super) extras: Option<Extras>,
}

impl Run {
    pub(super) async fn run(mut self) -> Result<Summary> {
        self.recorder.announce(self.work.names(), &self.shared.options).await;
        let (sender, mut found) = mpsc::channel(1000);
        let listing = self.listing(sender)?;
        let work = self.work.clone();
        let mut listing = tokio::spawn(async move { listing.run(&work).await });
        let mut ticks = tokio::time::interval(TICK);
        let (mut listed, mut outcome, mut stopped_at) = (false, Ok(()), None);
        let shared = Arc::clone(&self.shared);
        loop {
            let stopped = *shared.phase.borrow() == Phase::Stop;
            let room = !listed && !stopped && locked(&shared.deal).has_room();
            match self.next(&mut found, room, &mut ticks, stopped).await {
                Happened::Found(batch) if batch.is_empty() => {
                    listed = true;
                    outcome = joined((&mut listing).await).and_then(|ended| ended);
                    let ended = locked(&shared.deal).listed(outcome.is_ok());
                    self.take_in(ended).await;
                }
                Happened::Found(batch) => {
                    for listed in batch {
                        self.plan(listed).await;
                    }
                }
                Happened::Told(Some(Message::Ended(ended))) => {
                    let records = ended.len();
                    self.take_in(ended).await;
                    locked(&shared.deal).wrote(records);
                }
                Happened::Told(Some(Message::Warning(node, words))) => {
                    self.recorder.warn(node.into(), words).await;
                }
                Happened::Told(Some(Message::Finish) | None) => break,
                Happened::Beside(row) => self.recorder.attempt(|| *row).await,
                Happened::Tick => self.sample(listed),
                Happened::Stopped => shared.set(Phase::Stop),
            }
            if locked(&shared.deal).is_too_large() && !stopped {
                locked(&shared.failure).get_or_insert_with(too_large);
                shared.set(Phase::Stop);
            }
            if *shared.phase.borrow() == Phase::Stop {
                // Whoever carries shards may itself wait for what does not answer.
                if stopped_at.get_or_insert_with(Instant::now).elapsed() > STOP_PATIENCE {
                    break;
                }
            } else if locked(&shared.deal).is_done() {
                shared.set(Phase::Close);
            }
        }
        drop(found);
        listing.abort();
        self.opener.uninterrupted().settle().await;
        let ended = self.finish(listed, outcome).await;
        shared.set(Phase::Ended);
        ended
    }

    /// Waits until something happens.
    async fn next(
        &mut self,
        found: &mut mpsc::Receiver<Listed>,
        room: bool,
        ticks: &mut Interval,
        stopped: bool,
    ) -> Happened {
        let mut batch = Vec::new();
        tokio::select! {
            _ = found.recv_many(&mut batch, BATCH), if room => Happened::Found(batch),
            message = self.told.recv() => Happened::Told(message),
            row = next_row(&mut self.beside) => Happened::Beside(Box::new(row)),
            _ = ticks.tick() => Happened::Tick,
            // A handle that is gone has cancelled on its way out.
            _ = self.cancelled.wait_for(|cancelled| *cancelled), if !stopped => Happened::Stopped,
        }
    }

    fn listing(&self, found: mpsc::Sender<Listed>) -> Result<Listing> {
        let options = &self.shared.options;
        Listing::new(self.opener.clone(), options, self.clock.began_unix_ns(), found)
    }

    async fn plan(&mut self, listed: Listed) {
        let now = self.clock.now_ns();
        match listed {
            Listed::Pair(mut pair) => {
                if let Err(error) = self.look(&mut pair).await {
                    let id = locked(&self.shared.deal).problem();
                    return self.recorder.object(ObjectRecord::problem(id, &error, now)).await;
                }
                let skipped = locked(&self.shared.deal).add(*pair, &self.shared.options, now);
                self.take_in(skipped.into_iter().collect()).await;
            }
            Listed::Problem(error) => {
                let id = locked(&self.shared.deal).problem();
                self.recorder.object(ObjectRecord::problem(id, &error, now)).await;
            }
            Listed::NotAFile(error) => {
                let id = locked(&self.shared.deal).number();
                self.recorder.warn(error.object_name().into(), format!("skipped: {}", error.cause())).await;
                self.recorder.object(ObjectRecord::not_a_file(id, &error, now)).await;
            }
            Listed::Warning { object, message } => self.recorder.warn(object.into(), message).await,
            Listed::Extras(extras) => self.extras = Some(*extras),
            // A sync says in the end that it has deleted nothing, and only comparisons and backups speak of the others.
            Listed::Unsure { .. } | Listed::Extra { .. } | Listed::Doomed(_) | Listed::Emptied(_) => {}
        }
    }

    /// Learns of an object that several nodes may move what is at its destination: others are looked at by the node that moves them.
    async fn look(&self, pair: &mut Pair) -> Result<()> {
        let is_parted = pair.meta.size >= PARTED_MIN;
        if !is_parted || decide(pair, Rule::from(&self.shared.options)) != Decision::Look {
            return Ok(());
        }
        look(pair, &self.gate).await
    }

    pub(super) async fn take_in(&mut self, ended: Vec<ObjectRecord>) {
        for record in ended {
            self.recorder.object(record).await;
        }
    }

    /// Puts together how far all have come.
    pub(super) fn sample(&mut self, listed: bool) {
        let summary = self.recorder.summary();
        let mut sample = Progress {
            elapsed_ns: self.clock.now_ns(),
            listed,
            objects_done: summary.objects_done + summary.objects_skipped + summary.objects_failed,
            objects_failed: summary.objects_failed,
            objects_skipped: summary.objects_skipped,
            retries: self.gate.counted().retries,
            ..Progress::default()
        };
        {
            let deal = locked(&self.shared.deal);
            (sample.objects_total, sample.bytes_total) = (deal.objects(), deal.bytes_found());
        }
        for seen in locked(&self.shared.nodes).values() {
            sample.bytes_done += seen.before;
            match seen.lost {
                true => sample.bytes_done += seen.finished,
                false => {
                    sample.bytes_done += seen.progress.bytes_done;
                    sample.rate_bits_per_second += seen.progress.rate_bits_per_second;
                    sample.in_flight += seen.progress.in_flight;
                    sample.slowest.extend(seen.progress.slowest.iter().cloned());
                }
            }
            sample.retries += seen.progress.retries;
        }
        sample.bytes_done = sample.bytes_done.min(sample.bytes_total);
        sample.slowest.sort_unstable_by_key(|slow| std::cmp::Reverse(slow.age_ns));
        sample.slowest.truncate(3);
        let left = (sample.bytes_total - sample.bytes_done) as f64 * 8.0;
        let rate = sample.rate_bits_per_second as f64;
        sample.eta_ns = (listed && (rate > 0.0 || left == 0.0)).then(|| (left / rate.max(1.0) * 1e9) as u64);
        self.recorder.sample(&sample, self.opener.meter().total());
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = sample;
    }
}
