//! What is known of a link before the first byte has gone over it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What an earlier job found of a link. It only says where to begin: the job goes on following the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLink {
    /// The quickest answer.
    #[serde(rename = "trip_us", with = "micros")]
    pub trip: Duration,
    /// Requests in flight that filled it.
    pub concurrency: usize,
}

/// A link is the same while its round trips are within this of what they were.
const SAME: (f64, f64) = (0.5, 2.0);

/// Each request of the beginning shall have so many bytes at least to go on with.
const SHARE: u64 = 256 << 10;

impl KnownLink {
    /// Requests to begin with where the first answer took `answer` and `left` bytes are to go; `None` on another link.
    pub(super) fn start(&self, answer: Duration, left: u64) -> Option<usize> {
        let part = answer.as_secs_f64() / self.trip.as_secs_f64();
        let same = (SAME.0..=SAME.1).contains(&part);
        let fed = self.concurrency.min(usize::try_from(left / SHARE).unwrap_or(usize::MAX));
        same.then_some(fed)
    }

    /// Whether it can be what a job found.
    pub(crate) fn is_plausible(&self) -> bool {
        let trips = super::adaptive::NEAR..Duration::from_secs(60);
        trips.contains(&self.trip) && (1..=super::adaptive::MOST).contains(&self.concurrency)
    }
}

/// Durations as whole microseconds.
mod micros {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(time.as_micros() as u64)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_micros)
    }
}
