//! The only limits on what is in flight: requests and bytes, taken for every request.

/// Counts requests and bytes in flight against their bounds. Owned by the scheduler, so it needs no lock.
#[derive(Debug)]
pub struct Budget {
    bytes_max: u64,
    bytes: u64,
    /// In-flight slots that are free, lowest last, so that lanes stay few and low.
    free_lanes: Vec<u32>,
    lanes: u32,
}

/// One request's share; give it back with [`Budget::release`].
#[derive(Debug)]
#[must_use]
pub struct Share {
    bytes: u64,
    lane: u32,
}

impl Share {
    /// The in-flight slot of the request.
    pub fn lane(&self) -> u32 {
        self.lane
    }
}

impl Budget {
    /// Nothing in flight, `bytes_max` bytes allowed.
    pub fn new(bytes_max: u64) -> Self {
        Self { bytes_max, bytes: 0, free_lanes: Vec::new(), lanes: 0 }
    }

    /// Takes a share for a request that holds `bytes` of memory, if there is room.
    ///
    /// A request larger than the whole budget goes when no other holds memory: it must not wait for ever.
    pub fn take(&mut self, bytes: u64, concurrency: usize) -> Option<Share> {
        let in_flight = self.in_flight();
        let no_slot = in_flight > 0 && in_flight >= concurrency;
        let no_memory = bytes > 0 && self.bytes > 0 && self.bytes + bytes > self.bytes_max;
        (!no_slot && !no_memory).then(|| self.force(bytes))
    }

    /// Takes a share whether there is room or not: for bytes that are in memory already.
    pub fn force(&mut self, bytes: u64) -> Share {
        self.bytes += bytes;
        let lane = self.free_lanes.pop().unwrap_or_else(|| {
            self.lanes += 1;
            self.lanes - 1
        });
        Share { bytes, lane }
    }

    /// Gives a share back: whoever has done so holds it no more.
    #[expect(clippy::needless_pass_by_value, reason = "a share is given back once")]
    pub fn release(&mut self, share: Share) {
        self.bytes -= share.bytes;
        let at = self.free_lanes.partition_point(|lane| *lane > share.lane);
        self.free_lanes.insert(at, share.lane);
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> usize {
        self.lanes as usize - self.free_lanes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_larger_than_all_goes_alone() {
        let mut budget = Budget::new(10);
        let large = budget.take(100, 4).unwrap();
        assert!(budget.take(1, 4).is_none());
        assert!(budget.take(0, 4).is_some(), "what holds nothing needs no memory");
        budget.release(large);
        assert!(budget.take(1, 4).is_some());
    }

    proptest! {
        #[test]
        fn neither_bound_is_passed(sizes in prop::collection::vec(0u64..6, 1..60), concurrency in 1usize..5) {
            let mut budget = Budget::new(10);
            let mut held = Vec::new();
            for size in sizes {
                match budget.take(size, concurrency) {
                    Some(share) => held.push(share),
                    None => budget.release(held.remove(0)),
                }
                prop_assert!(held.len() <= concurrency);
                prop_assert_eq!(budget.in_flight(), held.len());
                prop_assert!(held.iter().map(|share| share.bytes).sum::<u64>() <= 10);
                let mut lanes: Vec<_> = held.iter().map(Share::lane).collect();
                lanes.sort_unstable();
                lanes.dedup();
                prop_assert_eq!(lanes.len(), held.len());
            }
        }
    }
}
