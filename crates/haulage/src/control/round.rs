//! A stretch of time in which a number of requests is measured.

use super::Observation;

/// What one request is worth beside its bytes: small objects are bound by their number.
const REQUEST_WORTH: f64 = 16.0 * 1024.0;

/// Where the later half of a round gives so much more than the earlier one, connections are still getting up to speed.
const RAMPS: f64 = 1.15;

/// A round is over after so many seconds at the latest.
const ROUND_MAX: f64 = 3.0;

/// Fewer bytes than this arrive in lumps, of a segment or a window each.
const ROUND_BYTES: u64 = 2 << 20;
const ROUND_REQUESTS: u32 = 40;

/// More requests would have gone out in this part of the looks, or the round says nothing of their number.
const HUNGRY: f64 = 0.7;

/// What was done, in bytes.
pub(super) fn worth(bytes: u64, requests: u32) -> f64 {
    bytes as f64 + f64::from(requests) * REQUEST_WORTH
}

/// What one round has seen so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// Until when a change settles.
    settles: f64,
    /// The look at which it began; `None` while it settles.
    began: Option<f64>,
    bytes: u64,
    pub(super) requests: u32,
    pub(super) refused: u32,
    looks: u32,
    hungry: u32,
    /// When half of the round was over, and the bytes by then.
    half: Option<(f64, u64)>,
    ended: f64,
}

impl Round {
    /// One that begins when a change has settled.
    pub(super) fn after(settles: f64) -> Self {
        Self { settles, ..Self::default() }
    }

    /// Takes in what happened until `now`; gives the round and its seconds when it is over after `least` seconds or, where little
    /// happens, later. The next one begins with it.
    pub(super) fn look(&mut self, seen: &Observation, least: f64, now: f64) -> Option<(Self, f64)> {
        let Some(began) = self.began else {
            // From look to look, or bytes of before would count.
            self.began = (now >= self.settles).then_some(now);
            return None;
        };
        self.refused += seen.busy + seen.stalled;
        self.bytes += seen.wire_bytes;
        self.requests += seen.succeeded;
        self.looks += 1;
        self.hungry += u32::from(seen.hungry);
        self.ended = now;
        let seconds = now - began;
        if self.half.is_none() && 2.0 * seconds >= least {
            self.half = Some((now, self.bytes));
        }
        let enough = self.bytes >= ROUND_BYTES || self.requests >= ROUND_REQUESTS;
        // A share of few says little.
        let enough = enough && (self.refused == 0 || self.refused + self.requests >= ROUND_REQUESTS);
        if seconds < least || (!enough && seconds < ROUND_MAX) {
            return None;
        }
        Some((std::mem::replace(self, Self { began: Some(now), ..Self::default() }), seconds))
    }

    /// What it was worth, in bytes a second.
    pub(super) fn rate(&self, seconds: f64) -> f64 {
        worth(self.bytes, self.requests) / seconds
    }

    /// The part of the requests that was refused.
    pub(super) fn refused_share(&self) -> f64 {
        f64::from(self.refused) / f64::from(self.refused + self.requests).max(1.0)
    }

    /// Whether there was enough to do, and memory for it.
    pub(super) fn was_hungry(&self) -> bool {
        f64::from(self.hungry) >= HUNGRY * f64::from(self.looks)
    }

    /// Whether the rate still rises by itself: what it is says nothing yet.
    pub(super) fn ramps(&self) -> bool {
        let (Some(began), Some((half, bytes))) = (self.began, self.half) else { return false };
        let later = (self.bytes - bytes) as f64 / (self.ended - half);
        self.ended > half && half > began && later > RAMPS * bytes as f64 / (half - began)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(bytes: [u64; 4]) -> Round {
        let mut round = Round::after(0.0);
        let mut over = None;
        for (look, wire_bytes) in [0].into_iter().chain(bytes).enumerate() {
            let seen = Observation { wire_bytes, ..Observation::default() };
            over = over.or(round.look(&seen, 0.4, look as f64 / 10.0));
        }
        over.expect("it is over").0
    }

    #[test]
    fn connections_that_get_up_to_speed_are_told_from_a_steady_rate() {
        assert!(round([1 << 20, 1 << 20, 2 << 20, 4 << 20]).ramps());
        assert!(!round([2 << 20, 2 << 20, 2 << 20, 2 << 20]).ramps());
        assert!(!round([4 << 20, 2 << 20, 2 << 20, 1 << 20]).ramps());
    }
}
