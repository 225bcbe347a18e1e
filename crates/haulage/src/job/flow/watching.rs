//! How it goes: shown to the controller, the user and whoever must give way.

use super::{BEGINNING, FIRST_TICK, Flow, TICK};
use crate::control::{Limits, Observation};
use crate::http::WireLook;
use crate::stage::list::Listed;
use crate::units::ByteRate;
use crate::verbose::verbose;

impl Flow {
    /// Shows how far it has come to whoever looks.
    pub(super) fn sample(&mut self, in_flight: u32) {
        let counts = self.recorder.summary();
        // What goes beside the flow, such as listing, is counted with it in the end; of a service that is down all else waits for it.
        let retries = counts.retries + self.gate.counted().retries;
        let progress = self.meter.sample(&self.objects, counts, retries, self.knows_all(), in_flight);
        self.recorder.sample(&progress, self.meter.wire());
    }

    /// Looks how it goes, and sends again what lags.
    pub(super) fn look(&mut self) {
        let in_flight = self.observe((0, 0));
        self.sample(in_flight);
        self.duplicate_laggards();
        let now = self.clock.elapsed();
        let period = if now > BEGINNING { TICK } else { FIRST_TICK };
        self.look_at = (now + period).as_nanos() as u64;
    }

    /// The first answer shows how far the service is: the controller shall know before anything is cut.
    pub(super) fn locate(&mut self, coming: &[Listed]) {
        if !self.located && self.opener.meter().quickest_answer().is_some() {
            self.located = true;
            let sizes = coming.iter().filter_map(|listed| match listed {
                Listed::Pair(pair) => Some(pair.meta.size),
                _ => None,
            });
            // A list may claim any size.
            let coming =
                sizes.fold((0, 0_u64), |(count, bytes), size| (count + 1, bytes.saturating_add(size)));
            self.observe(coming);
        }
    }

    /// Shows the controller what happened since it was last shown; `coming` are objects that are not known yet, and their bytes.
    fn observe(&mut self, coming: (u64, u64)) -> u32 {
        let wire = self.opener.meter();
        let now = self.clock.elapsed();
        let (arrived, WireLook { queueing, standing, .. }) = self.meter.arrived_since_last();
        self.queueing = queueing.unwrap_or_default();
        let (total, done) = self.objects.bytes();
        let seen = Observation {
            left_bytes: total.saturating_sub(done + self.flights.payload()).saturating_add(coming.1),
            left_objects: self.objects.len() as u64 + coming.0,
            listing: !self.knows_all(),
            queueing,
            in_flight: self.gate.in_flight() as u32,
            in_flight_bytes: self.flights.payload(),
            // What services copy by themselves counts too, so that as many of these requests are found as pay.
            wire_bytes: arrived.saturating_add(self.seen.wire_bytes),
            quickest_answer: wire.quickest_answer(),
            hungry: self.hungry,
            // A bound that follows others is no promise to anybody.
            cap: self.politeness.as_ref().map_or_else(|| self.opener.cap().get(), |(_, most)| *most),
            ..std::mem::take(&mut self.seen)
        };
        if let Some((politeness, most)) = &mut self.politeness {
            let moving = self.meter.bits_per_second();
            let bound = politeness.observe(standing, moving, *most, now);
            self.opener.cap().set(bound);
            wire.bound(bound.map(ByteRate::bytes_per_second));
        }
        let before = self.controller.limits();
        self.controller.observe(&seen, now);
        let Limits { concurrency, block_size, .. } = self.controller.limits();
        if (before.concurrency, before.block_size) != (concurrency, block_size) {
            verbose!(Debug, "{concurrency} requests in flight from now on, blocks of {block_size}");
        }
        seen.in_flight
    }
}
