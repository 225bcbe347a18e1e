//! What a copy would do, without moving anything.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::{CopyOptions, Work};
use crate::control::{Observation, controller};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Clock, Failure};
use crate::gate::{Gate, through};
use crate::stage::list::{Listed, Listing};
use crate::stage::plan::{ByService, Decision, Existing, Pair, Pieces, Rule, decide};
use crate::stage::transfer::look_at;
use crate::store::{Address, ListRequest, Location, Request, StoreOpener};
use crate::units::{ByteRate, ByteSize};

/// Link rates for which times are given: nobody knows the link before it was used.
const RATES_MBIT: [u64; 4] = [10, 100, 1_000, 10_000];

/// What a copy would do.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PlanReport {
    /// Objects found.
    pub objects: u64,
    /// Objects that are there already and would be skipped.
    pub objects_skipped: u64,
    /// Payload that would move.
    pub bytes: u64,
    /// Requests needed, retries not counted.
    pub requests: u64,
    /// Objects that travel whole.
    pub whole: u64,
    /// Objects that travel in blocks or ranges.
    pub blocks: u64,
    /// Of these, objects that the service of both sides copies by itself, so that no byte of them passes this machine.
    pub by_service: u64,
    /// Payload of these.
    pub bytes_by_service: u64,
    /// Smallest and largest block size planned, where there are any.
    pub block_size: Option<(u64, u64)>,
    /// Requests in flight.
    pub concurrency: u32,
    /// Round trip measured with the listing; `None` for local stores.
    pub round_trip_ns: Option<u64>,
    /// Names that cannot be moved, with reasons.
    pub problems: Vec<crate::event::Failure>,
    /// Time needed if the link gives this rate: (bits per second, nanoseconds).
    pub estimates: Vec<(u64, u64)>,
}

/// Plans a copy without moving anything.
///
/// # Errors
/// What would stop the whole job: a bad URL, no credentials, a source that is not there.
pub fn plan<'a>(
    sources: &'a [String],
    destination: &'a str,
    options: &'a CopyOptions,
) -> BoxFuture<'a, Result<PlanReport>> {
    Box::pin(async move {
        for source in sources {
            if Address::parse(source, &options.store)?.source_stream().is_some() {
                return Err(Error::new(
                    ErrorKind::Usage,
                    "plan",
                    source,
                    "the contents of a stream are unknown in advance",
                )
                .hint("name a file or a URL"));
            }
        }
        let opener = StoreOpener::new(options.store.clone())?;
        let work = Work::Copy { sources: sources.to_vec(), destination: destination.to_owned() };
        let round_trip = round_trip(&opener, sources, destination).await?;
        let mut controller = controller(&options.wishes_for(&work)?, options.max_memory);
        let seen =
            Observation { quickest_answer: round_trip, cap: options.store.cap, ..Observation::default() };
        controller.observe(&seen, Duration::ZERO);
        let limits = controller.limits();
        let (found, mut listed) = mpsc::channel(1000);
        let listing = Listing::new(opener.clone(), options, opener.gate().clock().began_unix_ns(), found)?;
        let listing = tokio::spawn(async move { listing.run(&work).await });

        let mut report = PlanReport {
            concurrency: limits.concurrency as u32,
            round_trip_ns: round_trip.map(|round_trip| round_trip.as_nanos() as u64),
            ..PlanReport::default()
        };
        while let Some(item) = listed.recv().await {
            match item {
                Listed::NotAFile(error) | Listed::Problem(error) => {
                    report.problems.push(Failure::from(&error));
                }
                Listed::Extra { .. }
                | Listed::Extras(_)
                | Listed::Doomed(_)
                | Listed::Emptied(_)
                | Listed::Unsure { .. }
                | Listed::Warning { .. } => {}
                Listed::Pair(mut pair) => {
                    if decide(&pair, Rule::from(options)) == Decision::Look {
                        match look(&mut pair, opener.gate()).await {
                            // A folder has its name.
                            Err(error) if error.kind() == ErrorKind::Exists => {
                                report.problems.push(Failure::from(&error));
                                continue;
                            }
                            looked => looked?,
                        }
                    }
                    report.add(&pair, options, &limits);
                }
            }
        }
        match listing.await {
            Ok(result) => result?,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        }
        report.estimate();
        Ok(report)
    })
}

/// Asks what is at the destination of a pair, and, where that may be the same, what the source's list has left out.
pub(super) async fn look(pair: &mut Pair, gate: &Gate) -> Result<()> {
    let to = &pair.destination;
    let api = to.store.api(Request::Look);
    let (there, told) = through!(gate, api, to.name(), trace => look_at(pair, trace).await)?;
    (pair.existing, pair.looked_at) = (Existing::looked(there), true);
    if let Some(told) = told {
        pair.meta = told;
    }
    Ok(())
}

impl PlanReport {
    fn add(&mut self, pair: &Pair, options: &CopyOptions, limits: &crate::control::Limits) {
        self.objects += 1;
        if matches!(decide(pair, Rule::from(options)), Decision::Skip(_)) {
            self.objects_skipped += 1;
            return;
        }
        let size = pair.meta.size;
        let (from, to) = (pair.source.store.capabilities(), pair.destination.store.capabilities());
        let by_service = ByService::of(pair, options);
        let pieces = match by_service {
            Some(by) => by.pieces(size, options.method, &to, pair.existing.there().is_some()),
            None => Pieces::of(size, limits, options.method, &from, &to),
        };
        // Sizes come from outside: a list may claim any.
        self.bytes = self.bytes.saturating_add(size);
        // Each remote side sees every piece; a remote destination sees the commit of the blocks too.
        let remote_sides = match by_service {
            // A source whose list says little is looked at.
            Some(_) => 1 + u64::from(!from.lists_all && pieces == Pieces::Whole),
            None => u64::from(!from.at_hand) + u64::from(!to.at_hand),
        };
        self.by_service += u64::from(by_service.is_some());
        self.bytes_by_service = self.bytes_by_service.saturating_add(by_service.map_or(0, |_| size));
        self.requests += pieces.count(size) * remote_sides;
        match pieces {
            Pieces::Whole => self.whole += 1,
            Pieces::Blocks(block) => {
                self.blocks += 1;
                self.requests += u64::from(!to.at_hand);
                let (least, most) = self.block_size.unwrap_or((block, block));
                self.block_size = Some((least.min(block), most.max(block)));
            }
        }
    }

    /// Bytes at the link's rate, or rounds of requests at the round trip, whichever is longer.
    fn estimate(&mut self) {
        let rounds = self.requests.div_ceil(u64::from(self.concurrency.max(1)));
        let waiting = Duration::from_nanos(self.round_trip_ns.unwrap_or(0).saturating_mul(rounds));
        for mbit in RATES_MBIT {
            let rate = ByteRate::bits_per_second(mbit * 1_000_000);
            let passing = self.bytes.saturating_sub(self.bytes_by_service);
            let sending = rate.time_for(ByteSize::new(passing)).unwrap_or_default();
            self.estimates.push((rate.bits(), sending.max(waiting).as_nanos() as u64));
        }
    }
}

/// The faster of two small requests to the first remote location, since the first opens the connection.
async fn round_trip(opener: &StoreOpener, sources: &[String], destination: &str) -> Result<Option<Duration>> {
    for name in sources.iter().map(String::as_str).chain([destination]) {
        let Location { store, key, gate } = opener.open(name)?;
        if store.capabilities().at_hand {
            continue;
        }
        let mut best = Duration::MAX;
        for _ in 0..2 {
            let clock = Clock::start();
            // Listing a name that is hardly there costs the service nothing.
            let prefix = format!("{key}.haul-round-trip");
            let mut lister = store.list(ListRequest { prefix, hierarchical: true, ..ListRequest::default() });
            let page: Result<_> =
                through!(gate, store.api(Request::List), name, trace => lister.next_page(trace).await);
            if page.is_err() {
                // Whatever is wrong, what is planned meets it too, and says it better.
                return Ok(None);
            }
            best = best.min(clock.elapsed());
        }
        return Ok(Some(best));
    }
    Ok(None)
}
