//! How bounds that hold for all nodes together are shared out among them. Pure.

use crate::gate::Allowance;
use crate::units::ByteRate;

/// What an idle node may take, so that it can begin: in the next round it has a share.
const IDLE_BITS: u64 = 1_000_000;
const IDLE_REQUESTS: f64 = 2.0;

/// What a node may take that has not been given a share of the cap yet: it opens connections, and sends nothing. At a low rate what
/// it had sent would be waited for long after it has its share.
pub(super) fn waiting(cap_bits: u64) -> Allowance {
    let rate = ByteRate::bits_per_second(cap_bits.max(1));
    Allowance { rate: Some(rate), in_flight: Some(0), ..Allowance::default() }
}

/// What it may take where nobody has told it a share for long, though it has something to move: next to nothing.
pub(super) fn forgotten(cap_bits: u64) -> Allowance {
    let rate = ByteRate::bits_per_second(IDLE_BITS.min(cap_bits / 200).max(1));
    Allowance { rate: Some(rate), ..Allowance::default() }
}

/// What is known of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// It has something to move.
    pub(super) busy: bool,
    /// The requests a second that it was found the service takes from it.
    pub(super) learnt: Option<f64>,
}

/// The part of each node. `cap`: on the wire, all nodes together. A service that was found to refuse requests takes so many from all of
/// them; what one that is idle does not need, others get.
pub(super) fn spread(cap: Option<ByteRate>, nodes: &[Seen]) -> Vec<Allowance> {
    let busy = nodes.iter().filter(|node| node.busy).count();
    let idle = nodes.len() - busy;
    let rate = cap.map(|cap| {
        // Where none is busy any of them may begin, but not all at once with all of it.
        let kept = if busy == 0 { cap.bits() } else { (IDLE_BITS * idle as u64).min(cap.bits() / 10) };
        let of_busy = (cap.bits() - kept) / busy.max(1) as u64;
        (of_busy, kept.checked_div(idle as u64).unwrap_or(0))
    });
    // Only when each has met the bound is it known for all; until then each one seeks its own.
    let learnt: Option<Vec<f64>> = nodes.iter().filter(|node| node.busy).map(|node| node.learnt).collect();
    let requests = learnt.filter(|learnt| learnt.len() > 1).map(|learnt| {
        let all: f64 = learnt.iter().sum();
        (all / busy as f64).max(IDLE_REQUESTS)
    });
    let part = |node: &Seen| Allowance {
        rate: rate.map(|(of_busy, of_idle)| {
            ByteRate::bits_per_second(if node.busy { of_busy.max(1) } else { of_idle.max(1) })
        }),
        requests_per_second: requests.filter(|_| node.busy),
        in_flight: None,
    };
    nodes.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Seen = Seen { busy: true, learnt: None };
    const IDLE: Seen = Seen { busy: false, learnt: None };

    fn bits(cap: u64, nodes: &[Seen]) -> Vec<u64> {
        let spread = spread(Some(ByteRate::bits_per_second(cap)), nodes);
        spread.iter().map(|part| part.rate.map_or(0, ByteRate::bits)).collect()
    }

    #[test]
    fn the_cap_is_shared_by_those_that_have_something_to_move() {
        assert_eq!(bits(200_000_000, &[BUSY; 4]), [50_000_000; 4]);
        assert_eq!(
            bits(200_000_000, &[BUSY, IDLE, BUSY, IDLE]),
            [99_000_000, 1_000_000, 99_000_000, 1_000_000]
        );
        assert_eq!(bits(1_000_000, &[BUSY, IDLE]), [900_000, 100_000]);
        assert_eq!(bits(1_000_000, &[IDLE; 4]), [250_000; 4], "any of them may begin");
    }

    #[test]
    fn never_more_than_the_cap_is_given_away_where_somebody_is_busy() {
        for nodes in 1..9 {
            for busy in 1..=nodes {
                let seen: Vec<_> = (0..nodes).map(|node| if node < busy { BUSY } else { IDLE }).collect();
                for cap in [64_000, 1_000_000, 200_000_001] {
                    assert!(bits(cap, &seen).iter().sum::<u64>() <= cap, "{nodes} {busy} {cap}");
                }
            }
        }
    }

    #[test]
    fn what_the_service_takes_is_shared_once_all_have_met_the_bound() {
        let learnt = |learnt| Seen { busy: true, learnt };
        let rates = |nodes: &[Seen]| -> Vec<Option<f64>> {
            spread(None, nodes).iter().map(|part| part.requests_per_second).collect()
        };
        assert_eq!(rates(&[learnt(Some(100.0)), learnt(Some(300.0))]), [Some(200.0); 2]);
        assert_eq!(rates(&[learnt(Some(100.0)), BUSY]), [None; 2]);
        assert_eq!(rates(&[learnt(Some(100.0)), IDLE]), [None; 2]);
    }
}
